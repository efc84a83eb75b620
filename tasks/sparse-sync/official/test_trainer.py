import numpy as np
import pytest

from reinlet.buffer import Batch, RolloutBuffer
from reinlet.config import LoopConfig, PolicySpec, TrainerConfig
from reinlet.env import ZipfBandit
from reinlet.loop import run
from reinlet.policy import init_policy
from reinlet.rollout import RolloutWorker
from reinlet.trainer import Trainer
from reinlet.transport import Transport

SPEC = PolicySpec(n_states=40, dim=4, hidden=8, n_actions=4)


def make(n, version):
    z = np.zeros(n, np.int64)
    return Batch(np.arange(n), z, z.astype(np.float32), z.astype(np.float32), z + version)


def test_buffer_drops_the_oldest_and_the_stale():
    buffer = RolloutBuffer(capacity=5, max_staleness=1)
    buffer.add(make(4, 0))
    buffer.add(make(3, 2))
    assert len(buffer) == 5
    batch = buffer.take(2, version=3)
    assert batch.versions.tolist() == [2, 2]
    assert len(buffer) == 1
    assert buffer.dropped == 4


def test_loop_learns():
    config = LoopConfig(
        policy=SPEC, trainer=TrainerConfig(lr=0.05), n_workers=2, steps_per_worker=64, iterations=25
    )
    result = run(config)
    assert np.mean(result.rewards[-5:]) > np.mean(result.rewards[:5]) + 0.2
    assert all(w.version == result.trainer.version for w in result.workers)


def test_save_and_restore(tmp_path):
    trainer = run(LoopConfig(policy=SPEC, iterations=2)).trainer
    trainer.save(tmp_path / "c.npz")
    version, weights = trainer.version, trainer.store.snapshot()
    other = Trainer(init_policy(SPEC, seed=9), Transport())
    other.restore(tmp_path / "c.npz")
    assert other.version == version
    assert all(np.array_equal(other.store[n], weights[n]) for n in weights)
    assert other.optimizer.steps == trainer.optimizer.steps


def test_worker_restart_and_warm_start(tmp_path):
    transport = Transport()
    worker = RolloutWorker("w", transport, ZipfBandit(SPEC.n_states, SPEC.n_actions))
    trainer = Trainer(init_policy(SPEC), transport)
    trainer.connect("w")
    trainer.publish()
    trainer.save(tmp_path / "c.npz")
    worker.restart()
    assert worker.version == -1 and worker.weights() == {}
    with pytest.raises(RuntimeError):
        worker.collect(3)
    worker.warm_start(tmp_path / "c.npz")
    assert worker.version == 0
    assert len(worker.collect(3)) == 3


def test_config_is_checked():
    with pytest.raises(ValueError):
        TrainerConfig(sync_mode="pigeon")
    with pytest.raises(ValueError):
        TrainerConfig(optimizer="none")
    assert TrainerConfig().sync_mode == "full"
