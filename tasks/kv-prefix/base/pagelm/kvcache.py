"""Storage of keys and values, in blocks of a fixed number of positions."""

from __future__ import annotations

import numpy as np

from . import ops
from .config import EngineConfig, ModelConfig


class KVCache:
    """`k` and `v`: [num_layers, num_blocks + 1, block_size, num_kv_heads, head_dim].

    The last block belongs to nobody: the padding rows of a captured step are
    written there. Both arrays stay where they are for the life of the engine.
    """

    def __init__(self, model: ModelConfig, config: EngineConfig):
        self.block_size = config.block_size
        self.num_blocks = config.num_blocks
        self.scratch_block = config.num_blocks
        shape = (
            model.num_layers,
            config.num_blocks + 1,
            config.block_size,
            model.num_kv_heads,
            model.head_dim,
        )
        self.k = np.zeros(shape, dtype=np.float32)
        self.v = np.zeros(shape, dtype=np.float32)

    @property
    def scratch_slot(self) -> int:
        return self.scratch_block * self.block_size

    def slot(self, table: list[int], position: int) -> int:
        """Index of the row that holds `position` of the sequence with this table."""
        block = table[position // self.block_size]
        return block * self.block_size + position % self.block_size

    def write(self, layer: int, k: np.ndarray, v: np.ndarray, slots: np.ndarray) -> None:
        """Part of a step: stores the rows of one layer."""
        ops.scatter_rows(self.k[layer], slots, k)
        ops.scatter_rows(self.v[layer], slots, v)

    def clear(self) -> None:
        self.k.fill(0.0)
        self.v.fill(0.0)
