"""Configuration objects. They check themselves when they are made."""

from __future__ import annotations

from dataclasses import dataclass, field

SYNC_MODES = ("full",)
OPTIMIZERS = ("sgd", "adam")


@dataclass(frozen=True)
class PolicySpec:
    """Sizes of the policy network."""

    n_states: int = 512
    dim: int = 16
    hidden: int = 32
    n_actions: int = 8

    def __post_init__(self):
        for name in ("n_states", "dim", "hidden", "n_actions"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1")


@dataclass(frozen=True)
class TrainerConfig:
    """What the trainer does with a batch, and how it hands out weights."""

    optimizer: str = "adam"
    lr: float = 0.01
    batch_size: int = 64
    entropy_bonus: float = 0.01
    max_staleness: int = 2
    sync_mode: str = "full"

    def __post_init__(self):
        if self.optimizer not in OPTIMIZERS:
            raise ValueError(f"optimizer must be one of {OPTIMIZERS}, not {self.optimizer!r}")
        if self.sync_mode not in SYNC_MODES:
            raise ValueError(f"sync_mode must be one of {SYNC_MODES}, not {self.sync_mode!r}")
        if self.lr <= 0:
            raise ValueError("lr must be positive")
        if self.batch_size < 1:
            raise ValueError("batch_size must be at least 1")


@dataclass(frozen=True)
class LoopConfig:
    """The training loop as a whole."""

    policy: PolicySpec = field(default_factory=PolicySpec)
    trainer: TrainerConfig = field(default_factory=TrainerConfig)
    n_workers: int = 2
    steps_per_worker: int = 48
    iterations: int = 5
    seed: int = 0

    def __post_init__(self):
        if self.n_workers < 1:
            raise ValueError("n_workers must be at least 1")
        if self.iterations < 0:
            raise ValueError("iterations must not be negative")
