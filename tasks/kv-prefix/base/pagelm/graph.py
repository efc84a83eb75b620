"""Captured steps.

Inside `capture(graph)` an operation is not executed: its name and its arguments
are recorded. `graph.replay()` executes the recorded operations in order, on the
very arrays that were recorded. Numbers are recorded by value. Python code around
the operations runs once, during the capture, and never on replay.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Iterator, Optional

from .errors import GraphError
from .kernels import KERNELS

_recording: Optional["Graph"] = None


class Graph:
    """A recorded list of operations."""

    def __init__(self) -> None:
        self.nodes: list[tuple[str, tuple[Any, ...]]] = []
        self.sealed = False

    def record(self, name: str, args: tuple[Any, ...]) -> None:
        if self.sealed:
            raise GraphError("the graph is complete; capture a new one")
        self.nodes.append((name, args))

    def replay(self) -> None:
        if not self.sealed:
            raise GraphError("the graph has not been captured")
        for name, args in self.nodes:
            KERNELS[name](*args)

    def __len__(self) -> int:
        return len(self.nodes)


@contextmanager
def capture(graph: Graph) -> Iterator[Graph]:
    """Records the operations launched in the block into `graph`."""
    global _recording
    if _recording is not None:
        raise GraphError("captures do not nest")
    _recording = graph
    try:
        yield graph
        graph.sealed = True
    finally:
        _recording = None


def is_capturing() -> bool:
    return _recording is not None


def launch(name: str, *args: Any) -> None:
    """Executes the operation now, or records it while a capture is active."""
    if name not in KERNELS:
        raise KeyError(f"no kernel named {name!r}")
    if _recording is not None:
        _recording.record(name, args)
    else:
        KERNELS[name](*args)
