"""The decoder, written as operations on fixed buffers."""

from __future__ import annotations

import numpy as np

from . import ops
from .config import EngineConfig, ModelConfig
from .kvcache import KVCache
from .weights import WeightStore


class StepBuffers:
    """Inputs, intermediate values and outputs of a step, for at most `rows` rows."""

    def __init__(self, model: ModelConfig, config: EngineConfig, rows: int):
        def real(*shape: int) -> np.ndarray:
            return np.zeros(shape, dtype=np.float32)

        def index(*shape: int) -> np.ndarray:
            return np.zeros(shape, dtype=np.int64)

        # inputs, filled before a step
        self.tokens = index(rows)
        self.positions = index(rows)
        self.slots = index(rows)
        self.tables = index(rows, config.max_blocks_per_seq)
        self.lengths = index(rows)
        self.out_rows = index(rows)
        # intermediate values
        self.hidden = real(rows, model.hidden_size)
        self.normed = real(rows, model.hidden_size)
        self.q = real(rows, model.q_size)
        self.k = real(rows, model.kv_size)
        self.v = real(rows, model.kv_size)
        self.attn = real(rows, model.q_size)
        self.proj = real(rows, model.hidden_size)
        self.gate = real(rows, model.ffn_size)
        self.up = real(rows, model.ffn_size)
        self.act = real(rows, model.ffn_size)
        self.last = real(rows, model.hidden_size)
        # output
        self.logits = real(rows, model.vocab_size)


class Decoder:
    """Forward pass of one step over the first `rows` rows of the buffers."""

    def __init__(self, config: ModelConfig, weights: WeightStore, cache: KVCache):
        self.config = config
        self.weights = weights
        self.cache = cache

    def forward(self, buffers: StepBuffers, rows: int, outputs: int, prefill: bool) -> None:
        """`outputs` rows of logits are written, for the rows named in out_rows."""
        cfg, w, b = self.config, self.weights, buffers
        hidden, normed, proj = b.hidden[:rows], b.normed[:rows], b.proj[:rows]
        ops.embedding(hidden, w["embed"], b.tokens[:rows])
        for layer in range(cfg.num_layers):
            name = f"layers.{layer}."
            ops.rmsnorm(normed, hidden, w[name + "attn_norm"], cfg.norm_eps)
            self._attention(b, layer, rows, prefill)
            ops.linear(proj, b.attn[:rows], w[name + "wo"])
            ops.add_(hidden, proj)
            ops.rmsnorm(normed, hidden, w[name + "ffn_norm"], cfg.norm_eps)
            ops.linear(b.gate[:rows], normed, w[name + "w_gate"])
            ops.linear(b.up[:rows], normed, w[name + "w_up"])
            ops.swiglu(b.act[:rows], b.gate[:rows], b.up[:rows])
            ops.linear(proj, b.act[:rows], w[name + "w_down"])
            ops.add_(hidden, proj)
        ops.rmsnorm(normed, hidden, w["final_norm"], cfg.norm_eps)
        ops.take_rows(b.last[:outputs], normed, b.out_rows[:outputs])
        ops.linear(b.logits[:outputs], b.last[:outputs], w["lm_head"])

    def _attention(self, b: StepBuffers, layer: int, rows: int, prefill: bool) -> None:
        cfg, w = self.config, self.weights
        name = f"layers.{layer}."
        q, k, v = b.q[:rows], b.k[:rows], b.v[:rows]
        ops.linear(q, b.normed[:rows], w[name + "wq"])
        ops.linear(k, b.normed[:rows], w[name + "wk"])
        ops.linear(v, b.normed[:rows], w[name + "wv"])
        q = q.reshape(rows, cfg.num_heads, cfg.head_dim)
        k = k.reshape(rows, cfg.num_kv_heads, cfg.head_dim)
        v = v.reshape(rows, cfg.num_kv_heads, cfg.head_dim)
        ops.rope_(q, b.positions[:rows], cfg.rope_theta)
        ops.rope_(k, b.positions[:rows], cfg.rope_theta)
        self.cache.write(layer, k, v, b.slots[:rows])
        out = b.attn[:rows].reshape(q.shape)
        if prefill:
            ops.causal_attention(out, q, k, v)
        else:
            ops.paged_attention(
                out,
                q,
                self.cache.k[layer],
                self.cache.v[layer],
                b.tables[:rows],
                b.lengths[:rows],
            )
