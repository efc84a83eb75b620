"""Workers that come, go, come back, or got their weights from somebody else; and reset."""

import numpy as np
import pytest
from probekit import Rig, bump, check_bytes, check_cost, few, plain, sample

from reinlet import checkpoint
from reinlet import sync as sync_module
from reinlet.params import ParamStore
from reinlet.rollout import RolloutWorker
from reinlet.sync import FullSync


def step(rig, version, names=None, rng=np.random.default_rng(17)):
    """Change some entries and publish; those named get exactly these entries."""
    before = rig.now()
    bump(rig.truth["w32"], few(rng, rig.truth["w32"], 3))
    sent = rig.publish(version)
    rig.check(sent, version)
    for name in rig.workers if names is None else names:
        assert sent.entries(name) == 3
        check_bytes(sent, name, before, rig.now())
    return sent


def total(rig):
    return sum(int(a.size) for a in rig.truth.values())


@pytest.mark.parametrize("quiet", [True, False])
def test_late_worker_gets_everything(quiet):
    rig = Rig(sample(1))
    for version in range(3):
        step(rig, version, [] if version == 0 else None)
    rig.join("late")
    if quiet:
        sent = rig.publish(2)  # nothing has changed, and the version neither
        rig.check(sent, 2)
        assert sent.entries("w0") == 0 and sent.bytes("w0") <= 512
    else:
        sent = step(rig, 3, ["w0"])
    assert sent.entries("late") == total(rig)
    assert sent.told["late"]["kind"] == "full" and sent.told["w0"]["kind"] == "delta"
    check_bytes(sent, "late", {}, rig.now())
    step(rig, 4)
    step(rig, 5)


def test_first_worker_after_syncs_without_any():
    rig = Rig(sample(2), n=0)
    for version in range(3):
        bump(rig.truth["w32"], (version, 0))
        sent = rig.publish(version)
        assert sent.told == {} and sent.log == []
    rig.join("w0")
    sent = rig.publish(2)
    rig.check(sent, 2)
    assert sent.entries("w0") == total(rig)
    step(rig, 3)


def test_worker_removed_and_added_again():
    rig = Rig(sample(3), n=2)
    rig.check(rig.publish(0), 0)
    rig.sync.remove_worker("w1")
    assert [str(name) for name in rig.sync.workers] == ["w0"]
    missed = rig.has("w1")
    bump(rig.truth["w32"], (np.arange(5), 2))
    sent = rig.publish(1)
    rig.check(sent, 1, ["w0"])
    assert "w1" not in sent.told and sent.of("w1") == []
    untouched = rig.has("w1") == missed
    assert untouched, "a worker that is not in the list was served"
    rig.sync.add_worker("w1")
    sent = rig.publish(1)
    rig.check(sent, 1)
    assert sent.entries("w0") == 0
    assert sent.entries("w1") >= total(rig)
    step(rig, 2)
    # away and back without a sync in between, and nothing new: everything once more
    rig.sync.remove_worker("w1")
    rig.sync.add_worker("w1")
    sent = rig.publish(2)
    rig.check(sent, 2)
    assert sent.entries("w0") == 0
    assert sent.entries("w1") == total(rig) and sent.told["w1"]["kind"] == "full"
    # and the same with a new process behind the name
    rig.sync.remove_worker("w1")
    rig.workers["w1"].restart()
    rig.sync.add_worker("w1")
    rig.check(rig.publish(2), 2)
    step(rig, 3)
    with pytest.raises(KeyError):
        rig.sync.remove_worker("nobody")
    with pytest.raises(ValueError):
        rig.sync.add_worker("w1")


