"""The training loop."""

from __future__ import annotations

from typing import Iterable

import numpy as np

from tandem.optim import Optimizer, clip_grad_norm
from tandem.parallel import DataParallel


class Trainer:
    """Forward, loss, backward, update; one update for each batch."""

    def __init__(self, model: DataParallel, optimizer: Optimizer, loss, max_norm: float | None = None) -> None:
        self.model = model
        self.optimizer = optimizer
        self.loss = loss
        self.max_norm = max_norm
        self.updates = 0

    def step(self, x: np.ndarray, y: np.ndarray) -> float:
        """One update from one batch; returns this rank's loss before it."""
        self.model.zero_grad()
        value = self.loss(self.model(x), y)
        self.model.backward(self.loss.backward())
        self._update()
        return value

    def run(self, batches: Iterable[tuple[np.ndarray, np.ndarray]]) -> list[float]:
        """One pass over the batches; returns this rank's loss for each."""
        return [self.step(x, y) for x, y in batches]

    def evaluate(self, x: np.ndarray, y: np.ndarray) -> float:
        """The mean loss over the samples of all ranks, in evaluation mode."""
        self.model.eval()
        try:
            value = self.loss(self.model(x), y) if len(x) else 0.0
        finally:
            self.model.train()
        total = self.model.group.all_reduce(np.array([value * len(x), len(x)]))
        return float(total[0] / total[1])

    def _update(self) -> None:
        if self.max_norm is not None:
            clip_grad_norm(self.model.parameters(), self.max_norm)
        self.optimizer.step()
        self.updates += 1
