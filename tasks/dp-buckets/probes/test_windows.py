"""Several passes in a window, several windows in a run."""

import numpy as np
import pytest

from probes.support import (
    SINGLE,
    Columns,
    Recorder,
    close,
    columns_expected,
    columns_pass,
    data,
    gradients,
    most_buckets,
    refused,
    run_pass,
    whole,
    wrapped,
)
from tandem.comm import init_process_group
from tandem.nn import Linear, MSELoss
from tandem.optim import SGD
from tandem.parallel import DataParallel
from tandem.train import Trainer


def passes(rank, turn=0):
    """The batches of one rank in one window: their number and their lengths differ from rank to rank."""
    return [data(rank, 1 + (rank + 2 * k + turn) % 5, 10 * turn + k) for k in range(2 + (rank + turn) % 3)]


def collect(model, batches):
    """All passes but the last under no_sync."""
    with model.no_sync():
        for batch in batches[:-1]:
            run_pass(model, *batch)
    run_pass(model, *batches[-1])


@pytest.mark.parametrize("cap", [1, 100, 1 << 20])
def test_a_window_of_passes_matches_the_whole(group, cap):
    """Each pass counts by its samples, over passes as over ranks; window after window."""
    model = wrapped(group, bucket_bytes=cap)
    for turn in range(3):
        everyone = [passes(rank, turn) for rank in range(group.world_size)]
        collect(model, everyone[group.rank])
        samples = int(model.finish())
        parts = [part for batches in everyone for part in batches]
        close(gradients(model), whole(model.state_dict(), parts), SINGLE)
        assert samples == sum(len(x) for x, _ in parts)


def test_nothing_is_sent_under_no_sync(group):
    """And a window of many passes costs no more than a window of one."""
    model = wrapped(group, bucket_bytes=100)
    everyone = [[data(rank, 1 + (rank + k) % 3, k) for k in range(6)] for rank in range(group.world_size)]
    quiet = []
    for _ in range(2):
        group.forget()
        with model.no_sync():
            for batch in everyone[group.rank][:-1]:
                run_pass(model, *batch)
                quiet.append(group.count())
        run_pass(model, *everyone[group.rank][-1])
        model.finish()
        calls = group.count()
        found = gradients(model)
        close(found, whole(model.state_dict(), [part for batches in everyone for part in batches]), SINGLE)
        assert calls <= most_buckets(model.module, 100) + 2
    assert quiet == [0] * 10


def test_finish_reduces_a_window_of_no_sync_passes_only(group):
    model = wrapped(group, bucket_bytes=100)
    for turn in range(2):
        everyone = [passes(rank, turn) for rank in range(group.world_size)]
        if turn == 1 and group.rank == 0:  # one rank ends its window with a synchronising pass
            collect(model, everyone[0])
        else:
            with model.no_sync():
                for batch in everyone[group.rank]:
                    run_pass(model, *batch)
        samples = int(model.finish())
        found = gradients(model)
        same = group.same_arrays(found)
        parts = [part for batches in everyone for part in batches]
        close(found, whole(model.state_dict(), parts), SINGLE)
        assert samples == sum(len(x) for x, _ in parts)
        assert same


def test_a_group_of_one_rank(request):
    """Nobody to average with, but passes, windows and missing gradients are the same."""
    with init_process_group(name=request.node.nodeid, rank=0, world_size=1) as inner:
        alone = Recorder(inner)
        model = wrapped(alone, Columns([4, 1, 3]), bucket_bytes=16)
        model.module.skip = (1,)
        for _ in range(2):
            with model.no_sync():
                columns_pass(model, [1.0, 9.0, -4.0], samples=1)
            columns_pass(model, [5.0, 9.0, 8.0], samples=3)
            samples = int(model.finish())
            close(gradients(model), columns_expected(model.module, [4.0, None, 5.0]), SINGLE)
            assert samples == 4


def test_samples_and_no_samples_in_one_window(group):
    """An empty pass before, between and after others of its rank changes nothing."""
    model = wrapped(group, Columns([4, 1, 3]), bucket_bytes=16)
    nan = [np.nan] * 3
    mine = [1.0 + group.rank, 5.0, -2.0 * group.rank]
    with model.no_sync():
        columns_pass(model, nan, samples=0)
        columns_pass(model, mine, samples=2)
        columns_pass(model, nan, samples=0)
        columns_pass(model, [3 * v for v in mine], samples=6)
    columns_pass(model, nan, samples=0)
    total = int(model.finish())
    ranks = range(group.world_size)
    right = [2.5 * float(np.mean(v)) for v in ([1.0 + r for r in ranks], [5.0 for r in ranks], [-2.0 * r for r in ranks])]
    close(gradients(model), columns_expected(model.module, right), SINGLE)
    assert total == 8 * group.world_size


