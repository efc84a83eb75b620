"""A contextual bandit: each state has one good action, and states are drawn by a power law."""

from __future__ import annotations

import numpy as np


class ZipfBandit:
    def __init__(self, n_states, n_actions, seed=0, exponent=1.3):
        if n_states < 1 or n_actions < 1:
            raise ValueError("a bandit needs states and actions")
        layout = np.random.default_rng(12345)
        self.n_states = n_states
        self.n_actions = n_actions
        self._good = layout.integers(0, n_actions, n_states)
        weight = np.arange(1, n_states + 1, dtype=np.float64) ** -exponent
        self._cumulative = np.cumsum(weight / weight.sum())
        self._rng = np.random.default_rng(seed)

    def observe(self, n):
        """Draw n states."""
        draw = self._rng.random(n)
        return np.minimum(np.searchsorted(self._cumulative, draw), self.n_states - 1).astype(np.int64)

    def reward(self, states, actions):
        """1 for the good action, 0 otherwise."""
        return (self._good[states] == actions).astype(np.float32)
