import pytest

from reinlet.transport import TransferError, Transport


def test_send_returns_the_reply_and_counts():
    t = Transport()
    t.attach("w", lambda frame: frame[:2])
    assert t.send("w", b"hello", entries=3) == b"he"
    assert (t.total.messages, t.total.entries, t.total.bytes) == (1, 3, 7)
    assert t.links["w"].bytes == 7


def test_unknown_endpoint():
    with pytest.raises(TransferError):
        Transport().send("w", b"x")


def test_lost_request_is_not_delivered():
    t, seen = Transport(), []
    t.attach("w", lambda frame: seen.append(frame) or b"ok")
    t.drop_next("w")
    with pytest.raises(TransferError):
        t.send("w", b"x")
    assert seen == []
    assert t.send("w", b"y") == b"ok"


def test_lost_reply_is_delivered():
    t, seen = Transport(), []
    t.attach("w", lambda frame: seen.append(frame) or b"ok")
    t.drop_next("w", when="reply")
    with pytest.raises(TransferError):
        t.send("w", b"x")
    assert seen == [b"x"]


def test_refusal_is_a_transfer_error():
    def refuse(frame):
        raise ValueError("no")

    t = Transport()
    t.attach("w", refuse)
    with pytest.raises(TransferError):
        t.send("w", b"x")
