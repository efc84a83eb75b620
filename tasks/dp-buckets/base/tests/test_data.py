import numpy as np
import pytest

from tandem.data import ShardedBatches


def parts(**kw):
    x = np.arange(11)
    return [[len(a) for a, _ in ShardedBatches(x, x, 4, rank, 3, **kw)] for rank in range(3)]


def test_even_shards():
    assert parts() == [[1, 1, 1], [1, 1, 1], [1, 1, 1]]


def test_uneven_shards_leave_nothing_out():
    assert parts(even=False) == [[2, 2, 1], [1, 1, 1], [1, 1, 1]]


def test_shuffle_is_alike_on_all_ranks():
    x = np.arange(12)
    one, two = (ShardedBatches(x, x, 4, rank, 2, seed=3) for rank in range(2))
    for _ in range(2):
        seen = [int(v) for batches in (list(one), list(two)) for a, _ in batches for v in a]
        assert sorted(seen) == list(range(12))


def test_too_small_a_batch():
    with pytest.raises(ValueError):
        ShardedBatches(np.zeros(4), np.zeros(4), 1, 0, 2)
