"""Claims on what is saved: computed tokens, written rows, blocks, peak."""

import numpy as np
import pytest

from probes.support import (
    ATOL,
    DENSE,
    MODES,
    SIZE,
    Work,
    array,
    check_contents,
    check_output,
    check_pool,
    copies,
    disturb,
    disturbed_past,
    drain,
    finish,
    generate,
    make,
    number,
    rows_changed,
    same,
    table,
    tokens_of,
    working,
)


def reused_for_real(output, count):
    """The logits are those of a request that read `count` disturbed positions."""
    prompt = list(output.prompt)
    tokens = [number(token) for token in output.tokens]
    expected = {}
    for start in range(0, len(prompt), SIZE):
        past = disturbed_past(prompt[:start]) if start else None
        expected[start] = DENSE.logits(prompt, tokens, past, start)
    same(output.logits, expected[count])
    # the other possibilities are far enough away to be told apart
    for start, logits in expected.items():
        if start != count:
            assert np.abs(logits - expected[count]).max() > 10 * ATOL


@pytest.mark.parametrize("mode", MODES)
def test_only_the_rest_is_computed(mode, monkeypatch):
    work = Work(monkeypatch)
    engine = make(mode, num_blocks=16)
    first = tokens_of(1, 14)
    request = engine.add_request(first, 2)
    engine.step()
    blocks = table(engine, request)
    check_output(finish(engine, request))
    disturb(engine)
    before = copies(engine)
    stats = engine.stats
    counted = [
        number(n) for n in (stats.prefill_tokens, stats.reused_tokens, stats.blocks_allocated)
    ]

    prompt = first[:12] + tokens_of(2, 5)
    request = engine.add_request(prompt, 2)
    spent = work.of(engine.step)
    assert table(engine, request)[:3] == blocks[:3]
    changed = rows_changed(engine, before)
    assert int(changed.sum()) == 5
    assert not changed[blocks[:3]].any()
    output = finish(engine, request)
    reused_for_real(output, 12)
    assert number(output.num_cached_tokens) == 12
    after = [number(n) for n in (stats.prefill_tokens, stats.reused_tokens, stats.blocks_allocated)]
    # 17 tokens and one generated: five blocks, three of them reused
    assert [b - a for a, b in zip(counted, after)] == [5, 12, 2]
    check_pool(engine, [request])

    # the same work as a request that has only these five tokens
    other = make(mode, num_blocks=16)
    other.add_request(prompt[12:], 2)
    alone = work.of(other.step)
    assert 0 < spent <= alone


@pytest.mark.parametrize("mode", MODES)
def test_running_requests_share_the_pool(mode):
    # room for the common blocks once and for two more of each request: without
    # sharing the four requests need twenty blocks at once
    engine = make(mode, num_blocks=11, max_batch=4)
    common = tokens_of(3, 12)
    requests = [engine.add_request(common + tokens_of(10 + i, 3), 6) for i in range(4)]
    peak = 0
    together = 0
    for _ in working(engine):
        check_pool(engine, requests)
        tables = [table(engine, request) for request in requests]
        running = [blocks for blocks in tables if blocks]
        together = max(together, len(running))
        peak = max(peak, len(set(sum(running, []))))
        for blocks in running:
            assert blocks[:3] == running[0][:3]
            assert number(engine.block_refs(blocks[0])) == len(running)
        for request in requests:
            if table(engine, request):
                check_contents(engine, request)
    assert together == 4
    assert peak == 11
    stats = engine.stats
    assert number(stats.peak_blocks) == 11
    assert number(stats.preemptions) == 0
    assert number(stats.prefill_tokens) == 15 + 3 * 3
    assert number(stats.reused_tokens) == 3 * 12
    assert number(stats.blocks_allocated) == 5 + 3 * 2
    for index, request in enumerate(requests):
        output = engine.output(request)
        check_output(output)
        assert number(output.num_cached_tokens) == (12 if index else 0)


@pytest.mark.parametrize("mode", MODES)
def test_generated_tokens_are_reused(mode):
    engine = make(mode, num_blocks=32)
    beginning = tokens_of(4, 6)
    output = generate(engine, beginning, 9)
    check_output(output)
    # 14 of the 15 tokens are computed: three full blocks
    history = beginning + [number(token) for token in output.tokens]
    assert number(engine.match_prefix(history)) == 12
    disturb(engine)
    output = generate(engine, history + [7, 3], 3)
    assert number(output.num_cached_tokens) == 12
    reused_for_real(output, 12)
    # a third turn, over blocks that two requests have filled
    history = list(output.prompt) + [number(token) for token in output.tokens] + [1]
    before = number(engine.stats.prefill_tokens)
    output = generate(engine, history, 2)
    assert number(output.num_cached_tokens) == 16
    assert number(engine.stats.prefill_tokens) - before == len(history) - 16


