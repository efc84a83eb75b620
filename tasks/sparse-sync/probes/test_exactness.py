"""Replicas equal the store bit by bit, over many syncs."""

import numpy as np
import pytest
from probekit import Link, Rig, bump, check_entries, few, plain, sample

from reinlet.config import PolicySpec
from reinlet.params import from_bf16, to_bf16
from reinlet.policy import init_policy
from reinlet.rollout import RolloutWorker
from reinlet.sync import FullSync


def one_change(rig, version, entries):
    """A sync in which exactly so many entries changed: they arrive, and they alone travel."""
    sent = rig.publish(version)
    rig.check(sent, version)
    assert sent.entries("w0") == entries


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_special_values_by_their_bits(dtype):
    bits = {"float32": np.uint32, "float16": np.uint16}[dtype]
    # quiet and signalling NaNs that differ in payload or sign only
    nan = {
        "float32": [0x7FC00000, 0x7FC00001, 0xFFC00000, 0x7F800001],
        "float16": [0x7E00, 0x7E01, 0xFE00, 0x7C01],
    }[dtype]
    a = np.ones((8, 8), dtype)
    raw = a.view(bits)
    raw[0, :4] = nan
    a[1, :2] = 0.0
    rig = Rig({"a": a, "b": np.ones(5, dtype)})
    one_change(rig, 1, 69)
    one_change(rig, 2, 0)  # a NaN that stays is not a change
    a[1, 0] = -0.0
    one_change(rig, 3, 1)
    a[1, 0] = 0.0
    one_change(rig, 4, 1)
    raw[0, 0] = nan[1]
    one_change(rig, 5, 1)
    raw[0, 3] = nan[2]
    one_change(rig, 6, 1)
    raw[3, 3] = 1  # from 1.0 to the smallest subnormal
    one_change(rig, 7, 1)
    raw[3, 3] = 2  # and to the next
    one_change(rig, 8, 1)
    a[2, 2] = np.inf
    a[2, 3] = nan[0] if dtype == "float16" else 3.0e38
    one_change(rig, 9, 2)
    one_change(rig, 10, 0)


