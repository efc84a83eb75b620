"""Counters of one engine."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass
class Stats:
    """Counts since the engine was made or last reset.

    prefill_tokens    prompt positions that went through the model
    decode_tokens     positions computed by decode steps
    blocks_allocated  blocks taken from the pool
    peak_blocks       largest number of blocks held by live requests at once
    preemptions       running requests sent back to the queue
    graph_captures    steps recorded
    graph_replays     steps executed by replay
    """

    prefill_tokens: int = 0
    decode_tokens: int = 0
    blocks_allocated: int = 0
    peak_blocks: int = 0
    preemptions: int = 0
    graph_captures: int = 0
    graph_replays: int = 0

    def clear(self) -> None:
        for field in fields(self):
            setattr(self, field.name, 0)
