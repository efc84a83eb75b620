"""Decides what the next step computes and which blocks it may use."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Optional

from .allocator import BlockAllocator
from .config import EngineConfig
from .sequence import Sequence, State
from .stats import Stats


@dataclass
class Plan:
    """kind: "prefill" (one request), "decode" (all running requests) or "idle"."""

    kind: str
    sequences: list[Sequence] = field(default_factory=list)


class Scheduler:
    """First come, first served. Admission goes before decoding.

    A request is admitted when the pool has the blocks for all of its tokens. When a
    running request needs one more block and there is none, the running request that
    was admitted last gives its blocks back and starts again later.
    """

    def __init__(self, config: EngineConfig, allocator: BlockAllocator, stats: Stats):
        self.config = config
        self.allocator = allocator
        self.stats = stats
        self.waiting: deque[Sequence] = deque()
        self.running: list[Sequence] = []

    @property
    def has_work(self) -> bool:
        return bool(self.waiting or self.running)

    def add(self, seq: Sequence) -> None:
        self.waiting.append(seq)

    def schedule(self) -> Plan:
        seq = self._admit()
        if seq is not None:
            return Plan("prefill", [seq])
        if self.running:
            self._grow()
            return Plan("decode", list(self.running))
        return Plan("idle")

    def _admit(self) -> Optional[Sequence]:
        if not self.waiting or len(self.running) >= self.config.max_batch:
            return None
        seq = self.waiting[0]
        needed = self.config.blocks_for(len(seq))
        if not self.allocator.can_allocate(needed):
            return None
        self.waiting.popleft()
        seq.table = self.allocator.allocate(needed)
        seq.num_computed = 0
        seq.state = State.RUNNING
        self.running.append(seq)
        return seq

    def _grow(self) -> None:
        """Gives each running request the block that its newest token needs."""
        for seq in list(self.running):
            if seq not in self.running:
                continue
            while len(seq.table) < self.config.blocks_for(len(seq)):
                if self.allocator.can_allocate(1):
                    seq.table.extend(self.allocator.allocate(1))
                    continue
                victim = self.running[-1]
                self._preempt(victim)
                if victim is seq:
                    break

    def _preempt(self, seq: Sequence) -> None:
        self.running.remove(seq)
        self._release(seq)
        seq.state = State.WAITING
        self.waiting.appendleft(seq)
        self.stats.preemptions += 1

    def _release(self, seq: Sequence) -> None:
        self.allocator.free(seq.table)
        seq.table = []
        seq.num_computed = 0

    def finish(self, seq: Sequence, state: State) -> None:
        """Takes a request out, wherever it is, and gives its blocks back."""
        if seq in self.running:
            self.running.remove(seq)
        else:
            self.waiting.remove(seq)
        self._release(seq)
        seq.state = state

    def reset(self) -> None:
        self.waiting.clear()
        self.running.clear()
