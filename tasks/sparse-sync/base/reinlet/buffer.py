"""Transitions on their way to the trainer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass
class Batch:
    states: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    logp: np.ndarray
    versions: np.ndarray

    def __len__(self):
        return int(self.states.shape[0])


class RolloutBuffer:
    """First in, first out. Transitions made by weights that are too old are dropped."""

    def __init__(self, capacity=4096, max_staleness=2):
        if capacity < 1:
            raise ValueError("capacity must be at least 1")
        self.capacity = capacity
        self.max_staleness = max_staleness
        self.dropped = 0
        self._parts = []

    def __len__(self):
        return sum(len(part) for part in self._parts)

    def add(self, batch):
        self._parts.append(batch)
        excess = len(self) - self.capacity
        while excess > 0:
            head = self._parts.pop(0)
            if len(head) > excess:
                self._parts.insert(0, _cut(head, slice(excess, None)))
                self.dropped += excess
                return
            excess -= len(head)
            self.dropped += len(head)

    def take(self, n, version):
        """Up to n transitions, oldest first, that are recent enough for this version."""
        if not self._parts:
            return None
        joined = _join(self._parts)
        fresh = version - joined.versions <= self.max_staleness
        self.dropped += int((~fresh).sum())
        joined = _cut(joined, fresh)
        self._parts = [_cut(joined, slice(n, None))] if len(joined) > n else []
        joined = _cut(joined, slice(0, n))
        return joined if len(joined) else None


def _cut(batch, which):
    return Batch(*(getattr(batch, f)[which] for f in Batch.__dataclass_fields__))


def _join(parts):
    return Batch(*(np.concatenate([getattr(p, f) for p in parts]) for f in Batch.__dataclass_fields__))
