"""What is refused, before anything is written."""

import pytest
import torch
import torch.distributed as dist

from megatron.core.distributed.fsdp.src.megatron_fsdp.experimental import Placement
from megatron.core.distributed.fsdp.src.megatron_fsdp.experimental.dbuffer import DBuffer, Flat, Partial, Replicate
from megatron.core.distributed.fsdp.src.megatron_fsdp.experimental.layout import GlobalLayout
from probes.support import SPREAD, due, empty, held, refused, tensors, values, whole_numbers, write


@pytest.fixture
def replicated(ranks):
    return DBuffer.distribute_tensors(tensors(ranks, SPREAD, 0), ranks.mesh, [Replicate()])


def test_from_local_takes_only_what_fits(ranks, replicated):
    size = int(replicated.layout.size)
    share = size // ranks.size
    memory = torch.zeros(2 * size + 2, dtype=torch.float32, device=ranks.device)
    wrong = {
        "one more": (memory[: size + 1], [Replicate()]),
        "one fewer": (memory[: size - 1], [Replicate()]),
        "none": (memory[:0], [Replicate()]),
        "twice": (memory[: 2 * size], [Partial()]),
        "a share and one": (memory[: share + 1], [Flat()]),
        "two dimensions": (memory[:size].view(2, -1), [Replicate()]),
        "no dimension": (memory[0], [Replicate()]),
        "every other element": (memory[: 2 * size : 2], [Replicate()]),
        "no placement": (memory[:size], []),
        "two placements": (memory[:size], [Replicate(), Replicate()]),
    }
    for name, (local, placements) in wrong.items():
        with refused(ValueError):
            DBuffer.from_local(local, ranks.mesh, placements, SPREAD)
    right = DBuffer.from_local(memory[1 : size + 1], ranks.mesh, [Replicate()], SPREAD)
    write(right, tensors(ranks, SPREAD, 0))
    assert held(right, SPREAD) == due(right, SPREAD, whole_numbers(0, SPREAD))
    assert right.local_buffer.data_ptr() == memory[1:].data_ptr()
    assert set(values(memory[:1])) | set(values(memory[size + 1 :])) == {0.0}


def test_an_out_that_does_not_fit_is_refused_and_left_alone(ranks):
    """In placements, layout, dtype or mesh; for every operation, and source and out stay as they were."""
    other = [*SPREAD[:-1], (2, 2)]
    sources = {
        "allgather": ([Flat()], [Replicate()], lambda b, out: b.allgather(0, out=out)),
        "allreduce": ([Partial()], [Replicate()], lambda b, out: b.allreduce(0, out=out)),
        "reduce_scatter": ([Partial()], [Flat()], lambda b, out: b.reduce_scatter(0, Flat(), out=out)),
        "scatter": ([Replicate()], [Flat()], lambda b, out: b.scatter(0, Flat(), out=out)),
        "redistribute": ([Replicate()], [Flat()], lambda b, out: b.redistribute([Flat()], out=out)),
        "same": ([Replicate()], [Replicate()], lambda b, out: b.redistribute([Replicate()], out=out)),
    }
    mesh2 = ranks.meshes[(1, ranks.size)]
    for name, (before, after, call) in sources.items():
        source = DBuffer.distribute_tensors(tensors(ranks, SPREAD, 0), ranks.mesh, before)
        source.local_buffer.nan_to_num_(0.0)
        start = values(source.local_buffer)
        outs = {
            "placements": empty(ranks, SPREAD, [Partial(dist.ReduceOp.MAX)]),
            "layout": empty(ranks, other, after),
            "order": empty(ranks, SPREAD[::-1], after),
            "dtype": empty(ranks, SPREAD, after, dtype=torch.bfloat16),
            "wider": empty(ranks, SPREAD, after, dtype=torch.float64),
            "mesh": empty(ranks, SPREAD, [Replicate(), *after], mesh2),
        }
        for what, out in outs.items():
            out.local_buffer.fill_(3.0)
            with refused(ValueError):
                call(source, out)
            assert set(values(out.local_buffer)) == {3.0}, f"{name} wrote to an out with another {what}"
        assert values(source.local_buffer) == start


