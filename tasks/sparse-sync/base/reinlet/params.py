"""Named parameters of several dtypes."""

from __future__ import annotations

import numpy as np

# uint16 holds bfloat16 as bits: numpy has no such dtype of its own
SUPPORTED = tuple(np.dtype(d) for d in ("float32", "float16", "uint16", "int64", "bool"))


def to_bf16(values):
    """Round float32 values to bfloat16 (to nearest, ties to even), as bits in uint16."""
    bits = np.array(values, dtype=np.float32, order="C").view(np.uint32)
    rounded = bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    nan = (bits & np.uint32(0x7FFFFFFF)) > np.uint32(0x7F800000)
    out = np.where(nan, bits | np.uint32(0x00400000), rounded) >> np.uint32(16)
    return out.astype(np.uint16)


def from_bf16(bits):
    """Decode bfloat16 bits to float32. Exact."""
    wide = np.asarray(bits, dtype=np.uint16).astype(np.uint32) << np.uint32(16)
    return np.asarray(wide, dtype=np.uint32).view(np.float32)


class ParamStore:
    """Arrays by name, held by reference.

    `generation` counts the changes that the store knows of. Writing into an
    array does not pass through the store: call `touch()` afterwards where
    something derived from the weights has to follow.
    """

    def __init__(self, params=None):
        self._arrays = {}
        self.generation = 0
        for name, array in (params or {}).items():
            self.put(name, array)

    def __getitem__(self, name):
        return self._arrays[name]

    def __contains__(self, name):
        return name in self._arrays

    def __len__(self):
        return len(self._arrays)

    def names(self):
        return tuple(self._arrays)

    def items(self):
        return tuple(self._arrays.items())

    def put(self, name, array):
        """Bind a name to an array (the array itself, not a copy), new or in place of another."""
        if not isinstance(name, str) or not name:
            raise ValueError("a parameter needs a name")
        array = np.asarray(array)
        if array.dtype not in SUPPORTED:
            raise TypeError(f"{name}: dtype {array.dtype} is not supported")
        self._arrays[name] = array
        self.generation += 1

    def remove(self, name):
        del self._arrays[name]
        self.generation += 1

    def replace_all(self, arrays):
        """Drop everything and bind these arrays instead."""
        self._arrays = {}
        for name, array in arrays.items():
            self.put(name, array)
        self.generation += 1

    def touch(self):
        """Say that arrays were written in place."""
        self.generation += 1

    def snapshot(self):
        """An independent copy of every array, C-ordered, by name."""
        return {name: np.array(array, order="C", copy=True) for name, array in self._arrays.items()}

    @property
    def n_entries(self):
        return sum(int(array.size) for array in self._arrays.values())

    @property
    def n_bytes(self):
        return sum(int(array.nbytes) for array in self._arrays.values())
