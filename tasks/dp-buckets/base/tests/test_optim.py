import numpy as np
import pytest

from tandem.nn import Parameter
from tandem.optim import SGD, Adam, clip_grad_norm


def test_sgd_with_momentum():
    parameter = Parameter(np.array([1.0]))
    optimizer = SGD([parameter], lr=0.1, momentum=0.5)
    for _ in range(2):
        parameter.grad = np.array([1.0])
        optimizer.step()
    assert np.allclose(parameter.data, 1.0 - 0.1 - 0.15)


def test_adam_moves_against_the_gradient():
    parameter = Parameter(np.array([1.0, -1.0]))
    optimizer = Adam([parameter], lr=0.01)
    parameter.grad = np.array([2.0, -3.0])
    optimizer.step()
    assert np.allclose(parameter.data, [0.99, -0.99])


def test_without_gradient_nothing_moves():
    parameter = Parameter(np.array([1.0]))
    SGD([parameter], lr=0.1, weight_decay=0.5).step()
    assert parameter.data.tolist() == [1.0]


def test_clip():
    parameter = Parameter(np.zeros(2))
    parameter.grad = np.array([3.0, 4.0])
    assert clip_grad_norm([parameter], 1.0) == pytest.approx(5.0)
    assert np.allclose(parameter.grad, [0.6, 0.8])