def test_placements_are_checked(ranks, replicated):
    """Their number, their kind, and Flat axes last: in a mesh of two axes and by what would result."""
    mesh2 = ranks.meshes[(1, ranks.size)]
    make = lambda mesh, placements: DBuffer(mesh, placements, SPREAD, torch.float32, ranks.device)
    for placements in ([], [Flat(), Flat()], iter([])):
        with refused(ValueError):
            make(ranks.mesh, placements)
    strangers = ["flat", None, Flat]
    try:
        strangers.append(Placement())
    except TypeError:
        pass  # a base that cannot be made is as good
    for placement in strangers:
        with refused(TypeError):
            make(ranks.mesh, [placement])
    for wrong in ([Flat(), Replicate()], [Flat(), Partial()]):
        with refused(ValueError, saying="Flat placements must be a suffix"):
            make(mesh2, wrong)
        with refused(ValueError, saying="Flat placements must be a suffix"):
            DBuffer.distribute_tensors(tensors(ranks, SPREAD), mesh2, wrong)
    both = DBuffer.distribute_tensors(tensors(ranks, SPREAD, 0), mesh2, [Flat(), Flat()])
    whole = DBuffer.distribute_tensors(tensors(ranks, SPREAD, 0), mesh2, [Replicate(), Replicate()])
    part = DBuffer.distribute_tensors(tensors(ranks, SPREAD, 0), mesh2, [Partial(), Partial()])
    with refused(ValueError, saying="Flat placements must be a suffix"):
        both.allgather(1)
    with refused(ValueError, saying="Flat placements must be a suffix"):
        both.redistribute([Flat(), Replicate()])
    with refused(ValueError, saying="Flat placements must be a suffix"):
        whole.scatter(0, Flat())
    with refused(ValueError, saying="Flat placements must be a suffix"):
        part.reduce_scatter(0, Flat())
    for buffer in (both, whole):
        with refused(ValueError):
            buffer.redistribute([Replicate()])
    same = Partial(), Replicate(), Flat(), Partial(dist.ReduceOp.AVG)
    assert [bool(a == b) for a in same for b in (Partial(), Replicate(), Flat(), Partial(dist.ReduceOp.AVG))] == [
        i == k for i in range(4) for k in range(4)
    ]


def test_moves_that_do_not_exist_are_refused(ranks, replicated):
    mesh2 = ranks.meshes[(1, ranks.size)]
    part = DBuffer.distribute_tensors(tensors(ranks, SPREAD, 0), ranks.mesh, [Partial()])
    flat = DBuffer.distribute_tensors(tensors(ranks, SPREAD, 0), ranks.mesh, [Flat()])
    both = DBuffer.distribute_tensors(tensors(ranks, SPREAD, 0), mesh2, [Flat(), Flat()])
    for wrong in (
        lambda: replicated.allgather(0),
        lambda: part.allgather(0),
        lambda: replicated.allreduce(0),
        lambda: flat.allreduce(0),
        lambda: replicated.reduce_scatter(0, Flat()),
        lambda: flat.reduce_scatter(0, Flat()),
        lambda: part.scatter(0, Flat()),
        lambda: flat.scatter(0, Flat()),
        lambda: part.get_dtensor(0),
    ):
        with refused(ValueError):
            wrong()
    for wrong in (
        lambda: part.reduce_scatter(0, Replicate()),
        lambda: replicated.scatter(0, Partial()),
        lambda: replicated.redistribute([Partial()]),
        lambda: flat.redistribute([Partial()]),
        lambda: part.redistribute([Partial(dist.ReduceOp.AVG)]),
        lambda: both.redistribute([Replicate(), Replicate()]),
    ):
        with refused(NotImplementedError):
            wrong()
    for axis in ("dp", True, 0.0, None):
        for call in (
            part.allreduce,
            flat.allgather,
            lambda a: part.reduce_scatter(a, Flat()),
            lambda a: replicated.scatter(a, Flat()),
        ):
            with refused(TypeError, saying="Mesh axis must be an int"):
                call(axis)
    for axis in (-1, 1):
        for call in (
            part.allreduce,
            flat.allgather,
            lambda a: part.reduce_scatter(a, Flat()),
            lambda a: replicated.scatter(a, Flat()),
        ):
            with refused(ValueError, saying=f"Mesh axis {axis} is out of bounds"):
                call(axis)
    assert held(replicated, SPREAD) == due(replicated, SPREAD, whole_numbers(0, SPREAD))
    assert replicated.redistribute([Replicate()]) is replicated


def test_shapes_and_tensors_are_checked(ranks):
    for shapes in ([()], [(3,), ()], [(2, 0)], [(2, 3, 0), (4,)]):
        with refused(ValueError):
            GlobalLayout.build(shapes, 1)
        with refused(ValueError):
            DBuffer(ranks.mesh, [Flat()], shapes, torch.float32, ranks.device)
    for dp_size in (0, -1):
        with refused(ValueError):
            GlobalLayout.build([(3,)], dp_size)
    with refused(ValueError):
        DBuffer.distribute_tensors([], ranks.mesh, [Flat()])
    one, two = torch.zeros(3, device=ranks.device), torch.zeros(3, device=ranks.device, dtype=torch.bfloat16)
    with refused(ValueError):
        DBuffer.distribute_tensors([one, two], ranks.mesh, [Flat()])