@pytest.mark.parametrize("name", ["w32", "w16", "bf16", "count", "mask", "scalar"])
def test_the_smallest_change_of_one_entry(name):
    rig = Rig(sample(3))
    rig.check(rig.publish(0), 0)
    array = rig.truth[name]
    for version, flat in enumerate((0, array.size - 1, array.size // 2), start=1):
        bump(array, np.unravel_index(flat, array.shape), smallest=True)
        one_change(rig, version, 1)
    one_change(rig, 9, 0)


def test_large_values_that_hide_small_changes():
    # a relative or an absolute tolerance, or a comparison in a wider or narrower dtype, misses these
    rig = Rig(
        {
            "big": np.full(64, 1.0e30, np.float32),
            "small": np.full(64, 1.0e-30, np.float32),
            "count": np.full(64, 2**60, np.int64),
            "half": np.full(64, 60000.0, np.float16),
        }
    )
    rig.check(rig.publish(0), 0)
    for version in range(1, 4):
        rig.truth["big"][5] = np.nextafter(rig.truth["big"][5], np.float32(0))
        rig.truth["small"][version] *= np.float32(3)
        rig.truth["count"][7] += 1
        rig.truth["half"][9] = np.nextafter(rig.truth["half"][9], np.float16(0))
        one_change(rig, version, 4)


def test_writes_in_place_without_a_word():
    big = np.zeros((40, 30), np.float32)
    owner = {"a": np.zeros(50, np.float16), "b": big[::2, 3:9], "c": np.array(1, np.int64)}
    rig = Rig(owner, n=2)
    rig.check(rig.publish(0), 0)
    window = rig.truth["a"][10:20]
    for version in range(1, 7):
        before = rig.now()
        window[version] = version
        big[4:8, 4] = version  # two rows of the view "b" see it
        rig.truth["c"][...] += 1
        sent = rig.publish(version)
        rig.check(sent, version)
        check_entries(sent, "w1", before, rig.now())
    # the sender may not keep hold of the live arrays as what was sent
    rig.truth["a"][...] = 0
    rig.check(rig.publish(7), 7)


def test_changes_that_cancel_out():
    # sums, means, norms and sorted values stay: a summary of a parameter does not tell
    a = np.arange(1, 65, dtype=np.float32).reshape(8, 8)
    c = np.arange(64, dtype=np.int64)
    rig = Rig({"a": a, "c": c, "flags": np.array([True, False] * 128)})
    rig.check(rig.publish(0), 0)
    a[0, 0], a[7, 7] = a[7, 7], a[0, 0]
    one_change(rig, 1, 2)
    c[3] += 5
    c[9] -= 5
    one_change(rig, 2, 2)
    a[2] = a[2, ::-1].copy()
    one_change(rig, 3, 8)
    rig.truth["flags"][:4] = [False, True, False, True]
    one_change(rig, 4, 4)
    a[...] = -a
    rig.check(rig.publish(5), 5)


def test_changes_taken_back():
    # changed and changed back between two syncs: nothing to send; changed back after one: a change
    rig = Rig(sample(5))
    rig.check(rig.publish(0), 0)
    at = (np.array([1, 2, 3]),)
    flat = rig.truth["count"]
    bump(flat, at)
    bump(flat, at)
    one_change(rig, 1, 0)
    bump(flat, at)
    one_change(rig, 2, 3)
    bump(flat, at)
    one_change(rig, 3, 3)
    bump(rig.truth["mask"], at)
    one_change(rig, 4, 3)


def test_long_sequence_like_a_full_sync():
    rng = np.random.default_rng(11)
    rig = Rig(sample(1), n=2)
    other = Link()
    reference = RolloutWorker("r", other)
    full = FullSync(rig.store, other)
    full.add_worker("r")
    before = {}
    for version in range(14):
        if version:
            for name in ("w32", "w16", "bf16", "count", "mask", "scalar"):
                array = rig.truth[name]
                k = int(rng.choice([0, 0, 1, 3, array.size // 4, array.size]))
                if k and name != "scalar":
                    bump(array, few(rng, array, k), by=int(rng.integers(1, 200)))
                elif k:
                    bump(array, ())
        sent = rig.publish(version)
        full.sync(version)
        rig.check(sent, version)
        want = plain(reference.weights())
        same = rig.has("w0") == (want, version)
        assert same, f"not what a full sync gives at {version}"
        if version:
            check_entries(sent, "w0", before, rig.now())
        before = rig.now()


def test_layouts_and_odd_shapes():
    rng = np.random.default_rng(2)
    base = rng.normal(size=(12, 14)).astype(np.float32)
    cube = rng.normal(size=(4, 5, 6)).astype(np.float16)
    arrays = {
        "fortran": np.asfortranarray(rng.normal(size=(9, 7)).astype(np.float32)),
        "transposed": base.T,
        "strided": np.zeros((10, 20), np.int64)[1::3, ::-2],
        "reversed": np.arange(30, dtype=np.uint16)[::-1],
        "moved": np.moveaxis(cube, 0, 2),
        "scalar": np.array(2.5, np.float32),
        "flag": np.array(True),
        "half": np.array(0.5, np.float16),
        "empty": np.zeros(0, np.float32),
        "hollow": np.zeros((3, 0, 2), np.int64),
        "single": np.zeros((1, 1, 1, 1), np.uint16),
    }
    rig = Rig(arrays)
    rig.check(rig.publish(0), 0)
    names = [n for n in arrays if arrays[n].size]
    for version in range(1, 6):
        before = rig.now()
        for name in names:
            a = rig.truth[name]
            at = few(rng, a, 2) if a.ndim else ()
            a[at] = ~a[at] if a.dtype == np.bool_ else a[at] + a.dtype.type(1)
        sent = rig.publish(version)
        rig.check(sent, version)
        check_entries(sent, "w0", before, rig.now())
    # another layout of the same values is no change
    rig.put("transposed", np.array(rig.truth["transposed"], order="C"))
    rig.put("moved", np.asfortranarray(rig.truth["moved"]))
    one_change(rig, 6, 0)
    rig.truth["transposed"][3, 5] += 1
    one_change(rig, 7, 1)


def logits_by_hand(arrays, states):
    """The policy in float64, from the parameters alone."""
    table = from_bf16(arrays["table"]).astype(np.float64)
    h = np.tanh(table[states] @ arrays["hidden.weight"].astype(np.float64) + arrays["hidden.bias"])
    z = h @ arrays["head.weight"].astype(np.float64) / float(arrays["temperature"])
    return np.where(arrays["head.mask"], z, -np.inf)


def test_the_policy_acts_on_the_new_weights():
    spec = PolicySpec(n_states=48, dim=6, hidden=10, n_actions=5)
    live = init_policy(spec, seed=4)
    rig = Rig(dict(live.items()))
    states = np.arange(spec.n_states)
    worker = rig.workers["w0"]
    rig.check(rig.publish(0), 0)
    worker.policy.logits(states)  # whatever it derives from the weights is derived now
    for version, name in enumerate(
        ["table", "hidden.bias", "table", "temperature", "head.mask", "table", "head.weight"], start=1
    ):
        a = rig.truth[name]
        if name == "table":
            rows = slice(3 * version, 3 * version + 2)
            a[rows] = to_bf16(from_bf16(a[rows]) * np.float32(-2.0) + np.float32(version))
        elif name == "temperature":
            a[...] = 2.0
        elif name == "head.mask":
            a[2] = False
        else:
            a.reshape(-1)[:3] += 1
        rig.check(rig.publish(version), version)
        got = np.array(worker.policy.logits(states), np.float64)
        want = logits_by_hand(rig.truth, states)
        assert np.array_equal(np.isinf(got), np.isinf(want))
        seen = ~np.isinf(want)
        # float32 through two products of at most 10 terms of size below 10: errors of a few 1e-6;
        # a stale row is off by more than 1e-2
        assert np.allclose(got[seen], want[seen], rtol=1e-4, atol=1e-4)


def test_replicas_are_their_workers_own():
    """Writing into one reaches neither the store nor the other worker; and the next full sync mends it."""
    rig = Rig(sample(7), n=2)
    for version in range(3):
        before = rig.now()
        if version:
            bump(rig.truth["w32"], (version, 3))
            rig.put("w16", np.full((version, 5), version, np.float16))
        rig.check(rig.publish(version), version)
        replica = rig.workers["w0"].replica
        for name in rig.truth:
            array = replica[name]
            assert bool(array.flags.writeable), f"{name} cannot be written to"
            if array.size:
                array[...] = ~array if array.dtype == np.bool_ else array + array.dtype.type(1)
        replica.touch()
        intact = rig.now(), rig.has("w1")
        if version == 0:
            assert intact[0] == before, "the store has been written to"
        assert intact[1] == (intact[0], version), "the other worker has been written to"
        wrong = rig.has("w0")[0] == rig.now()
        assert not wrong, "what was written is not there"
        rig.sync.reset("w0")
        rig.check(rig.publish(version), version)
