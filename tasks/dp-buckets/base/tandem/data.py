"""Batches for data-parallel training."""

from __future__ import annotations

from typing import Iterator

import numpy as np


class ShardedBatches:
    """This rank's parts of batches of ``batch_size`` samples over all ranks.

    Every rank sees the same number of batches. With ``even`` (the default) the
    parts of a batch have equal length on all ranks and what does not divide is
    left out; otherwise nothing is left out, and the parts of a rank may be
    longer than another's, or empty. With a ``seed`` the samples are shuffled
    anew in each pass, alike on all ranks.
    """

    def __init__(
        self,
        x: np.ndarray,
        y: np.ndarray,
        batch_size: int,
        rank: int,
        world_size: int,
        even: bool = True,
        seed: int | None = None,
    ) -> None:
        if len(x) != len(y):
            raise ValueError(f"{len(x)} inputs for {len(y)} targets")
        if batch_size < world_size and even:
            raise ValueError("a batch needs at least one sample for each rank")
        self.x, self.y = x, y
        self.batch_size = batch_size
        self.rank, self.world_size = rank, world_size
        self.even = even
        self._rng = None if seed is None else np.random.default_rng(seed)

    def __len__(self) -> int:
        full, rest = divmod(len(self.x), self.batch_size)
        return full + (1 if rest >= (self.world_size if self.even else 1) else 0)

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        order = np.arange(len(self.x))
        if self._rng is not None:
            self._rng.shuffle(order)
        for index in range(len(self)):
            chosen = order[index * self.batch_size : (index + 1) * self.batch_size]
            if self.even:
                chosen = chosen[: len(chosen) // self.world_size * self.world_size]
            part = np.array_split(chosen, self.world_size)[self.rank]
            yield self.x[part], self.y[part]
