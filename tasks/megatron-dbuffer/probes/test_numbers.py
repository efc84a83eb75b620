"""Every element has the right value, from data that differs from rank to rank."""

import math

import pytest
import torch
import torch.distributed as dist

from megatron.core.distributed.fsdp.src.megatron_fsdp.experimental.dbuffer import DBuffer, Flat, Partial, Replicate
from probes.support import GROUPS, SPREAD, combined, due, due_flat, held, mean, plain, poisoned, tensors, whole_numbers

OPS = {
    "sum": (dist.ReduceOp.SUM, sum),
    "avg": (dist.ReduceOp.AVG, mean),
    "max": (dist.ReduceOp.MAX, max),
    "min": (dist.ReduceOp.MIN, min),
}


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("op", OPS)
def test_reductions_are_exact_in_every_element(ranks, op, group):
    """Whole numbers that float32 holds exactly, their sums too: no order of adding can excuse a difference."""
    shapes, (reduce_op, how) = GROUPS[group], OPS[op]
    source = poisoned(ranks, shapes, [Partial(reduce_op)], tensors(ranks, shapes))
    reduced = source.allreduce(0)
    shared = source.reduce_scatter(0, Flat())
    again = source.redistribute([Replicate()])
    found = [held(buffer, shapes) for buffer in (reduced, shared, again)]
    full = combined(ranks, shapes, how)
    # a mean over a number of ranks that is no power of two is rounded once or twice
    tolerance = 0.0 if op != "avg" or ranks.size & (ranks.size - 1) == 0 else 2.0**-22
    expected = [due(reduced, shapes, full), due_flat(ranks, shared, shapes, full), due(again, shapes, full)]
    for got, right in zip(found, expected):
        assert [g[:2] for g in got] == [r[:2] for r in right]
        for (_, _, numbers), (_, _, exact) in zip(got, right):
            assert all(abs(a - b) <= tolerance * abs(b) for a, b in zip(numbers, exact, strict=True))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_every_dtype_is_kept(ranks, dtype):
    """Small whole numbers in half precision; in double precision numbers that float32 does not hold."""
    limit = 1 << 40 if dtype == torch.float64 else 17
    full = [[float(v) for v in flat] for flat in whole_numbers(0, SPREAD, limit=limit)]
    same = tensors(ranks, SPREAD, rank=0, dtype=dtype, limit=limit)
    gathered = DBuffer.distribute_tensors(same, ranks.mesh, [Flat()]).allgather(0)
    shared = DBuffer.distribute_tensors(same, ranks.mesh, [Replicate()]).scatter(0, Flat())
    source = poisoned(ranks, SPREAD, [Partial()], tensors(ranks, SPREAD, dtype=dtype, limit=limit))
    summed = source.allreduce(0)
    summed_share = source.reduce_scatter(0, Flat())
    found = [held(buffer, SPREAD) for buffer in (gathered, shared, summed, summed_share)]
    sums = combined(ranks, SPREAD, sum, limit=limit)
    assert found[0] == due(gathered, SPREAD, full, dtype=dtype)
    assert found[1] == due_flat(ranks, shared, SPREAD, full, dtype)
    assert found[2] == due(summed, SPREAD, sums, dtype=dtype)
    assert found[3] == due_flat(ranks, summed_share, SPREAD, sums, dtype)
    assert {str(b.dtype) for b in (gathered, shared, summed, summed_share)} == {str(dtype)}


def test_padding_does_not_show(ranks):
    """Not-a-numbers and infinities between and behind the tensors, in the source and in an out."""
    for shapes in GROUPS.values():
        same, own = tensors(ranks, shapes, 0, 3), tensors(ranks, shapes, None, 4)
        flat = poisoned(ranks, shapes, [Flat()], same)
        whole = poisoned(ranks, shapes, [Replicate()], same)
        part = poisoned(ranks, shapes, [Partial()], own)
        mean_part = poisoned(ranks, shapes, [Partial(dist.ReduceOp.AVG)], own)
        results = [flat.allgather(0), whole.scatter(0, Flat()), part.allreduce(0), part.reduce_scatter(0, Flat())]
        results += [
            mean_part.allreduce(0),
            flat.allgather(0).scatter(0, Flat()),
            part.reduce_scatter(0, Flat()).allgather(0),
        ]
        found = [held(buffer, shapes) for buffer in results]
        rows = [[plain(buffer.get_dtensor(i).to_local()) for i in range(len(shapes))] for buffer in results]
        full, sums = whole_numbers(0, shapes, 3), combined(ranks, shapes, sum, 4)
        assert all(math.isfinite(v) for buffer in found for _, _, flat_values in buffer for v in flat_values)
        assert found == rows
        assert found[0] == due(whole, shapes, full)
        assert found[1] == found[5] == due_flat(ranks, whole, shapes, full)
        assert found[2] == found[6] == due(whole, shapes, sums)
        assert found[3] == due_flat(ranks, whole, shapes, sums)
