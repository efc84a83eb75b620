"""Training on all ranks against training in one place."""

import numpy as np
import pytest

from probes.support import most_buckets, network, plain, reference, run_pass, wrapped
from tandem.data import ShardedBatches
from tandem.nn import Linear, Module, MSELoss, Sequential
from tandem.optim import SGD
from tandem.train import Trainer

LR, MOMENTUM = 0.3, 0.9


def problem():
    rng = np.random.default_rng(61)
    x = rng.standard_normal((40, 3))
    return x, np.sin(x @ rng.standard_normal((3, 2)))


def batches_for(rank, world_size):
    """Seven batches of 6, 6, 6, 6, 6, 6, 4 samples, torn into uneven parts; one rank has nothing in some of them."""
    x, y = problem()
    rng = np.random.default_rng(62)
    made = []
    for start in range(0, 40, 6):
        chosen = np.arange(start, min(start + 6, 40))
        cuts = np.sort(rng.integers(0, len(chosen) + 1, world_size - 1))
        part = np.split(chosen, cuts)[rank]
        made.append((x[part], y[part]))
    return made


def alone(state, windows, max_norm):
    """One process, double precision, whole windows: gradient of the mean, clipping, momentum."""
    state = {name: value.astype(np.float64) for name, value in state.items()}
    velocity = {}
    for x, y in windows:
        grads = reference(state, x, y)
        norm = np.sqrt(sum((grad**2).sum() for grad in grads.values()))
        if max_norm is not None and norm > max_norm:
            grads = {name: grad * (max_norm / norm) for name, grad in grads.items()}
        for name, grad in grads.items():
            velocity[name] = MOMENTUM * velocity.get(name, 0.0) + grad
            state[name] = state[name] - LR * velocity[name]
    return state


@pytest.mark.parametrize("accumulate, max_norm", [(1, None), (3, None), (2, 0.3), (20, None)])
def test_training_matches_one_process(group, accumulate, max_norm):
    """Uneven and empty parts, several batches in an update, a rest at the end, two passes over the data."""
    model = wrapped(group, network(dtype=np.float64), bucket_bytes=150)
    trainer = Trainer(
        model, SGD(model.parameters(), lr=LR, momentum=MOMENTUM), MSELoss(), max_norm=max_norm, accumulate=accumulate
    )
    start = model.state_dict()
    mine = batches_for(group.rank, group.world_size)
    with np.errstate(all="ignore"):
        losses = [trainer.run(mine) for _ in range(2)]
    end = {name: plain(value) for name, value in model.state_dict().items()}
    updates = int(trainer.updates)
    same = group.same_arrays(end)

    x, y = problem()
    batches = [np.arange(a, min(a + 6, 40)) for a in range(0, 40, 6)]
    windows = [np.concatenate(batches[i : i + accumulate]) for i in range(0, len(batches), accumulate)]
    expected = alone(start, [(x[w], y[w]) for w in windows] * 2, max_norm)
    assert sorted(end) == sorted(expected)
    for name, right in expected.items():
        # double precision, fourteen updates with momentum: rounding stays far below this
        assert np.abs(end[name] - right).max() <= 1e-9, name
    assert updates == 2 * len(windows)
    assert same
    for run in losses:
        assert [bool(np.isfinite(value)) for value in run] == [len(part) > 0 for part, _ in mine]


@pytest.mark.parametrize("left", ["nothing", "a window", "gradients"])
@pytest.mark.parametrize("how", ["run", "step"])
def test_an_update_is_made_from_its_own_batches(group, how, left):
    """A window that somebody began before, or what an earlier window left, has no part in it."""
    x, y = problem()
    model = wrapped(group, network(dtype=np.float64), bucket_bytes=150)
    start = model.state_dict()
    trainer = Trainer(model, SGD(model.parameters(), lr=LR, momentum=MOMENTUM), MSELoss())
    other = slice(20 + 2 * group.rank, 22 + 2 * group.rank)
    # the last rank has nothing in the batches
    ranks = max(group.world_size - 1, 1)
    losses = []
    for turn in range(2):
        if left == "a window":
            with model.no_sync():
                run_pass(model, x[other], y[other])
        elif left == "gradients":
            run_pass(model, x[other], y[other])
            model.finish()
        part = np.array_split(np.arange(6) + 6 * turn, ranks)
        mine = part[group.rank] if group.rank < ranks else np.arange(0)
        with np.errstate(all="ignore"):
            if how == "run":
                losses += [float(value) for value in trainer.run([(x[mine], y[mine])])]
            else:
                losses.append(float(trainer.step(x[mine], y[mine])))
    end = {name: plain(value) for name, value in model.state_dict().items()}
    same = group.same_arrays(end)
    expected = alone(start, [(x[:6], y[:6]), (x[6:12], y[6:12])], None)
    assert sorted(end) == sorted(expected)
    for name, right in expected.items():
        assert np.abs(end[name] - right).max() <= 1e-9, name
    assert same and int(trainer.updates) == 2
    assert [bool(np.isnan(value)) for value in losses] == [group.rank >= ranks] * 2


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


