import numpy as np
import pytest

from tandem.nn import Linear, MSELoss, ReLU, Sequential, Switch
from tandem.parallel import DataParallel


def model_for(group, **options):
    rng = np.random.default_rng(100 + group.rank)
    return DataParallel(Sequential(Linear(4, 8, rng=rng), ReLU(), Linear(8, 2, rng=rng)), group, **options)


def batch_for(group, n=4, turn=0):
    rng = np.random.default_rng(200 + group.rank + 10 * turn)
    return rng.standard_normal((n, 4)).astype(np.float32), rng.standard_normal((n, 2)).astype(np.float32)


def backward(model, x, y):
    loss = MSELoss()
    loss(model(x), y)
    return model.backward(loss.backward())


def equal_on_all_ranks(group, arrays):
    everywhere = [group.all_gather(array) for array in arrays]
    return all(np.array_equal(parts[0], part) for parts in everywhere for part in parts)


def test_parameters_start_equal(group):
    model = model_for(group)
    assert equal_on_all_ranks(group, [p.data for p in model.parameters()])


@pytest.mark.parametrize("bucket_bytes", [64, 200, 1 << 20])
def test_gradients_end_equal(group, bucket_bytes):
    model = model_for(group, bucket_bytes=bucket_bytes)
    backward(model, *batch_for(group))
    samples = model.finish()
    assert samples == 4 * group.world_size
    assert equal_on_all_ranks(group, [p.grad for p in model.parameters()])
    for parameter in model.parameters():
        assert parameter.grad.shape == parameter.shape
        assert parameter.grad.dtype == parameter.dtype
        assert np.abs(parameter.grad).sum() > 0


def test_backward_returns_the_input_gradient(group):
    model = model_for(group)
    x, y = batch_for(group)
    dx = backward(model, x, y)
    model.finish()
    assert dx.shape == x.shape


def test_no_sync_sends_nothing(group):
    model = model_for(group)
    group.stats.reset()
    with model.no_sync():
        backward(model, *batch_for(group))
    assert group.stats.collectives == 0
    backward(model, *batch_for(group, turn=1))
    assert model.finish() == 8 * group.world_size
    assert group.stats.collectives > 0
    assert equal_on_all_ranks(group, [p.grad for p in model.parameters()])


def test_unused_branch_has_no_gradient(group):
    model = DataParallel(Switch(Linear(2, 2), Linear(2, 2)), group, bucket_bytes=24)
    model.backward(model(np.ones((1, 2), dtype=np.float32)))
    model.finish()
    named = dict(model.named_parameters())
    assert named["1.weight"].grad is None and named["1.bias"].grad is None
    assert named["0.weight"].grad.shape == (2, 2)


def test_two_windows(group):
    model = model_for(group, bucket_bytes=100)
    for turn in range(2):
        model.zero_grad()
        backward(model, *batch_for(group, turn=turn))
        assert model.finish() == 4 * group.world_size
        assert all(np.isfinite(p.grad).all() for p in model.parameters())


def test_backward_after_a_synchronising_backward_is_refused(group):
    model = model_for(group)
    backward(model, *batch_for(group))
    with pytest.raises(RuntimeError):
        backward(model, *batch_for(group))
    model.finish()


def test_state_passes_through(group):
    model = model_for(group)
    state = model.state_dict()
    model.load_state_dict({name: value + 1 for name, value in state.items()})
    assert np.allclose(model.state_dict()["0.bias"], state["0.bias"] + 1)
