"""How the ranks of one group find each other.

Rank 0 listens at MASTER_ADDR:MASTER_PORT until every other rank has said
hello under the same group name, then tells all of them to go on and stops
listening. Groups can therefore be made one after another at the same port: a
rank that is ahead and asks for a later group is sent away and tries again.
"""

from __future__ import annotations

import errno
import socket
import time

from tandem.comm.wire import WireError, recv_frame, send_frame

PAUSE = 0.002


class RendezvousTimeout(TimeoutError):
    """Not every rank arrived in time."""


def meet(name: str, rank: int, world_size: int, addr: str, port: int, timeout: float) -> dict[int, socket.socket]:
    """Sockets by peer rank: all other ranks on rank 0, rank 0 on the others."""
    deadline = time.monotonic() + timeout
    if world_size == 1:
        return {}
    if rank == 0:
        return _serve(name, world_size, addr, port, deadline)
    return {0: _join(name, rank, world_size, addr, port, deadline)}


def _left(deadline: float, who: str) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise RendezvousTimeout(f"rendezvous: {who} ran out of time")
    return left


def _listen(addr: str, port: int, backlog: int, deadline: float) -> socket.socket:
    while True:
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((addr, port))
            listener.listen(backlog)
            return listener
        except OSError as err:
            listener.close()
            if err.errno != errno.EADDRINUSE:
                raise
            _left(deadline, f"rank 0 at {addr}:{port}")
            time.sleep(PAUSE)


def _serve(name: str, world_size: int, addr: str, port: int, deadline: float) -> dict[int, socket.socket]:
    listener = _listen(addr, port, world_size + 8, deadline)
    peers: dict[int, socket.socket] = {}
    try:
        while len(peers) < world_size - 1:
            listener.settimeout(_left(deadline, f"rank 0 with {len(peers) + 1} of {world_size} ranks"))
            try:
                conn, _ = listener.accept()
            except TimeoutError:
                continue
            _tune(conn, _left(deadline, "rank 0"))
            try:
                kind, hello, _ = recv_frame(conn)
                fits = (
                    kind == "hello"
                    and hello["name"] == name
                    and hello["world_size"] == world_size
                    and 0 < hello["rank"] < world_size
                    and hello["rank"] not in peers
                )
                if not fits:
                    send_frame(conn, "later")
                    conn.close()
                    continue
            except (OSError, ValueError, KeyError):
                conn.close()
                continue
            peers[hello["rank"]] = conn
        for rank in sorted(peers):
            send_frame(peers[rank], "go")
    except BaseException:
        for conn in peers.values():
            conn.close()
        raise
    finally:
        listener.close()
    return peers


def _join(name: str, rank: int, world_size: int, addr: str, port: int, deadline: float) -> socket.socket:
    hello = {"name": name, "rank": rank, "world_size": world_size}
    while True:
        left = _left(deadline, f"rank {rank} on its way to {addr}:{port}")
        conn = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            _tune(conn, left)
            conn.connect((addr, port))
            # on loopback a retried connect can reach itself when nobody listens
            if conn.getsockname() == conn.getpeername():
                raise WireError("connected to itself")
            send_frame(conn, "hello", hello)
            kind, _, _ = recv_frame(conn)
            if kind == "go":
                return conn
        except OSError:
            pass
        except BaseException:
            conn.close()
            raise
        conn.close()
        time.sleep(PAUSE)


def _tune(conn: socket.socket, timeout: float) -> None:
    conn.settimeout(timeout)
    conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
