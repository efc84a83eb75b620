"""What the probes share: a recording group, plain values, references in double precision."""

import hashlib
import threading
from contextlib import contextmanager

import numpy as np

from tandem.nn import Linear, Module, MSELoss, Sequential, Tanh
from tandem.parallel import DataParallel

# Two float32 computations of one mean that differ only in the order of a few dozen operations: each
# rounds by 6e-8 of the terms, the terms are at most some ten times the largest gradient. A wrong
# weight, a lost bucket or a stale sum is off by more than a hundredth of it.
SINGLE = 2e-5
# The same in double precision, where a detour through float32 would cost about 1e-8.
DOUBLE = 1e-12
# Half precision: 5e-4 for each rounding, a few roundings on the way, sums of up to three ranks.
HALF = 1e-2


class Recorder:
    """The six public names of a process group; writes down every collective in order."""

    def __init__(self, inner):
        self.inner = inner
        self.rank = inner.rank
        self.world_size = inner.world_size
        self.calls = []
        self.threads = set()

    def _note(self, kind, array):
        array = np.asarray(array)
        self.threads.add(threading.get_ident())
        self.calls.append((kind, array.dtype.str, int(array.size), int(array.nbytes)))

    def all_reduce(self, array, op="sum"):
        self._note("all_reduce/" + op, array)
        return self.inner.all_reduce(array, op=op)

    def all_gather(self, array):
        self._note("all_gather", array)
        return self.inner.all_gather(array)

    def broadcast(self, array, root=0):
        self._note("broadcast", array)
        return self.inner.broadcast(array, root=root)

    def barrier(self):
        self._note("barrier", np.zeros(0, dtype=np.uint8))
        return self.inner.barrier()

    # -- for the probes, not part of the interface
    def count(self):
        return len(self.calls)

    def payload(self):
        return sum(call[3] for call in self.calls)

    def only_from_here(self):
        """Whether all calls were made in the thread that asks."""
        return self.threads == {threading.get_ident()}

    def forget(self):
        self.calls = []

    def alike_on_all_ranks(self):
        """Whether all ranks have made the same calls since forget(); itself unrecorded."""
        digest = hashlib.sha256(repr(self.calls).encode()).digest()
        parts = self.inner.all_gather(np.frombuffer(digest, dtype=np.uint8))
        return all(bytes(part) == digest for part in parts)

    def same_arrays(self, named):
        """Whether all ranks hold bit for bit the same arrays (name -> array or None)."""
        digest = hashlib.sha256()
        for name in sorted(named):
            value = named[name]
            digest.update(name.encode() + (b"-" if value is None else value.tobytes()))
        parts = self.inner.all_gather(np.frombuffer(digest.digest(), dtype=np.uint8))
        return all(bytes(part) == bytes(parts[0]) for part in parts)


def plain(value):
    """An exact ndarray copy, or None: nothing of the object under test takes part in a comparison."""
    if value is None:
        return None
    copied = np.array(value, copy=True, subok=False)
    assert type(copied) is np.ndarray and copied.dtype.kind == "f"
    return copied


def gradients(model):
    return {str(name): plain(parameter.grad) for name, parameter in model.module.named_parameters()}


def close(found, expected, tolerance):
    """Every expected gradient is there, in shape, within ``tolerance`` of the largest entry of its own."""
    assert sorted(found) == sorted(expected)
    for name, right in expected.items():
        got = found[name]
        if right is None:
            assert got is None, f"{name}: a gradient where none was due"
            continue
        assert got is not None, f"{name}: no gradient"
        assert got.shape == right.shape, f"{name}: shape {got.shape}, not {right.shape}"
        assert np.isfinite(got).all(), f"{name}: not finite"
        largest = max(float(np.abs(right).max()), 1e-30)
        off = float(np.abs(got.astype(np.float64) - right).max()) / largest
        assert off <= tolerance, f"{name}: off by {off:.3g} of its largest entry"


# -- a tanh network and its gradients, written out on their own in double precision ----------------
WIDTHS = (3, 7, 5, 2)


def network(widths=WIDTHS, dtype=np.float32, seed=11):
    rng = np.random.default_rng(seed)
    layers = []
    for fan_in, fan_out in zip(widths, widths[1:]):
        layers += [Linear(fan_in, fan_out, dtype=dtype, rng=rng), Tanh()]
    return Sequential(*layers[:-1])


def data(rank, n, turn=0, widths=WIDTHS):
    rng = np.random.default_rng([77, rank, n, turn])
    return rng.standard_normal((n, widths[0])), rng.standard_normal((n, widths[-1]))


