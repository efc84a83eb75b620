"""The trainer: owns the weights, learns from transitions, publishes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import checkpoint
from .buffer import RolloutBuffer
from .config import TrainerConfig
from .optim import make_optimizer
from .policy import PolicyNetwork
from .sync import make_sync


@dataclass
class UpdateInfo:
    version: int
    n: int
    loss: float
    reward: float


class Trainer:
    def __init__(self, store, transport, config=None):
        self.config = config or TrainerConfig()
        self.store = store
        self.policy = PolicyNetwork(store)
        self.optimizer = make_optimizer(self.config.optimizer, store, self.config.lr)
        self.buffer = RolloutBuffer(max_staleness=self.config.max_staleness)
        self.sync = make_sync(self.config.sync_mode, store, transport)
        self.version = 0
        self._baseline = 0.0

    def connect(self, *names):
        for name in names:
            self.sync.add_worker(name)

    def publish(self):
        """Bring the workers to the present weights; returns the SyncReport."""
        return self.sync.sync(self.version)

    def update(self):
        """Learn from one batch of the buffer. None when it holds nothing of use."""
        batch = self.buffer.take(self.config.batch_size, self.version)
        if batch is None:
            return None
        advantages = batch.rewards - self._baseline
        self._baseline += 0.1 * (float(batch.rewards.mean()) - self._baseline)
        grads, loss = self.policy.gradients(
            batch.states, batch.actions, advantages, self.config.entropy_bonus
        )
        self.optimizer.step(grads)
        self.version += 1
        return UpdateInfo(self.version, len(batch), loss, float(batch.rewards.mean()))

    def save(self, path):
        checkpoint.save(path, self.version, self.store.snapshot(), self._state())

    def restore(self, path):
        """Go back to a checkpoint. Versions count on from there."""
        saved = checkpoint.load(path)
        self._baseline = float(saved.optimizer.pop("baseline"))
        self.store.replace_all(saved.params)
        self.optimizer.load_state(saved.optimizer)
        self.version = saved.version

    def _state(self):
        return {**self.optimizer.state(), "baseline": np.array(self._baseline, np.float64)}
