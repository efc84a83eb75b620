"""Configuration of the model and of the engine."""

from __future__ import annotations

from dataclasses import dataclass


def _positive(name: str, value: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be a positive integer, got {value!r}")


@dataclass(frozen=True)
class ModelConfig:
    """Shape of the decoder; README.md gives the arithmetic."""

    vocab_size: int = 61
    hidden_size: int = 32
    ffn_size: int = 48
    num_layers: int = 2
    num_heads: int = 4
    num_kv_heads: int = 2
    head_dim: int = 8
    rope_theta: float = 1000.0
    norm_eps: float = 1e-5

    def __post_init__(self) -> None:
        for name in (
            "vocab_size",
            "hidden_size",
            "ffn_size",
            "num_layers",
            "num_heads",
            "num_kv_heads",
            "head_dim",
        ):
            _positive(name, getattr(self, name))
        if self.num_heads % self.num_kv_heads:
            raise ValueError("num_heads must be a multiple of num_kv_heads")
        if self.head_dim % 2:
            raise ValueError("head_dim must be even")

    @property
    def q_size(self) -> int:
        return self.num_heads * self.head_dim

    @property
    def kv_size(self) -> int:
        return self.num_kv_heads * self.head_dim


@dataclass(frozen=True)
class EngineConfig:
    """Sizes of the cache and of the batch, and the execution mode."""

    block_size: int = 4
    num_blocks: int = 32
    max_batch: int = 4
    max_seq_len: int = 64
    graph_mode: bool = False

    def __post_init__(self) -> None:
        for name in ("block_size", "num_blocks", "max_batch", "max_seq_len"):
            _positive(name, getattr(self, name))

    def blocks_for(self, num_tokens: int) -> int:
        """Blocks needed to hold `num_tokens` positions."""
        return -(-num_tokens // self.block_size)

    @property
    def max_blocks_per_seq(self) -> int:
        return self.blocks_for(self.max_seq_len)
