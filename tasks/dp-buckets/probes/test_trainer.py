"""Training on all ranks against training in one place."""

import numpy as np
import pytest

from probes.support import most_buckets, network, plain, reference, wrapped
from tandem.data import ShardedBatches
from tandem.nn import MSELoss
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
