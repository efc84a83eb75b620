"""Frames on a socket: a fixed head, a small JSON header, a raw payload."""

from __future__ import annotations

import json
import socket
import struct

import numpy as np

MAGIC = b"TND1"
HEAD = struct.Struct("!4sIQ")
MAX_HEADER = 1 << 16
JOIN = 1 << 16  # payloads up to this size leave together with their header


class WireError(ConnectionError):
    """The other side closed, or sent something that is no frame."""


def send_frame(sock: socket.socket, kind: str, meta: dict | None = None, payload: bytes = b"") -> None:
    header = json.dumps({"kind": kind, **(meta or {})}).encode()
    head = HEAD.pack(MAGIC, len(header), len(payload)) + header
    if len(payload) <= JOIN:
        sock.sendall(head + payload)
    else:
        sock.sendall(head)
        sock.sendall(payload)


def recv_frame(sock: socket.socket) -> tuple[str, dict, bytearray]:
    magic, header_size, payload_size = HEAD.unpack(_recv_exact(sock, HEAD.size))
    if magic != MAGIC or header_size > MAX_HEADER:
        raise WireError("not a frame")
    meta = json.loads(bytes(_recv_exact(sock, header_size)))
    payload = _recv_exact(sock, payload_size)
    return meta.pop("kind"), meta, payload


def _recv_exact(sock: socket.socket, size: int) -> bytearray:
    buffer = bytearray(size)
    view = memoryview(buffer)
    done = 0
    while done < size:
        got = sock.recv_into(view[done:])
        if got == 0:
            raise WireError("the connection was closed by the other side")
        done += got
    return buffer


def describe(array: np.ndarray) -> dict:
    return {"dtype": array.dtype.str, "shape": list(array.shape)}


def restore(meta: dict, payload: bytearray) -> np.ndarray:
    return np.frombuffer(payload, dtype=np.dtype(meta["dtype"])).reshape(meta["shape"])
