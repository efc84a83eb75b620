"""Optimizers. They hold float32 masters and write the rounded result into the live arrays, in place."""

from __future__ import annotations

import numpy as np

from .params import from_bf16, to_bf16


def _widen(array):
    return from_bf16(array) if array.dtype == np.uint16 else array.astype(np.float32)


def _narrow(master, dtype):
    return to_bf16(master) if dtype == np.uint16 else master.astype(dtype)


class Optimizer:
    def __init__(self, store, lr):
        self.store = store
        self.lr = float(lr)
        self.steps = 0
        self._masters = {}

    def _master(self, name):
        if name not in self._masters:
            self._masters[name] = np.array(_widen(self.store[name]))
        return self._masters[name]

    def step(self, grads):
        """Apply gradients by name. Entries whose gradient is zero are left alone."""
        self.steps += 1
        for name, grad in grads.items():
            live = self.store[name]
            if grad.shape != live.shape:
                raise ValueError(f"{name}: gradient of shape {grad.shape} for {live.shape}")
            master = self._master(name)
            master += np.where(grad != 0.0, self._update(name, grad), np.float32(0.0))
            live[...] = _narrow(master, live.dtype)
        if "updates" in self.store:
            self.store["updates"][...] += 1
        self.store.touch()

    def _update(self, name, grad):
        raise NotImplementedError

    def state(self):
        out = {"steps": np.array(self.steps, np.int64)}
        for name, master in self._masters.items():
            out[f"master/{name}"] = master.copy()
        return out

    def load_state(self, state):
        self.steps = int(state["steps"])
        self._masters = _pick(state, "master/")


class SGD(Optimizer):
    def _update(self, name, grad):
        return (-self.lr * grad).astype(np.float32)


class Adam(Optimizer):
    def __init__(self, store, lr, betas=(0.9, 0.999), eps=1e-8):
        super().__init__(store, lr)
        self.betas = betas
        self.eps = eps
        self._first = {}
        self._second = {}

    def _update(self, name, grad):
        b1, b2 = self.betas
        first = self._first.setdefault(name, np.zeros_like(grad))
        second = self._second.setdefault(name, np.zeros_like(grad))
        first *= b1
        first += (1.0 - b1) * grad
        second *= b2
        second += (1.0 - b2) * grad * grad
        scale = np.sqrt(1.0 - b2**self.steps) / (1.0 - b1**self.steps)
        return (-self.lr * scale * first / (np.sqrt(second) + self.eps)).astype(np.float32)

    def state(self):
        out = super().state()
        for prefix, table in (("first/", self._first), ("second/", self._second)):
            for name, value in table.items():
                out[prefix + name] = value.copy()
        return out

    def load_state(self, state):
        super().load_state(state)
        self._first = _pick(state, "first/")
        self._second = _pick(state, "second/")


def _pick(state, prefix):
    return {
        key[len(prefix):]: np.array(value, np.float32)
        for key, value in state.items()
        if key.startswith(prefix)
    }


def make_optimizer(kind, store, lr):
    if kind == "sgd":
        return SGD(store, lr)
    if kind == "adam":
        return Adam(store, lr)
    raise ValueError(f"unknown optimizer {kind!r}")
