"""Layers."""

from __future__ import annotations

import numpy as np

from tandem.nn.module import Module
from tandem.nn.parameter import Parameter


def _rng(rng: np.random.Generator | None) -> np.random.Generator:
    return np.random.default_rng(0) if rng is None else rng


class Linear(Module):
    """``x @ weight + bias`` with weight (fan_in, fan_out); ``weight=`` shares another layer's parameter."""

    def __init__(
        self,
        fan_in: int,
        fan_out: int,
        bias: bool = True,
        dtype=np.float32,
        rng: np.random.Generator | None = None,
        weight: Parameter | None = None,
    ) -> None:
        super().__init__()
        if weight is None:
            weight = Parameter((_rng(rng).standard_normal((fan_in, fan_out)) / np.sqrt(fan_in)).astype(dtype))
        if weight.shape != (fan_in, fan_out):
            raise ValueError(f"weight of shape {weight.shape} for a layer of {fan_in} by {fan_out}")
        self.weight = weight
        self.bias = Parameter(np.zeros(fan_out, dtype=weight.dtype)) if bias else None

    def forward(self, x: np.ndarray) -> np.ndarray:
        self._save(x)
        out = x @ self._use(self.weight)
        return out if self.bias is None else out + self._use(self.bias)

    def backward(self, dout: np.ndarray) -> np.ndarray:
        (x,) = self._load()
        if self.bias is not None:
            self.bias.accumulate(dout.sum(axis=0))
        self.weight.accumulate(x.T @ dout)
        return dout @ self.weight.data.T


class Scale(Module):
    """One trainable factor for everything that passes; the parameter ``gain`` has shape ()."""

    def __init__(self, value: float = 1.0, dtype=np.float32) -> None:
        super().__init__()
        self.gain = Parameter(np.array(value, dtype=dtype))

    def forward(self, x: np.ndarray) -> np.ndarray:
        self._save(x)
        return x * self._use(self.gain)

    def backward(self, dout: np.ndarray) -> np.ndarray:
        (x,) = self._load()
        self.gain.accumulate(np.asarray((dout * x).sum()))
        return dout * self.gain.data


class LayerNorm(Module):
    """Zero mean and unit variance over the last axis, then ``gain`` and ``shift``."""

    def __init__(self, width: int, eps: float = 1e-5, dtype=np.float32) -> None:
        super().__init__()
        self.gain = Parameter(np.ones(width, dtype=dtype))
        self.shift = Parameter(np.zeros(width, dtype=dtype))
        self.eps = eps

    def forward(self, x: np.ndarray) -> np.ndarray:
        centred = x - x.mean(axis=-1, keepdims=True)
        scale = 1.0 / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + self.eps)
        normal = (centred * scale).astype(x.dtype)
        self._save(normal, scale)
        return normal * self._use(self.gain) + self._use(self.shift)

    def backward(self, dout: np.ndarray) -> np.ndarray:
        normal, scale = self._load()
        self.shift.accumulate(dout.sum(axis=0))
        self.gain.accumulate((dout * normal).sum(axis=0))
        inner = dout * self.gain.data
        mean = inner.mean(axis=-1, keepdims=True)
        along = (inner * normal).mean(axis=-1, keepdims=True)
        return ((inner - mean - normal * along) * scale).astype(dout.dtype)


class Embedding(Module):
    """Rows of ``table`` by integer index; there is no gradient with regard to the index."""

    def __init__(self, rows: int, width: int, dtype=np.float32, rng: np.random.Generator | None = None) -> None:
        super().__init__()
        self.table = Parameter(_rng(rng).standard_normal((rows, width)).astype(dtype))

    def forward(self, x: np.ndarray) -> np.ndarray:
        self._save(x)
        return self._use(self.table)[x]

    def backward(self, dout: np.ndarray) -> None:
        (x,) = self._load()
        grad = np.zeros_like(self.table.data)
        np.add.at(grad, x, dout)
        self.table.accumulate(grad)
        return None


class ReLU(Module):
    def forward(self, x: np.ndarray) -> np.ndarray:
        self._save(x > 0)
        return np.maximum(x, 0)

    def backward(self, dout: np.ndarray) -> np.ndarray:
        (mask,) = self._load()
        return dout * mask


class Tanh(Module):
    def forward(self, x: np.ndarray) -> np.ndarray:
        out = np.tanh(x)
        self._save(out)
        return out

    def backward(self, dout: np.ndarray) -> np.ndarray:
        (out,) = self._load()
        return dout * (1 - out**2)


class Sequential(Module):
    """One after another; the children are called "0", "1", and so on."""

    def __init__(self, *layers: Module) -> None:
        super().__init__()
        self.layers = layers
        for index, layer in enumerate(layers):
            setattr(self, str(index), layer)

    def forward(self, x: np.ndarray) -> np.ndarray:
        for layer in self.layers:
            x = layer(x)
        return x

    def backward(self, dout: np.ndarray) -> np.ndarray | None:
        for layer in reversed(self.layers):
            dout = layer.backward(dout)
        return dout


class Switch(Module):
    """Several branches "0", "1", and so on, of which a forward pass takes the ``active`` one."""

    def __init__(self, *branches: Module) -> None:
        super().__init__()
        self.branches = branches
        self.active = 0
        for index, branch in enumerate(branches):
            setattr(self, str(index), branch)

    def forward(self, x: np.ndarray) -> np.ndarray:
        self._save(self.active)
        return self.branches[self.active](x)

    def backward(self, dout: np.ndarray) -> np.ndarray | None:
        (taken,) = self._load()
        return self.branches[taken].backward(dout)