def reference(state, x, y):
    """Gradient of the mean squared error over the samples (x, y), for ``network``; name -> float64 array."""
    places = sorted(int(name.split(".")[0]) for name in state if name.endswith("weight"))
    weights = [state[f"{place}.weight"].astype(np.float64) for place in places]
    biases = [state[f"{place}.bias"].astype(np.float64) for place in places]
    inputs, h = [], x.astype(np.float64)
    for index, (w, b) in enumerate(zip(weights, biases)):
        inputs.append(h)
        h = h @ w + b
        if index < len(weights) - 1:
            h = np.tanh(h)
    delta = 2.0 * (h - y) / h.size
    found = {}
    for index in reversed(range(len(weights))):
        found[f"{2 * index}.weight"] = inputs[index].T @ delta
        found[f"{2 * index}.bias"] = delta.sum(axis=0)
        if index:
            delta = (delta @ weights[index].T) * (1.0 - inputs[index] ** 2)
    return found


def whole(state, parts):
    """The reference over all parts at once."""
    return reference(state, np.concatenate([x for x, _ in parts]), np.concatenate([y for _, y in parts]))


def run_pass(model, x, y, **options):
    """One forward and backward pass with the mean squared error of these samples."""
    dtype = model.module.parameters()[0].data.dtype
    loss = MSELoss()
    loss(model(x.astype(dtype)), y.astype(dtype))
    return model.backward(loss.backward(), **options)


def wrapped(group, module=None, **options):
    module = network() if module is None else module
    model = DataParallel(module, group, **options)
    group.forget()
    return model


# -- gradients by hand: for weights (k, 1) without bias, x of ones and one dout value ---------------
def column(k, dtype=np.float32, value=0.0):
    """A layer whose weight gradient is, in every entry, the sum of dout."""
    layer = Linear(k, 1, bias=False, dtype=dtype)
    layer.weight.data[...] = value
    return layer


class Columns(Module):
    """Independent parameters of given sizes, used in turn; each one's gradient is ``dout[0, i]`` in every entry.

    ``order`` is the order in which the backward pass goes through them, ``skip`` those that are not used.
    """

    def __init__(self, sizes, dtypes=None):
        super().__init__()
        self.sizes = sizes
        dtypes = [np.float32] * len(sizes) if dtypes is None else dtypes
        for index, (size, dtype) in enumerate(zip(sizes, dtypes)):
            setattr(self, f"p{index}", column(size, dtype))
        self.order = list(reversed(range(len(sizes))))
        self.skip = ()

    def forward(self, x):
        used = [i for i in range(len(self.sizes)) if i not in self.skip]
        for index in used:
            layer = getattr(self, f"p{index}")
            layer(np.ones((1, self.sizes[index]), dtype=layer.weight.data.dtype))
        self._save(used)
        return np.zeros((1, len(self.sizes)))

    def backward(self, dout):
        (used,) = self._load()
        for index in self.order:
            if index in used:
                layer = getattr(self, f"p{index}")
                layer.backward(np.asarray(dout[:1, index : index + 1], dtype=layer.weight.data.dtype))
        return dout


def columns_pass(model, values, samples):
    """A pass in which parameter i has the gradient values[i], the mean over ``samples`` samples."""
    model(np.zeros((1, 1)))
    return model.backward(np.asarray([values], dtype=np.float64), samples=samples)


def columns_expected(module, entries):
    """entries[i]: the value that parameter i must show, or None."""
    return {
        f"p{index}.weight": None if value is None else np.full((size, 1), value, dtype=np.float64)
        for index, (size, value) in enumerate(zip(module.sizes, entries))
    }


# -- limits that the prompt states ----------------------------------------------------------------
def most_buckets(module, cap):
    """The number of buckets by the filling that the prompt describes."""
    count, room = 0, {}
    for _, parameter in reversed(module.named_parameters()):
        dtype, size = parameter.data.dtype.str, int(parameter.data.nbytes)
        if dtype not in room or room[dtype] + size > cap:
            count, room[dtype] = count + 1, 0
        room[dtype] += size
    return count


def all_bytes(module):
    return sum(int(parameter.data.nbytes) for parameter in module.parameters())


def slack(module):
    return 8 * len(module.parameters()) + 64


@contextmanager
def refused(*kinds):
    """An error of one of these kinds; NotImplementedError is a RuntimeError, but no refusal."""
    caught = []
    try:
        yield caught
    except Exception as err:
        caught.append(type(err))
    refusal = caught and issubclass(caught[0], kinds) and not issubclass(caught[0], NotImplementedError)
    assert refusal, f"expected {kinds}, got {caught}"
