"""The policy network: state table -> hidden layer -> masked action head."""

from __future__ import annotations

import numpy as np

from .params import ParamStore, from_bf16, to_bf16


def init_policy(spec, seed=0):
    """A fresh set of parameters for a `PolicySpec`."""
    rng = np.random.default_rng(seed)
    table = rng.normal(0.0, 0.5, (spec.n_states, spec.dim))
    hidden = rng.normal(0.0, 1.0 / np.sqrt(spec.dim), (spec.dim, spec.hidden))
    head = rng.normal(0.0, 0.1 / np.sqrt(spec.hidden), (spec.hidden, spec.n_actions))
    return ParamStore(
        {
            "table": to_bf16(table),
            "hidden.weight": hidden.astype(np.float32),
            "hidden.bias": np.zeros(spec.hidden, np.float32),
            "head.weight": head.astype(np.float16),
            "head.mask": np.ones(spec.n_actions, np.bool_),
            "temperature": np.array(1.0, np.float32),
            "updates": np.array(0, np.int64),
        }
    )


class PolicyNetwork:
    """Acts from the parameters of a store. It owns nothing but what it derives from them."""

    def __init__(self, store):
        self.store = store
        self._decoded = None
        self._decoded_for = None

    def _table(self):
        """The state table in float32, decoded once per generation of the store."""
        if self._decoded_for != self.store.generation:
            self._decoded = from_bf16(self.store["table"])
            self._decoded_for = self.store.generation
        return self._decoded

    def forward(self, states):
        states = np.asarray(states, dtype=np.int64)
        store = self.store
        x = self._table()[states]
        h = np.tanh(x @ store["hidden.weight"] + store["hidden.bias"])
        z = (h @ store["head.weight"].astype(np.float32)) / store["temperature"]
        z = np.where(store["head.mask"], z, np.float32(-np.inf))
        return x, h, z.astype(np.float32)

    def logits(self, states):
        return self.forward(states)[2]

    def probabilities(self, states):
        return softmax(self.logits(states))

    def act(self, states, rng):
        """Sample one action per state; returns actions and their log-probabilities."""
        p = self.probabilities(states)
        cumulative = np.cumsum(p.astype(np.float64), axis=-1)
        draw = rng.random(p.shape[0]) * cumulative[:, -1]
        actions = np.minimum((cumulative < draw[:, None]).sum(axis=-1), p.shape[1] - 1)
        logp = np.log(np.maximum(p[np.arange(p.shape[0]), actions], 1e-12))
        return actions.astype(np.int64), logp.astype(np.float32)

    def gradients(self, states, actions, advantages, entropy_bonus=0.0):
        """Gradients (float32, by name) of the mean policy-gradient loss, and the loss."""
        states = np.asarray(states, dtype=np.int64)
        x, h, z = self.forward(states)
        p = softmax(z)
        n = states.shape[0]
        rows = np.arange(n)
        logp = np.log(np.maximum(p, 1e-12))
        entropy = -(p * logp).sum(axis=-1)
        adv = np.asarray(advantages, dtype=np.float32)
        loss = float(-(adv * logp[rows, actions]).mean() - entropy_bonus * entropy.mean())

        dz = p * adv[:, None]
        dz[rows, actions] -= adv
        dz += entropy_bonus * p * (logp + entropy[:, None])
        dz = dz / (n * self.store["temperature"])
        dz = np.where(self.store["head.mask"], dz, 0.0).astype(np.float32)
        head = self.store["head.weight"].astype(np.float32)
        dh = (dz @ head.T) * (1.0 - h * h)
        dx = dh @ self.store["hidden.weight"].T
        table = np.zeros(self.store["table"].shape, np.float32)
        np.add.at(table, states, dx)
        grads = {
            "table": table,
            "hidden.weight": x.T @ dh,
            "hidden.bias": dh.sum(axis=0),
            "head.weight": h.T @ dz,
        }
        return grads, loss


def softmax(z):
    z = z - z.max(axis=-1, keepdims=True)
    e = np.exp(z)
    return e / e.sum(axis=-1, keepdims=True)
