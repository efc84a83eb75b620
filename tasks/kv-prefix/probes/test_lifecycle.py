"""Claims on new weights and reset."""

import numpy as np
import pytest

from probes.support import (
    DENSE,
    MODES,
    Dense,
    array,
    check_contents,
    check_output,
    check_pool,
    finish,
    generate,
    make,
    number,
    same,
    table,
    tokens_of,
    working,
)

OTHER = Dense(seed=7)


def pair(engine, prompt, dense):
    """The prompt twice: computed, then reused, both right."""
    first = generate(engine, prompt, 3)
    second = generate(engine, prompt, 3)
    full = (len(prompt) - 1) // 4 * 4
    assert [number(output.num_cached_tokens) for output in (first, second)] == [0, full]
    check_output(first, dense)
    check_output(second, dense)


def check_mixed(output, first, switched):
    """`switched` positions were computed with the weights of `first`, the rest with OTHER's."""
    prompt, tokens = list(output.prompt), [number(token) for token in output.tokens]
    everything = prompt + tokens
    before, kept = first.run(everything[:switched])
    after, _ = OTHER.run(everything[switched:-1], kept)
    expected = np.concatenate([before, after])[len(prompt) - 1 :]
    same(output.logits, expected)


@pytest.mark.parametrize("mode", MODES)
def test_reset_forgets(mode):
    engine = make(mode, num_blocks=16)
    prompt = tokens_of(1, 10)
    for _ in range(2):
        pair(engine, prompt, DENSE)
        # with requests running, waiting and sharing
        requests = [engine.add_request(prompt + [seed], 8) for seed in range(6)]
        for _ in range(7):
            engine.step()
        check_pool(engine, requests)
        engine.reset()
        assert not engine.has_work
        assert number(engine.num_cached_blocks) == 0
        assert number(engine.num_free_blocks) == 16
        assert number(engine.match_prefix(prompt)) == 0
        assert [number(engine.block_refs(block)) for block in range(16)] == [0] * 16
        stats = engine.stats
        for name in ("prefill_tokens", "reused_tokens", "evictions", "peak_blocks"):
            assert number(getattr(stats, name)) == 0
    pair(engine, prompt, DENSE)
    # all blocks can be had
    check_output(generate(engine, tokens_of(2, 60), 4))
    check_pool(engine, [])


@pytest.mark.parametrize("mode", MODES)
def test_new_weights_forget(mode):
    engine = make(mode, num_blocks=16)
    prompt, other = tokens_of(3, 10), tokens_of(4, 6)
    pair(engine, prompt, DENSE)
    generate(engine, other, 1)
    engine.load_weights(OTHER.weights)
    assert number(engine.num_cached_blocks) == 0
    assert number(engine.num_free_blocks) == 16
    assert number(engine.match_prefix(prompt)) == 0
    pair(engine, prompt, OTHER)
    # back again: what was computed before the first update is not right for that reason
    engine.load_weights(DENSE.weights)
    assert number(engine.num_cached_blocks) == 0
    pair(engine, prompt, DENSE)
    pair(engine, other, DENSE)
    check_pool(engine, [])


@pytest.mark.parametrize("mode", MODES)
def test_new_weights_while_requests_run(mode):
    engine = make(mode, num_blocks=24)
    prompt = tokens_of(5, 9)
    old = engine.add_request(prompt, 12)
    waiting = engine.add_request(prompt[:8] + [1, 2], 2)
    engine.step()
    # the waiting one was queued, not admitted, before the update
    engine.load_weights(OTHER.weights)
    assert number(engine.num_cached_blocks) == 0
    assert number(engine.match_prefix(prompt)) == 0
    output = finish(engine, waiting)
    assert number(output.num_cached_tokens) == 0
    check_output(output, OTHER)
    check_pool(engine, [old, waiting])
    # new blocks are reused while the old request still runs, and twice
    for _ in range(2):
        output = engine_output = engine.add_request(prompt[:8] + [3], 1)
        output = finish(engine, engine_output)
        assert number(output.num_cached_tokens) == 8
        check_output(output, OTHER)
    assert str(engine.output(old).state) == "running"
    output = finish(engine, old)
    check_mixed(output, DENSE, 9)
    check_pool(engine, [old, waiting])
    # nothing of the old request is there, neither what it held nor what it filled later
    history = prompt + [number(token) for token in output.tokens]
    assert number(engine.match_prefix(history)) == 8
    output = generate(engine, history, 2)
    assert number(output.num_cached_tokens) == 8
    check_output(output, OTHER)
    output = generate(engine, history, 2)
    assert number(output.num_cached_tokens) == 20
    check_output(output, OTHER)
    check_pool(engine, [])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("earlier", ["nothing", "updates", "reset"])
def test_blocks_filled_across_an_update_are_not_reused(mode, earlier):
    """Nobody else computes the same beginning in between. Each update counts, not the first alone."""
    engine = make(mode, num_blocks=24)
    if earlier == "updates":
        for dense in (OTHER, DENSE):
            engine.load_weights(dense.weights)
            pair(engine, tokens_of(7, 9), dense)
        engine.load_weights(DENSE.weights)
    elif earlier == "reset":
        pair(engine, tokens_of(7, 9), DENSE)
        engine.reset()
    prompt = tokens_of(6, 6)
    request = engine.add_request(prompt, 12)
    for _ in range(3):
        engine.step()
    # eight positions are computed, two more by the same weights, the others by new ones
    engine.load_weights(OTHER.weights)
    output = finish(engine, request)
    check_mixed(output, DENSE, 8)
    assert number(engine.num_cached_blocks) == 0
    assert number(engine.num_free_blocks) == 24
    history = prompt + [number(token) for token in output.tokens]
    output = generate(engine, history, 3)
    assert number(output.num_cached_tokens) == 0
    check_output(output, OTHER)


@pytest.mark.parametrize("mode", MODES)
def test_a_request_that_starts_again_uses_the_new_weights(mode):
    engine = make(mode, num_blocks=6)
    first = engine.add_request(tokens_of(8, 6), 10)
    second = engine.add_request(tokens_of(9, 6), 14)
    for _ in range(4):
        engine.step()
    engine.load_weights(OTHER.weights)
    before = 0
    for _ in working(engine):
        check_pool(engine, [first, second])
        if str(engine.output(second).state) == "waiting" and not before:
            before = len(engine.output(second).tokens)
        if str(engine.output(first).state) != "running":
            break
    assert number(engine.stats.preemptions) == 1 and before
    for _ in working(engine):
        if table(engine, second):
            break
    # it starts again from its first token
    check_contents(engine, second, OTHER)
    output = finish(engine, second)
    tokens = [number(token) for token in output.tokens]
    expected = OTHER.logits(output.prompt, tokens)
    same(np.array(output.logits)[before:], expected[before:])
    # six and six at first, all tokens of the second at the restart
    assert number(engine.stats.prefill_tokens) == 6 + 6 + 6 + before
    assert number(engine.stats.reused_tokens) == 0
    # and what it computed then can be reused
    history = list(output.prompt) + tokens
    output = generate(engine, history, 1)
    assert number(output.num_cached_tokens) == (len(history) - 1) // 4 * 4
    check_output(output, OTHER)
