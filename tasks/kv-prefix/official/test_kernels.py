import numpy as np
import pytest

from pagelm import ops


def rand(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def test_paged_attention_equals_causal_attention():
    n, heads, groups, dim, block = 7, 4, 2, 8, 4
    q, k, v = rand(n, heads, dim), rand(n, groups, dim, seed=1), rand(n, groups, dim, seed=2)
    dense = np.zeros_like(q)
    ops.causal_attention(dense, q, k, v)
    k_cache = np.zeros((4, block, groups, dim), dtype=np.float32)
    v_cache = np.zeros_like(k_cache)
    table = [2, 0]
    slots = np.array([table[p // block] * block + p % block for p in range(n)])
    ops.scatter_rows(k_cache, slots, k)
    ops.scatter_rows(v_cache, slots, v)
    paged = np.zeros_like(q)
    tables = np.tile(np.array(table), (n, 1))
    ops.paged_attention(paged, q, k_cache, v_cache, tables, np.arange(1, n + 1))
    np.testing.assert_allclose(paged, dense, atol=1e-5)


def test_rope_keeps_norms_and_position_zero():
    x = rand(3, 2, 8)
    y = x.copy()
    ops.rope_(y, np.array([0, 5, 9]), 1000.0)
    np.testing.assert_allclose(y[0], x[0], atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(y, axis=-1), np.linalg.norm(x, axis=-1), rtol=1e-5)
    assert np.abs(y[1] - x[1]).max() > 0.1


def test_shapes_are_checked():
    with pytest.raises(ValueError):
        ops.linear(rand(2, 3), rand(2, 4), rand(5, 3))
    with pytest.raises(ValueError):
        ops.add_(rand(2, 3), rand(3, 2))
