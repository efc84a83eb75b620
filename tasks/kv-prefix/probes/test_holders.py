"""Claims on holders and room: who holds which block, and what is there to be had."""

import numpy as np
import pytest

from probes.support import (
    MODES,
    check_contents,
    check_output,
    check_pool,
    check_writable_alone,
    copies,
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


def check_all(engine, requests):
    check_pool(engine, requests)
    check_writable_alone(engine, requests)
    for request in requests:
        if table(engine, request):
            check_contents(engine, request)


def check_idle(engine):
    total = engine.config.num_blocks
    assert not engine.has_work
    assert number(engine.num_free_blocks) + number(engine.num_cached_blocks) == total
    assert [number(engine.block_refs(block)) for block in range(total)] == [0] * total


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("limit, seed", [(None, 1), (2, 2)])
def test_the_pool_adds_up_through_a_busy_life(mode, limit, seed):
    """Few blocks, common beginnings, equal prompts, aborts, preemptions."""
    rng = np.random.default_rng(seed)
    engine = make(mode, num_blocks=11, max_batch=3, max_cached_blocks=limit)
    common = [tokens_of(1, 12), tokens_of(2, 12)]
    requests, live = [], []
    for turn in range(38):
        live = [r for r in live if str(engine.output(r).state) in ("waiting", "running")]
        if len(live) < 6 and rng.random() < 0.5:
            cut = int(rng.choice([4, 7, 8, 12]))
            rest = tokens_of(int(rng.integers(3, 5)), int(rng.integers(1, 5)))
            prompt = common[int(rng.integers(2))][:cut] + rest
            requests.append(engine.add_request(prompt, int(rng.integers(1, 14))))
            live.append(requests[-1])
        if rng.random() < 0.08 and requests:
            engine.abort(requests[int(rng.integers(len(requests)))])
            check_pool(engine, live)
        engine.step()
        check_pool(engine, live)
        if turn % 4 == 0:
            check_all(engine, live)
    check_pool(engine, requests)
    drain(engine)
    check_idle(engine)
    finished = 0
    for request in requests:
        output = engine.output(request)
        if len(output.tokens):
            check_output(output)
        finished += str(output.state) == "finished"
    stats = engine.stats
    assert finished > 5
    assert number(stats.preemptions) > 0
    assert number(stats.reused_tokens) > 0
    # all blocks can still be had: a request that needs the whole pool
    check_output(generate(engine, tokens_of(9, 41), 3))
    check_idle(engine)


@pytest.mark.parametrize("mode", MODES)
def test_equal_requests_at_the_same_time(mode):
    """They generate the same tokens, so that each fills blocks with the same contents."""
    engine = make(mode, num_blocks=24, max_batch=3)
    prompt = tokens_of(3, 8)
    requests = [engine.add_request(prompt, 9) for _ in range(3)]
    for _ in working(engine):
        check_all(engine, requests)
    for request in requests:
        check_output(engine.output(request))
    check_idle(engine)
    # 16 tokens are computed: four blocks each, two of them computed by the first only
    assert 4 <= number(engine.num_cached_blocks) <= 4 + 2 + 2 + 2
    history = prompt + [number(token) for token in engine.output(requests[0]).tokens]
    assert number(engine.match_prefix(history)) == 16
    # press all of it out, twice, and come back
    for round_ in range(2):
        for seed in range(3):
            request = engine.add_request(tokens_of(20 + 4 * round_ + seed, 38), 3)
            for _ in working(engine):
                check_all(engine, [request])
            check_output(engine.output(request))
        assert number(engine.match_prefix(history)) == 0
        check_output(generate(engine, history, 2))
        assert number(engine.match_prefix(history)) == 16
    check_idle(engine)


@pytest.mark.parametrize("mode", MODES)
def test_a_block_outlives_one_of_its_holders(mode):
    engine = make(mode, num_blocks=12, max_batch=3)
    common = tokens_of(4, 8)
    # the first, which computed the blocks, goes before the second
    first = engine.add_request(common + [1], 2)
    second = engine.add_request(common + [2], 14)
    engine.step()
    engine.step()
    shared = table(engine, first)[:2]
    assert table(engine, second)[:2] == shared
    assert [number(engine.block_refs(block)) for block in shared] == [2, 2]
    finish(engine, first)
    assert [number(engine.block_refs(block)) for block in shared] == [1, 1]
    rows = copies(engine)
    # others want more than is free, again and again
    others = [engine.add_request(tokens_of(10 + i, 17), 3) for i in range(3)]
    third = engine.add_request(common + [3], 3)
    for _ in working(engine):
        check_all(engine, [first, second, third] + others)
        if table(engine, second):
            assert table(engine, second)[:2] == shared
            assert not rows_changed(engine, rows)[shared].any()
    for request in [first, second, third] + others:
        check_output(engine.output(request))
    assert number(engine.stats.evictions) > 0
    assert number(engine.output(third).num_cached_tokens) == 8
    check_idle(engine)


@pytest.mark.parametrize("mode", MODES)
def test_abort_gives_each_block_back_once(mode):
    engine = make(mode, num_blocks=12)
    common = tokens_of(5, 9)
    first = engine.add_request(common + [1], 8)
    second = engine.add_request(common + [2], 8)
    queued = engine.add_request(common + [3], 8)
    engine.step()
    engine.step()
    requests = [first, second, queued]
    shared = table(engine, first)[:2]
    engine.abort(queued)
    check_all(engine, requests)
    engine.abort(second)
    engine.abort(second)
    check_all(engine, requests)
    assert [number(engine.block_refs(block)) for block in shared] == [1, 1]
    assert number(engine.num_free_blocks) == 12 - 3
    engine.step()
    check_all(engine, requests)
    engine.abort(first)
    check_idle(engine)
    # full blocks stay, also after an abort; the first had computed eleven tokens
    assert number(engine.num_cached_blocks) == 2
    output = generate(engine, common + [1], 3)
    assert number(output.num_cached_tokens) == 8
    check_output(output)
    engine.abort(first)
    check_idle(engine)


@pytest.mark.parametrize("mode", MODES)
def test_a_waiting_request_holds_nothing(mode):
    engine = make(mode, num_blocks=6)
    common = tokens_of(6, 12)
    holder = engine.add_request(common + [1], 4)
    engine.step()
    blocks = table(engine, holder)
    # three blocks are common, three more are wanted, two are free
    waiting = engine.add_request(common + tokens_of(7, 10), 2)
    for _ in range(2):
        engine.step()
        assert table(engine, waiting) == []
        assert [number(engine.block_refs(block)) for block in blocks] == [1] * 4
        assert number(engine.output(waiting).num_cached_tokens) == 0
        check_all(engine, [holder, waiting])
    given_up = engine.add_request(common + tokens_of(8, 10), 2)
    engine.abort(given_up)
    finish(engine, holder)
    output = finish(engine, waiting)
    assert number(output.num_cached_tokens) == 12
    assert number(engine.stats.prefill_tokens) == 13 + 10
    for request in (holder, waiting):
        check_output(engine.output(request))
    check_idle(engine)


@pytest.mark.parametrize("mode", MODES)
def test_reused_blocks_are_not_room(mode):
    engine = make(mode, num_blocks=8)
    cached = tokens_of(9, 13)
    generate(engine, cached, 1)
    live = engine.add_request(tokens_of(10, 9), 4)
    engine.step()
    # three cached, three held, two free; the next wants the cached ones and three more
    assert number(engine.num_cached_blocks) == 3
    request = engine.add_request(cached[:12] + tokens_of(11, 9), 2)
    for _ in working(engine):
        check_all(engine, [live, request])
        if str(engine.output(live).state) != "running":
            break
        assert table(engine, request) == []
        assert number(engine.match_prefix(cached)) == 12
    output = finish(engine, request)
    assert number(output.num_cached_tokens) == 12
    check_output(engine.output(live))
    check_output(output)
    assert number(engine.stats.evictions) == 1
    check_idle(engine)


@pytest.mark.parametrize("mode", MODES)
def test_room_is_not_made_at_the_cost_of_what_is_reused(mode):
    engine = make(mode, num_blocks=8)
    oldest, newer = tokens_of(12, 13), tokens_of(13, 9)
    generate(engine, oldest, 1)
    generate(engine, newer, 1)
    # three free and four wanted: a block of the newer has to go, for the three of the
    # oldest are wanted themselves
    request = engine.add_request(oldest[:12] + tokens_of(14, 13), 2)
    engine.step()
    check_all(engine, [request])
    assert number(engine.match_prefix(newer)) == 4
    output = finish(engine, request)
    assert number(output.num_cached_tokens) == 12
    check_output(output)
    check_idle(engine)


@pytest.mark.parametrize("mode", MODES)
def test_held_blocks_take_no_room_again(mode):
    """Of three blocks that are reused two are held and one is cached: the last free one is enough."""
    engine = make(mode, num_blocks=5)
    common = tokens_of(21, 12)
    generate(engine, common + [1], 1)
    holder = engine.add_request(common[:8] + [2], 4)
    engine.step()
    assert [number(engine.num_free_blocks), number(engine.num_cached_blocks)] == [1, 1]
    request = engine.add_request(common + [3], 1)
    engine.step()
    assert str(engine.output(request).state) == "finished"
    assert str(engine.output(holder).state) == "running"
    output = engine.output(request)
    assert number(output.num_cached_tokens) == 12
    check_output(output)
    check_all(engine, [holder, request])
    drain(engine)
    check_output(engine.output(holder))
    assert number(engine.stats.evictions) == 0
    check_idle(engine)


@pytest.mark.parametrize("mode", MODES)
def test_cached_blocks_are_room(mode):
    """For admission and for growth, down to the last block."""
    engine = make(mode, num_blocks=6)
    generate(engine, tokens_of(15, 21), 1)
    assert number(engine.num_cached_blocks) == 5
    # admission of a request that takes the whole pool
    request = engine.add_request(tokens_of(16, 22), 2)
    engine.step()
    assert len(table(engine, request)) == 6
    check_all(engine, [request])
    finish(engine, request)
    assert number(engine.num_cached_blocks) == 5
    # growth, one block after the other, beside another running request
    first = engine.add_request(tokens_of(17, 3), 9)
    second = engine.add_request(tokens_of(18, 3), 9)
    for _ in range(2):
        engine.step()
    assert table(engine, first) and table(engine, second)
    for _ in working(engine):
        check_all(engine, [first, second])
    for each in (request, first, second):
        check_output(engine.output(each))
    stats = engine.stats
    assert number(stats.preemptions) == 0
    # five and one free for six; five and one free for three each
    assert number(stats.evictions) == 5 + 5
    assert number(stats.peak_blocks) == 6
    # a prompt that is there as a whole and fills the pool alone
    whole = tokens_of(20, 24)
    generate(engine, whole, 1)
    again = engine.add_request(whole, 1)
    check_output(finish(engine, again))
    check_pool(engine, [again])
    # a request whose beginning fills a part of the pool
    output = generate(engine, whole[:8] + tokens_of(19, 14), 2)
    assert number(output.num_cached_tokens) == 8
    check_output(output)
    check_idle(engine)
