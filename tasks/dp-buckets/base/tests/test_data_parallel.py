import numpy as np

from tandem.nn import Linear, MSELoss, ReLU, Sequential, Switch
from tandem.parallel import DataParallel


def model_for(group):
    rng = np.random.default_rng(100 + group.rank)
    return DataParallel(Sequential(Linear(4, 8, rng=rng), ReLU(), Linear(8, 2, rng=rng)), group)


def batch_for(group, n=4):
    rng = np.random.default_rng(200 + group.rank)
    return rng.standard_normal((n, 4)).astype(np.float32), rng.standard_normal((n, 2)).astype(np.float32)


def test_parameters_start_equal(group):
    model = model_for(group)
    everywhere = [group.all_gather(p.data) for p in model.parameters()]
    assert all(np.array_equal(parts[0], part) for parts in everywhere for part in parts)


def test_gradients_end_equal(group):
    model = model_for(group)
    x, y = batch_for(group)
    loss = MSELoss()
    loss(model(x), y)
    model.backward(loss.backward())
    everywhere = [group.all_gather(p.grad) for p in model.parameters()]
    assert all(np.array_equal(parts[0], part) for parts in everywhere for part in parts)


def test_one_collective_for_each_parameter(group):
    model = model_for(group)
    x, _ = batch_for(group)
    group.stats.reset()
    model.backward(model(x))
    assert group.stats.snapshot() == {"collectives": 4, "bytes": 4 * (4 * 8 + 8 + 8 * 2 + 2)}


def test_unused_branch_counts_as_zero(group):
    model = DataParallel(Switch(Linear(2, 2), Linear(2, 2)), group)
    model.backward(model(np.ones((1, 2), dtype=np.float32)))
    assert np.array_equal(dict(model.named_parameters())["1.weight"].grad, np.zeros((2, 2)))


def test_state_passes_through(group):
    model = model_for(group)
    state = model.state_dict()
    model.load_state_dict({name: value + 1 for name, value in state.items()})
    assert np.allclose(model.state_dict()["0.bias"], state["0.bias"] + 1)
