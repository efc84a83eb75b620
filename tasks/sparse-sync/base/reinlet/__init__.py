"""reinlet: one trainer, several rollout workers, weights sent over a counted link."""

from .config import LoopConfig, PolicySpec, TrainerConfig
from .params import ParamStore
from .rollout import RolloutWorker
from .sync import FullSync, SyncReport, make_sync
from .trainer import Trainer
from .transport import TransferError, Transport

__all__ = [
    "FullSync",
    "LoopConfig",
    "ParamStore",
    "PolicySpec",
    "RolloutWorker",
    "SyncReport",
    "Trainer",
    "TrainerConfig",
    "TransferError",
    "Transport",
    "make_sync",
]
