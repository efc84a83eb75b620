"""Precision and range of mixed parameters."""

import numpy as np
import pytest

from probes.support import (
    DOUBLE,
    HALF,
    SINGLE,
    Columns,
    all_bytes,
    close,
    columns_expected,
    columns_pass,
    data,
    gradients,
    network,
    run_pass,
    slack,
    whole,
    wrapped,
)
from tandem.nn import Scale, Sequential, Linear

KINDS = [np.float16, np.float64, np.float32]


@pytest.mark.parametrize("cap", [40, 1 << 20])
def test_every_gradient_keeps_dtype_and_precision(group, cap):
    """Thirds and sevenths in three dtypes side by side, each right to its own precision."""
    dtypes = [KINDS[i % 3] for i in range(7)]
    model = wrapped(group, Columns([3, 5, 2, 4, 1, 6, 2], dtypes), bucket_bytes=cap)
    n = group.world_size
    samples = [7] * n
    values = [[dtypes[i](1.0 / 3 + i / 7 + rank / 11) for i in range(7)] for rank in range(n)]
    for turn in range(2):
        group.forget()
        if turn:
            with model.no_sync():
                columns_pass(model, [float(v) for v in values[group.rank]], samples=samples[group.rank])
        columns_pass(model, [float(v) for v in values[group.rank]], samples=samples[group.rank])
        model.finish()
        payload = group.payload()
        found = gradients(model)
        right = columns_expected(
            model.module,
            [sum(s * float(v[i]) for s, v in zip(samples, values)) / sum(samples) for i in range(7)],
        )
        for i, kind in enumerate(dtypes):
            name = f"p{i}.weight"
            tolerance = {np.float16: HALF, np.float32: SINGLE, np.float64: DOUBLE}[kind]
            assert found[name] is not None and found[name].dtype == np.dtype(kind)
            close({name: found[name]}, {name: right[name]}, tolerance)
        assert payload <= all_bytes(model.module) + slack(model.module)


@pytest.mark.parametrize("passes", [1, 3])
def test_double_precision_through_a_network(group, passes):
    model = wrapped(group, network(dtype=np.float64), bucket_bytes=200)
    everyone = [[data(rank, 2 + k, k) for k in range(passes)] for rank in range(group.world_size)]
    mine = everyone[group.rank]
    with model.no_sync():
        for batch in mine[:-1]:
            run_pass(model, *batch)
    run_pass(model, *mine[-1])
    model.finish()
    found = gradients(model)
    assert all(value is not None and value.dtype == np.float64 for value in found.values())
    close(found, whole(model.state_dict(), [part for batches in everyone for part in batches]), DOUBLE)


@pytest.mark.parametrize("passes", [1, 4])
@pytest.mark.parametrize("size", [0.01, 300.0])
def test_large_counts_keep_half_precision_in_range(group, passes, size):
    """Gradients well inside float16 with thousands of samples: the products would be outside, the quotients lost."""
    model = wrapped(group, Columns([4, 3, 5], [np.float16] * 3), bucket_bytes=16)
    n = group.world_size
    counts = [[5000 + 1000 * rank + 7 * k for k in range(passes)] for rank in range(n)]
    values = [[size * (1 + rank) * (1 + k / 4) for k in range(passes)] for rank in range(n)]

    def one(k):
        v = values[group.rank][k]
        columns_pass(model, [v, -v, v / 2], samples=counts[group.rank][k])

    for _ in range(2):
        with model.no_sync():
            for k in range(passes - 1):
                one(k)
        one(passes - 1)
        samples = int(model.finish())
        found = gradients(model)
        total = sum(map(sum, counts))
        mean = sum(c * v for row in zip(counts, values) for c, v in zip(*row)) / total
        assert all(value is not None and value.dtype == np.float16 for value in found.values())
        close(found, columns_expected(model.module, [mean, -mean, mean / 2]), HALF)
        assert samples == total


def test_a_scalar_parameter_keeps_its_shape(group):
    """Parameters of shape () beside matrices, of another dtype; in place changes reach the optimizer."""
    rng = np.random.default_rng(51)
    module = Sequential(Scale(1.5, dtype=np.float64), Linear(3, 2, bias=False, dtype=np.float64, rng=rng), Scale(0.5))
    model = wrapped(group, module)
    parts = [data(rank, 3, widths=(3, 2)) for rank in range(group.world_size)]
    for turn in range(2):
        run_pass(model, *parts[group.rank])
        model.finish()
        found = gradients(model)
        x, y = (np.concatenate([part[i] for part in parts]) for i in range(2))
        w = module.layers[1].weight.data.astype(np.float64)
        a, b = float(module.layers[0].gain.data), float(module.layers[2].gain.data)
        delta = 2.0 * (a * b * (x @ w) - y) / y.size
        expected = {
            "0.gain": np.array((delta * (b * (x @ w))).sum()),
            "1.weight": a * b * (x.T @ delta),
            "2.gain": np.array((delta * (a * (x @ w))).sum()),
        }
        assert found["0.gain"] is not None and found["0.gain"].dtype == np.float64
        assert found["2.gain"] is not None and found["2.gain"].dtype == np.float32
        close(found, expected, SINGLE)
