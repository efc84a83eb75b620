"""What is complete when, and on which rank."""

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
from tandem.nn import Linear, Module, MSELoss, Sequential, Switch, Tanh
from tandem.optim import SGD


class Spy(Module):
    """Passes everything on; its backward writes down how many bytes the group has been handed by then."""

    def __init__(self, group):
        super().__init__()
        self.group = group
        self.seen = []

    def forward(self, x):
        return x

    def backward(self, dout):
        self.seen.append(self.group.payload())
        return dout


@pytest.mark.parametrize("layers_in_bucket", [1, 2])
def test_buckets_travel_while_backward_is_running(group, layers_in_bucket):
    """Before the backward of a layer, all full buckets of later layers have been handed to the group."""
    count, width = 6, 8
    nbytes = width * width * 4
    rng = np.random.default_rng(21)
    spies = [Spy(group) for _ in range(count)]
    layers = [Linear(width, width, bias=False, rng=rng) for _ in range(count)]
    module = Sequential(*[piece for pair in zip(layers, spies) for piece in pair])
    model = wrapped(group, module, bucket_bytes=layers_in_bucket * nbytes)
    seen, found, right = [], [], []
    for turn in range(3):
        lengths = [2 + turn] * group.world_size
        x = [np.random.default_rng([22, rank, turn]).standard_normal((n, width)) for rank, n in enumerate(lengths)]
        if turn == 2:  # a window with a quiet pass before
            with model.no_sync():
                model(np.zeros((2, width), dtype=np.float32))
                model.backward(np.zeros((2, width), dtype=np.float32))
            lengths = [n + 2 for n in lengths]
        for spy in spies:
            spy.seen.clear()
        group.forget()
        model(x[group.rank].astype(np.float32))
        model.backward(np.full((len(x[group.rank]), width), 1.0 / len(x[group.rank]), dtype=np.float32))
        model.finish()
        found.append(gradients(model))
        seen.append([spy.seen[0] for spy in spies])
        right.append(stack_reference(layers, x, sum(lengths)))
    for got, expected in zip(found, right):
        close(got, expected, SINGLE)
    assert group.only_from_here()
    for window in seen:
        # spy k stands behind layer k: the layers after it are complete
        for k, payload in enumerate(window):
            full = (count - 1 - k) // layers_in_bucket
            assert payload >= full * layers_in_bucket * nbytes, f"only {payload} bytes before layer {k}"


def stack_reference(layers, x, total):
    """Gradients of sum over samples of sum(out) / total for linear layers one after another."""
    weights = [layer.weight.data.astype(np.float64) for layer in layers]
    h, inputs = np.concatenate(x), []
    for w in weights:
        inputs.append(h)
        h = h @ w
    delta = np.full(h.shape, 1.0 / total)
    expected = {}
    for index in reversed(range(len(weights))):
        expected[f"{2 * index}.weight"] = inputs[index].T @ delta
        delta = delta @ weights[index].T
    return expected


@pytest.mark.parametrize("cap", [1, 80, 1 << 20])
@pytest.mark.parametrize("kind", ["two layers share", "one layer twice"])
def test_a_shared_weight_is_reduced_with_all_contributions(group, kind, cap):
    """The weight comes up first and last in the backward pass; its bucket has to wait."""
    rng = np.random.default_rng(31)
    first = Linear(4, 4, bias=False, rng=rng)
    middle = Linear(4, 4, bias=False, rng=rng)
    last = Linear(4, 4, bias=False, weight=first.weight) if kind == "two layers share" else first
    # set the shared one last, so that it is in the first bucket to travel
    module = Sequential(middle, last, Tanh(), middle, Tanh(), first)
    model = wrapped(group, module, bucket_bytes=cap)
    names = [name for name, _ in module.named_parameters()]

    def expected(parts):
        a, b = first.weight.data.astype(np.float64), middle.weight.data.astype(np.float64)
        x = np.concatenate([p[0] for p in parts])
        y = np.concatenate([p[1] for p in parts])
        h1 = x @ b
        h2 = np.tanh(h1 @ a)
        h3 = np.tanh(h2 @ b)
        delta = 2.0 * (h3 @ a - y) / y.size
        grad_a = h3.T @ delta
        delta = (delta @ a.T) * (1 - h3**2)
        grad_b = h2.T @ delta
        delta = (delta @ b.T) * (1 - h2**2)
        grad_a = grad_a + h1.T @ delta
        grad_b = grad_b + x.T @ (delta @ a.T)
        return dict(zip(names, (grad_b, grad_a)))

    def part(rank, turn):
        return data(rank, 2 + turn % 2, turn, widths=(4, 4))

    ranks = range(group.world_size)
    for turn in (0, 1):
        run_pass(model, *part(group.rank, turn))
        model.finish()
        close(gradients(model), expected([part(rank, turn) for rank in ranks]), SINGLE)
    with model.no_sync():
        run_pass(model, *part(group.rank, 2))
    run_pass(model, *part(group.rank, 3))
    model.finish()
    close(gradients(model), expected([part(rank, turn) for rank in ranks for turn in (2, 3)]), SINGLE)