def test_no_sync_nests_and_survives_exceptions(group):
    """The mode before comes back: what it does is seen by whether a pass sends."""
    model = wrapped(group, bucket_bytes=100)
    batches = [[data(rank, 1 + rank + k, k) for k in range(3)] for rank in range(group.world_size)]
    mine = batches[group.rank]
    with model.no_sync():
        with model.no_sync():
            run_pass(model, *mine[0])
        run_pass(model, *mine[1])
        after_inner = group.count()
    try:
        with model.no_sync():
            raise KeyError("on purpose")
    except KeyError:
        pass
    run_pass(model, *mine[2])
    after_outer = group.count()
    model.finish()
    first = gradients(model)
    # the same once more with an exception inside an inner one
    group.forget()
    with model.no_sync():
        try:
            with model.no_sync():
                raise KeyError("on purpose")
        except KeyError:
            pass
        run_pass(model, *mine[0])
        still_quiet = group.count()
    run_pass(model, *mine[1])
    loud = group.count()
    model.finish()
    close(first, whole(model.state_dict(), [part for rank in batches for part in rank]), SINGLE)
    close(gradients(model), whole(model.state_dict(), [part for rank in batches for part in rank[:2]]), SINGLE)
    assert (after_inner, still_quiet) == (0, 0)
    assert after_outer > 0 and loud > 0


@pytest.mark.parametrize("clear", ["nothing", "wrapper", "optimizer"])
def test_each_window_starts_empty(group, clear):
    """Windows after one another, with updates between them, whoever clears gradients or not."""
    model = wrapped(group, bucket_bytes=100)
    optimizer = SGD(model.parameters(), lr=0.05)
    for turn in range(4):
        parts = [data(rank, 1 + (rank + turn) % 3, turn) for rank in range(group.world_size)]
        state = model.state_dict()
        if clear == "wrapper":
            model.zero_grad()
        elif clear == "optimizer":
            optimizer.zero_grad()
        run_pass(model, *parts[group.rank])
        samples = int(model.finish())
        found = gradients(model)
        optimizer.step()
        close(found, whole(state, parts), SINGLE)
        assert samples == sum(len(x) for x, _ in parts)


def test_zero_grad_drops_the_window(group):
    """Gradients and samples that were collected under no_sync are gone, on the ranks that drop them."""
    model = wrapped(group, bucket_bytes=100)
    kept = [data(rank, 3 + rank, 1) for rank in range(group.world_size)]
    lost = [data(rank, 4, 2) for rank in range(group.world_size)]
    more = [data(rank, 1 + rank, 3) for rank in range(group.world_size)]
    with model.no_sync():
        run_pass(model, *lost[group.rank])
    model.zero_grad()
    cleared = gradients(model)
    silent = group.count()
    run_pass(model, *kept[group.rank])
    samples = int(model.finish())
    found = gradients(model)
    # only rank 0 drops: the others keep their first pass
    with model.no_sync():
        run_pass(model, *lost[group.rank])
    if group.rank == 0:
        model.zero_grad()
    run_pass(model, *more[group.rank])
    samples_more = int(model.finish())
    found_more = gradients(model)
    # and after it, in a window in which nothing runs, nothing is left
    with model.no_sync():
        run_pass(model, *lost[group.rank])
    model.zero_grad()
    samples_none = int(model.finish())
    found_none = gradients(model)
    # and what finish() has left, or a backward pass of the module's own
    run_pass(model, *kept[group.rank])
    model.finish()
    model.zero_grad()
    dropped = gradients(model)
    loss = MSELoss()
    loss(model.module(kept[group.rank][0].astype(np.float32)), kept[group.rank][1].astype(np.float32))
    model.module.backward(loss.backward())
    model.zero_grad()
    dropped_own = gradients(model)
    assert silent == 0
    assert all(value is None for value in cleared.values())
    assert all(value is None for value in dropped.values())
    assert all(value is None for value in dropped_own.values())
    close(found, whole(model.state_dict(), kept), SINGLE)
    assert samples == sum(len(x) for x, _ in kept)
    close(found_more, whole(model.state_dict(), more + lost[1:]), SINGLE)
    assert samples_more == sum(len(x) for x, _ in more + lost[1:])
    assert samples_none == 0
    assert all(value is None for value in found_none.values())


