import numpy as np
import pytest

from pagelm import GraphError
from pagelm import kernels, ops
from pagelm.graph import Graph, capture, is_capturing, launch


def test_capture_records_without_executing():
    x = np.ones((2, 3), dtype=np.float32)
    y = np.full((2, 3), 2.0, dtype=np.float32)
    graph = Graph()
    with capture(graph):
        assert is_capturing()
        ops.add_(x, y)
    assert not is_capturing()
    assert len(graph) == 1
    assert x[0, 0] == 1.0


def test_replay_runs_on_the_same_arrays():
    x = np.zeros((1, 2), dtype=np.float32)
    y = np.ones((1, 2), dtype=np.float32)
    graph = Graph()
    with capture(graph):
        ops.add_(x, y)
    graph.replay()
    y[...] = 5.0
    graph.replay()
    assert x.tolist() == [[6.0, 6.0]]


def test_python_code_runs_only_during_capture():
    calls = []
    x = np.zeros((1, 1), dtype=np.float32)
    graph = Graph()
    with capture(graph):
        calls.append("body")
        ops.add_(x, x)
    graph.replay()
    graph.replay()
    assert calls == ["body"]


def test_replay_consults_the_kernel_table(monkeypatch):
    seen = []
    x = np.zeros((1, 1), dtype=np.float32)
    graph = Graph()
    with capture(graph):
        ops.add_(x, x)
    monkeypatch.setitem(kernels.KERNELS, "add_", lambda a, b: seen.append(a.shape))
    graph.replay()
    assert seen == [(1, 1)]


def test_misuse_raises():
    graph = Graph()
    with pytest.raises(GraphError):
        graph.replay()
    with capture(graph):
        with pytest.raises(GraphError):
            with capture(Graph()):
                pass
    with pytest.raises(GraphError):
        with capture(graph):
            launch("add_", np.zeros(1), np.zeros(1))
    with pytest.raises(KeyError):
        launch("unknown")
