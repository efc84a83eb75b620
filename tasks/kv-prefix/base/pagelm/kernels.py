"""Kernels: plain functions over arrays that write into their first argument.

`KERNELS` maps the name of an operation to the function that executes it. It is
consulted each time an operation runs, eagerly or on replay.
"""

from __future__ import annotations

import numpy as np


def _softmax(scores: np.ndarray) -> np.ndarray:
    scores = scores - scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    return scores


def embedding(out, table, ids):
    out[...] = table[ids]


def take_rows(out, source, rows):
    out[...] = source[rows]


def rmsnorm(out, x, weight, eps):
    square = np.einsum("ij,ij->i", x, x)[:, None] / np.float32(x.shape[-1])
    np.multiply(x / np.sqrt(square + np.float32(eps)), weight, out=out)


def linear(out, x, weight):
    np.matmul(x, weight, out=out)


def add_(x, y):
    x += y


def swiglu(out, gate, up):
    out[...] = gate / (1.0 + np.exp(-gate)) * up


def rope_(x, positions, theta):
    """Rotates the halves of each head of x [rows, heads, head_dim] in place."""
    half = x.shape[-1] // 2
    freqs = theta ** (-np.arange(half, dtype=np.float64) / half)
    angles = positions[:, None] * freqs
    cos = np.cos(angles).astype(np.float32)[:, None, :]
    sin = np.sin(angles).astype(np.float32)[:, None, :]
    first, second = x[..., :half], x[..., half:]
    turned = first * sin + second * cos
    first *= cos
    first -= second * sin
    second[...] = turned


def scatter_rows(cache, slots, rows):
    """Row i goes to slot slots[i]; cache is [blocks, block_size, heads, head_dim]."""
    flat = cache.reshape(-1, *cache.shape[2:])
    flat[slots] = rows


def causal_attention(out, q, k, v):
    """Row i attends to rows 0..i; q [n, heads, d], k and v [n, kv_heads, d]."""
    n, heads, dim = q.shape
    groups = k.shape[1]
    q = q.reshape(n, groups, heads // groups, dim)
    scores = np.einsum("nkgd,mkd->nkgm", q, k) / np.float32(np.sqrt(dim))
    visible = np.arange(n)[None, :] <= np.arange(n)[:, None]
    scores = np.where(visible[:, None, None, :], scores, np.float32(-np.inf))
    out[...] = np.einsum("nkgm,mkd->nkgd", _softmax(scores), v).reshape(n, heads, dim)


def paged_attention(out, q, k_cache, v_cache, tables, lengths):
    """Row i attends to the first lengths[i] positions of the blocks tables[i]."""
    n, heads, dim = q.shape
    groups = k_cache.shape[2]
    span = tables.shape[1] * k_cache.shape[1]
    k = k_cache[tables].reshape(n, span, groups, dim)
    v = v_cache[tables].reshape(n, span, groups, dim)
    q = q.reshape(n, groups, heads // groups, dim)
    scores = np.einsum("nkgd,nmkd->nkgm", q, k) / np.float32(np.sqrt(dim))
    visible = np.arange(span)[None, :] < np.maximum(lengths, 1)[:, None]
    scores = np.where(visible[:, None, None, :], scores, np.float32(-np.inf))
    out[...] = np.einsum("nkgm,nmkd->nkgd", _softmax(scores), v).reshape(n, heads, dim)


KERNELS = {
    "embedding": embedding,
    "take_rows": take_rows,
    "rmsnorm": rmsnorm,
    "linear": linear,
    "add_": add_,
    "swiglu": swiglu,
    "rope_": rope_,
    "scatter_rows": scatter_rows,
    "causal_attention": causal_attention,
    "paged_attention": paged_attention,
}
