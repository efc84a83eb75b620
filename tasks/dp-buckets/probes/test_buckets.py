"""Which parameters travel together, and what travels at all."""

import numpy as np
import pytest

from probes.support import (
    HALF,
    SINGLE,
    Columns,
    all_bytes,
    close,
    columns_expected,
    columns_pass,
    data,
    gradients,
    most_buckets,
    network,
    run_pass,
    slack,
    whole,
    wrapped,
)

SIZES = [3, 1, 40, 2, 2, 9, 5, 1, 16]
MIXED = [np.float32, np.float64, np.float32, np.float16, np.float64, np.float32, np.float16, np.float64, np.float32]


SAMPLES = 3  # on every rank: weighting by samples is looked at elsewhere


def mean(values):
    return float(np.mean(values))


def mixed_window(group, model):
    """One window over SIZES with values of its own for each parameter and rank; returns the expected gradients."""
    values = [[(i + 1) * (1 + rank) / 4 for i in range(len(SIZES))] for rank in range(group.world_size)]
    columns_pass(model, values[group.rank], samples=SAMPLES)
    model.finish()
    return columns_expected(model.module, [mean([v[i] for v in values]) for i in range(len(SIZES))])


@pytest.mark.parametrize("dtypes", [None, MIXED], ids=["one dtype", "mixed"])
def test_buckets_hold_every_parameter_once_within_the_cap(group, dtypes):
    for cap in (1, 24, 100, 1 << 20):
        model = wrapped(group, Columns(SIZES, dtypes), bucket_bytes=cap)
        buckets = [[str(name) for name in bucket] for bucket in model.buckets()]
        expected = mixed_window(group, model)
        found = gradients(model)
        again = [[str(name) for name in bucket] for bucket in model.buckets()]
        parameters = dict(model.module.named_parameters())
        assert sorted(name for bucket in buckets for name in bucket) == sorted(parameters)
        assert all(bucket for bucket in buckets)
        for bucket in buckets:
            assert len({parameters[name].data.dtype.str for name in bucket}) == 1
            assert len(bucket) == 1 or sum(int(parameters[name].data.nbytes) for name in bucket) <= cap
        assert len(buckets) <= most_buckets(model.module, cap)
        assert again == buckets
        close(found, expected, HALF if dtypes else SINGLE)  # half precision among the mixed ones


@pytest.mark.parametrize("cap", [480, 2000])
def test_the_cap_holds_on_the_wire(group, cap):
    """One big bucket would need even fewer collectives, but a cap was asked for."""
    model = wrapped(group, Columns([20 * size for size in SIZES]), bucket_bytes=cap)
    sent = []
    for _ in range(2):
        group.forget()
        expected = mixed_window(group, model)
        sent.append([call[3] for call in group.calls])
        found = gradients(model)
        largest = max(int(parameter.data.nbytes) for parameter in model.module.parameters())
        close(found, expected, SINGLE)
    for payloads in sent:
        # a parameter over the cap may go alone; all others obey it
        over = sorted(size for size in payloads if size > cap + slack(model.module))
        assert len(over) <= sum(1 for p in model.module.parameters() if int(p.data.nbytes) > cap)
        assert not over or over[-1] <= largest + slack(model.module)


@pytest.mark.parametrize("unused", [(), (0,), (8,), (4, 5)], ids=["all", "first", "last", "middle"])
def test_what_does_not_fill_a_bucket_is_reduced_too(group, unused):
    """Also next to parameters that are not used in the window, wherever the cap falls among the sizes."""
    values = [[(i + 2) * (3 + rank) for i in range(len(SIZES))] for rank in range(group.world_size)]
    entries = [None if i in unused else mean([v[i] for v in values]) for i in range(len(SIZES))]
    for cap in (8, 60, 61, 120, 1 << 20):
        model = wrapped(group, Columns(SIZES), bucket_bytes=cap)
        model.module.skip = unused
        columns_pass(model, values[group.rank], samples=SAMPLES)
        model.finish()
        found = gradients(model)
        same = group.same_arrays(found)
        close(found, columns_expected(model.module, entries), SINGLE)
        assert same


@pytest.mark.parametrize("cap", [64, 200, 1 << 20])
def test_collectives_are_bounded_by_buckets(group, cap):
    """A window costs two collectives more than there are buckets, and hardly more bytes than the gradients have."""
    widths = (3, 6, 6, 6, 6, 6, 2)
    model = wrapped(group, network(widths), bucket_bytes=cap)
    for turn in range(3):
        parts = [data(rank, 3, turn, widths) for rank in range(group.world_size)]
        group.forget()
        run_pass(model, *parts[group.rank])
        model.finish()
        calls, payload = group.count(), group.payload()
        found = gradients(model)
        close(found, whole(model.state_dict(), parts), SINGLE)
        assert calls <= most_buckets(model.module, cap) + 2
        assert payload <= all_bytes(model.module) + slack(model.module)


def test_dtypes_in_turn_do_not_tear_buckets_apart(group):
    """One open bucket for each dtype: three buckets here, not one for each change of dtype; and none is widened."""
    dtypes = [np.float32, np.float64, np.float16] * 4
    model = wrapped(group, Columns([60] * 12, dtypes), bucket_bytes=1 << 12)
    values = [[(i + 1) * (1 + rank) for i in range(12)] for rank in range(group.world_size)]
    for _ in range(2):
        group.forget()
        columns_pass(model, values[group.rank], samples=SAMPLES)
        model.finish()
        calls, payload = group.count(), group.payload()
        found = gradients(model)
        close(found, columns_expected(model.module, [mean([v[i] for v in values]) for i in range(12)]), HALF)
        assert calls <= 3 + 2
        assert payload <= all_bytes(model.module) + slack(model.module)


def test_buckets_are_reduced_in_the_order_that_they_are_listed_in(group):
    """Every parameter has a bucket and a size of its own here, so that the wire tells them apart."""
    module = Columns([400, 100, 200, 300, 700])
    model = wrapped(group, module, bucket_bytes=1)
    sizes = {name: int(parameter.data.nbytes) for name, parameter in module.named_parameters()}
    listed = [sum(sizes[str(name)] for name in bucket) for bucket in model.buckets()]
    values = [float(rank + 1) for rank in range(group.world_size)]
    wire = []
    for turn in range(2):
        module.skip = (turn,)
        group.forget()
        columns_pass(model, [values[group.rank]] * 5, samples=SAMPLES)
        model.finish()
        found = gradients(model)
        wire.append([call[3] for call in group.calls if call[3] >= 400])
        entries = [None if i == turn else mean(values) for i in range(5)]
        close(found, columns_expected(module, entries), SINGLE)
    for payloads in wire:
        assert len(payloads) == len(listed)
        assert all(0 <= payload - size <= slack(module) for payload, size in zip(payloads, listed))


def test_a_forward_without_backward_holds_nothing_back(group):
    """Contributions that were announced and never come: finish() reduces what is there."""
    model = wrapped(group, bucket_bytes=100)
    for turn in range(2):
        parts = [data(rank, 3, turn) for rank in range(group.world_size)]
        if group.rank != 1:
            model(np.ones((2, 3), dtype=np.float32))
        run_pass(model, *parts[group.rank])
        model.finish()
        found = gradients(model)
        same = group.same_arrays(found)
        close(found, whole(model.state_dict(), parts), SINGLE)
        assert same
