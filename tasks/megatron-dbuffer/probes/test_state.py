"""What operations leave alone, what they fill, and which memory is whose: seen over several calls."""

import pytest
import torch

from megatron.core.distributed.fsdp.src.megatron_fsdp.experimental.dbuffer import DBuffer, Flat, Partial, Replicate
from probes.support import SPREAD, combined, due, due_flat, empty, held, plain, tensors, values, whole_numbers, write

# name: placements before and after, and the call
OPERATIONS = {
    "allgather": ([Flat()], [Replicate()], lambda source, out: source.allgather(0, out=out)),
    "allreduce": ([Partial()], [Replicate()], lambda source, out: source.allreduce(0, out=out)),
    "reduce_scatter": ([Partial()], [Flat()], lambda source, out: source.reduce_scatter(0, Flat(), out=out)),
    "scatter": ([Replicate()], [Flat()], lambda source, out: source.scatter(0, Flat(), out=out)),
}


def redistributed(name):
    before, after, _ = OPERATIONS[name]
    return before, after, lambda source, out: source.redistribute(after, out=out)


CALLS = {**OPERATIONS, **{f"redistribute-{name}": redistributed(name) for name in OPERATIONS}}
SAME = {
    f"same-{name}": ([p], [p], lambda source, out, p=p: source.redistribute([p], out=out))
    for name, p in (("flat", Flat()), ("replicate", Replicate()))
}


def source_values(ranks, placements, turn):
    """Tensors for a buffer with these placements: other values on each rank only where they are Partial."""
    return tensors(ranks, SPREAD, None if placements == [Partial()] else 0, turn)


def expected(ranks, buffer, before, after, turn):
    full = combined(ranks, SPREAD, sum, turn) if before == [Partial()] else whole_numbers(0, SPREAD, turn)
    return due_flat(ranks, buffer, SPREAD, full) if after == [Flat()] else due(buffer, SPREAD, full)


@pytest.mark.parametrize("name", [*CALLS, *SAME])
def test_an_out_is_filled_anew_each_time(ranks, name):
    """One source and one out, new values in between, and an out that somebody else wrote to."""
    before, after, call = {**CALLS, **SAME}[name]
    source = empty(ranks, SPREAD, before)
    out = empty(ranks, SPREAD, after)
    memory = out.local_buffer
    found, right, same_object, same_memory = [], [], [], []
    for turn in (1, 2, 2, 3):
        fresh = DBuffer.distribute_tensors(source_values(ranks, before, turn), ranks.mesh, before)
        source.local_buffer.copy_(fresh.local_buffer)
        same_object.append(call(source, out) is out)
        same_memory.append(out.local_buffer.data_ptr() == memory.data_ptr())
        found.append(held(out, SPREAD))
        right.append(expected(ranks, out, before, after, turn))
        if turn == 2:
            memory.fill_(-7.0)
    assert found == right
    assert all(same_object) and all(same_memory)


@pytest.mark.parametrize("with_out", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_the_source_stays_as_it_was(ranks, name, with_out):
    """Every element of its storage, and a second operation gives the same again."""
    before, after, call = CALLS[name]
    source = DBuffer.distribute_tensors(source_values(ranks, before, 4), ranks.mesh, before)
    source.local_buffer.nan_to_num_(0.0)
    start = values(source.local_buffer)
    pointer = source.local_buffer.data_ptr()
    results = [call(source, empty(ranks, SPREAD, after) if with_out else None) for _ in range(2)]
    found = [held(result, SPREAD) for result in results]
    assert values(source.local_buffer) == start
    assert source.local_buffer.data_ptr() == pointer
    assert source.placements == tuple(before)
    assert found == [expected(ranks, result, before, after, 4) for result in results]


@pytest.mark.parametrize("name", [name for name in CALLS if not name.endswith("scatter") or "reduce" in name])
def test_a_result_has_storage_of_its_own(ranks, name):
    """Changing the source afterwards, or the result, is not seen in the other."""
    before, after, call = CALLS[name]
    source = DBuffer.distribute_tensors(source_values(ranks, before, 5), ranks.mesh, before)
    result = call(source, None)
    source.local_buffer.fill_(123.0)
    found = held(result, SPREAD)
    result.local_buffer.fill_(-5.0)
    source_after = set(values(source.local_buffer))
    assert found == expected(ranks, result, before, after, 5)
    assert source_after == {123.0}


def test_a_scatter_without_out_is_a_view_and_with_out_a_copy(ranks):
    source = DBuffer.distribute_tensors(tensors(ranks, SPREAD, 0, 6), ranks.mesh, [Replicate()])
    out = empty(ranks, SPREAD, [Flat()])
    views = [source.scatter(0, Flat()), source.redistribute([Flat()])]
    source.scatter(0, Flat(), out=out)
    old = due_flat(ranks, out, SPREAD, whole_numbers(0, SPREAD, 6))
    new = due_flat(ranks, out, SPREAD, whole_numbers(0, SPREAD, 7))
    write(source, tensors(ranks, SPREAD, 0, 7))
    through_source = [held(view, SPREAD) for view in views]
    copied = held(out, SPREAD)
    views[0].local_buffer.fill_(11.0)
    out.local_buffer.fill_(13.0)
    share = source.layout.size // ranks.size
    written = set(values(source.local_buffer)[ranks.rank * share : (ranks.rank + 1) * share])
    assert through_source == [new, new]
    assert copied == old
    assert written == {11.0}


def test_local_tensors_and_dtensors_are_views(ranks):
    """Written to by one, read by the other, with whole copies and with shares."""
    for placements in ([Replicate()], [Flat()]):
        buffer = DBuffer.distribute_tensors(tensors(ranks, SPREAD, 0, 8), ranks.mesh, placements)
        old = held(buffer, SPREAD)
        for index in range(len(SPREAD)):
            buffer.get_local_tensor(index).add_(1.0)
        new = held(buffer, SPREAD)
        for index in range(len(SPREAD)):
            buffer.get_dtensor(index).to_local().mul_(2.0)
        newest = held(buffer, SPREAD)
        full = [buffer.get_dtensor(index) for index in range(len(SPREAD))]
        shapes = [[int(n) for n in dtensor.shape] for dtensor in full]
        assert [[v + 1 for v in flat] for _, _, flat in old] == [flat for _, _, flat in new]
        assert [[v * 2 for v in flat] for _, _, flat in new] == [flat for _, _, flat in newest]
        assert shapes == [list(shape) for shape in SPREAD]


def test_distributing_copies(ranks):
    """From parameters, from transposed views, and from what changes later."""
    whole = tensors(ranks, SPREAD, 0, 9)
    parameters = [torch.nn.Parameter(whole[0].clone()), whole[1].t().contiguous().t(), *(t.clone() for t in whole[2:])]
    for placements in ([Replicate()], [Flat()]):
        buffer = DBuffer.distribute_tensors(iter(parameters), ranks.mesh, iter(placements))
        found = held(buffer, SPREAD)
        buffer.local_buffer.fill_(0.0)
        kept = [plain(tensor) for tensor in parameters]
        full = whole_numbers(0, SPREAD, 9)
        right = due_flat(ranks, buffer, SPREAD, full) if placements == [Flat()] else due(buffer, SPREAD, full)
        assert found == right
        assert [flat for _, _, flat in kept] == [[float(v) for v in flat] for flat in full]
        assert not buffer.local_buffer.requires_grad
