"""The whole thing in one process."""

from __future__ import annotations

from dataclasses import dataclass, field

from .config import LoopConfig
from .env import ZipfBandit
from .policy import init_policy
from .rollout import RolloutWorker
from .trainer import Trainer
from .transport import Transport


@dataclass
class LoopResult:
    trainer: Trainer
    workers: list
    transport: Transport
    reports: list = field(default_factory=list)
    rewards: list = field(default_factory=list)


def run(config=None, transport=None):
    """Collect, learn and publish for `config.iterations` rounds."""
    config = config or LoopConfig()
    transport = transport or Transport()
    spec = config.policy
    workers = [
        RolloutWorker(
            f"worker-{i}",
            transport,
            ZipfBandit(spec.n_states, spec.n_actions, seed=config.seed * 1000 + i),
            seed=config.seed * 1000 + 500 + i,
        )
        for i in range(config.n_workers)
    ]
    trainer = Trainer(init_policy(spec, config.seed), transport, config.trainer)
    trainer.connect(*(w.name for w in workers))
    result = LoopResult(trainer, workers, transport)
    result.reports.append(trainer.publish())
    for _ in range(config.iterations):
        for worker in workers:
            trainer.buffer.add(worker.collect(config.steps_per_worker))
        info = trainer.update()
        while info is not None:
            result.rewards.append(info.reward)
            info = trainer.update()
        result.reports.append(trainer.publish())
    return result
