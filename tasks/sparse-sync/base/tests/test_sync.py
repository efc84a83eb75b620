import numpy as np
import pytest

from reinlet.params import ParamStore
from reinlet.rollout import RolloutWorker
from reinlet.sync import FullSync, make_sync
from reinlet.transport import Transport


def setup(n=2):
    store = ParamStore(
        {"a": np.arange(12, dtype=np.float32).reshape(3, 4), "s": np.array(7, np.int64)}
    )
    transport = Transport()
    workers = [RolloutWorker(f"w{i}", transport) for i in range(n)]
    sync = FullSync(store, transport)
    for w in workers:
        sync.add_worker(w.name)
    return store, transport, workers, sync


def test_full_sync_delivers():
    store, transport, workers, sync = setup()
    report = sync.sync(4)
    assert report.delivered == ("w0", "w1")
    for w in workers:
        assert w.version == 4
        assert np.array_equal(w.weights()["a"], store["a"])
        assert w.weights()["s"] == 7
    assert report.entries == 26 == transport.total.entries
    assert report.bytes == transport.total.bytes


def test_failed_worker_does_not_stop_the_others():
    store, transport, workers, sync = setup()
    transport.drop_next("w0")
    report = sync.sync(1)
    assert report.failed == ("w0",)
    assert report.delivered == ("w1",)
    assert workers[0].version == -1
    assert report.results["w0"].error


def test_list_of_workers():
    _, _, _, sync = setup()
    sync.remove_worker("w0")
    assert sync.workers == ("w1",)
    with pytest.raises(KeyError):
        sync.remove_worker("w0")
    with pytest.raises(ValueError):
        sync.add_worker("w1")


def test_make_sync():
    assert isinstance(make_sync("full", ParamStore(), Transport()), FullSync)
    with pytest.raises(ValueError):
        make_sync("pigeon", ParamStore(), Transport())


def test_replica_is_not_the_trainers_array():
    store, _, workers, sync = setup()
    sync.sync(1)
    store["a"][0, 0] = 99.0
    assert workers[0].weights()["a"][0, 0] == 0.0
