"""The base of all layers: a tree of modules and parameters."""

from __future__ import annotations

from typing import Iterator

import numpy as np

from tandem.nn.parameter import Parameter


class Module:
    """Parameters and modules set as attributes are found in the order they were set.

    ``forward(x)`` returns the output and, while ``training``, keeps what
    ``backward`` needs. ``backward(dout)`` returns the gradient with regard to
    ``x`` and hands every parameter it used its contribution; it is linear in
    ``dout``. Backward passes undo forward passes in the opposite order, so a
    layer may be used several times in one pass.
    """

    def __init__(self) -> None:
        object.__setattr__(self, "_parameters", {})
        object.__setattr__(self, "_children", {})
        self.training = True
        self._saved: list = []

    def __setattr__(self, name: str, value) -> None:
        if isinstance(value, Parameter):
            self._parameters[name] = value
        elif isinstance(value, Module):
            self._children[name] = value
        object.__setattr__(self, name, value)

    # -- passes ----------------------------------------------------------
    def forward(self, x: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def backward(self, dout: np.ndarray) -> np.ndarray | None:
        raise NotImplementedError

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return self.forward(x)

    def _save(self, *values) -> None:
        if self.training:
            self._saved.append(values)

    def _load(self) -> tuple:
        if not self._saved:
            raise RuntimeError(f"{type(self).__name__}: backward without a forward in training mode")
        return self._saved.pop()

    def _use(self, parameter: Parameter) -> np.ndarray:
        return parameter.use() if self.training else parameter.data

    # -- the tree --------------------------------------------------------
    def modules(self) -> Iterator["Module"]:
        """This module and all below, each once."""
        seen: set[int] = set()
        stack = [self]
        while stack:
            module = stack.pop()
            if id(module) in seen:
                continue
            seen.add(id(module))
            yield module
            stack.extend(reversed(list(module._children.values())))

    def named_parameters(self, prefix: str = "") -> list[tuple[str, Parameter]]:
        """(path, parameter) in the order of registration; a shared one only under its first path."""
        found: list[tuple[str, Parameter]] = []
        seen: set[int] = set()
        self._collect(prefix, found, seen)
        return found

    def _collect(self, prefix: str, found: list, seen: set[int]) -> None:
        for name, parameter in self._parameters.items():
            if id(parameter) not in seen:
                seen.add(id(parameter))
                found.append((prefix + name, parameter))
        for name, child in self._children.items():
            child._collect(f"{prefix}{name}.", found, seen)

    def parameters(self) -> list[Parameter]:
        return [parameter for _, parameter in self.named_parameters()]

    def zero_grad(self) -> None:
        for parameter in self.parameters():
            parameter.zero_grad()

    def train(self, mode: bool = True) -> "Module":
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> "Module":
        return self.train(False)

    # -- checkpoints -----------------------------------------------------
    def state_dict(self) -> dict[str, np.ndarray]:
        return {name: parameter.data.copy() for name, parameter in self.named_parameters()}

    def load_state_dict(self, state: dict[str, np.ndarray]) -> None:
        own = dict(self.named_parameters())
        if own.keys() != state.keys():
            raise KeyError(f"state does not fit: {sorted(own.keys() ^ state.keys())}")
        for name, parameter in own.items():
            if state[name].shape != parameter.shape:
                raise ValueError(f"{name}: shape {state[name].shape} for {parameter.shape}")
            parameter.data = state[name].astype(parameter.dtype)