def lose_weights(rig, how, path):
    """The replica of w0 is replaced behind the sender's back, under the same version number if it has one."""
    worker = rig.workers["w0"]
    if how == "restart":
        worker.restart()
    elif how == "replaced":
        rig.workers["w0"] = RolloutWorker("w0", rig.link)
    elif how == "replaced and warm":
        rig.workers["w0"] = RolloutWorker("w0", rig.link)
        rig.workers["w0"].warm_start(path)
    elif how == "warm start":
        worker.warm_start(path)
    elif how == "restart and warm start":
        worker.restart()
        worker.warm_start(path)
    elif how == "full sync of other weights":
        other = FullSync(ParamStore(dict(checkpoint.load(path).params)), rig.link)
        other.add_worker("w0")
        assert other.sync(rig.workers["w0"].version).delivered == ("w0",)
    elif how == "delta sync of other weights":
        other = sync_module.DeltaSync(ParamStore(dict(checkpoint.load(path).params)), rig.link)
        other.add_worker("w0")
        assert other.sync(rig.workers["w0"].version).delivered == ("w0",)


HOW = [
    "restart",
    "replaced",
    "replaced and warm",
    "warm start",
    "restart and warm start",
    "full sync of other weights",
    "delta sync of other weights",
]


@pytest.mark.parametrize("deltas", [0, 2])
@pytest.mark.parametrize("quiet", [True, False])
@pytest.mark.parametrize("how", HOW)
def test_replica_replaced_behind_the_back(how, quiet, deltas, tmp_path):
    """Right after the first sync too: what a worker counts stands where a new process would have it."""
    rig = Rig(sample(4), n=2)
    rig.check(rig.publish(0), 0)
    for version in range(1, deltas + 1):
        step(rig, version)
    # a checkpoint with the version number that the worker has, the same shapes, and other weights
    path = str(tmp_path / "other.npz")
    checkpoint.save(path, deltas, sample(99))
    for version in (deltas + 1, deltas + 2):
        lose_weights(rig, how, path)
        if how != "restart" and how != "replaced":
            others = rig.has("w0")[0] == plain(sample(99))
            assert others, "the worker does not have what it was given"
        before = rig.now()
        at = deltas if quiet else version
        if not quiet:
            bump(rig.truth["w16"], (version, np.arange(3)))
        sent = rig.publish(at)
        rig.check(sent, at)
        check_bytes(sent, "w0", {}, rig.now(), times=2)
        check_cost(sent, "w1", before, rig.now())
        if how == "restart" or how == "replaced":  # it had nothing
            assert sent.entries("w0") >= total(rig) and sent.told["w0"]["kind"] == "full"
        step(rig, at)


@pytest.mark.parametrize("quiet", [True, False])
def test_an_earlier_worker_stands_in_again(quiet):
    """What it has it has from this very sender, under the version that it says, and it has missed what came since."""
    rig = Rig(sample(10), n=2)
    rig.check(rig.publish(0), 0)
    step(rig, 1)
    earlier = rig.workers["w0"]
    rig.workers["w0"] = RolloutWorker("w0", rig.link)
    bump(rig.truth["w32"], (np.arange(6), 4))
    rig.check(rig.publish(2), 2)
    step(rig, 3)
    for version in (4, 6):
        earlier, rig.workers["w0"] = rig.workers["w0"], earlier
        rig.link.attach("w0", rig.workers["w0"].receive)
        before = rig.now()
        if not quiet:
            bump(rig.truth["w16"], (version, np.arange(3)))
        sent = rig.publish(version)
        rig.check(sent, version)
        check_bytes(sent, "w0", {}, rig.now(), times=2)
        check_cost(sent, "w1", before, rig.now())
        step(rig, version + 1)


def test_warm_start_with_the_very_weights(tmp_path):
    # the same version and the same weights: whatever is sent, the result is right, and goes on right
    rig = Rig(sample(5), n=2)
    rig.check(rig.publish(3), 3)
    path = str(tmp_path / "same.npz")
    checkpoint.save(path, 3, rig.store.snapshot())
    rig.workers["w0"].warm_start(path)
    bump(rig.truth["w32"], (0, 0))
    rig.check(rig.publish(4), 4)
    # an older one of them, after which the store returns to what the checkpoint has
    rig.workers["w0"].warm_start(path)
    bump(rig.truth["w32"], (0, 0))
    rig.check(rig.publish(3), 3)
    step(rig, 4)


