"""One checkpoint, one .npz file."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

import numpy as np


@dataclass
class Checkpoint:
    version: int
    params: dict
    optimizer: dict = field(default_factory=dict)


def save(path, version, params, optimizer=None):
    """Write atomically: a crash leaves the old file or the new one."""
    table = {"version": np.array(version, np.int64)}
    for name, array in params.items():
        table["param/" + name] = array
    for name, array in (optimizer or {}).items():
        table["optim/" + name] = array
    part = f"{path}.part"
    with open(part, "wb") as out:
        np.savez(out, **table)
    os.replace(part, path)


def load(path):
    with np.load(path) as table:
        params = {k[len("param/"):]: table[k] for k in table.files if k.startswith("param/")}
        optim = {k[len("optim/"):]: table[k] for k in table.files if k.startswith("optim/")}
        return Checkpoint(int(table["version"]), params, optim)
