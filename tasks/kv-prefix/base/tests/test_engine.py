import numpy as np
import pytest

from pagelm import CapacityError, Engine, EngineConfig, ModelConfig, init_weights

PROMPTS = [[3, 14, 15, 9, 26], [2, 7, 18, 28, 18, 28, 45, 9, 4], [31]]


def make(**knobs):
    return Engine(engine_config=EngineConfig(**knobs))


def test_outputs_have_the_promised_shapes():
    engine = make()
    out = engine.generate(PROMPTS[0], 4)
    assert out.state == "finished"
    assert out.prompt == tuple(PROMPTS[0])
    assert len(out.tokens) == 4
    assert out.logits.shape == (4, engine.model_config.vocab_size)
    assert out.logits.dtype == np.float32
    assert list(out.tokens) == out.logits.argmax(axis=1).tolist()


def test_decode_agrees_with_prefill_of_the_longer_prompt():
    out = make().generate(PROMPTS[0], 3)
    longer = make().generate(PROMPTS[0] + list(out.tokens[:2]), 1)
    np.testing.assert_allclose(out.logits[2], longer.logits[0], atol=1e-4)


def test_batch_equals_single():
    engine = make()
    ids = [engine.add_request(prompt, 6) for prompt in PROMPTS]
    outputs = engine.run()
    for request_id, prompt in zip(ids, PROMPTS):
        alone = make().generate(prompt, 6)
        np.testing.assert_allclose(outputs[request_id].logits, alone.logits, atol=1e-4)


@pytest.mark.parametrize("block_size", [1, 4, 16])
def test_graph_mode_equals_eager(block_size):
    results = []
    for graph_mode in (False, True):
        engine = make(graph_mode=graph_mode, block_size=block_size, num_blocks=64)
        ids = [engine.add_request(prompt, 6) for prompt in PROMPTS]
        outputs = engine.run()
        results.append([outputs[i] for i in ids])
    for eager, replayed in zip(*results):
        assert eager.tokens == replayed.tokens
        np.testing.assert_allclose(eager.logits, replayed.logits, atol=1e-4)


def test_steps_are_captured_once_and_replayed():
    engine = make(graph_mode=True)
    engine.generate(PROMPTS[0], 6)
    captured, replayed = engine.stats.graph_captures, engine.stats.graph_replays
    assert captured == 2 and replayed == 6
    engine.generate(PROMPTS[1][:6], 6)
    assert engine.stats.graph_captures == captured
    assert engine.stats.graph_replays == replayed + 6


def test_blocks_come_back():
    engine = make(num_blocks=8)
    engine.add_request(PROMPTS[1], 5)
    engine.step()
    assert engine.num_free_blocks == 5
    engine.run()
    assert engine.num_free_blocks == 8


def test_preemption_does_not_change_the_result():
    prompts = [[5, 6, 7, 8, 9, 10], [11, 12, 13, 14, 15, 16]]
    small = make(num_blocks=6, block_size=4)
    ids = [small.add_request(prompt, 14) for prompt in prompts]
    outputs = small.run()
    assert small.stats.preemptions > 0
    for request_id, prompt in zip(ids, prompts):
        alone = make().generate(prompt, 14)
        assert outputs[request_id].tokens == alone.tokens
    assert small.num_free_blocks == 6


def test_counters():
    engine = make()
    engine.generate(PROMPTS[0], 4)
    stats = engine.stats
    assert (stats.prefill_tokens, stats.decode_tokens) == (5, 3)
    assert (stats.blocks_allocated, stats.peak_blocks) == (2, 2)


def test_abort_gives_blocks_back():
    engine = make(num_blocks=8)
    first = engine.add_request(PROMPTS[0], 8)
    second = engine.add_request(PROMPTS[1], 8)
    engine.step()
    assert len(engine.block_table(first)) == 2
    engine.abort(first)
    engine.abort(second)
    assert engine.output(first).state == engine.output(second).state == "aborted"
    assert engine.num_free_blocks == 8
    assert not engine.has_work


def test_stop_token_ends_a_request():
    tokens = make().generate(PROMPTS[0], 6).tokens
    engine = make()
    request_id = engine.add_request(PROMPTS[0], 6, stop_token=tokens[1])
    out = engine.run()[request_id]
    assert out.tokens[-1] == tokens[1] and len(out.tokens) <= 2


def test_new_weights_change_the_result_and_reset_keeps_the_engine_usable():
    engine = make(graph_mode=True)
    before = engine.generate(PROMPTS[0], 3)
    weights = init_weights(ModelConfig(), seed=9)
    engine.load_weights(weights)
    after = engine.generate(PROMPTS[0], 3)
    fresh = Engine(weights=weights).generate(PROMPTS[0], 3)
    assert np.abs(before.logits[0] - after.logits[0]).max() > 0.1
    np.testing.assert_allclose(after.logits, fresh.logits, atol=1e-4)
    engine.reset()
    assert engine.num_free_blocks == engine.config.num_blocks
    again = engine.generate(PROMPTS[0], 3)
    np.testing.assert_allclose(again.logits, fresh.logits, atol=1e-4)


def test_bad_requests_are_refused():
    engine = make(num_blocks=2, block_size=4)
    with pytest.raises(ValueError):
        engine.add_request([], 1)
    with pytest.raises(ValueError):
        engine.add_request([1], 0)
    with pytest.raises(ValueError):
        engine.add_request([1000], 1)
    with pytest.raises(ValueError):
        engine.add_request([1] * 60, 10)
    with pytest.raises(CapacityError):
        engine.add_request([1] * 8, 2)
    with pytest.raises(ValueError):
        EngineConfig(block_size=0)
