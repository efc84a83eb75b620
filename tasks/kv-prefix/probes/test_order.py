"""Claims on the order in which cached blocks are dropped, and on their number."""

import pytest

from pagelm import EngineConfig

from probes.support import (
    MODES,
    check_output,
    check_pool,
    drain,
    finish,
    generate,
    make,
    number,
    same,
    tokens_of,
    working,
)


def matches(engine, *sequences):
    return [number(engine.match_prefix(tokens)) for tokens in sequences]


@pytest.mark.parametrize("mode", MODES)
def test_the_oldest_use_goes_first(mode):
    engine = make(mode, num_blocks=8)
    a, b, c = (tokens_of(seed, 9) for seed in (1, 2, 3))
    d, e, f = (tokens_of(seed, 9) for seed in (4, 5, 6))
    for prompt in (a, b, c, a):
        generate(engine, prompt, 1)
    assert number(engine.stats.evictions) == 0
    assert matches(engine, a, b, c) == [8, 8, 8]
    # two free blocks, three wanted: the later block of b goes
    generate(engine, d, 1)
    assert matches(engine, a, b, c, d) == [8, 4, 8, 8]
    assert number(engine.stats.evictions) == 1
    # one free: the other block of b and the later one of c
    generate(engine, e, 1)
    assert matches(engine, a, b, c, d, e) == [8, 0, 4, 8, 8]
    assert number(engine.stats.evictions) == 3
    # a use of what is left of c, for real: a goes before it now
    output = generate(engine, c, 1)
    assert number(output.num_cached_tokens) == 4
    check_output(output)
    assert matches(engine, a, c, d, e) == [4, 8, 8, 8]
    output = generate(engine, f, 1)
    check_output(output)
    assert matches(engine, a, c, d, e, f) == [0, 8, 4, 8, 8]
    check_output(generate(engine, a, 3))
    check_pool(engine, [])


@pytest.mark.parametrize("mode", MODES)
def test_a_block_is_in_use_as_long_as_it_is_held(mode):
    engine = make(mode, num_blocks=10)
    long_prompt, short_prompt = tokens_of(7, 9), tokens_of(8, 9)
    long = engine.add_request(long_prompt, 12)
    short = engine.add_request(short_prompt, 2)
    finish(engine, short)
    assert str(engine.output(long).state) == "running"
    output = finish(engine, long)
    history = long_prompt + [number(token) for token in output.tokens]
    # five blocks of the long one, given back last, and two of the short one
    assert number(engine.num_cached_blocks) == 7
    generate(engine, tokens_of(9, 13), 1)
    assert matches(engine, short_prompt, history) == [4, 20]
    generate(engine, tokens_of(10, 13), 1)
    assert matches(engine, short_prompt, history) == [0, 12]
    output = generate(engine, history[:14], 2)
    assert number(output.num_cached_tokens) == 12
    check_output(output)


@pytest.mark.parametrize("mode", MODES)
def test_a_shared_block_was_used_by_its_last_holder(mode):
    """A beginning that is taken over again and again stays; its one-time rests go."""
    engine = make(mode, num_blocks=12)
    common = tokens_of(11, 8)
    for seed in range(12, 20):
        prompt = common + tokens_of(seed, 9)
        output = generate(engine, prompt, 2)
        assert number(output.num_cached_tokens) == (0 if seed == 12 else 8)
        check_output(output)
        check_pool(engine, [])
    # 18 tokens computed by each: two common blocks and two of its own stay; nine
    # own blocks or more do not fit beside the common ones
    assert matches(engine, common) == [8]
    assert matches(engine, common + tokens_of(12, 9), common + tokens_of(19, 9)) == [8, 16]
    assert number(engine.stats.prefill_tokens) == 17 + 7 * 9


@pytest.mark.parametrize("mode", MODES)
def test_at_most_so_many_stay(mode):
    for bad in (-1, True, 1.5, "3"):
        with pytest.raises(ValueError):
            EngineConfig(prefix_cache=True, max_cached_blocks=bad)
    engine = make(mode, num_blocks=16, max_cached_blocks=3)
    a, b = tokens_of(24, 9), tokens_of(25, 9)
    generate(engine, a, 1)
    assert number(engine.num_cached_blocks) == 2
    generate(engine, b, 1)
    assert number(engine.num_cached_blocks) == 3
    assert matches(engine, a, b) == [4, 8]
    output = generate(engine, a, 1)
    assert number(output.num_cached_tokens) == 4
    check_output(output)
    assert matches(engine, a, b) == [8, 4]
    assert number(engine.stats.evictions) == 2
    # a long request alone: its beginning stays
    long = tokens_of(26, 30)
    generate(engine, long, 1)
    assert matches(engine, a, b, long) == [0, 0, 12]
    assert number(engine.num_cached_blocks) == 3
    check_output(generate(engine, long, 2))
    # held blocks do not count
    requests = [engine.add_request(long[:8] + tokens_of(seed, 9), 3) for seed in (27, 28)]
    for _ in working(engine):
        check_pool(engine, requests)
    for request in requests:
        assert number(engine.output(request).num_cached_tokens) == 8
        check_output(engine.output(request))
    assert number(engine.num_free_blocks) == 13
    holder = engine.add_request(b, 6)
    engine.step()
    check_output(finish(engine, engine.add_request(long[:8] + [1, 2], 1)))
    assert str(engine.output(holder).state) == "running"
    assert number(engine.num_cached_blocks) == 3
    # without reuse there is nothing to limit
    engine = make(mode, num_blocks=16, prefix_cache=False, max_cached_blocks=0)
    for _ in range(2):
        output = generate(engine, a, 2)
        assert number(output.num_cached_tokens) == 0
        check_output(output)
    assert matches(engine, a) == [0]
    assert [number(engine.num_free_blocks), number(engine.num_cached_blocks)] == [16, 0]


@pytest.mark.parametrize("mode", MODES)
def test_nothing_stays_with_a_limit_of_zero(mode):
    engine = make(mode, num_blocks=16, max_cached_blocks=0)
    prompt = tokens_of(29, 13)
    generate(engine, prompt, 2)
    assert number(engine.num_cached_blocks) == 0
    assert number(engine.num_free_blocks) == 16
    assert matches(engine, prompt) == [0]
    # at the same time they share
    first = engine.add_request(prompt, 6)
    second = engine.add_request(prompt, 2)
    output = finish(engine, second)
    assert number(output.num_cached_tokens) == 12
    check_output(output)
    # the first goes on, and a third comes
    third = engine.add_request(prompt[:8] + [1], 1)
    assert number(finish(engine, third).num_cached_tokens) == 8
    drain(engine)
    check_output(engine.output(first))
    check_pool(engine, [first, second, third])
    assert number(engine.num_free_blocks) == 16
    assert number(generate(engine, prompt, 1).num_cached_tokens) == 0


@pytest.mark.parametrize("mode", MODES)
def test_nothing_is_dropped_without_need(mode):
    engine = make(mode, num_blocks=12)
    prompts = [tokens_of(seed, 9) for seed in range(30, 35)]
    for count, prompt in enumerate(prompts, start=1):
        generate(engine, prompt, 1)
        # one block of each becomes free again, and is taken before a cached one is
        assert number(engine.num_cached_blocks) == 2 * count
        assert number(engine.num_free_blocks) == 12 - 2 * count
    assert number(engine.stats.evictions) == 0
    assert matches(engine, *prompts) == [8] * 5
    for prompt in prompts:
        output = generate(engine, prompt, 2)
        assert number(output.num_cached_tokens) == 8
        check_output(output)
    assert number(engine.stats.evictions) == 0
