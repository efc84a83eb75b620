"""What the probes share: data that differs from rank to rank, plain values, and where elements lie."""

import gc
from contextlib import contextmanager
from datetime import timedelta

import torch
from torch.profiler import ProfilerActivity, profile

from megatron.core.distributed.fsdp.src.megatron_fsdp.experimental.dbuffer import DBuffer, Flat

# One rank holds all of a tensor or part of it; excesses over the unit (12), gaps, small tensors.
SPREAD = ((9, 4), (5, 6), (5,), (1, 3), (7, 2))
# All tensors are small beside the unit (60), so that with several ranks some hold padding only.
SMALL = ((7, 3), (2, 5), (7,), (1, 4), (3, 2, 2))
GROUPS = {"spread": SPREAD, "small": SMALL}


class Ranks:
    def __init__(self, rank, size, device, meshes, store):
        self.rank, self.size, self.device = rank, size, device
        self.meshes, self.store, self.mesh = meshes, store, meshes[(size,)]

    def line_up(self, name):
        self.store.set(f"{name} {self.rank}", "here")
        self.store.wait([f"{name} {rank}" for rank in range(self.size)], timedelta(seconds=40))


def whole_numbers(rank, shapes, turn=0, limit=1 << 19):
    """Per tensor a flat list of ints below ``limit``, by rank, turn, tensor and place. float32 holds
    them, and their sums over up to 16 ranks, exactly; a detour through a half-precision type does not."""
    found, i = [], 0
    for shape in shapes:
        count = torch.Size(shape).numel()
        found.append(
            [((i + k + 1) * 7919 + rank * 104729 + turn * 15485863) % (2 * limit - 1) - limit + 1 for k in range(count)]
        )
        i += count
    return found


def tensors(ranks, shapes, rank=None, turn=0, dtype=torch.float32, limit=1 << 19):
    rank = ranks.rank if rank is None else rank
    made = whole_numbers(rank, shapes, turn, limit)
    pairs = zip(made, shapes)
    return [torch.tensor(v, dtype=torch.float64).to(ranks.device, dtype).reshape(s) for v, s in pairs]


def combined(ranks, shapes, how, turn=0, limit=1 << 19):
    """Per tensor the flat list of values over all ranks, in Python's own arithmetic."""
    each = [whole_numbers(rank, shapes, turn, limit) for rank in range(ranks.size)]
    return [[float(how(column)) for column in zip(*(values[t] for values in each))] for t in range(len(shapes))]


def mean(column):
    return sum(column) / len(column)


def plain(tensor):
    """Shape, dtype and values as Python's own: nothing of the object under test takes part in a comparison."""
    assert isinstance(tensor, torch.Tensor)
    wide = torch.empty(tuple(tensor.shape), dtype=torch.float64)
    wide.copy_(tensor.detach())
    return [int(n) for n in tensor.shape], str(tensor.dtype), [float(v) for v in wide.flatten().tolist()]


def values(tensor):
    return plain(tensor)[2]


def held(buffer, shapes):
    """What get_local_tensor gives for each tensor, as plain values."""
    return [plain(buffer.get_local_tensor(index)) for index in range(len(shapes))]


def due(buffer, shapes, full, start=0, count=None, dtype=torch.float32):
    """What a rank that holds ``count`` elements from ``start`` on is due, of tensors with these full values."""
    count = buffer.layout.size if count is None else count
    found = []
    for shape, begin, flat in zip(shapes, map(int, buffer.layout.tensor_to_offset), full):
        low, high = max(start - begin, 0), min(start + count - begin, len(flat))
        part = flat[low:high] if low < high else []
        row = torch.Size(shape[1:]).numel()
        assert len(part) % row == 0
        found.append(([len(part) // row, *shape[1:]], str(dtype), [float(v) for v in part]))
    return found


def due_flat(ranks, buffer, shapes, full, dtype=torch.float32):
    """The same of a buffer that is Flat over all ranks."""
    share = buffer.layout.size // ranks.size
    return due(buffer, shapes, full, ranks.rank * share, share, dtype)


def empty(ranks, shapes, placements, mesh=None, dtype=torch.float32):
    """A new buffer of not-a-numbers, padding included."""
    mesh = ranks.mesh if mesh is None else mesh
    buffer = DBuffer(mesh=mesh, placements=placements, tensor_shapes=shapes, dtype=dtype, device=ranks.device)
    buffer.local_buffer.fill_(float("nan"))
    return buffer


def write(buffer, tensors_, start=0):
    """Puts the tensors where they lie, by the layout alone; ``start``: the first element that is held."""
    count = buffer.local_buffer.numel()
    for begin, tensor in zip(map(int, buffer.layout.tensor_to_offset), tensors_):
        low, high = max(begin, start), min(begin + tensor.numel(), start + count)
        if low < high:
            buffer.local_buffer[low - start : high - start] = tensor.reshape(-1)[low - begin : high - begin]


def poisoned(ranks, shapes, placements, tensors_):
    """A buffer of these tensors with not-a-numbers wherever no tensor lies."""
    buffer = empty(ranks, shapes, placements, dtype=tensors_[0].dtype)
    shared = placements == [Flat()]
    write(buffer, tensors_, ranks.rank * int(buffer.layout.size) // ranks.size if shared else 0)
    return buffer


@contextmanager
def refused(*errors, saying=""):
    """One of these errors, of exactly these kinds or derived from them."""
    caught = None
    try:
        yield
    except Exception as error:
        caught = error
    assert caught is not None, f"nothing was raised where {errors} was due"
    assert isinstance(caught, errors), f"{type(caught).__name__} instead of {errors}: {caught}"
    assert saying in str(caught)


def peak_bytes(ranks, work):
    """The most that ``work`` holds beyond what was held before, and what it returns.

    On a GPU: the caching allocator's own peak. Elsewhere: the allocations that the profiler records."""
    gc.collect()  # what a failed case left behind is not freed in between
    if ranks.device.type == "cuda":
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        result = work()
        torch.cuda.synchronize()
        return torch.cuda.max_memory_allocated() - before, result
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as record:
        result = work()
    now = most = 0
    for event in record.profiler.kineto_results.events():
        if event.name() == "[memory]":
            now += event.nbytes()
            most = max(most, now)
    return most, result
