"""Where tensors lie, and who holds which rows."""

import math

import pytest
import torch
from torch.distributed.tensor import DTensor

from megatron.core.distributed.fsdp.src.megatron_fsdp.experimental.dbuffer import DBuffer, Flat, Partial, Replicate
from megatron.core.distributed.fsdp.src.megatron_fsdp.experimental.layout import GlobalLayout
from probes.support import GROUPS, SPREAD, combined, due, held, plain, tensors, whole_numbers

# Worked out by hand from the rules: shapes, offsets, the first element behind all tensors, the unit.
PACKED = {
    # the gap behind 8 of 6s is shared: 10 = 4 + 6, and its excess of 4 fits
    "shared": ([(4, 2), (5, 2), (2, 3)], (0, 8, 18), 24, 6),
    # 11 has 5 over: the first that fits beside it is 7, with 1 over; then 8 shares with 15
    "first-that-fits": ([(11,), (5, 3), (4, 2), (7,), (1, 6)], (0, 18, 34, 11, 42), 48, 6),
    # 16 shares with 13, and small ones lie between them, the larger first
    "between": ([(13,), (4, 4), (2,), (3,), (1, 12)], (0, 20, 16, 13, 36), 48, 12),
    # between 17 and 21 only the third of the small ones has room at a multiple of its row
    "passed-over": ([(17,), (1, 4), (15,), (2, 2), (1, 3), (2,)], (0, 36, 21, 40, 18, 44), 46, 12),
    # a gap of 25: 13, 10, not 9, not 6, but 2; the others behind, at multiples of their rows
    "gap-and-tail": ([(7, 5), (5, 2), (9,), (2, 3), (1,), (13,), (2,)], (0, 48, 60, 69, 75, 35, 58), 76, 30),
    # a small one fills a gap to the end; later ones skip elements
    "filled": ([(4, 2), (3, 4), (1, 3), (2,), (4, 4), (1, 2)], (28, 0, 36, 39, 12, 42), 44, 12),
    # small ones only, equal ones in given order
    "small": ([(1, 4), (2, 3), (6,), (1, 5)], (20, 0, 6, 15), 24, 60),
    "one": ([(3, 7)], (0,), 21, 7),
}


@pytest.mark.parametrize("case", PACKED)
def test_tensors_are_packed_by_the_rules(ranks, case):
    shapes, offsets, end, unit = PACKED[case]
    for dp_size in (1, 2, 3, 5):
        layout = GlobalLayout.build(iter(shapes), dp_size)
        assert [int(offset) for offset in layout.tensor_to_offset] == list(offsets)
        assert int(layout.size) == math.ceil(end / (unit * dp_size)) * unit * dp_size
    for placements in ([Replicate()], [Partial()], [Flat()]):
        buffer = DBuffer(ranks.mesh, iter(placements), iter(shapes), torch.float32, ranks.device)
        size = math.ceil(end / (unit * ranks.size)) * unit * ranks.size
        share = size // ranks.size if placements == [Flat()] else size
        assert [int(offset) for offset in buffer.layout.tensor_to_offset] == list(offsets)
        assert int(buffer.layout.size) == size
        assert [[int(n) for n in shape] for shape in buffer.layout.tensor_shapes] == [list(shape) for shape in shapes]
        assert int(buffer.offset) == (ranks.rank * share if placements == [Flat()] else 0)
        assert [int(n) for n in buffer.local_buffer.shape] == [share]


def ranges(ranks, mesh_shape, placements, size):
    """The first element and the number of elements of this rank: the last Flat axis divides first."""
    place = {}
    for axis, n in reversed(list(enumerate(mesh_shape))):
        behind = math.prod(mesh_shape[axis + 1 :])
        place[axis] = ranks.rank // behind % n
    start, count = 0, size
    for axis in reversed(range(len(mesh_shape))):
        if isinstance(placements[axis], Flat):
            count //= mesh_shape[axis]
            start += place[axis] * count
    return start, count


@pytest.mark.parametrize("group", GROUPS)
def test_two_axes_share_and_move(ranks, group):
    """Over meshes of two axes, of which one has a single rank where there are too few ranks for more."""
    shapes = GROUPS[group]
    full = whole_numbers(0, shapes, 1)
    sums = combined(ranks, shapes, sum, 2)
    found, right = [], []
    for mesh_shape, mesh in ranks.meshes.items():
        if len(mesh_shape) != 2:
            continue
        same, own = tensors(ranks, shapes, 0, 1), tensors(ranks, shapes, None, 2)
        flat = DBuffer.distribute_tensors(same, mesh, [Flat(), Flat()])
        halved = DBuffer.distribute_tensors(same, mesh, [Replicate(), Flat()])
        # an axis at a time: summed over the second, then over the first
        partial = DBuffer.distribute_tensors(own, mesh, [Partial(), Partial()]).redistribute([Partial(), Flat()])
        steps = [
            (flat, full),
            (flat.allgather(0), full),
            (flat.allgather(0).allgather(1), full),
            (halved, full),
            (halved.scatter(0, Flat()), full),
            (partial.reduce_scatter(0, Flat()), sums),
            (partial.allreduce(0), sums),
            (partial.allreduce(0).redistribute([Replicate(), Replicate()]), sums),
        ]
        for buffer, numbers in steps:
            start, count = ranges(ranks, mesh_shape, buffer.placements, int(buffer.layout.size))
            found.append((int(buffer.offset), int(buffer.local_buffer.numel()), held(buffer, shapes)))
            right.append((start, count, due(buffer, shapes, numbers, start, count)))
    assert found == right
    assert len(found) >= 8


def test_dtensors_hold_the_whole_tensor(ranks):
    """Shape, placement, values; and the whole again, where every rank has it or a tensor divides evenly."""
    replicated = DBuffer.distribute_tensors(tensors(ranks, SPREAD, 0, 3), ranks.mesh, [Replicate()])
    flat = DBuffer.distribute_tensors(tensors(ranks, SPREAD, 0, 3), ranks.mesh, [Flat()])
    even = [(2 * ranks.size, 3)]
    shared = DBuffer.distribute_tensors(tensors(ranks, even, 0, 4), ranks.mesh, [Flat()])
    dtensors = [[buffer.get_dtensor(index) for index in range(len(SPREAD))] for buffer in (replicated, flat)]
    local = [[plain(dtensor.to_local()) for dtensor in of_buffer] for of_buffer in dtensors]
    whole = [plain(replicated.get_dtensor(index).full_tensor()) for index in range(len(SPREAD))]
    whole_even = plain(shared.get_dtensor(0).full_tensor())
    for of_buffer, is_flat in zip(dtensors, (False, True)):
        assert all(isinstance(dtensor, DTensor) for dtensor in of_buffer)
        assert [[int(n) for n in dtensor.shape] for dtensor in of_buffer] == [list(shape) for shape in SPREAD]
        assert [bool(p.is_shard(0)) for dtensor in of_buffer for p in dtensor.placements] == [is_flat] * len(SPREAD)
    assert local == [held(replicated, SPREAD), held(flat, SPREAD)]
    assert whole == due(replicated, SPREAD, whole_numbers(0, SPREAD, 3))
    assert whole_even == ([2 * ranks.size, 3], "torch.float32", [float(v) for v in whole_numbers(0, even, 4)[0]])
