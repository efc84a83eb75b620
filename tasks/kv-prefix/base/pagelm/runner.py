"""Fills the input buffers and executes a step, eagerly or by replay."""

from __future__ import annotations

import numpy as np

from .config import EngineConfig, ModelConfig
from .graph import Graph, capture
from .kvcache import KVCache
from .model import Decoder, StepBuffers
from .sequence import Sequence
from .stats import Stats


def padded_size(count: int, limit: int) -> int:
    """The number of rows of the captured step that `count` rows are padded to."""
    size = 1
    while size < count:
        size *= 2
    return min(size, limit)


class ModelRunner:
    """Runs prefill and decode steps on fixed buffers.

    In graph mode a step of each kind and size is captured when it is first needed;
    from then on it is replayed.
    """

    def __init__(
        self,
        model: ModelConfig,
        config: EngineConfig,
        decoder: Decoder,
        cache: KVCache,
        stats: Stats,
    ):
        self.config = config
        self.decoder = decoder
        self.cache = cache
        self.stats = stats
        self.buffers = StepBuffers(model, config, max(config.max_seq_len, config.max_batch))
        self._graphs: dict[tuple[str, int], Graph] = {}

    def prefill(self, seq: Sequence) -> np.ndarray:
        """Computes all tokens of a request; returns the logits after the last one."""
        count = len(seq)
        rows = self._rows(count, self.config.max_seq_len)
        b = self.buffers
        self._blank(rows)
        b.tokens[:count] = seq.tokens
        b.positions[:count] = np.arange(count)
        b.slots[:count] = [self.cache.slot(seq.table, p) for p in range(count)]
        b.out_rows[0] = count - 1
        self._execute("prefill", rows, 1)
        return b.logits[0].copy()

    def decode(self, seqs: list[Sequence]) -> np.ndarray:
        """Computes the newest token of each request; returns one row of logits each."""
        count = len(seqs)
        rows = self._rows(count, self.config.max_batch)
        b = self.buffers
        self._blank(rows)
        for row, seq in enumerate(seqs):
            position = len(seq) - 1
            b.tokens[row] = seq.tokens[position]
            b.positions[row] = position
            b.slots[row] = self.cache.slot(seq.table, position)
            b.tables[row, : len(seq.table)] = seq.table
            b.lengths[row] = position + 1
        b.out_rows[:rows] = np.arange(rows)
        self._execute("decode", rows, rows)
        return b.logits[:count].copy()

    def _rows(self, count: int, limit: int) -> int:
        return padded_size(count, limit) if self.config.graph_mode else count

    def _blank(self, rows: int) -> None:
        """Padding rows compute token 0 at position 0 and write to the scratch block."""
        b = self.buffers
        b.tokens[:rows] = 0
        b.positions[:rows] = 0
        b.slots[:rows] = self.cache.scratch_slot
        b.tables[:rows] = self.cache.scratch_block
        b.lengths[:rows] = 0

    def _execute(self, kind: str, rows: int, outputs: int) -> None:
        if not self.config.graph_mode:
            self.decoder.forward(self.buffers, rows, outputs, kind == "prefill")
            return
        graph = self._graphs.get((kind, rows))
        if graph is None:
            graph = Graph()
            with capture(graph):
                self.decoder.forward(self.buffers, rows, outputs, kind == "prefill")
            self._graphs[kind, rows] = graph
            self.stats.graph_captures += 1
        graph.replay()
        self.stats.graph_replays += 1
