"""Tests of prefix reuse."""

import numpy as np
import pytest

from pagelm import Engine, EngineConfig, ModelConfig, init_weights

PROMPT = [3, 14, 15, 9, 26, 5, 35, 8, 58, 9]  # two full blocks of four, and two tokens
ALIGNED = [27, 18, 28, 18, 28, 45, 9, 4]
OTHER = [31, 41, 59, 26, 53, 58, 9, 7, 9, 3, 2]


def make(**knobs):
    knobs.setdefault("prefix_cache", True)
    return Engine(engine_config=EngineConfig(**knobs))


def test_the_knob_is_off_by_default():
    config = EngineConfig()
    assert config.prefix_cache is False
    assert config.max_cached_blocks is None
    engine = Engine()
    engine.generate(PROMPT, 2)
    assert engine.generate(PROMPT, 2).num_cached_tokens == 0
    assert engine.stats.prefill_tokens == 2 * len(PROMPT)
    assert engine.num_cached_blocks == 0


@pytest.mark.parametrize("limit", [-1, 1.5, True])
def test_a_bad_limit_is_refused(limit):
    with pytest.raises(ValueError):
        EngineConfig(prefix_cache=True, max_cached_blocks=limit)


def test_first_request_reuses_nothing():
    engine = make()
    out = engine.generate(PROMPT, 2)
    assert out.num_cached_tokens == 0
    assert engine.stats.reused_tokens == 0


def test_second_request_reports_its_cached_tokens():
    engine = make()
    engine.generate(PROMPT, 2)
    out = engine.generate(PROMPT, 2)
    assert out.num_cached_tokens == 8
    assert engine.stats.reused_tokens == 8


@pytest.mark.parametrize("graph_mode", [False, True])
def test_a_repeated_prompt_gives_the_same_tokens(graph_mode):
    engine = make(graph_mode=graph_mode)
    first = engine.generate(PROMPT, 5)
    second = engine.generate(PROMPT, 5)
    assert first.tokens == second.tokens
    assert second.logits.shape == (5, engine.model_config.vocab_size)


def test_a_common_beginning_gives_the_tokens_of_an_engine_without_reuse():
    engine = make()
    engine.generate(PROMPT, 2)
    longer = PROMPT[:8] + [1, 2, 3]
    out = engine.generate(longer, 4)
    assert out.tokens == make(prefix_cache=False).generate(longer, 4).tokens


def test_an_aligned_prompt_can_be_repeated():
    engine = make()
    engine.generate(ALIGNED, 3)
    second = engine.generate(ALIGNED, 3)
    assert len(second.tokens) == 3
    assert second.logits.shape == (3, engine.model_config.vocab_size)
    assert second.num_cached_tokens >= 4


def test_running_requests_share_blocks():
    engine = make()
    first = engine.add_request(PROMPT, 4)
    second = engine.add_request(PROMPT[:8] + [1], 4)
    engine.step()
    engine.step()
    shared = engine.block_table(first)[0]
    assert engine.block_table(second)[0] == shared
    assert engine.block_refs(shared) == 2


def test_blocks_stay_cached_after_the_request():
    engine = make()
    engine.generate(PROMPT, 1)
    assert engine.num_cached_blocks == 2
    assert engine.num_free_blocks == engine.config.num_blocks - 2


def test_match_prefix():
    engine = make()
    engine.generate(PROMPT, 2)
    assert engine.match_prefix(PROMPT) == 8
    assert engine.match_prefix(PROMPT[:5]) == 4
    assert engine.match_prefix(OTHER) == 0


def test_a_small_pool_evicts():
    engine = make(num_blocks=5)
    for start in range(6):
        out = engine.generate([start + i for i in range(9)], 2)
        assert len(out.tokens) == 2
    assert engine.stats.evictions > 0


def test_the_limit_on_cached_blocks_is_kept():
    engine = make(max_cached_blocks=3)
    engine.generate(PROMPT, 2)
    engine.generate(OTHER, 2)
    assert engine.num_cached_blocks == 3


def test_abort_gives_blocks_back():
    engine = make()
    request = engine.add_request(PROMPT, 4)
    engine.step()
    engine.abort(request)
    assert engine.num_free_blocks + engine.num_cached_blocks == engine.config.num_blocks


def test_generated_tokens_can_be_reused():
    engine = make()
    out = engine.generate(PROMPT, 4)
    conversation = PROMPT + list(out.tokens) + [1, 2]
    assert engine.generate(conversation, 2).num_cached_tokens == 12


def test_reset_forgets():
    engine = make()
    engine.generate(PROMPT, 2)
    engine.reset()
    assert engine.num_cached_blocks == 0
    assert engine.num_free_blocks == engine.config.num_blocks
    assert engine.generate(PROMPT, 2).num_cached_tokens == 0


def test_new_weights_forget():
    engine = make()
    engine.generate(PROMPT, 2)
    weights = init_weights(ModelConfig(), seed=5)
    engine.load_weights(weights)
    assert engine.num_cached_blocks == 0
    out = engine.generate(PROMPT, 2)
    assert out.num_cached_tokens == 0
    np.testing.assert_array_equal(out.tokens, Engine(weights=weights).generate(PROMPT, 2).tokens)


def test_graph_mode_replays():
    engine = make(graph_mode=True)
    engine.generate(PROMPT, 4)
    engine.generate(PROMPT, 4)
    assert engine.stats.graph_replays == 8
