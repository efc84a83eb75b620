"""What the probes share: a link of their own, plain values, and the limits that the task states.

The link is not the transport of the project under test: what it counts are the bytes that it was
given. Results are turned into tuples of built-in values before anything is compared.
"""

from __future__ import annotations

import sys
import tracemalloc

import numpy as np

from reinlet import sync as sync_module
from reinlet.params import ParamStore
from reinlet.rollout import RolloutWorker
from reinlet.transport import TransferError


class Link:
    """A transport. `fault(index, name, frame)` says what happens to a send: None (delivered), "lost",
    "reply lost", "reply damaged", or bytes, which then arrive in place of the frame."""

    def __init__(self):
        self.handlers = {}
        self.log = []
        self.fault = None

    def attach(self, name, handler):
        self.handlers[name] = handler

    def detach(self, name):
        self.handlers.pop(name, None)

    def send(self, name, frame, entries=0):
        assert type(frame) is bytes, "a frame must be bytes"
        entry = {"name": str(name), "entries": int(entries), "bytes": len(frame), "failed": False}
        what = self.fault(len(self.log), name, frame) if self.fault else None
        self.log.append(entry)
        failure = reply = None
        if what == "lost" or name not in self.handlers:
            failure = "lost on the way"
        else:
            # a copy that belongs to the receiver
            arriving = bytes(bytearray(what if type(what) is bytes else frame))
            try:
                reply = self.handlers[name](arriving)
            except Exception as error:
                failure = f"refused: {error}"
            del arriving
            if what == "reply lost":
                failure = failure or "reply lost on the way"
        # raised from here, so that the error holds nothing of the receiver's
        if failure:
            reply = None
            entry["failed"] = True
            raise TransferError(failure)
        assert type(reply) is bytes, "a reply must be bytes"
        entry["bytes"] += len(reply)
        if what == "reply damaged":
            reply = bytes(byte ^ 0x04 if at == len(reply) // 2 else byte for at, byte in enumerate(reply))
        return reply


class WeighingLink(Link):
    """A link that tells the sender's memory from the receivers': what is allocated or freed while a
    frame is with its receiver is put on the receivers' account, and peaks are taken outside of it."""

    def __init__(self):
        super().__init__()
        self.start()

    def start(self):
        self.foreign = 0
        self.peak = 0
        tracemalloc.reset_peak()
        self.base = tracemalloc.get_traced_memory()[0]

    def held(self):
        return tracemalloc.get_traced_memory()[0] - self.base - self.foreign

    def look(self):
        self.peak = max(self.peak, tracemalloc.get_traced_memory()[1] - self.base - self.foreign)

    def send(self, name, frame, entries=0):
        self.look()
        before = tracemalloc.get_traced_memory()[0]
        kept = 0
        try:
            reply = super().send(name, frame, entries)
            kept = sys.getsizeof(reply)  # this is the sender's from now on
            return reply
        finally:
            self.log.clear()
            self.foreign += tracemalloc.get_traced_memory()[0] - before - kept
            tracemalloc.reset_peak()


def plain(arrays):
    """Name -> (dtype, shape, raw bytes in C order), all built-in types."""
    out = {}
    for name in arrays:
        a = np.array(np.asarray(arrays[name]), order="C", copy=True, subok=False)
        out[str(name)] = (str(a.dtype.str), tuple(int(n) for n in a.shape), bytes(a.tobytes()))
    return out


def n_changed(before, after):
    """Entries that differ in any bit, of two plain arrays of one dtype and shape."""
    size = np.dtype(after[0]).itemsize
    a = np.frombuffer(before[2], np.uint8).reshape(-1, size)
    b = np.frombuffer(after[2], np.uint8).reshape(-1, size)
    return int((a != b).any(axis=1).sum())


def _costs(before, after):
    """For each parameter that travels: (name, changed entries or None, entries, itemsize)."""
    for name, now in after.items():
        size = np.dtype(now[0]).itemsize
        n = len(now[2]) // size
        old = before.get(name)
        if old is None or old[:2] != now[:2]:
            yield name, None, n, size
        elif old != now:
            yield name, n_changed(old, now), n, size


def byte_limit(before, after):
    """The limit of the task's text for one worker and one sync. For a full sync `before` is empty."""
    limit = 512
    for name, k, n, size in _costs(before, after):
        limit += 128 + len(name.encode("utf-8"))
        limit += n * size if k is None else min(k * (size + 4), n * size)
    for name in before:
        if name not in after:
            limit += 128 + len(name.encode("utf-8"))
    return limit


def entry_counts(before, after):
    """The numbers of entries that may be declared: the changed ones; the whole parameter where it is
    new, or where it takes no more bytes than its changed entries would. Who compares encoded lengths
    has a count and some more in the header of a sparse form: 32 bytes of room for that, which only
    small parameters notice."""
    sums = {0}
    for _, k, n, size in _costs(before, after):
        if k is None:
            choices = {n}
        elif k * (size + 4) + 32 >= n * size:
            choices = {k, n}
        else:
            choices = {k}
        sums = {s + c for s in sums for c in choices}
    return sums


class Told(dict):
    def __missing__(self, name):
        raise AssertionError(f"{name}: not in the report")


class Sent:
    """One sync as the link saw it and as the report tells it, in plain values."""

    def __init__(self, report, log):
        self.log = log
        self.told = Told()
        for name, r in report.results.items():
            self.told[str(name)] = {
                "kind": str(r.kind),
                "messages": int(r.messages),
                "entries": int(r.entries),
                "bytes": int(r.bytes),
                "delivered": bool(r.delivered),
                "error": str(r.error),
            }

    def of(self, name):
        return [e for e in self.log if e["name"] == name]

    def entries(self, name):
        return sum(e["entries"] for e in self.of(name))

    def bytes(self, name):
        return sum(e["bytes"] for e in self.of(name))

    def delivered(self, name):
        return self.told[name]["delivered"]


def check_cost(sent, name, before, after):
    """Entries and bytes of one ordinary sync for one worker."""
    entries, allowed = sent.entries(name), entry_counts(before, after)
    assert entries in allowed, f"{name}: {entries} entries declared"
    n_bytes, limit = sent.bytes(name), byte_limit(before, after)
    assert n_bytes <= limit, f"{name}: {n_bytes} bytes on the link, the limit is {limit}"


def check_entries(sent, name, before, after):
    entries, allowed = sent.entries(name), entry_counts(before, after)
    assert entries in allowed, f"{name}: {entries} entries declared"


def check_bytes(sent, name, before, after, times=1):
    n_bytes, limit = sent.bytes(name), times * byte_limit(before, after)
    assert n_bytes <= limit, f"{name}: {n_bytes} bytes on the link, the limit is {limit}"


class Rig:
    """A store, a DeltaSync and workers on a link. `truth` holds the very arrays of the store."""

    def __init__(self, arrays, n=1, link=None):
        self.truth = dict(arrays)
        self.store = ParamStore(self.truth)
        self.link = link or Link()
        self.workers = {}
        self.sync = sync_module.DeltaSync(self.store, self.link)
        for i in range(n):
            self.join(f"w{i}")

    def join(self, name):
        self.workers[name] = RolloutWorker(name, self.link)
        self.sync.add_worker(name)

    def put(self, name, array):
        self.truth[name] = array
        self.store.put(name, array)

    def drop(self, name):
        del self.truth[name]
        self.store.remove(name)

    def now(self):
        return plain(self.truth)

    def publish(self, version, sync=None):
        start = len(self.link.log)
        report = (sync or self.sync).sync(version)
        assert int(report.version) == version
        return Sent(report, self.link.log[start:])

    def has(self, name):
        worker = self.workers[name]
        return plain(worker.weights()), int(worker.version)

    def check(self, sent, version, names=None):
        """Every worker was served: it says so, and it has the truth."""
        truth = self.now()
        for name in names or self.workers:
            assert sent.delivered(name), f"{name}: not delivered: {sent.told[name]['error']}"
            have, at = self.has(name)
            assert sorted(have) == sorted(truth), f"{name}: other parameters than the store"
            for key in truth:
                assert have[key][:2] == truth[key][:2], f"{name}: {key}: dtype or shape"
                assert have[key][2] == truth[key][2], f"{name}: {key}: values"
            assert at == version, f"{name}: version"


def sample(seed=0, scale=1):
    """Parameters of all dtypes and several shapes, small."""
    rng = np.random.default_rng(seed)
    return {
        "w32": rng.normal(size=(24 * scale, 10)).astype(np.float32),
        "w16": rng.normal(size=(16 * scale, 12)).astype(np.float16),
        "bf16": rng.integers(0, 2**16, (20 * scale, 8)).astype(np.uint16),
        "count": rng.integers(-(2**62), 2**62, 40).astype(np.int64),
        "mask": rng.integers(0, 2, 64).astype(np.bool_),
        "scalar": np.array(rng.normal(), np.float32),
        "none": np.zeros((0, 5), np.float16),
    }


def bump(array, index, by=1, smallest=False):
    """Change entries in place, whatever the dtype (bool: negate): by several per cent or more, or in
    the lowest bits. The same change again takes it back."""
    if array.dtype == np.bool_:
        array[index] = ~array[index]
        return
    kind, unit = {
        2: (np.uint16, 1 << 6),
        4: (np.uint32, 1 << 18),
        8: (np.uint64, 1 << 40),
    }[array.dtype.itemsize]
    bits = array.view(kind)
    bits[index] = bits[index] ^ kind(by if smallest else by * unit)


def few(rng, array, k):
    """k distinct positions of an array, as an index tuple."""
    flat = np.sort(rng.choice(array.size, size=min(k, array.size), replace=False))
    return np.unravel_index(flat, array.shape)
