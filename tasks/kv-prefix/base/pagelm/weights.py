"""Parameters: their names and shapes, initial values, and fixed storage."""

from __future__ import annotations

from typing import Mapping

import numpy as np

from .config import ModelConfig


def parameter_shapes(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    """Name -> shape of every parameter. Matrices are [inputs, outputs]."""
    hidden, ffn = config.hidden_size, config.ffn_size
    shapes: dict[str, tuple[int, ...]] = {"embed": (config.vocab_size, hidden)}
    for layer in range(config.num_layers):
        prefix = f"layers.{layer}."
        shapes[prefix + "attn_norm"] = (hidden,)
        shapes[prefix + "wq"] = (hidden, config.q_size)
        shapes[prefix + "wk"] = (hidden, config.kv_size)
        shapes[prefix + "wv"] = (hidden, config.kv_size)
        shapes[prefix + "wo"] = (config.q_size, hidden)
        shapes[prefix + "ffn_norm"] = (hidden,)
        shapes[prefix + "w_gate"] = (hidden, ffn)
        shapes[prefix + "w_up"] = (hidden, ffn)
        shapes[prefix + "w_down"] = (ffn, hidden)
    shapes["final_norm"] = (hidden,)
    shapes["lm_head"] = (hidden, config.vocab_size)
    return shapes


def init_weights(config: ModelConfig, seed: int = 0) -> dict[str, np.ndarray]:
    """Random float32 parameters; the same seed gives the same values."""
    rng = np.random.default_rng(seed)
    weights: dict[str, np.ndarray] = {}
    for name, shape in parameter_shapes(config).items():
        if name.endswith("norm"):
            value = 1.0 + 0.1 * rng.standard_normal(shape)
        elif name == "embed":
            value = rng.standard_normal(shape)
        else:
            value = rng.standard_normal(shape) / np.sqrt(shape[0])
        weights[name] = value.astype(np.float32)
    return weights


class WeightStore:
    """Parameters in arrays that stay where they are.

    A captured step holds the arrays themselves, so new values are copied in.
    """

    def __init__(self, config: ModelConfig, weights: Mapping[str, np.ndarray]):
        self._shapes = parameter_shapes(config)
        self._arrays = {
            name: np.zeros(shape, dtype=np.float32) for name, shape in self._shapes.items()
        }
        self.load(weights)

    def load(self, weights: Mapping[str, np.ndarray]) -> None:
        if set(weights) != set(self._shapes):
            missing = sorted(set(self._shapes) - set(weights))
            extra = sorted(set(weights) - set(self._shapes))
            raise ValueError(f"parameter names differ: missing {missing}, unknown {extra}")
        for name, shape in self._shapes.items():
            if tuple(np.shape(weights[name])) != shape:
                raise ValueError(f"{name} must have shape {shape}")
        for name in self._shapes:
            self._arrays[name][...] = weights[name]

    def __getitem__(self, name: str) -> np.ndarray:
        return self._arrays[name]
