"""Counters of what a process group was asked to move."""

from __future__ import annotations


class Traffic:
    """Collective calls and payload bytes of one rank.

    ``bytes`` counts what this rank handed in: ``array.nbytes`` once a call,
    whatever the transport then does with it. A barrier has no payload.
    """

    def __init__(self) -> None:
        self.collectives = 0
        self.bytes = 0
        self.by_kind: dict[str, int] = {}

    def count(self, kind: str, nbytes: int) -> None:
        self.collectives += 1
        self.bytes += int(nbytes)
        self.by_kind[kind] = self.by_kind.get(kind, 0) + 1

    def reset(self) -> None:
        self.collectives = 0
        self.bytes = 0
        self.by_kind.clear()

    def snapshot(self) -> dict[str, int]:
        return {"collectives": self.collectives, "bytes": self.bytes}

    def __repr__(self) -> str:
        kinds = ", ".join(f"{kind}={n}" for kind, n in sorted(self.by_kind.items()))
        return f"Traffic(collectives={self.collectives}, bytes={self.bytes}, {kinds or 'idle'})"