@pytest.mark.parametrize(
    "mode, generated", [("eager", 5), ("eager", 6), ("replay", 6), ("replay", 7)]
)
def test_a_block_is_full_when_its_last_row_is_computed(mode, generated):
    # the newest token is chosen and not computed: with six generated tokens the
    # third block has all of its tokens but lacks its last row
    engine = make(mode, num_blocks=32)
    beginning = tokens_of(5, 6)
    output = generate(engine, beginning, generated)
    history = beginning + [number(token) for token in output.tokens]
    full = (len(history) - 1) // SIZE * SIZE
    assert number(engine.match_prefix(history + [1])) == full
    assert number(engine.num_cached_blocks) == full // SIZE
    longer = generate(engine, history + [1, 2], 4)
    assert number(longer.num_cached_tokens) == full
    check_output(longer)


@pytest.mark.parametrize("mode", MODES)
def test_a_restarted_request_reuses_what_is_left(mode):
    engine = make(mode, num_blocks=6)
    first = engine.add_request(tokens_of(6, 6), 8)
    second = engine.add_request(tokens_of(7, 6), 14)
    for _ in working(engine):
        check_pool(engine, [first, second])
        for request in (first, second):
            if table(engine, request):
                check_contents(engine, request)
    stats = engine.stats
    assert number(stats.preemptions) == 1
    # the second gave three full blocks back, of which one went to the first; with
    # thirteen tokens it starts again and computes five of them
    assert number(stats.prefill_tokens) == 6 + 6 + 5
    assert number(stats.reused_tokens) == 8
    for request in (first, second):
        output = engine.output(request)
        check_output(output)
        assert number(output.num_cached_tokens) == 0


@pytest.mark.parametrize(
    "mode, size, length",
    [("eager", 4, 8), ("replay", 4, 8), ("eager", 4, 4), ("replay", 1, 5)],
)
def test_the_last_token_is_computed(mode, size, length, monkeypatch):
    """The whole prompt is there in full blocks."""
    work = Work(monkeypatch)
    engine = make(mode, num_blocks=32, block_size=size)
    prompt = tokens_of(8, length)
    request = engine.add_request(prompt, 2)
    engine.step()
    blocks = table(engine, request)[: length // size]
    check_output(finish(engine, request))
    # another request, so that nothing of the first is left in any buffer
    check_output(generate(engine, tokens_of(9, length + 3), 2))
    assert number(engine.match_prefix(prompt)) == length

    request = engine.add_request(prompt, 3)
    before = number(engine.stats.prefill_tokens)
    allocated = number(engine.stats.blocks_allocated)
    rows = copies(engine)
    assert work.of(engine.step) > 0
    computed = number(engine.stats.prefill_tokens) - before
    assert 1 <= computed <= size
    # one block of its own at most; none where the row is not stored again
    assert number(engine.stats.blocks_allocated) - allocated in (0, 1)
    # what is cached for others is left alone
    assert not rows_changed(engine, rows)[blocks].any()
    check_contents(engine, request)
    output = finish(engine, request)
    assert number(output.num_cached_tokens) == length - computed
    check_output(output)


@pytest.mark.parametrize("mode", MODES)
def test_a_whole_prompt_does_not_change_shared_blocks(mode):
    """As above, with the blocks held by a running request, and disturbed values."""
    engine = make(mode, num_blocks=32)
    prompt = tokens_of(11, 8)
    holder = engine.add_request(prompt, 8)
    engine.step()
    blocks = table(engine, holder)[:2]
    disturb(engine)
    rows = copies(engine)
    request = engine.add_request(prompt, 1)
    output = finish(engine, request)
    count = number(output.num_cached_tokens)
    assert 8 - SIZE <= count <= 7
    assert [number(token) for token in output.tokens] == [int(np.argmax(output.logits[0]))]
    past = disturbed_past(prompt[:count])
    computed = DENSE.run(prompt[count:], past)[0][-1]
    if count == 7:
        # the last row may have been read from the cache too
        kept = DENSE.run(prompt[7:], past, disturbed_past(prompt))[0][-1]
        found = array(output.logits)[0]
        computed = min(computed, kept, key=lambda row: np.abs(row - found).max())
    same(output.logits, computed[None])
    assert not rows_changed(engine, rows)[blocks].any()
    assert [number(engine.block_refs(block)) for block in blocks] == [1, 1]
    drain(engine)
    check_pool(engine, [holder, request])
    # the holder has read its own values after the disturbance
    past = disturbed_past(prompt)
    logits = array(engine.output(holder).logits)[1:]
    tokens = [number(token) for token in engine.output(holder).tokens]
    same(logits, DENSE.logits(prompt + tokens[:1], tokens[1:], past, 8))
