"""The sender's memory, by tracemalloc. What workers allocate while they hold a frame is not counted."""

import gc
import tracemalloc

import numpy as np
import pytest
from probekit import Rig, WeighingLink


@pytest.fixture
def traced():
    gc.collect()
    tracemalloc.start()
    yield
    tracemalloc.stop()


def weights():
    rng = np.random.default_rng(0)
    return {
        "a": rng.normal(size=(128, 512)).astype(np.float32),
        "b": rng.normal(size=(128, 512)).astype(np.float16),
        "c": rng.integers(0, 9, (64, 256)).astype(np.int64),
    }


def scatter(rig, version, share=0.01):
    """In place, and without memory that outlives the call."""
    rng = np.random.default_rng(version)
    for array in rig.truth.values():
        flat = array.reshape(-1)
        flat[rng.integers(0, flat.size, int(share * flat.size))] += 1


def settle(link):
    gc.collect()
    return link.held()


def test_one_copy_between_syncs(traced):
    arrays = weights()
    size = sum(a.nbytes for a in arrays.values())
    link = WeighingLink()
    rig = Rig(arrays, n=6, link=link)
    link.start()
    failing = ("w1", "w4")
    for version in range(40):
        if version:
            scatter(rig, version)
        # after the first syncs two of the workers fail again and again, in both ways
        how = {3: "lost", 4: "reply lost", 5: "lost", 6: "reply lost"}.get(version)
        link.fault = (lambda i, name, frame: how if name in failing else None) if how else None
        sent = rig.publish(version)
        if version < 8 or version % 20 == 0:
            rig.check(sent, version, [n for n in rig.workers if how is None or n not in failing])
        del sent
        # One copy, and half a copy of room for what goes with it. A copy for each worker, a frame that
        # is kept, a copy for every missed version are above; so is a record of all patches, of which
        # each takes about 2 % of a copy (1 % of the entries, with positions).
        if version < 8 or version == 39:
            held = settle(link)
            assert held < 1.5 * size, f"after sync {version} the sender holds {held / size:.2f} copies"
    rig.join("late")
    rig.sync.reset("w2")
    rig.check(rig.publish(40), 40)
    assert settle(link) < 1.5 * size


def peaks(n):
    """The highest memory of the sender during each kind of sync, above what it held before."""
    link = WeighingLink()
    rig = Rig(weights(), n=n, link=link)
    size = sum(a.nbytes for a in rig.truth.values())
    out = {}

    def measure(what, version, served=None):
        gc.collect()
        link.start()
        sent = rig.publish(version)
        link.look()
        out[what] = link.peak / size
        rig.check(sent, version, served)

    measure("first", 0)
    scatter(rig, 1)
    measure("delta", 1)
    scatter(rig, 2, share=0.8)
    measure("dense", 2)
    for i in range(0, n, 2):
        rig.workers[f"w{i}"].restart()
    scatter(rig, 3)
    measure("restarted", 3)
    scatter(rig, 4)
    link.fault = lambda index, name, frame: "lost" if int(name[1:]) % 2 else None
    measure("failing", 4, [f"w{i}" for i in range(0, n, 2)])
    link.fault = None
    scatter(rig, 5)
    measure("made good", 5)
    rig.sync.reset()
    measure("reset", 6)
    return out


def test_peak_does_not_grow_with_the_workers(traced):
    # With four workers every kind of frame has been made at least twice, so a sender that makes one
    # frame per worker, and lets go of the last one late, has its peak already. What grows with the
    # workers adds six times a copy, or six times 4 % of one for the small frames; half a copy is room for both.
    few, many = peaks(4), peaks(10)
    for what in few:
        assert many[what] < few[what] + 0.5, f"{what}: {few[what]:.2f} -> {many[what]:.2f} copies"