@pytest.mark.parametrize("accumulate", [1, 3])
def test_buckets_travel_while_the_trainer_runs(group, accumulate):
    """Before the first layer of an update's last batch, what is behind it is on its way; not before that batch."""
    rng = np.random.default_rng(63)
    first = Spy(group)
    layers = [Linear(8, 8, bias=False, dtype=np.float64, rng=rng) for _ in range(4)]
    module = Sequential(layers[0], first, *layers[1:])
    model = wrapped(group, module, bucket_bytes=8 * 8 * 8)
    trainer = Trainer(model, SGD(model.parameters(), lr=LR), MSELoss(), accumulate=accumulate)
    x = np.random.default_rng([64, group.rank]).standard_normal((2 * accumulate, 2, 8))
    weights = [plain(layer.weight.data) for layer in layers]
    losses = [float(value) for value in trainer.run([(part, 0.5 * part) for part in x])]
    before = 0
    for turn, seen in enumerate(first.seen):
        if turn % accumulate < accumulate - 1:
            assert seen == before, f"bytes were sent in batch {turn} of the run"
        else:
            assert seen - before >= 3 * 8 * 8 * 8, f"only {seen - before} bytes before the first layer in batch {turn}"
            before = (turn + 1) // accumulate * group.payload() // 2
    assert len(first.seen) == 2 * accumulate and int(trainer.updates) == 2
    # and the sums that travelled are the right ones
    everyone = [np.random.default_rng([64, rank]).standard_normal(x.shape) for rank in range(group.world_size)]
    for update in range(2):
        batch = np.concatenate([own[update * accumulate : (update + 1) * accumulate] for own in everyone])
        batch = batch.reshape(-1, 8)
        inputs = [batch]
        for weight in weights:
            inputs.append(inputs[-1] @ weight)
        delta = 2.0 * (inputs[-1] - 0.5 * batch) / batch.size
        for index in reversed(range(4)):
            step = inputs[index].T @ delta
            delta = delta @ weights[index].T
            weights[index] = weights[index] - LR * step
    for layer, weight in zip(layers, weights):
        assert np.abs(plain(layer.weight.data) - weight).max() <= 1e-9
    assert all(np.isfinite(losses)) and len(losses) == 2 * accumulate


def test_an_update_costs_one_window(group):
    """Collectives by updates, not by batches; and the first loss is the rank's own."""
    x, y = problem()
    model = wrapped(group, network(dtype=np.float64), bucket_bytes=150)
    start = model.state_dict()
    trainer = Trainer(model, SGD(model.parameters(), lr=LR, momentum=MOMENTUM), MSELoss(), accumulate=4)
    batches = ShardedBatches(x, y, 5, group.rank, group.world_size, even=False)
    with np.errstate(all="ignore"):
        losses = trainer.run(batches)
    calls = group.count()
    end = {name: plain(value) for name, value in model.state_dict().items()}
    group.forget()
    trainer.step(*next(iter(batches)))
    calls_of_step = group.count()
    updates = int(trainer.updates)
    expected = alone(start, [(x[:20], y[:20]), (x[20:], y[20:])], None)
    for name, right in expected.items():
        assert np.abs(end[name] - right).max() <= 1e-9, name
    limit = most_buckets(model.module, 150) + 2
    assert calls <= 2 * limit
    assert calls_of_step <= limit
    assert updates == 3 and len(losses) == 8
