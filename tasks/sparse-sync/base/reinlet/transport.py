"""The link between trainer and workers: named endpoints, frames of bytes, counters, faults."""

from __future__ import annotations

from dataclasses import dataclass


class TransferError(RuntimeError):
    """No reply came back. The frame may or may not have been delivered."""


@dataclass
class LinkStats:
    """What was handed to the link. Bytes are frames and replies together."""

    messages: int = 0
    entries: int = 0
    bytes: int = 0

    def add(self, entries, n_bytes):
        self.messages += 1
        self.entries += entries
        self.bytes += n_bytes


class Transport:
    def __init__(self):
        self._handlers = {}
        self._faults = {}
        self.total = LinkStats()
        self.links = {}

    def attach(self, name, handler):
        """Make `handler(frame) -> reply` the endpoint of this name, new or in place of another."""
        self._handlers[name] = handler

    def detach(self, name):
        self._handlers.pop(name, None)

    def endpoints(self):
        return tuple(self._handlers)

    def drop_next(self, name, when="request", count=1):
        """Let the next sends to this endpoint fail: before it ("request") or after it ("reply")."""
        if when not in ("request", "reply"):
            raise ValueError("when must be 'request' or 'reply'")
        self._faults.setdefault(name, []).extend([when] * count)

    def send(self, name, frame, entries=0):
        """Deliver a frame and return the reply; raise TransferError where there is none."""
        if not isinstance(frame, bytes):
            raise TypeError("a frame must be bytes")
        link = self.links.setdefault(name, LinkStats())
        for stats in (link, self.total):
            stats.add(int(entries), len(frame))
        faults = self._faults.get(name)
        fault = faults.pop(0) if faults else None
        handler = self._handlers.get(name)
        if handler is None:
            raise TransferError(f"{name}: no such endpoint")
        if fault == "request":
            raise TransferError(f"{name}: frame lost")
        try:
            reply = handler(frame)
        except Exception as error:
            raise TransferError(f"{name}: refused: {error}") from error
        if fault == "reply":
            raise TransferError(f"{name}: reply lost")
        for stats in (link, self.total):
            stats.bytes += len(reply)
        return reply

    def reset_stats(self):
        self.total = LinkStats()
        self.links = {}
