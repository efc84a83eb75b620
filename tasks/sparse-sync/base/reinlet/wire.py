"""Frames. Every frame is sealed: magic, kind, length, checksum, body."""

from __future__ import annotations

import struct
import zlib

import numpy as np

from .params import SUPPORTED

MAGIC = b"RLW1"
FULL = 1
ACK = 2

_HEAD = struct.Struct("<4sBQI")


class FrameError(ValueError):
    """A frame that cannot be what its sender wrote."""


def seal(kind, body):
    """Put a body into a frame."""
    return _HEAD.pack(MAGIC, kind, len(body), zlib.crc32(body, kind)) + body


def unseal(frame):
    """The kind and the body of a frame; FrameError if it is damaged."""
    if len(frame) < _HEAD.size:
        raise FrameError("frame too short")
    magic, kind, length, checksum = _HEAD.unpack_from(frame)
    body = frame[_HEAD.size:]
    if magic != MAGIC or length != len(body):
        raise FrameError("not a frame, or cut")
    if zlib.crc32(body, kind) != checksum:
        raise FrameError("checksum does not match")
    return kind, body


class Reader:
    """Takes a body apart from front to back."""

    def __init__(self, body):
        self.body = body
        self.at = 0

    def take(self, n):
        if n < 0 or self.at + n > len(self.body):
            raise FrameError("body too short")
        piece = self.body[self.at:self.at + n]
        self.at += n
        return piece

    def unpack(self, layout):
        return struct.unpack("<" + layout, self.take(struct.calcsize("<" + layout)))

    def text(self):
        (n,) = self.unpack("H")
        return self.take(n).decode("utf-8")

    def end(self):
        if self.at != len(self.body):
            raise FrameError("body too long")


def pack_text(text):
    raw = text.encode("utf-8")
    return struct.pack("<H", len(raw)) + raw


def pack_array(array):
    """Dtype, shape and values (C order) of an array."""
    code = SUPPORTED.index(array.dtype)
    head = struct.pack(f"<BB{array.ndim}Q", code, array.ndim, *array.shape)
    return head + array.tobytes(order="C")


def read_array(reader):
    """An array of its own memory, writable."""
    code, ndim = reader.unpack("BB")
    if code >= len(SUPPORTED):
        raise FrameError("unknown dtype")
    shape = reader.unpack(f"{ndim}Q") if ndim else ()
    count = 1
    for extent in shape:
        count *= extent
    dtype = SUPPORTED[code]
    raw = reader.take(count * dtype.itemsize)
    return np.frombuffer(raw, dtype=dtype).reshape(shape).copy()


def encode_full(version, items):
    parts = [struct.pack("<qI", version, len(items))]
    for name, array in items:
        parts.append(pack_text(name))
        parts.append(pack_array(array))
    return seal(FULL, b"".join(parts))


def decode_full(body):
    """Version and arrays by name."""
    reader = Reader(body)
    version, count = reader.unpack("qI")
    arrays = {}
    for _ in range(count):
        name = reader.text()
        arrays[name] = read_array(reader)
    reader.end()
    return version, arrays


def encode_ack(version):
    return seal(ACK, struct.pack("<q", version))


def decode_ack(reply):
    kind, body = unseal(reply)
    if kind != ACK:
        raise FrameError("not an acknowledgement")
    reader = Reader(body)
    (version,) = reader.unpack("q")
    reader.end()
    return version
