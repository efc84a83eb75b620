"""Transfers that are lost or damaged."""

import numpy as np
import pytest
from probekit import Rig, bump, check_bytes, check_entries, few, sample


def drop(*names, how="lost"):
    return lambda index, name, frame: how if name in names else None


def check_failed(sent, name):
    assert not sent.delivered(name), f"{name}: a failed transfer was reported as delivered"
    assert sent.told[name]["error"]
    assert [e["failed"] for e in sent.of(name)][-1:] == [True], "sent again after the failure"
    assert sum(e["failed"] for e in sent.of(name)) == 1, "sent again after the failure"


def deltas_again(rig, version, rng):
    """Ordinary increments for everybody, at the ordinary cost."""
    for version in (version, version + 1):
        before = rig.now()
        bump(rig.truth["w32"], few(rng, rig.truth["w32"], 3))
        bump(rig.truth["bf16"], few(rng, rig.truth["bf16"], 2))
        sent = rig.publish(version)
        rig.check(sent, version)
        for name in rig.workers:
            assert sent.entries(name) == 5
            check_bytes(sent, name, before, rig.now())


@pytest.mark.parametrize("how", ["lost", "reply lost"])
@pytest.mark.parametrize("failures", [1, 3])
def test_failed_transfer_is_made_good(how, failures):
    rng = np.random.default_rng(0)
    rig = Rig(sample(1), n=3)
    rig.check(rig.publish(0), 0)
    old = rig.has("w1")
    rig.link.fault = drop("w1", how=how)
    for version in range(1, failures + 1):
        # every time other entries
        before = rig.now()
        for name in ("w32", "w16", "count"):
            a = rig.truth[name].reshape(-1)
            bump(a, (np.arange(version * 4, version * 4 + 3),))
        sent = rig.publish(version)
        check_failed(sent, "w1")
        rig.check(sent, version, ["w0", "w2"])
        check_entries(sent, "w0", before, rig.now())
        if how == "lost":
            untouched = rig.has("w1") == old
            assert untouched, "weights arrived in some other way than through the link"
    rig.link.fault = None
    bump(rig.truth["mask"], (np.arange(3),))
    rig.check(rig.publish(10), 10)
    deltas_again(rig, 11, rng)


@pytest.mark.parametrize("how", ["lost", "reply lost"])
def test_failed_transfer_and_nothing_new(how):
    # the next sync has nothing new to tell the others, the same version, and still has to make it good
    rig = Rig(sample(2), n=2)
    rig.check(rig.publish(0), 0)
    bump(rig.truth["w32"], (np.arange(4), 0))
    rig.link.fault = drop("w0", how=how)
    check_failed(rig.publish(1), "w0")
    rig.link.fault = None
    sent = rig.publish(1)
    rig.check(sent, 1)
    assert sent.entries("w1") == 0
    deltas_again(rig, 2, np.random.default_rng(1))
    # the one that fails has nothing to tell but the version
    for version in (4, 5):
        rig.link.fault = drop("w0", how=how)
        check_failed(rig.publish(version), "w0")
        rig.link.fault = None
        rig.check(rig.publish(version), version)
    deltas_again(rig, 6, np.random.default_rng(2))


@pytest.mark.parametrize("how", ["lost", "reply lost"])
def test_failed_transfer_and_changes_taken_back(how):
    # with a lost reply the worker has the new values, while the store is back at the old ones
    rig = Rig(sample(3), n=2)
    rig.check(rig.publish(0), 0)
    at = (np.array([0, 5, 9]), np.array([1, 1, 7]))
    bump(rig.truth["w32"], at)
    kept = rig.truth["w16"].copy()
    rig.put("w16", np.ones((3, 3), np.float16))
    rig.put("extra", np.ones(4, np.float32))
    rig.link.fault = drop("w0", how=how)
    check_failed(rig.publish(1), "w0")
    rig.link.fault = None
    bump(rig.truth["w32"], at)
    rig.put("w16", kept)
    rig.drop("extra")
    rig.check(rig.publish(2), 2)
    deltas_again(rig, 3, np.random.default_rng(2))
    # and once more with in-place writes only, twice in a row
    for version in (5, 6):
        rig.link.fault = drop("w0", how=how)
        bump(rig.truth["w32"], at, by=version)
        check_failed(rig.publish(version), "w0")
        bump(rig.truth["w32"], at, by=version)
    rig.link.fault = None
    rig.check(rig.publish(7), 7)