def test_gradients_belong_to_the_caller(group):
    """Kept arrays keep their values in later windows, and changing them changes nothing later."""
    model = wrapped(group, bucket_bytes=100)
    kept = []
    for turn in range(4):
        parts = [data(rank, 2 + turn, turn) for rank in range(group.world_size)]
        if turn == 2:
            with model.no_sync():
                run_pass(model, *parts[group.rank])
        else:
            run_pass(model, *parts[group.rank])
        model.finish()
        found = gradients(model)
        arrays = {str(name): p.grad for name, p in model.module.named_parameters()}
        close(found, whole(model.state_dict(), parts), SINGLE)
        assert all(type(array) is np.ndarray and array.flags.writeable for array in arrays.values())
        if turn % 2:
            for array in arrays.values():
                array *= 100.0
            found = {name: np.array(array) for name, array in arrays.items()}
        kept.append((arrays, found))
    for arrays, found in kept:
        for name, array in arrays.items():
            assert np.array_equal(np.array(array), found[name]), f"{name} was written to by a later window"


def test_misuse_is_refused_and_changes_nothing(group):
    """Errors on all ranks alike; the window goes on as if the call had not been made."""
    module = Columns([4, 1, 3])
    for bad in (0, -5):
        with refused(ValueError):
            DataParallel(module, group, bucket_bytes=bad)
    model = wrapped(group, module, bucket_bytes=16)
    with refused(ValueError):
        Trainer(model, SGD(model.parameters(), lr=0.1), MSELoss(), accumulate=0)
    values = [1.0 + group.rank, 2.0, -3.0]
    with model.no_sync():
        columns_pass(model, values, samples=2)
        model(np.zeros((1, 1)))
        with refused(ValueError):
            model.backward(np.ones((1, 3)), samples=-1)
    columns_pass(model, [3 * v for v in values], samples=2)
    model(np.zeros((1, 1)))
    calls = group.count()
    with refused(RuntimeError):
        model.backward(np.full((1, 3), 50.0), samples=9)
    with refused(RuntimeError):
        with model.no_sync():
            model.backward(np.full((1, 3), 50.0), samples=9)
    with refused(RuntimeError):
        model.zero_grad()
    silent = group.count() == calls
    samples = int(model.finish())
    found = gradients(model)
    mean = 1.0 + (group.world_size - 1) / 2
    close(found, columns_expected(module, [2 * mean, 4.0, -6.0]), SINGLE)
    assert samples == 4 * group.world_size
    assert silent
    # afterwards all is allowed again, and refused again
    for _ in range(2):
        model.zero_grad()
        columns_pass(model, values, samples=1)
        calls = group.count()
        with refused(RuntimeError):
            model.zero_grad()
        model(np.zeros((1, 1)))
        with refused(RuntimeError):
            model.backward(np.full((1, 3), 50.0), samples=9)
        silent = group.count() == calls
        samples = int(model.finish())
        close(gradients(model), columns_expected(module, [mean, 2.0, -3.0]), SINGLE)
        assert samples == group.world_size
        assert silent


def test_the_modules_own_backward_has_no_part_in_a_window(group):
    """Before, between and after the passes of a window, window after window: it sends nothing and counts for nothing."""
    model = wrapped(group, Columns([4, 1, 3]), bucket_bytes=16)
    module, mine = model.module, [1.0 + group.rank, 2.0, -3.0]
    silent = []

    def own():
        calls = group.count()
        module(np.zeros((1, 1)))
        module.backward(np.full((1, 3), 70.0))
        silent.append(group.count() == calls)

    mean = 1.0 + (group.world_size - 1) / 2
    for _ in range(3):
        own()
        with model.no_sync():
            columns_pass(model, mine, samples=2)
            own()
        columns_pass(model, [3 * value for value in mine], samples=2)
        own()
        samples = int(model.finish())
        close(gradients(model), columns_expected(module, [2 * mean, 4.0, -6.0]), SINGLE)
        assert samples == 4 * group.world_size
    assert all(silent) and len(silent) == 9


def test_the_modules_own_backward_stays_local(group):
    """Guard: going around the wrapper sends nothing and leaves the local gradient."""
    module = Linear(3, 2, bias=False)
    model = DataParallel(module, group)
    group.forget()
    x = np.random.default_rng([3, group.rank]).standard_normal((4, 3)).astype(np.float32)
    dout = np.ones((4, 2), dtype=np.float32)
    model.module(x)
    model.module.backward(dout)
    sent = group.count()
    close({"weight": np.array(module.weight.grad)}, {"weight": x.astype(np.float64).T @ dout}, SINGLE)
    assert sent == 0
