"""The engine: requests in, tokens and logits out."""

from __future__ import annotations

from typing import Mapping, Optional, Sequence as Seq

import numpy as np

from .allocator import BlockAllocator
from .config import EngineConfig, ModelConfig
from .errors import CapacityError
from .kvcache import KVCache
from .model import Decoder
from .runner import ModelRunner
from .scheduler import Scheduler
from .sequence import RequestOutput, Sequence, State
from .stats import Stats
from .weights import WeightStore, init_weights


class Engine:
    """Greedy decoding of many requests over one paged cache."""

    def __init__(
        self,
        model_config: Optional[ModelConfig] = None,
        engine_config: Optional[EngineConfig] = None,
        weights: Optional[Mapping[str, np.ndarray]] = None,
    ):
        self.model_config = model_config or ModelConfig()
        self.config = engine_config or EngineConfig()
        if weights is None:
            weights = init_weights(self.model_config)
        self.stats = Stats()
        self.weights = WeightStore(self.model_config, weights)
        self.cache = KVCache(self.model_config, self.config)
        self.allocator = BlockAllocator(self.config.num_blocks, self.stats)
        self.scheduler = Scheduler(self.config, self.allocator, self.stats)
        self.runner = ModelRunner(
            self.model_config,
            self.config,
            Decoder(self.model_config, self.weights, self.cache),
            self.cache,
            self.stats,
        )
        self._requests: dict[int, Sequence] = {}
        self._next_id = 0

    # requests

    def add_request(
        self, prompt: Seq[int], max_new_tokens: int, stop_token: Optional[int] = None
    ) -> int:
        """Queues a request and returns its id."""
        prompt = [int(token) for token in prompt]
        if not prompt:
            raise ValueError("the prompt is empty")
        if max_new_tokens < 1:
            raise ValueError("max_new_tokens must be at least 1")
        if any(not 0 <= token < self.model_config.vocab_size for token in prompt):
            raise ValueError("a token is outside the vocabulary")
        total = len(prompt) + max_new_tokens
        if total > self.config.max_seq_len:
            raise ValueError(f"{total} tokens exceed max_seq_len {self.config.max_seq_len}")
        if self.config.blocks_for(total - 1) > self.config.num_blocks:
            raise CapacityError("the request can never fit into the pool")
        seq = Sequence(self._next_id, prompt, max_new_tokens, stop_token)
        self._next_id += 1
        self._requests[seq.request_id] = seq
        self.scheduler.add(seq)
        return seq.request_id

    def abort(self, request_id: int) -> None:
        """Ends a request that is waiting or running; its blocks are given back."""
        seq = self._requests[request_id]
        if seq.state in (State.WAITING, State.RUNNING):
            self.scheduler.finish(seq, State.ABORTED)

    def output(self, request_id: int) -> RequestOutput:
        return self._requests[request_id].output(self.model_config.vocab_size)

    def block_table(self, request_id: int) -> list[int]:
        """Blocks that hold the request's positions, in order; empty if it holds none."""
        return list(self._requests[request_id].table)

    # running

    @property
    def has_work(self) -> bool:
        return self.scheduler.has_work

    def step(self) -> list[RequestOutput]:
        """Computes one step; returns the requests that it finished."""
        plan = self.scheduler.schedule()
        if plan.kind == "idle":
            return []
        if plan.kind == "prefill":
            seq = plan.sequences[0]
            logits = self.runner.prefill(seq)[None]
            self.stats.prefill_tokens += len(seq)
        else:
            logits = self.runner.decode(plan.sequences)
            self.stats.decode_tokens += len(plan.sequences)
        finished = []
        for seq, row in zip(plan.sequences, logits):
            seq.num_computed = len(seq)
            seq.append(int(np.argmax(row)), row)
            if seq.done:
                self.scheduler.finish(seq, State.FINISHED)
                finished.append(self.output(seq.request_id))
        return finished

    def run(self) -> dict[int, RequestOutput]:
        """Steps until nothing is left; returns the requests finished on the way."""
        outputs: dict[int, RequestOutput] = {}
        while self.has_work:
            for output in self.step():
                outputs[output.request_id] = output
        return outputs

    def generate(self, prompt: Seq[int], max_new_tokens: int) -> RequestOutput:
        """Adds one request and runs until everything is done."""
        request_id = self.add_request(prompt, max_new_tokens)
        self.run()
        return self.output(request_id)

    # state

    @property
    def num_free_blocks(self) -> int:
        return self.allocator.num_free

    def load_weights(self, weights: Mapping[str, np.ndarray]) -> None:
        """Copies new parameters in. Requests in flight go on, with the keys and
        values that they already have."""
        self.weights.load(weights)

    def reset(self) -> None:
        """Drops all requests, empties the cache and zeroes the counters.

        Captured steps stay valid: no buffer moves.
        """
        self.scheduler.reset()
        self.allocator.reset()
        self.cache.clear()
        self._requests.clear()
        self.stats.clear()
