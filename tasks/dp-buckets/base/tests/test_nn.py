import numpy as np
import pytest

from tandem.nn import (
    CrossEntropyLoss,
    Embedding,
    LayerNorm,
    Linear,
    MSELoss,
    Parameter,
    ReLU,
    Scale,
    Sequential,
    Switch,
    Tanh,
)


def numeric_gradients(model, loss, x, y, step=1e-6):
    found = {}
    for name, parameter in model.named_parameters():
        grad = np.zeros(parameter.shape)
        for index in np.ndindex(parameter.shape):
            kept = parameter.data[index]
            values = []
            for sign in (1, -1):
                parameter.data[index] = kept + sign * step
                values.append(loss(model(x), y))
            parameter.data[index] = kept
            grad[index] = (values[0] - values[1]) / (2 * step)
        found[name] = grad
    return found


def check_gradients(model, loss, x, y):
    loss(model(x), y)
    model.backward(loss.backward())
    model.eval()
    for name, numeric in numeric_gradients(model, loss, x, y).items():
        grad = dict(model.named_parameters())[name].grad
        assert np.allclose(grad, numeric, atol=1e-6), name


def test_mlp_gradients():
    rng = np.random.default_rng(1)
    model = Sequential(
        Linear(3, 5, dtype=np.float64, rng=rng),
        LayerNorm(5, dtype=np.float64),
        Tanh(),
        Scale(1.5, dtype=np.float64),
        Linear(5, 2, dtype=np.float64, rng=rng),
    )
    check_gradients(model, MSELoss(), rng.standard_normal((4, 3)), rng.standard_normal((4, 2)))


def test_classifier_gradients():
    rng = np.random.default_rng(2)
    model = Sequential(
        Embedding(6, 4, dtype=np.float64, rng=rng), ReLU(), Linear(4, 3, dtype=np.float64, rng=rng)
    )
    check_gradients(model, CrossEntropyLoss(), np.array([0, 5, 5, 2]), np.array([0, 1, 2, 1]))


def test_shared_weight_gets_both_contributions():
    rng = np.random.default_rng(3)
    first = Linear(3, 3, bias=False, dtype=np.float64, rng=rng)
    second = Linear(3, 3, bias=False, weight=first.weight)
    model = Sequential(first, Tanh(), second)
    assert [name for name, _ in model.named_parameters()] == ["0.weight"]
    check_gradients(model, MSELoss(), rng.standard_normal((4, 3)), rng.standard_normal((4, 3)))


def test_outstanding_counts_announced_uses():
    layer = Linear(2, 2, bias=False)
    model = Sequential(layer, layer)
    out = model(np.ones((1, 2), dtype=np.float32))
    seen = []
    layer.weight.register_hook(lambda parameter: seen.append(parameter.outstanding))
    model.backward(out)
    assert seen == [1, 0]


def test_switch_leaves_other_branches_without_gradient():
    model = Switch(Linear(2, 2), Linear(2, 2))
    model.active = 1
    model.backward(model(np.ones((1, 2), dtype=np.float32)))
    assert [name for name, p in model.named_parameters() if p.grad is not None] == ["1.weight", "1.bias"]


def test_hook_can_be_taken_off():
    parameter = Parameter(np.zeros(2))
    calls = []
    remove = parameter.register_hook(calls.append)
    parameter.accumulate(np.ones(2))
    remove()
    parameter.accumulate(np.ones(2))
    assert calls == [parameter] and parameter.grad.tolist() == [2.0, 2.0]


def test_wrong_shape_is_refused():
    with pytest.raises(ValueError):
        Parameter(np.zeros(2)).accumulate(np.zeros(3))


def test_state_round_trip():
    one, two = Sequential(Linear(2, 3), Linear(3, 1)), Sequential(Linear(2, 3), Linear(3, 1))
    for parameter in one.parameters():
        parameter.data += 1
    two.load_state_dict(one.state_dict())
    x = np.ones((2, 2), dtype=np.float32)
    assert np.array_equal(one(x), two(x))
