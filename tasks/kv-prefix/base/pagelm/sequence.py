"""State of one request."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Optional, Sequence as Seq

import numpy as np


class State(str, Enum):
    WAITING = "waiting"
    RUNNING = "running"
    FINISHED = "finished"
    ABORTED = "aborted"


@dataclass(frozen=True)
class RequestOutput:
    """What a request has produced so far.

    tokens  the generated tokens
    logits  float32 [len(tokens), vocab_size]: the logits each token was taken from
    """

    request_id: int
    prompt: tuple[int, ...]
    tokens: tuple[int, ...]
    logits: np.ndarray
    state: str


class Sequence:
    """Tokens, blocks and progress of a request inside the engine."""

    def __init__(
        self,
        request_id: int,
        prompt: Seq[int],
        max_new_tokens: int,
        stop_token: Optional[int],
    ):
        self.request_id = request_id
        self.tokens = [int(token) for token in prompt]
        self.num_prompt = len(self.tokens)
        self.max_new_tokens = max_new_tokens
        self.stop_token = stop_token
        self.state = State.WAITING
        self.table: list[int] = []
        self.num_computed = 0
        self.logits: list[np.ndarray] = []

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def generated(self) -> list[int]:
        return self.tokens[self.num_prompt :]

    def append(self, token: int, logits: np.ndarray) -> None:
        self.tokens.append(int(token))
        self.logits.append(np.array(logits, dtype=np.float32))

    @property
    def done(self) -> bool:
        generated = self.generated
        if len(generated) >= self.max_new_tokens:
            return True
        return bool(generated) and generated[-1] == self.stop_token

    def output(self, vocab_size: int) -> RequestOutput:
        logits = (
            np.stack(self.logits) if self.logits else np.zeros((0, vocab_size), dtype=np.float32)
        )
        return RequestOutput(
            request_id=self.request_id,
            prompt=tuple(self.tokens[: self.num_prompt]),
            tokens=tuple(self.generated),
            logits=logits,
            state=self.state.value,
        )
