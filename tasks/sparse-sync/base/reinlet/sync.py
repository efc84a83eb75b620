"""Getting the trainer's weights to the workers."""

from __future__ import annotations

from dataclasses import dataclass, field

from . import wire
from .transport import TransferError


@dataclass
class WorkerResult:
    """What one sync did for one worker.

    `messages`, `entries` and `bytes` cover everything that was handed to the
    transport for this worker in this sync, whether or not it arrived; `bytes`
    are frames and replies together. `delivered` says that the worker has
    acknowledged the weights and the version of this sync.
    """

    worker: str
    kind: str = "full"
    messages: int = 0
    entries: int = 0
    bytes: int = 0
    delivered: bool = False
    error: str = ""


@dataclass
class SyncReport:
    version: int
    results: dict = field(default_factory=dict)

    @property
    def delivered(self):
        return tuple(name for name, r in self.results.items() if r.delivered)

    @property
    def failed(self):
        return tuple(name for name, r in self.results.items() if not r.delivered)

    @property
    def messages(self):
        return sum(r.messages for r in self.results.values())

    @property
    def entries(self):
        return sum(r.entries for r in self.results.values())

    @property
    def bytes(self):
        return sum(r.bytes for r in self.results.values())


class WeightSync:
    """The list of workers, and sending with its bookkeeping."""

    def __init__(self, store, transport):
        self.store = store
        self.transport = transport
        self._workers = []

    @property
    def workers(self):
        return tuple(self._workers)

    def add_worker(self, name):
        if name in self._workers:
            raise ValueError(f"{name!r} is in the list already")
        self._workers.append(name)

    def remove_worker(self, name):
        if name not in self._workers:
            raise KeyError(name)
        self._workers.remove(name)

    def sync(self, version):
        """Bring every worker to the store's weights. One that fails does not stop the others."""
        raise NotImplementedError

    def _send(self, result, frame, entries):
        result.messages += 1
        result.entries += entries
        result.bytes += len(frame)
        reply = self.transport.send(result.worker, frame, entries=entries)
        result.bytes += len(reply)
        return reply


class FullSync(WeightSync):
    """Sends everything to everybody, every time."""

    def sync(self, version):
        report = SyncReport(int(version))
        frame = wire.encode_full(int(version), self.store.items())
        for name in self._workers:
            result = report.results[name] = WorkerResult(name)
            try:
                reply = self._send(result, frame, self.store.n_entries)
                result.delivered = wire.decode_ack(reply) == version
            except (TransferError, wire.FrameError) as error:
                result.error = str(error)
        return report


def make_sync(mode, store, transport):
    if mode == "full":
        return FullSync(store, transport)
    raise ValueError(f"unknown sync mode {mode!r}")
