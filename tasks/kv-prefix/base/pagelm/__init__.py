"""pagelm: a small decoder with a paged key-value cache and captured steps."""

from .config import EngineConfig, ModelConfig
from .engine import Engine
from .errors import CapacityError, GraphError, PagelmError
from .sequence import RequestOutput
from .stats import Stats
from .weights import init_weights

__all__ = [
    "CapacityError",
    "Engine",
    "EngineConfig",
    "GraphError",
    "ModelConfig",
    "PagelmError",
    "RequestOutput",
    "Stats",
    "init_weights",
]
