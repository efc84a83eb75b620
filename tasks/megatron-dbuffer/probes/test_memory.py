"""What operations allocate, beside what they compute."""

import pytest
import torch
import torch.distributed as dist

from megatron.core.distributed.fsdp.src.megatron_fsdp.experimental.dbuffer import DBuffer, Flat, Partial, Replicate
from probes.support import combined, due, due_flat, empty, held, peak_bytes, tensors, whole_numbers, write

# Two tensors without padding on 1, 2 or 4 ranks: 1 MiB in float32, far more than what is allocated
# for bookkeeping and far more than the allocator's rounding.
SHAPES = [(512, 256), (256, 512)]
SIZE = 512 * 256 * 2 * 4
# for the allocator's rounding and for objects that are no buffers
SLACK = SIZE // 16

# name: placements before and after, the call, and the collective of torch.distributed that it is
OPERATIONS = {
    "allgather": ([Flat()], [Replicate()], lambda b, out: b.allgather(0, out=out), dist.all_gather_into_tensor),
    "allreduce": (
        [Partial()],
        [Replicate()],
        lambda b, out: b.allreduce(0, out=out),
        lambda new, old, group: dist.all_reduce(new, group=group),
    ),
    "reduce_scatter": (
        [Partial()],
        [Flat()],
        lambda b, out: b.reduce_scatter(0, Flat(), out=out),
        lambda new, old, group: dist.reduce_scatter_tensor(new, old, group=group),
    ),
    "scatter": ([Replicate()], [Flat()], lambda b, out: b.scatter(0, Flat(), out=out), lambda new, old, group: None),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_allocates_its_result_at_most(ranks, name):
    """Against the plain collective on tensors that exist already, measured in the same way."""
    before, after, call, collective = OPERATIONS[name]
    own = None if before == [Partial()] else 0
    source = DBuffer.distribute_tensors(tensors(ranks, SHAPES, own), ranks.mesh, before)
    out = empty(ranks, SHAPES, after)
    spare = torch.zeros_like(out.local_buffer), source.local_buffer.clone()
    group = ranks.mesh.get_group(0)

    def once():
        collective(spare[0], spare[1], group=group)

    once()  # what a first collective sets up is nobody's
    plain_peak, _ = peak_bytes(ranks, once)
    with_peak, _ = peak_bytes(ranks, lambda: call(source, out))
    without_peak, result = peak_bytes(ranks, lambda: call(source, None))
    found = [held(out, SHAPES), held(result, SHAPES)]
    full = combined(ranks, SHAPES, sum) if own is None else whole_numbers(0, SHAPES)
    right = due_flat(ranks, out, SHAPES, full) if after == [Flat()] else due(out, SHAPES, full)
    assert found == [right, right]
    share = 0 if name == "scatter" else SIZE // ranks.size if after == [Flat()] else SIZE
    assert with_peak <= plain_peak + SLACK
    assert without_peak <= plain_peak + share + SLACK


def test_a_buffer_holds_its_share(ranks):
    """And from_local nothing at all."""
    make = lambda placements: DBuffer(ranks.mesh, placements, SHAPES, torch.float32, ranks.device)
    flat_peak, flat = peak_bytes(ranks, lambda: make([Flat()]))
    whole_peak, whole = peak_bytes(ranks, lambda: make([Replicate()]))
    flat_held = flat.local_buffer.untyped_storage().nbytes()
    peak, again = peak_bytes(ranks, lambda: DBuffer.from_local(whole.local_buffer, ranks.mesh, [Replicate()], SHAPES))
    given = tensors(ranks, SHAPES, 0)
    share_peak, shared = peak_bytes(ranks, lambda: DBuffer.distribute_tensors(given, ranks.mesh, [Flat()]))
    found = held(shared, SHAPES)
    write(again, given)
    assert found == due_flat(ranks, shared, SHAPES, whole_numbers(0, SHAPES))
    assert held(whole, SHAPES) == due(whole, SHAPES, whole_numbers(0, SHAPES))
    share = SIZE // ranks.size
    assert share <= int(flat_held) <= share + SLACK
    assert share <= flat_peak <= share + SLACK
    assert SIZE <= whole_peak <= SIZE + SLACK
    assert peak <= SLACK
    assert share_peak <= share + SLACK