def test_two_senders_in_turn():
    # the live weights and their average, published to the same workers by turns
    rig = Rig(sample(6), n=2)
    mean = {name: array.copy() for name, array in sample(60).items()}
    store = ParamStore(mean)
    second = sync_module.DeltaSync(store, rig.link)
    for name in rig.workers:
        second.add_worker(name)
    live = rig.truth
    for version in range(6):
        if version in (1, 2, 5):
            bump(live["w32"], (version, 3))
        sent = rig.publish(version)
        rig.truth = live
        rig.check(sent, version)
        if version in (2, 4, 5):
            bump(mean["w32"], (version, 4))
        sent = rig.publish(version, sync=second)
        rig.truth = mean
        rig.check(sent, version)
        rig.truth = live


def test_new_sender_over_old_replicas():
    # the trainer's process starts anew; the workers have lived on, with the same version numbers
    rig = Rig(sample(7), n=2)
    for version in range(3):
        bump(rig.truth["w32"], (version, 0))
        rig.check(rig.publish(version), version)
    old = rig.sync
    for round_ in range(2):
        rig.sync = sync_module.DeltaSync(rig.store, rig.link)
        for name in rig.workers:
            rig.sync.add_worker(name)
        for version in range(3):
            bump(rig.truth["w32"], (version, 1 + round_))
            sent = rig.publish(version)
            rig.check(sent, version)
            assert sent.entries("w0") == (1 if version else total(rig))
    # the old one was not quite dead
    rig.check(rig.publish(3, sync=old), 3)
    bump(rig.truth["w32"], (5, 5))
    rig.check(rig.publish(4), 4)


def test_reset_of_one_and_of_all():
    rig = Rig(sample(8), n=3)
    rig.check(rig.publish(0), 0)
    step(rig, 1)
    n = total(rig)
    for name, others in (("w1", ["w0", "w2"]), ("w0", ["w1", "w2"]), ("w1", ["w0", "w2"])):
        rig.sync.reset(name)
        sent = step(rig, 2, others)
        assert sent.entries(name) == n and sent.told[name]["kind"] == "full"
        step(rig, 3)
    for version in (4, 6):
        rig.sync.reset()
        before = rig.now()
        sent = step(rig, version, []) if version == 4 else rig.publish(version)
        rig.check(sent, version)
        for name in rig.workers:
            assert sent.entries(name) == n
            assert sent.told[name]["kind"] == "full"
            check_bytes(sent, name, {}, rig.now())
        assert sorted(before) == sorted(rig.now())
        # the positions of before the reset mean nothing now: other entries, a shorter and a new array
        rig.put("w16", np.ones(5, np.float16))
        rig.put(f"new{version}", np.zeros(2, np.int64))
        n = total(rig)
        rig.check(rig.publish(version + 1), version + 1)
        step(rig, version + 1)
    with pytest.raises(KeyError):
        rig.sync.reset("nobody")
    sent = rig.publish(8)
    rig.check(sent, 8)
    assert sent.entries("w0") == 0


def test_reset_after_changes_that_were_not_sent():
    rig = Rig(sample(9), n=2)
    rig.check(rig.publish(0), 0)
    bump(rig.truth["w32"], (np.arange(4), 1))
    rig.sync.reset("w0")
    bump(rig.truth["w32"], (np.arange(4), 2))
    sent = rig.publish(1)
    rig.check(sent, 1)
    assert (sent.entries("w0"), sent.entries("w1")) == (total(rig), 8)
    # reset, and then the only transfer fails
    rig.sync.reset()
    bump(rig.truth["w32"], (5, 5))
    rig.link.fault = lambda index, name, frame: "lost" if name == "w1" else None
    sent = rig.publish(2)
    rig.check(sent, 2, ["w0"])
    assert not sent.delivered("w1")
    rig.link.fault = None
    sent = rig.publish(2)
    rig.check(sent, 2)
    assert sent.entries("w0") == 0
    step(rig, 3)
