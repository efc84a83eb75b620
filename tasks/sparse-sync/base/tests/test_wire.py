import numpy as np
import pytest

from reinlet import wire


def test_seal_and_unseal():
    frame = wire.seal(7, b"body")
    assert wire.unseal(frame) == (7, b"body")


@pytest.mark.parametrize("at", [0, 4, 6, 13, 17, 20])
def test_damage_is_noticed(at):
    frame = bytearray(wire.seal(7, b"body"))
    frame[at] ^= 0x10
    with pytest.raises(wire.FrameError):
        wire.unseal(bytes(frame))


def test_cut_frame_is_noticed():
    with pytest.raises(wire.FrameError):
        wire.unseal(wire.seal(1, b"body")[:-1])


def test_full_round_trip():
    items = (
        ("a", np.arange(6, dtype=np.float32).reshape(2, 3)),
        ("b", np.array(3, np.int64)),
        ("c", np.zeros((0, 4), np.float16)),
        ("d", np.array([True, False])),
    )
    kind, body = wire.unseal(wire.encode_full(9, items))
    version, arrays = wire.decode_full(body)
    assert (kind, version) == (wire.FULL, 9)
    for name, array in items:
        assert arrays[name].dtype == array.dtype
        assert arrays[name].shape == array.shape
        assert np.array_equal(arrays[name], array)


def test_decoded_arrays_are_writable():
    _, body = wire.unseal(wire.encode_full(1, (("a", np.zeros(2, np.float32)),)))
    _, arrays = wire.decode_full(body)
    arrays["a"][0] = 1.0


def test_ack_round_trip():
    assert wire.decode_ack(wire.encode_ack(12)) == 12
