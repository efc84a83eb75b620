import numpy as np
import pytest

from reinlet import DeltaSync
from reinlet.config import LoopConfig, PolicySpec, TrainerConfig
from reinlet.loop import run
from reinlet.params import ParamStore
from reinlet.rollout import RolloutWorker
from reinlet.sync import FullSync, make_sync
from reinlet.transport import Transport


def setup(n=1):
    rng = np.random.default_rng(0)
    store = ParamStore(
        {
            "w": rng.normal(size=(32, 16)).astype(np.float32),
            "h": rng.normal(size=(16, 8)).astype(np.float16),
            "b": rng.integers(0, 2**15, 64).astype(np.uint16),
            "n": np.array(3, np.int64),
        }
    )
    transport = Transport()
    workers = [RolloutWorker(f"w{i}", transport) for i in range(n)]
    sync = DeltaSync(store, transport)
    for w in workers:
        sync.add_worker(w.name)
    return store, transport, workers, sync


def check(worker, store, version):
    weights = worker.weights()
    assert sorted(weights) == sorted(store.names())
    for name, array in store.items():
        assert weights[name].dtype == array.dtype
        assert weights[name].shape == array.shape
        assert np.array_equal(weights[name], array)
    assert worker.version == version


def change(store, name, where, value):
    array = store[name].copy()
    array[where] = value
    store.put(name, array)


def test_first_sync_is_full():
    store, _, workers, sync = setup(2)
    report = sync.sync(1)
    assert report.delivered == ("w0", "w1")
    assert report.results["w0"].kind == "full"
    assert report.results["w0"].entries == store.n_entries
    for w in workers:
        check(w, store, 1)


def test_second_sync_sends_what_changed():
    store, _, workers, sync = setup()
    first = sync.sync(1)
    change(store, "w", (slice(0, 5), 0), 2.0)
    report = sync.sync(2)
    result = report.results["w0"]
    assert result.kind == "delta"
    assert result.delivered
    assert result.entries == 5
    assert result.bytes < first.bytes
    check(workers[0], store, 2)


@pytest.mark.parametrize(
    "name, where, value", [("w", (3, 3), 1.5), ("h", (0, 1), -2.0), ("b", 7, 40000), ("n", (), 4)]
)
def test_each_dtype(name, where, value):
    store, _, workers, sync = setup()
    sync.sync(1)
    change(store, name, where, value)
    report = sync.sync(2)
    assert report.entries == 1
    check(workers[0], store, 2)


def test_nothing_changed():
    store, _, workers, sync = setup()
    sync.sync(1)
    report = sync.sync(2)
    assert report.entries == 0
    assert report.bytes <= 512
    check(workers[0], store, 2)


def test_everything_changed():
    store, _, workers, sync = setup()
    sync.sync(1)
    for name, array in store.items():
        store.put(name, array + array.dtype.type(1))
    sync.sync(2)
    check(workers[0], store, 2)


def test_report_is_what_the_transport_counted():
    store, transport, _, sync = setup(2)
    sync.sync(1)
    transport.reset_stats()
    change(store, "w", (0, slice(0, 4)), 0.0)
    report = sync.sync(2)
    assert report.messages == transport.total.messages
    assert report.entries == transport.total.entries == 8
    assert report.bytes == transport.total.bytes


def test_lost_transfer_is_reported():
    store, transport, workers, sync = setup(2)
    sync.sync(1)
    change(store, "w", (0, 0), 9.0)
    transport.drop_next("w0")
    report = sync.sync(2)
    assert report.failed == ("w0",)
    assert report.results["w0"].error
    assert workers[0].version == 1
    check(workers[1], store, 2)
    assert sync.sync(3).delivered == ("w0", "w1")


def test_worker_added_later():
    store, _, workers, sync = setup()
    sync.sync(1)
    late = RolloutWorker("late", sync.transport)
    sync.add_worker("late")
    change(store, "w", (1, 1), 7.0)
    report = sync.sync(2)
    assert report.results["late"].kind == "full"
    check(late, store, 2)
    check(workers[0], store, 2)


def test_restarted_worker():
    store, _, workers, sync = setup()
    sync.sync(1)
    workers[0].restart()
    change(store, "w", (1, 1), 7.0)
    assert sync.sync(2).delivered == ("w0",)
    check(workers[0], store, 2)


def test_reset():
    store, _, workers, sync = setup()
    sync.sync(1)
    sync.reset("w0")
    assert sync.sync(2).results["w0"].kind == "full"
    sync.reset()
    assert sync.sync(3).results["w0"].kind == "full"
    check(workers[0], store, 3)
    with pytest.raises(KeyError):
        sync.reset("nobody")


def test_new_removed_and_reshaped_parameters():
    store, _, workers, sync = setup()
    sync.sync(1)
    store.put("new", np.ones((2, 2), np.float32))
    store.remove("b")
    store.put("h", np.zeros((4, 4), np.float16))
    sync.sync(2)
    check(workers[0], store, 2)


def test_workers_are_listed():
    _, _, _, sync = setup(2)
    assert sync.workers == ("w0", "w1")
    sync.remove_worker("w0")
    assert sync.workers == ("w1",)
    with pytest.raises(ValueError):
        sync.add_worker("w1")


def test_make_sync_and_config():
    assert isinstance(make_sync("delta", ParamStore(), Transport()), DeltaSync)
    assert isinstance(make_sync("full", ParamStore(), Transport()), FullSync)
    assert TrainerConfig(sync_mode="delta").sync_mode == "delta"


def test_loop_in_delta_mode():
    config = LoopConfig(
        policy=PolicySpec(n_states=64, dim=4, hidden=8, n_actions=4),
        trainer=TrainerConfig(sync_mode="delta"),
        iterations=3,
    )
    result = run(config)
    assert len(result.reports) == 4
    assert result.reports[-1].delivered == ("worker-0", "worker-1")
    assert all(w.version == result.trainer.version for w in result.workers)
    assert result.reports[-1].entries < result.reports[0].entries
