"""A trainable array with its gradient and the hooks that watch it."""

from __future__ import annotations

from typing import Callable

import numpy as np


class Parameter:
    """``data`` and ``grad`` (None until a gradient arrives), same dtype and shape.

    A layer announces each use in a training forward pass with ``use()`` and
    hands in one contribution for it in the backward pass with
    ``accumulate()``. A parameter that several layers share gets several
    contributions in one backward pass; ``outstanding`` says how many of the
    announced ones have not come yet.

    Hooks are called as ``hook(parameter)`` after every single contribution.
    """

    def __init__(self, data: np.ndarray) -> None:
        self.data = np.array(data)
        if self.data.dtype.kind != "f":
            raise TypeError(f"a parameter needs a float dtype, not {self.data.dtype}")
        self.grad: np.ndarray | None = None
        self.outstanding = 0
        self._hooks: dict[int, Callable[["Parameter"], None]] = {}
        self._next_hook = 0

    @property
    def shape(self) -> tuple[int, ...]:
        return self.data.shape

    @property
    def dtype(self) -> np.dtype:
        return self.data.dtype

    @property
    def size(self) -> int:
        return self.data.size

    @property
    def nbytes(self) -> int:
        return self.data.nbytes

    def use(self) -> np.ndarray:
        """Announce one use in a forward pass that a backward pass will follow."""
        self.outstanding += 1
        return self.data

    def accumulate(self, grad: np.ndarray) -> None:
        """Add one contribution to ``grad`` and call the hooks."""
        grad = np.asarray(grad)
        if grad.shape != self.data.shape:
            raise ValueError(f"gradient of shape {grad.shape} for a parameter of shape {self.data.shape}")
        if self.grad is None:
            self.grad = grad.astype(self.data.dtype)
        else:
            self.grad += grad.astype(self.data.dtype, copy=False)
        self.outstanding = max(0, self.outstanding - 1)
        for hook in list(self._hooks.values()):
            hook(self)

    def register_hook(self, hook: Callable[["Parameter"], None]) -> Callable[[], None]:
        """Watch contributions; returns a function that takes the hook off again."""
        key = self._next_hook
        self._next_hook += 1
        self._hooks[key] = hook
        return lambda: self._hooks.pop(key, None)

    def zero_grad(self) -> None:
        self.grad = None

    def __repr__(self) -> str:
        return f"Parameter(shape={self.data.shape}, dtype={self.data.dtype})"
