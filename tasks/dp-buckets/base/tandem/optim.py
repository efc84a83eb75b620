"""Optimizers. A parameter whose ``grad`` is None is left alone, its state included."""

from __future__ import annotations

import numpy as np

from tandem.nn.parameter import Parameter


class Optimizer:
    def __init__(self, parameters: list[Parameter], lr: float) -> None:
        if lr <= 0:
            raise ValueError("lr must be positive")
        self.parameters = list(parameters)
        self.lr = lr
        self.state: dict[int, dict[str, np.ndarray]] = {}

    def step(self) -> None:
        for index, parameter in enumerate(self.parameters):
            if parameter.grad is not None:
                self._update(parameter, self.state.setdefault(index, {}))

    def _update(self, parameter: Parameter, state: dict) -> None:
        raise NotImplementedError

    def zero_grad(self) -> None:
        for parameter in self.parameters:
            parameter.zero_grad()


class SGD(Optimizer):
    def __init__(self, parameters, lr: float, momentum: float = 0.0, weight_decay: float = 0.0) -> None:
        super().__init__(parameters, lr)
        self.momentum = momentum
        self.weight_decay = weight_decay

    def _update(self, parameter: Parameter, state: dict) -> None:
        grad = parameter.grad
        if self.weight_decay:
            grad = grad + self.weight_decay * parameter.data
        if self.momentum:
            velocity = state.get("velocity")
            grad = grad if velocity is None else self.momentum * velocity + grad
            state["velocity"] = np.array(grad)
        parameter.data = np.asarray(parameter.data - self.lr * grad, dtype=parameter.dtype)


class Adam(Optimizer):
    def __init__(self, parameters, lr: float, betas=(0.9, 0.999), eps: float = 1e-8) -> None:
        super().__init__(parameters, lr)
        self.betas = betas
        self.eps = eps

    def _update(self, parameter: Parameter, state: dict) -> None:
        first, second = self.betas
        if not state:
            state.update(mean=np.zeros(parameter.shape), square=np.zeros(parameter.shape), steps=0)
        grad = parameter.grad.astype(np.float64)
        state["steps"] += 1
        state["mean"] = first * state["mean"] + (1 - first) * grad
        state["square"] = second * state["square"] + (1 - second) * grad**2
        mean = state["mean"] / (1 - first ** state["steps"])
        square = state["square"] / (1 - second ** state["steps"])
        step = self.lr * mean / (np.sqrt(square) + self.eps)
        parameter.data = np.asarray(parameter.data - step, dtype=parameter.dtype)


def clip_grad_norm(parameters: list[Parameter], max_norm: float) -> float:
    """Scale all gradients down together, in place, so that their norm is at most ``max_norm``; returns the norm before."""
    grads = [parameter.grad for parameter in parameters if parameter.grad is not None]
    norm = float(np.sqrt(sum(float((grad.astype(np.float64) ** 2).sum()) for grad in grads)))
    if norm > max_norm > 0:
        for grad in grads:
            grad *= max_norm / norm
    return norm
