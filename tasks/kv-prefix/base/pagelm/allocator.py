"""The pool of blocks."""

from __future__ import annotations

from collections import deque
from typing import Iterable

from .errors import CapacityError
from .stats import Stats


class BlockAllocator:
    """Hands out block ids and takes them back."""

    def __init__(self, num_blocks: int, stats: Stats):
        self.num_blocks = num_blocks
        self.stats = stats
        self._free: deque[int] = deque(range(num_blocks))
        self._held: set[int] = set()

    @property
    def num_free(self) -> int:
        return len(self._free)

    @property
    def num_held(self) -> int:
        return len(self._held)

    def can_allocate(self, count: int) -> bool:
        return count <= len(self._free)

    def allocate(self, count: int) -> list[int]:
        if not self.can_allocate(count):
            raise CapacityError(f"{count} blocks asked, {len(self._free)} free")
        blocks = [self._free.popleft() for _ in range(count)]
        self._held.update(blocks)
        self.stats.blocks_allocated += count
        self.stats.peak_blocks = max(self.stats.peak_blocks, len(self._held))
        return blocks

    def free(self, blocks: Iterable[int]) -> None:
        for block in blocks:
            if block not in self._held:
                raise ValueError(f"block {block} is not held")
            self._held.remove(block)
            self._free.append(block)

    def reset(self) -> None:
        self._free = deque(range(self.num_blocks))
        self._held.clear()