@pytest.mark.parametrize("cap", [16, 40, 1 << 20])
def test_ranks_that_use_different_parameters_stay_in_step(group, cap):
    """Which parameters a rank uses changes from rank to rank and from window to window."""
    model = wrapped(group, Columns([4, 4, 4, 4, 4, 4]), bucket_bytes=cap)
    n = group.world_size
    samples = [2 + rank for rank in range(n)]
    for turn in range(4):
        skips = [tuple(i for i in range(6) if (i + rank + turn) % 3 == 0) for rank in range(n)]
        if turn == 3:
            skips = [tuple(range(6)) if rank == 0 else (rank,) for rank in range(n)]
        values = [[(i + 1.0) * (rank + 2.0) for i in range(6)] for rank in range(n)]
        group.forget()
        model.module.skip = skips[group.rank]
        columns_pass(model, values[group.rank], samples=samples[group.rank])
        model.finish()
        alike = group.alike_on_all_ranks()
        found = gradients(model)
        entries = []
        for i in range(6):
            users = [rank for rank in range(n) if i not in skips[rank]]
            mean = sum(samples[rank] * values[rank][i] for rank in users) / sum(samples)
            entries.append(mean if users else None)
        close(found, columns_expected(model.module, entries), SINGLE)
        assert alike


@pytest.mark.parametrize("cap", [16, 32])
def test_ranks_that_complete_in_different_orders_stay_in_step(group, cap):
    """Parameters of one size, so that nothing but the order keeps them apart."""
    model = wrapped(group, Columns([4, 4, 4, 4, 4]), bucket_bytes=cap)
    n = group.world_size
    for turn in range(2):
        values = [[(i + 1.0) * (3.0 * rank + 1.0) for i in range(5)] for rank in range(n)]
        order = list(range(5))
        model.module.order = order[:: -1 if (group.rank + turn) % 2 else 1]
        group.forget()
        if turn == 1:  # passes under no_sync, more on some ranks than on others
            with model.no_sync():
                for _ in range(group.rank):
                    columns_pass(model, values[group.rank], samples=1)
        columns_pass(model, values[group.rank], samples=1)
        model.finish()
        alike = group.alike_on_all_ranks()
        found = gradients(model)
        weights = [1 + turn * rank for rank in range(n)]
        entries = [sum(w * v[i] for w, v in zip(weights, values)) / sum(weights) for i in range(5)]
        close(found, columns_expected(model.module, entries), SINGLE)
        assert alike


def test_without_gradient_on_any_rank_there_is_none(group):
    """Also after a window that left one; so the optimizer leaves the parameter and its state alone."""
    rng = np.random.default_rng(41)
    module = Switch(Linear(3, 2, rng=rng), Linear(3, 2, rng=rng))
    model = wrapped(group, module, bucket_bytes=32)
    optimizer = SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=0.1)
    history = []
    for turn, active in enumerate((0, 0, 1, 0)):
        module.active = active
        before = model.state_dict()
        parts = [data(rank, 2 + turn, turn, widths=(3, 2)) for rank in range(group.world_size)]
        run_pass(model, *parts[group.rank])
        model.finish()
        found = gradients(model)
        optimizer.step()
        history.append((active, before, parts, found, model.state_dict()))
    for active, before, parts, found, after in history:
        x, y = (np.concatenate([part[i] for part in parts]) for i in range(2))
        w, b = (before[f"{active}.{kind}"].astype(np.float64) for kind in ("weight", "bias"))
        delta = 2.0 * (x @ w + b - y) / y.size
        idle = 1 - active
        expected = {
            f"{active}.weight": x.T @ delta,
            f"{active}.bias": delta.sum(axis=0),
            f"{idle}.weight": None,
            f"{idle}.bias": None,
        }
        close(found, expected, SINGLE)
        assert np.array_equal(before[f"{idle}.weight"], after[f"{idle}.weight"])
        assert not np.array_equal(before[f"{active}.weight"], after[f"{active}.weight"])


def test_a_rank_without_a_pass_drops_what_it_had(group):
    """A rank that only finishes: what an earlier window left there is not that window's any more."""
    model = wrapped(group, Columns([3, 2, 4]), bucket_bytes=12)
    n = group.world_size
    for turn in range(3):
        idle = turn if turn < n and n > 1 else None
        model.module.skip = ()
        columns_pass(model, [1.0, 2.0, 3.0], samples=2)
        model.finish()
        model.module.skip = (turn,)
        if group.rank != idle:
            columns_pass(model, [4.0, 5.0, 6.0], samples=3)
        samples = int(model.finish())
        entries = [None if i == turn else 4.0 + i for i in range(3)]
        close(gradients(model), columns_expected(model.module, entries), SINGLE)
        assert samples == 3 * (n - (idle is not None))


def test_a_zero_gradient_is_not_a_missing_one(group):
    """A parameter that was used has an array, also where all entries are zero or cancel over the ranks."""
    model = wrapped(group, Columns([3, 2, 4]), bucket_bytes=20)
    model.module.skip = (2,)
    n = group.world_size
    # zero everywhere; and values that add up to exactly zero with one sample each
    cancel = [1.0, -1.0, 0.0] if n == 3 else [1.0, -1.0][:n] if n == 2 else [0.0] * n
    columns_pass(model, [0.0, cancel[group.rank], 7.0], samples=1)
    model.finish()
    found = gradients(model)
    close(found, columns_expected(model.module, [0.0, 0.0, None]), 0.0)


def test_a_window_mixes_passes_that_use_different_parameters(group):
    """A parameter that only some passes use still counts by all samples of the window."""
    model = wrapped(group, Columns([4, 2, 3]), bucket_bytes=24)
    module, n = model.module, group.world_size
    for _ in range(2):
        with model.no_sync():
            module.skip = (0, 2)
            columns_pass(model, [9.0, 2.0, 9.0], samples=3)
        module.skip = (1, 2)
        columns_pass(model, [6.0 + group.rank, 9.0, 9.0], samples=1)
        model.finish()
        mean = sum(6.0 + rank for rank in range(n)) / (4 * n)
        close(gradients(model), columns_expected(module, [mean, 2.0 * 3 / 4, None]), SINGLE)
