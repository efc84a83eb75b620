"""The mean over all samples of all ranks."""

import numpy as np
import pytest

from probes.support import (
    SINGLE,
    Columns,
    close,
    columns_expected,
    columns_pass,
    data,
    gradients,
    run_pass,
    whole,
    wrapped,
)
from tandem.nn import Embedding, Linear, Sequential


def test_equal_samples_give_the_plain_mean(group):
    """Gradients 2, 6, 10... on the ranks: their mean, not their sum, and the same on every rank."""
    model = wrapped(group, Columns([1, 4, 3]), bucket_bytes=20)
    mine = 2.0 + 4.0 * group.rank
    columns_pass(model, [mine, -mine, 3 * mine], samples=5)
    samples = int(model.finish())
    found = gradients(model)
    same = group.same_arrays(found)
    mean = float(np.mean([2.0 + 4.0 * rank for rank in range(group.world_size)]))
    close(found, columns_expected(model.module, [mean, -mean, 3 * mean]), SINGLE)
    assert samples == 5 * group.world_size
    assert same


@pytest.mark.parametrize("cap", [1, 100, 1 << 20])
def test_unequal_batches_match_the_whole_batch(group, cap):
    lengths = [1 + 4 * ((rank + 1) % 3) for rank in range(group.world_size)]
    parts = [data(rank, n) for rank, n in enumerate(lengths)]
    model = wrapped(group, bucket_bytes=cap)
    run_pass(model, *parts[group.rank])
    samples = int(model.finish())
    close(gradients(model), whole(model.state_dict(), parts), SINGLE)
    assert samples == sum(lengths)


def test_samples_need_not_be_the_length_of_dout(group):
    """Rows of dout are not always samples: a sample may be several rows, or a row several samples."""
    rows = [6, 2, 4]
    samples = [3, 8, 1]
    n = group.world_size
    model = wrapped(group, Linear(2, 1, bias=False, dtype=np.float32))
    x = [np.random.default_rng([5, rank]).standard_normal((rows[rank % 3], 2)) for rank in range(n)]
    dout = [np.random.default_rng([6, rank]).standard_normal((rows[rank % 3], 1)) for rank in range(n)]
    model(x[group.rank].astype(np.float32))
    model.backward(dout[group.rank].astype(np.float32), samples=samples[group.rank % 3])
    total = int(model.finish())
    weights = [samples[rank % 3] for rank in range(n)]
    right = sum(w * (x[rank].T @ dout[rank]) for rank, w in enumerate(weights)) / sum(weights)
    first = gradients(model)
    # counts of tokens rather than of rows, together beyond what single precision and 32 bits can count
    large = []
    for least in ((1 << 24) + 1, (1 << 31) - 1 - 2 * n):
        many = [least + 2 * rank for rank in range(n)]
        model(x[group.rank].astype(np.float32))
        model.backward(dout[group.rank].astype(np.float32), samples=many[group.rank])
        large.append((many, int(model.finish()), gradients(model)))
    close(first, {"weight": right}, SINGLE)
    assert total == sum(weights)
    for many, total, found in large:
        right = sum(w * (x[rank].T @ dout[rank]) for rank, w in enumerate(many)) / sum(many)
        close(found, {"weight": right}, SINGLE)
        assert total == sum(many)


def test_backward_returns_the_ranks_own_input_gradient(group):
    """Not weighted, not averaged, in every mode; also from a pass that counts for nothing."""
    module = Linear(3, 2, bias=False, dtype=np.float32)
    model = wrapped(group, module)
    rng = np.random.default_rng([8, group.rank])
    found, right = [], []
    for turn, samples in enumerate((7, 0, None)):
        dout = rng.standard_normal((4, 2)).astype(np.float32)
        right.append(dout.astype(np.float64) @ module.weight.data.astype(np.float64).T)
        x = np.ones((4, 3), dtype=np.float32)
        if turn < 2:
            with model.no_sync():
                model(x)
                found.append(model.backward(dout, samples=samples))
        else:
            model(x)
            found.append(model.backward(dout))
    model.finish()
    # nothing to return: also right
    words = wrapped(group, Sequential(Embedding(4, 2), Linear(2, 1, bias=False)))
    words(np.array([0, 3, 3]))
    nothing = words.backward(np.ones((3, 1), dtype=np.float32), samples=2)
    words.finish()
    for got, expected in zip(found, right):
        assert np.abs(np.array(got, dtype=np.float64) - expected).max() < 1e-5
    assert nothing is None


@pytest.mark.parametrize("how", ["not a number", "finite", "no rows", "no backward"])
def test_a_rank_without_samples_adds_nothing(group, how):
    """The last rank has run out of data; the mean is that of the others."""
    n = group.world_size
    out_of_data = n - 1
    model = wrapped(group, bucket_bytes=100)
    parts = [data(rank, 2 + 3 * rank) for rank in range(n - 1)]
    if group.rank != out_of_data:
        run_pass(model, *parts[group.rank])
    elif how == "not a number" or how == "finite":
        model(np.zeros((1, 3), dtype=np.float32))
        value = np.nan if how == "not a number" else 1e3
        model.backward(np.full((1, 2), value, dtype=np.float32), samples=0)
    elif how == "no rows":
        model(np.zeros((0, 3), dtype=np.float32))
        model.backward(np.zeros((0, 2), dtype=np.float32))
    samples = int(model.finish())
    found = gradients(model)
    same = group.same_arrays(found)
    close(found, whole(model.state_dict(), parts), SINGLE)
    assert samples == sum(len(x) for x, _ in parts)
    assert same


def test_no_samples_on_any_rank(group):
    """Nothing to average: no gradients; and the next window is a normal one."""
    model = wrapped(group, bucket_bytes=100)
    if group.rank == 0:
        model(np.zeros((1, 3), dtype=np.float32))
        model.backward(np.full((1, 2), np.nan, dtype=np.float32), samples=0)
    nothing = int(model.finish())
    before = gradients(model)
    parts = [data(rank, 3) for rank in range(group.world_size)]
    run_pass(model, *parts[group.rank])
    samples = int(model.finish())
    found = gradients(model)
    # nor now that a window has left gradients: nobody runs anything
    nothing_again = int(model.finish())
    after = gradients(model)
    assert nothing == nothing_again == 0
    assert all(value is None for value in before.values())
    assert all(value is None for value in after.values())
    close(found, whole(model.state_dict(), parts), SINGLE)
    assert samples == sum(len(x) for x, _ in parts)


def test_not_a_number_from_a_rank_with_samples_shows_everywhere(group):
    """Whoever looks for it after finish() must find it, on every rank, where it was and only there."""
    model = wrapped(group, Columns([3, 2]), bucket_bytes=64)
    value = np.nan if group.rank == group.world_size - 1 else 1.0
    columns_pass(model, [value, 2.0], samples=1 + group.rank)
    model.finish()
    found = gradients(model)
    columns_pass(model, [1.0, 2.0], samples=1 + group.rank)
    model.finish()
    after = gradients(model)
    assert found["p0.weight"] is not None and np.isnan(found["p0.weight"]).all()
    close({"p1.weight": found["p1.weight"]}, {"p1.weight": np.full((2, 1), 2.0)}, SINGLE)
    close(after, columns_expected(model.module, [1.0, 2.0]), SINGLE)
