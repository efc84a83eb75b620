"""Entries and bytes, as counted by a link that is not the project's own."""

import numpy as np
import pytest
from probekit import Rig, bump, check_cost, few, sample

N = 65_536
K = 655


def check_costs(rig, sent, before, names=None):
    after = rig.now()
    for name in names or rig.workers:
        check_cost(sent, name, before, after)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_only_changed_entries_are_declared(dtype):
    rng = np.random.default_rng(0)
    size = np.dtype(dtype).itemsize
    bits = {2: np.uint16, 4: np.uint32}[size]

    def draw(n):
        # all bits at random: what has to be carried cannot be carried in fewer bytes
        return rng.integers(0, 2 ** (8 * size), n, dtype=np.uint64).astype(bits)

    raw = draw(N).reshape(256, 256)
    rig = Rig({"w": raw.view(dtype), "bias": np.zeros(256, np.float32)}, n=2)
    raw[3, 5:9] ^= 1  # between the making of the sender and its first sync
    sent = rig.publish(0)
    rig.check(sent, 0)
    assert sent.bytes("w0") >= N * size, "weights came in some other way than through the link"
    for version in range(1, 4):
        at = few(rng, raw, K)
        old = raw[at]
        new = draw(K)
        raw[at] = np.where(new == old, new ^ bits(1), new)
        sent = rig.publish(version)
        rig.check(sent, version)
        for name in rig.workers:
            assert sent.entries(name) == K
            assert sent.told[name]["entries"] == K
            assert sent.told[name]["kind"] == "delta"
            # at most one in 2**16 of the changed entries was drawn as the old one with a bit turned
            assert sent.bytes(name) >= (K - 8) * size, "changes came in some other way than through the link"
    raw[at] = old  # the last change taken back
    sent = rig.publish(4)
    rig.check(sent, 4)
    assert sent.entries("w0") == K


@pytest.mark.parametrize("dtype", ["bool", "float16", "uint16", "float32", "int64"])
def test_bytes_of_a_sparse_change(dtype):
    # 655 of 65,536 entries: the saving in bytes is smaller than that in entries and depends on the
    # width of a value; the limit is the one of the task's text
    rng = np.random.default_rng(1)
    w = rng.integers(0, 2, N).astype(dtype).reshape(64, -1)
    rig = Rig({"layer.w": w})
    rig.check(rig.publish(0), 0)
    for version in range(1, 4):
        before = rig.now()
        bump(w, few(rng, w, K))
        sent = rig.publish(version)
        rig.check(sent, version)
        check_costs(rig, sent, before)


@pytest.mark.parametrize("dtype", ["bool", "float16", "float32", "int64"])
def test_bytes_of_a_dense_change(dtype):
    # on both sides of the point where sending the parameter whole is the cheaper way, and at the end
    rng = np.random.default_rng(2)
    size = np.dtype(dtype).itemsize
    n = 6000
    edge = n * size // (size + 4)
    w = rng.integers(0, 2, n).astype(dtype)
    rig = Rig({"w": w, "still": np.ones(3000, np.float32)})
    rig.check(rig.publish(0), 0)
    for version, k in enumerate([edge - 200, edge + 200, edge + 600, n, edge - 200, n - 1], start=1):
        before = rig.now()
        bump(w, few(rng, w, k))
        sent = rig.publish(version)
        rig.check(sent, version)
        check_costs(rig, sent, before)


@pytest.mark.parametrize("pattern", ["head", "tail", "run", "comb", "corners"])
def test_where_the_changes_are_does_not_matter(pattern):
    w = np.zeros((512, 128), np.float16)
    rig = Rig({"w": w})
    rig.check(rig.publish(0), 0)
    flat = w.reshape(-1)
    at = {
        "head": np.arange(300),
        "tail": np.arange(N - 300, N),
        "run": np.arange(40_000, 40_700),
        "comb": np.arange(0, N, 97),
        "corners": np.array([0, 255, 256, 65_279, 65_280, N - 1]),
    }[pattern]
    for version in range(1, 3):
        before = rig.now()
        bump(flat, (at,))
        sent = rig.publish(version)
        rig.check(sent, version)
        assert sent.entries("w0") == at.size
        check_costs(rig, sent, before)


def test_large_parameter_with_far_apart_changes():
    # more entries than two and three bytes of index can tell apart
    w = np.zeros(17_000_000, np.bool_)
    rig = Rig({"w": w})
    assert rig.publish(0).delivered("w0")
    w[[0, 65_536, 131_071, 16_777_216, 16_999_999]] = True
    sent = rig.publish(1)
    rig.check(sent, 1)
    assert sent.entries("w0") == 5
    assert sent.bytes("w0") <= 512 + (128 + 1) + 5 * (1 + 4)


def test_quiet_sync_costs_next_to_nothing():
    rng = np.random.default_rng(3)
    arrays = {f"layers.{i}.weight": rng.normal(size=(4, 6)).astype(np.float32) for i in range(300)}
    arrays["nan"] = np.full(500, np.nan, np.float32)
    arrays["none"] = np.zeros((0, 3), np.float16)
    arrays["scalar"] = np.array(np.nan, np.float16)
    rig = Rig(arrays, n=2)
    rig.check(rig.publish(0), 0)
    for version in (1, 1, 2, 50, 49):
        sent = rig.publish(version)
        rig.check(sent, version)
        for name in rig.workers:
            assert sent.entries(name) == 0
            assert sent.bytes(name) <= 512
    # one entry of one of 300 parameters
    before = rig.now()
    rig.truth["layers.123.weight"][2, 2] += 1
    sent = rig.publish(51)
    rig.check(sent, 51)
    check_costs(rig, sent, before)
    assert sent.entries("w0") == 1


def test_full_sends_cost_no_more_than_stated():
    rig = Rig(sample(7, scale=20), n=2)
    total = sum(a.size for a in rig.truth.values())
    sent = rig.publish(0)
    rig.check(sent, 0)
    check_costs(rig, sent, {})
    assert sent.entries("w0") == total and sent.told["w0"]["kind"] == "full"
    before = rig.now()
    bump(rig.truth["w32"], (0, 0))
    rig.sync.reset("w1")
    sent = rig.publish(1)
    rig.check(sent, 1)
    check_costs(rig, sent, before, ["w0"])
    check_costs(rig, sent, {}, ["w1"])
    assert sent.entries("w1") == total and sent.told["w1"]["kind"] == "full"


def test_report_tells_what_the_link_saw():
    rig = Rig(sample(8), n=3)
    changes = np.random.default_rng(4)

    def compare(sent):
        for name in rig.workers:
            told = sent.told[name]
            assert told["messages"] == len(sent.of(name)) > 0
            assert told["entries"] == sent.entries(name)
            assert told["bytes"] == sent.bytes(name)

    compare(rig.publish(0))
    for version in range(1, 9):
        bump(rig.truth["w32"], few(changes, rig.truth["w32"], 5))
        if version == 3:
            rig.link.fault = lambda i, name, frame: "lost" if name == "w0" else None
        elif version == 5:
            rig.link.fault = lambda i, name, frame: "reply lost" if name == "w1" else None
        else:
            rig.link.fault = None
        if version == 7:
            rig.workers["w2"].restart()
        sent = rig.publish(version)
        compare(sent)
        assert sent.delivered("w0") == (version != 3)
        assert sent.delivered("w1") == (version != 5)
        assert sent.delivered("w2")
    rig.check(rig.publish(9), 9)
