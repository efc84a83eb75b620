"""Collectives over sockets. Everything passes through rank 0."""

from __future__ import annotations

import os
import socket

import numpy as np

from tandem.comm.rendezvous import meet
from tandem.comm.stats import Traffic
from tandem.comm.wire import describe, recv_frame, restore, send_frame

OPS = ("sum", "mean", "max", "min")


class CollectiveMismatch(RuntimeError):
    """The ranks did not call the same collective with like arrays."""


def init_process_group(
    name: str = "default",
    rank: int | None = None,
    world_size: int | None = None,
    addr: str | None = None,
    port: int | None = None,
    timeout: float = 30.0,
    connect_timeout: float | None = None,
) -> "ProcessGroup":
    """Make a group; what is not given comes from RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT.

    Without those variables the group has one rank and opens no socket. Groups
    may follow one another at the same port; each needs a name of its own, the
    same on all ranks. ``timeout`` (seconds) bounds every collective.
    """
    env = os.environ
    rank = int(env.get("RANK", 0)) if rank is None else rank
    world_size = int(env.get("WORLD_SIZE", 1)) if world_size is None else world_size
    addr = env.get("MASTER_ADDR", "127.0.0.1") if addr is None else addr
    port = int(env.get("MASTER_PORT", 29500)) if port is None else port
    if not 0 <= rank < world_size:
        raise ValueError(f"rank {rank} is not in a world of {world_size}")
    links = meet(name, rank, world_size, addr, port, timeout if connect_timeout is None else connect_timeout)
    return ProcessGroup(rank, world_size, links, timeout, name)


class ProcessGroup:
    """Blocking collectives among ``world_size`` processes; not thread-safe.

    All ranks must make the same calls in the same order. A call that fails on
    one rank fails on all of them, and the group is of no use afterwards.
    """

    def __init__(self, rank: int, world_size: int, links: dict[int, socket.socket], timeout: float, name: str) -> None:
        self.rank = rank
        self.world_size = world_size
        self.name = name
        self.stats = Traffic()
        self._links = links
        self._broken: str | None = None
        for link in links.values():
            link.settimeout(timeout)

    # -- collectives -----------------------------------------------------
    def all_reduce(self, array: np.ndarray, op: str = "sum") -> np.ndarray:
        """A new array of the same dtype and shape, combined over all ranks element by element."""
        if op not in OPS:
            raise ValueError(f"unknown reduction {op!r}")
        array = _as_payload(array)
        self.stats.count("all_reduce", array.nbytes)
        return self._through_root("all_reduce", array, {"op": op}, lambda parts: _reduce(parts, op))

    def all_gather(self, array: np.ndarray) -> list[np.ndarray]:
        """The arrays of all ranks, in rank order."""
        array = _as_payload(array)
        self.stats.count("all_gather", array.nbytes)
        stacked = self._through_root("all_gather", array, {}, np.stack)
        return [stacked[rank].copy() for rank in range(self.world_size)]

    def broadcast(self, array: np.ndarray, root: int = 0) -> np.ndarray:
        """Rank ``root``'s array, on every rank."""
        if not 0 <= root < self.world_size:
            raise ValueError(f"no rank {root} in a world of {self.world_size}")
        array = _as_payload(array)
        self.stats.count("broadcast", array.nbytes)
        return self._through_root("broadcast", array, {"root": root}, lambda parts: parts[root].copy())

    def barrier(self) -> None:
        """Return when every rank has called it."""
        self.stats.count("barrier", 0)
        self._through_root("barrier", np.zeros(0, dtype=np.uint8), {}, lambda parts: parts[0])

    # -- transport -------------------------------------------------------
    def _through_root(self, kind: str, array: np.ndarray, meta: dict, combine) -> np.ndarray:
        if self._broken is not None:
            raise ConnectionError(f"group {self.name!r} is no longer usable: {self._broken}")
        if self.world_size == 1:
            return combine([array])
        meta = {**meta, **describe(array)}
        try:
            return self._serve(kind, array, meta, combine) if self.rank == 0 else self._ask(kind, array, meta)
        except BaseException as err:
            self._broken = f"{kind}: {err or type(err).__name__}"
            if self.rank == 0:
                self._tell_failure(self._broken)
            self.close(self._broken)
            raise

    def _serve(self, kind: str, array: np.ndarray, meta: dict, combine) -> np.ndarray:
        parts = [array]
        for rank in range(1, self.world_size):
            peer_kind, peer_meta, payload = recv_frame(self._links[rank])
            if (peer_kind, peer_meta) != (kind, meta):
                raise CollectiveMismatch(f"rank 0 called {kind} {meta}, rank {rank} called {peer_kind} {peer_meta}")
            parts.append(restore(peer_meta, payload))
        result = combine(parts)
        payload = result.tobytes()
        for rank in range(1, self.world_size):
            send_frame(self._links[rank], "result", describe(result), payload)
        return result

    def _ask(self, kind: str, array: np.ndarray, meta: dict) -> np.ndarray:
        send_frame(self._links[0], kind, meta, array.tobytes())
        answer, answer_meta, payload = recv_frame(self._links[0])
        if answer != "result":
            raise CollectiveMismatch(answer_meta.get("text", answer))
        return restore(answer_meta, payload)

    def _tell_failure(self, text: str) -> None:
        for link in self._links.values():
            try:
                send_frame(link, "failed", {"text": text[:2000]})
            except OSError:
                pass

    # -- end -------------------------------------------------------------
    def close(self, why: str = "closed") -> None:
        if self._broken is None:
            self._broken = why
        for link in self._links.values():
            link.close()
        self._links = {}

    def __enter__(self) -> "ProcessGroup":
        return self

    def __exit__(self, *exc) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"ProcessGroup(name={self.name!r}, rank={self.rank}, world_size={self.world_size})"


def _as_payload(array: np.ndarray) -> np.ndarray:
    array = np.asarray(array)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"a collective cannot carry dtype {array.dtype}")
    return array if array.flags.c_contiguous else array.copy(order="C")


def _reduce(parts: list[np.ndarray], op: str) -> np.ndarray:
    total = parts[0].copy()
    for part in parts[1:]:
        if op in ("sum", "mean"):
            total = total + part
        else:
            total = np.maximum(total, part) if op == "max" else np.minimum(total, part)
    if op == "mean":
        total = total / len(parts)
    return np.asarray(total, dtype=parts[0].dtype).reshape(parts[0].shape)
