"""Parameters that change their shape or dtype, come and go."""

import numpy as np
import pytest
from probekit import Rig, bump, check_cost, sample


def publish(rig, version, before):
    sent = rig.publish(version)
    rig.check(sent, version)
    for name in rig.workers:
        check_cost(sent, name, before, rig.now())


ARRAYS = {
    "same bytes, other shape": [
        np.arange(24, dtype=np.float32).reshape(4, 6),
        np.arange(24, dtype=np.float32).reshape(6, 4),
        np.arange(24, dtype=np.float32),
        np.arange(24, dtype=np.float32).reshape(1, 24, 1),
    ],
    "same bits, other dtype": [
        np.arange(24, dtype=np.uint16),
        np.arange(24, dtype=np.uint16).view(np.float16),
        np.arange(24, dtype=np.uint16),
    ],
    "same values, other dtype": [
        np.arange(8, dtype=np.float32),
        np.arange(8, dtype=np.float16),
        np.arange(8, dtype=np.int64),
        np.arange(8, dtype=np.uint16),
        np.arange(8, dtype=np.float32),
    ],
    "empty ones": [
        np.zeros((0, 5), np.float32),
        np.zeros((0, 7), np.float32),
        np.zeros((7, 0), np.float32),
        np.zeros((7, 0), np.float16),
        np.ones((7, 1), np.float16),
        np.zeros((0,), np.float16),
    ],
    "scalars": [
        np.array(1.0, np.float32),
        np.array([1.0], np.float32),
        np.array([[1.0]], np.float32),
        np.array(1.0, np.float32),
        np.array(True),
    ],
    "growing and shrinking": [
        np.ones(10, np.int64),
        np.ones(20, np.int64),
        np.ones(4, np.int64),
        np.ones((4, 4), np.int64),
    ],
}


@pytest.mark.parametrize("what", list(ARRAYS))
def test_shape_and_dtype_changes(what):
    rig = Rig({**sample(1), "x": ARRAYS[what][0].copy()}, n=2)
    rig.check(rig.publish(0), 0)
    version = 0
    for array in ARRAYS[what][1:]:
        before = rig.now()
        version += 1
        rig.put("x", array.copy())
        bump(rig.truth["w32"], (version, 0))
        publish(rig, version, before)
        # and increments of the new one
        before = rig.now()
        version += 1
        if rig.truth["x"].size:
            x = rig.truth["x"]
            bump(x, (-1,) * x.ndim)
        publish(rig, version, before)


def test_changed_shape_in_place():
    x = np.zeros((4, 6), np.float32)
    rig = Rig({"x": x, "y": np.ones(3, np.float32)})
    rig.check(rig.publish(0), 0)
    before = rig.now()
    x.shape = (3, 8)  # the same array object and the same memory
    publish(rig, 1, before)
    before = rig.now()
    x[2, 7] = 1
    publish(rig, 2, before)


def test_parameters_come_and_go():
    rig = Rig(sample(2), n=2)
    rig.check(rig.publish(0), 0)
    before = rig.now()
    rig.put("new", np.arange(5, dtype=np.float32))
    rig.put("nothing", np.zeros((0, 2), np.float32))
    publish(rig, 1, before)

    before = rig.now()
    rig.drop("w16")
    rig.drop("nothing")
    publish(rig, 2, before)

    # only gone, nothing else
    before = rig.now()
    rig.drop("mask")
    publish(rig, 3, before)

    # back with what it had, and with something else
    before = rig.now()
    rig.put("w16", sample(2)["w16"])
    rig.put("mask", np.zeros(3, np.bool_))
    publish(rig, 4, before)

    # gone and back between two syncs: nothing has happened
    before = rig.now()
    kept = rig.truth["w32"]
    rig.drop("w32")
    rig.put("w32", kept)
    publish(rig, 5, before)

    # a new object in place of the old, one entry different
    before = rig.now()
    other = rig.truth["w32"].copy()
    other[3, 3] += 1
    rig.put("w32", other)
    publish(rig, 6, before)

    # everything away, and something again
    before = rig.now()
    for name in list(rig.truth):
        rig.drop(name)
    publish(rig, 7, before)
    before = rig.now()
    rig.put("last", np.array(3, np.int64))
    publish(rig, 8, before)


def test_from_an_empty_store():
    rig = Rig({}, n=2)
    rig.check(rig.publish(0), 0)
    rig.check(rig.publish(0), 0)
    for version in range(1, 4):
        before = rig.now()
        rig.put(f"p{version}", np.full(version, version, np.float16))
        publish(rig, version, before)


def test_two_parameters_exchange_their_names():
    a, b = np.arange(12, dtype=np.float32), np.arange(12, dtype=np.float32)
    b[4] = -1
    rig = Rig({"a": a, "b": b, "tied": a})
    rig.check(rig.publish(0), 0)
    before = rig.now()
    rig.put("a", b)
    rig.put("b", a)
    publish(rig, 1, before)
    before = rig.now()
    a[0] = 5  # "b" and "tied" are one array
    publish(rig, 2, before)


def test_names_of_all_kinds():
    names = ["ä/ö", "a" * 200, "layers.0.w", " ", "\n", "0", "table\0x", "数"]
    rig = Rig({name: np.full(6, i, np.float32) for i, name in enumerate(names)})
    rig.check(rig.publish(0), 0)
    for version, name in enumerate(names, start=1):
        before = rig.now()
        rig.truth[name][version % 6] += 1
        publish(rig, version, before)
    before = rig.now()
    for name in names[:4]:
        rig.drop(name)
    publish(rig, 20, before)


def test_structure_changes_while_transfers_fail():
    rig = Rig(sample(3), n=2)
    rig.check(rig.publish(0), 0)
    for version, how in enumerate(("lost", "reply lost", "lost", "reply lost"), start=1):
        rig.link.fault = lambda index, name, frame, how=how: how if name == "w0" else None
        rig.put("w16", np.full((version, 3), version, np.float16))
        rig.put(f"extra{version}", np.ones(2, np.int64))
        if version > 1:
            rig.drop(f"extra{version - 1}")
        sent = rig.publish(version)
        assert not sent.delivered("w0")
        rig.check(sent, version, ["w1"])
    rig.link.fault = None
    rig.put("w16", np.full((2, 3), 2, np.float16))
    rig.check(rig.publish(5), 5)
    before = rig.now()
    bump(rig.truth["w16"], (0, 0))
    publish(rig, 6, before)
