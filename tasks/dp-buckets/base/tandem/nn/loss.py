"""Losses: the mean over the samples of a batch."""

from __future__ import annotations

import numpy as np


class MSELoss:
    """Mean of the squared differences over all elements of the batch."""

    def forward(self, out: np.ndarray, target: np.ndarray) -> float:
        self._diff = out - target
        return float((self._diff**2).mean())

    def backward(self) -> np.ndarray:
        return (2.0 / self._diff.size * self._diff).astype(self._diff.dtype)

    __call__ = forward


class CrossEntropyLoss:
    """Mean negative log-likelihood of integer labels under softmax(logits)."""

    def forward(self, logits: np.ndarray, labels: np.ndarray) -> float:
        shifted = logits - logits.max(axis=1, keepdims=True)
        log_prob = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
        self._prob, self._labels = np.exp(log_prob), labels
        return float(-log_prob[np.arange(len(labels)), labels].mean())

    def backward(self) -> np.ndarray:
        grad = self._prob.copy()
        grad[np.arange(len(self._labels)), self._labels] -= 1
        return grad / len(self._labels)

    __call__ = forward
