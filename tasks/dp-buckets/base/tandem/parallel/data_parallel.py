"""The same model on every rank, fed with different samples."""

from __future__ import annotations

import numpy as np

from tandem.nn.module import Module
from tandem.nn.parameter import Parameter


class DataParallel:
    """Wraps a module so that all ranks end a backward pass with the same gradients.

    Rank 0's parameters are sent to all ranks first. After each backward pass
    every gradient is averaged over the ranks on its own, in the order of
    ``named_parameters()``; a gradient that a rank does not have counts as zero
    there. All ranks are taken to have seen equally many samples.
    """

    def __init__(self, module: Module, group) -> None:
        self.module = module
        self.group = group
        for parameter in module.parameters():
            parameter.data = group.broadcast(parameter.data)

    def forward(self, x: np.ndarray) -> np.ndarray:
        return self.module(x)

    __call__ = forward

    def backward(self, dout: np.ndarray) -> np.ndarray | None:
        """Run the module's backward and average the gradients over the ranks."""
        dx = self.module.backward(dout)
        for parameter in self.module.parameters():
            grad = np.zeros_like(parameter.data) if parameter.grad is None else parameter.grad
            parameter.grad = self.group.all_reduce(grad, op="mean")
        return dx

    # -- the module's own ------------------------------------------------
    def parameters(self) -> list[Parameter]:
        return self.module.parameters()

    def named_parameters(self) -> list[tuple[str, Parameter]]:
        return self.module.named_parameters()

    def zero_grad(self) -> None:
        self.module.zero_grad()

    def train(self, mode: bool = True) -> "DataParallel":
        self.module.train(mode)
        return self

    def eval(self) -> "DataParallel":
        return self.train(False)

    def state_dict(self) -> dict[str, np.ndarray]:
        return self.module.state_dict()

    def load_state_dict(self, state: dict[str, np.ndarray]) -> None:
        self.module.load_state_dict(state)
