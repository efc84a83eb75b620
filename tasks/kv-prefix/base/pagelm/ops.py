"""Operations of the model. Each checks its shapes and launches one kernel.

The output is always an array of the caller, so that a captured step writes to the
same place on every replay.
"""

from __future__ import annotations

import numpy as np

from .graph import launch


def _check(condition: bool, what: str) -> None:
    if not condition:
        raise ValueError(what)


def embedding(out: np.ndarray, table: np.ndarray, ids: np.ndarray) -> None:
    _check(out.shape == (ids.shape[0], table.shape[1]), "embedding: wrong output shape")
    launch("embedding", out, table, ids)


def take_rows(out: np.ndarray, source: np.ndarray, rows: np.ndarray) -> None:
    _check(out.shape == (rows.shape[0], source.shape[1]), "take_rows: wrong output shape")
    launch("take_rows", out, source, rows)


def rmsnorm(out: np.ndarray, x: np.ndarray, weight: np.ndarray, eps: float) -> None:
    _check(out.shape == x.shape, "rmsnorm: wrong output shape")
    launch("rmsnorm", out, x, weight, float(eps))


def linear(out: np.ndarray, x: np.ndarray, weight: np.ndarray) -> None:
    _check(x.shape[1] == weight.shape[0], "linear: inner sizes differ")
    _check(out.shape == (x.shape[0], weight.shape[1]), "linear: wrong output shape")
    launch("linear", out, x, weight)


def add_(x: np.ndarray, y: np.ndarray) -> None:
    _check(x.shape == y.shape, "add_: shapes differ")
    launch("add_", x, y)


def swiglu(out: np.ndarray, gate: np.ndarray, up: np.ndarray) -> None:
    _check(out.shape == gate.shape == up.shape, "swiglu: shapes differ")
    launch("swiglu", out, gate, up)


def rope_(x: np.ndarray, positions: np.ndarray, theta: float) -> None:
    _check(x.ndim == 3 and x.shape[0] == positions.shape[0], "rope_: wrong shapes")
    launch("rope_", x, positions, float(theta))


def scatter_rows(cache: np.ndarray, slots: np.ndarray, rows: np.ndarray) -> None:
    _check(cache.shape[2:] == rows.shape[1:], "scatter_rows: row shapes differ")
    _check(slots.shape[0] == rows.shape[0], "scatter_rows: one slot for each row")
    launch("scatter_rows", cache, slots, rows)


def causal_attention(out: np.ndarray, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> None:
    _check(out.shape == q.shape and k.shape == v.shape, "causal_attention: wrong shapes")
    launch("causal_attention", out, q, k, v)


def paged_attention(
    out: np.ndarray,
    q: np.ndarray,
    k_cache: np.ndarray,
    v_cache: np.ndarray,
    tables: np.ndarray,
    lengths: np.ndarray,
) -> None:
    _check(out.shape == q.shape, "paged_attention: wrong output shape")
    _check(tables.shape[0] == lengths.shape[0] == q.shape[0], "paged_attention: row counts differ")
    launch("paged_attention", out, q, k_cache, v_cache, tables, lengths)
