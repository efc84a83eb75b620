"""Rollout workers: a replica of the weights that acts in an environment."""

from __future__ import annotations

import numpy as np

from . import checkpoint, wire
from .buffer import Batch
from .params import ParamStore
from .policy import PolicyNetwork

NO_VERSION = -1


class RolloutWorker:
    def __init__(self, name, transport, env=None, seed=0):
        self.name = name
        self.transport = transport
        self.env = env
        self._seed = seed
        self._boot()
        transport.attach(name, self.receive)

    def _boot(self):
        self.replica = ParamStore()
        self.policy = PolicyNetwork(self.replica)
        self.version = NO_VERSION
        self._rng = np.random.default_rng(self._seed)

    def restart(self):
        """What a crash and a new start of the process leave: no weights, no version."""
        self._boot()

    def close(self):
        self.transport.detach(self.name)

    def warm_start(self, path):
        """Fill the replica from a checkpoint, without the trainer."""
        saved = checkpoint.load(path)
        self.replica.replace_all(saved.params)
        self.version = saved.version

    def weights(self):
        """Independent copies of the replica's arrays, by name."""
        return self.replica.snapshot()

    def receive(self, frame):
        """The endpoint: takes a frame, returns the reply."""
        kind, body = wire.unseal(frame)
        if kind == wire.FULL:
            version, arrays = wire.decode_full(body)
            self.replica.replace_all(arrays)
            self.version = version
            return wire.encode_ack(version)
        raise wire.FrameError(f"unexpected kind of frame: {kind}")

    def collect(self, n):
        """Act n times and return the transitions."""
        if self.env is None:
            raise RuntimeError(f"{self.name} has no environment")
        if self.version == NO_VERSION:
            raise RuntimeError(f"{self.name} has no weights yet")
        states = self.env.observe(n)
        actions, logp = self.policy.act(states, self._rng)
        rewards = self.env.reward(states, actions)
        versions = np.full(n, self.version, np.int64)
        return Batch(states, actions, rewards, logp, versions)