@pytest.mark.parametrize("how", ["lost", "reply lost"])
def test_first_transfer_fails(how):
    rig = Rig(sample(4), n=2)
    rig.link.fault = drop("w0", "w1", how=how)
    for version in (0, 1):
        sent = rig.publish(version)
        check_failed(sent, "w0")
        check_failed(sent, "w1")
    rig.link.fault = None
    bump(rig.truth["w32"], (1, 1))
    rig.check(rig.publish(2), 2)
    deltas_again(rig, 3, np.random.default_rng(3))


def test_nobody_at_the_other_end():
    rig = Rig(sample(5))
    rig.sync.add_worker("ghost")
    for version in range(3):
        bump(rig.truth["w32"], (version, 0))
        sent = rig.publish(version)
        rig.check(sent, version, ["w0"])
        assert not sent.delivered("ghost")
    rig.sync.remove_worker("ghost")
    rig.join("ghost")
    rig.check(rig.publish(3), 3)
    rig.link.detach("w0")
    bump(rig.truth["w32"], (3, 0))
    sent = rig.publish(4)
    assert not sent.delivered("w0")
    rig.check(sent, 4, ["ghost"])
    rig.link.attach("w0", rig.workers["w0"].receive)
    rig.check(rig.publish(5), 5)


def faulty_situation(which):
    """Two workers that have version 1, and a store that has gone on."""
    rig = Rig(sample(6), n=2)
    rig.check(rig.publish(0), 0)
    bump(rig.truth["w32"], (0, 0))
    rig.check(rig.publish(1), 1)
    for name in ("w32", "w16", "bf16", "count", "mask"):
        bump(rig.truth[name].reshape(-1), (np.array([2, 3, 5, 30]),))
    bump(rig.truth["scalar"], ())
    rig.put("added", np.arange(7, dtype=np.float32))
    rig.put("none", np.ones((2, 2), np.int64))
    if which == "full":
        rig.sync.reset("w0")
    elif which == "restarted":
        rig.workers["w0"].restart()
    return rig


def run_fault(which, at, what):
    """One fault at the at-th message to w0; returns False when there is no such message."""
    rig = faulty_situation(which)
    old = rig.has("w0")
    seen = []

    def fault(index, name, frame):
        if name != "w0":
            return None
        seen.append(len(frame))
        return what(frame) if len(seen) == at + 1 else None

    rig.link.fault = fault
    sent = rig.publish(2)
    if len(seen) <= at:
        return False
    new = (rig.now(), 2)
    have = rig.has("w0")
    is_old, is_new = have == old, have == new
    assert is_old or is_new, "a mixture of two states, or damaged weights"
    assert is_new or not sent.delivered("w0"), "reported as delivered, but it was not"
    rig.check(sent, 2, ["w1"])
    rig.link.fault = None
    bump(rig.truth["w16"], (1, 1))
    rig.check(rig.publish(3), 3)
    before = rig.now()
    bump(rig.truth["w16"], (0, 1))
    sent = rig.publish(4)
    rig.check(sent, 4)
    check_entries(sent, "w0", before, rig.now())
    return True


@pytest.mark.parametrize("which", ["delta", "full", "restarted"])
@pytest.mark.parametrize("how", ["lost", "reply lost", "reply damaged"])
def test_lost_anywhere_leaves_a_whole_state(which, how):
    messages = 0
    while messages < 200 and run_fault(which, messages, lambda frame: how):
        messages += 1
    assert messages, "no message was sent"


def flipped(at):
    def what(frame):
        out = bytearray(frame)
        out[int(at * (len(out) - 1))] ^= 0x04
        return bytes(out)

    return what


@pytest.mark.parametrize("which", ["delta", "full", "restarted"])
@pytest.mark.parametrize("at", [round(i / 11, 4) for i in range(12)] + ["cut", "half", "long"])
def test_damaged_frame_is_refused_as_a_whole(which, at):
    what = {
        "cut": lambda frame: frame[:-1],
        "half": lambda frame: frame[: len(frame) // 2],
        "long": lambda frame: frame + b"\0",
    }.get(at) or flipped(at)
    messages = 0
    while messages < 3 and run_fault(which, messages, what):
        messages += 1
    assert messages, "no message was sent"


def test_same_positions_after_a_failure():
    # what was remembered of a failed transfer must not be used for a later one
    rng = np.random.default_rng(5)
    rig = Rig(sample(9), n=2)
    rig.check(rig.publish(0), 0)
    for version in range(1, 13):
        a = rig.truth["w32"]
        bump(a, few(rng, a, 4), by=version)
        failing = version % 3 == 0
        rig.link.fault = drop("w0", how="lost" if version % 2 else "reply lost") if failing else None
        sent = rig.publish(version)
        if failing:
            check_failed(sent, "w0")
        rig.check(sent, version, ["w1"] if failing else None)
        assert sent.entries("w1") == 4
