"""Claims on graph mode."""

import pytest

from pagelm import Engine, EngineConfig
from pagelm import graph, kernels

from probes.support import (
    DENSE,
    MODEL,
    Work,
    check_contents,
    check_output,
    check_pool,
    drain,
    generate,
    make,
    number,
    same,
    table,
    tokens_of,
    warm,
    working,
)


def pattern(engine, requests):
    """Tables without regard to which ids the blocks have."""
    names = {}
    return [
        [names.setdefault(block, len(names)) for block in table(engine, request)]
        for request in requests
    ]


def life(engine):
    """Turns, shared beginnings, an abort, pressure; all that can be seen after each step."""
    seen = []
    requests = []

    def steps(most=None):
        for count, _ in enumerate(working(engine), start=1):
            check_pool(engine, requests)
            for request in requests[-4:] if count % 3 == 0 else []:
                if table(engine, request):
                    check_contents(engine, request)
            stats = engine.stats
            seen.append(
                [
                    pattern(engine, requests),
                    [number(engine.block_refs(b)) for r in requests for b in table(engine, r)],
                    number(engine.num_free_blocks),
                    number(engine.num_cached_blocks),
                    number(engine.match_prefix(history)),
                    number(engine.match_prefix(common)),
                    number(stats.prefill_tokens),
                    number(stats.reused_tokens),
                    number(stats.decode_tokens),
                    number(stats.blocks_allocated),
                    number(stats.peak_blocks),
                    number(stats.evictions),
                    number(stats.preemptions),
                ]
            )
            if count == most:
                break

    def add(prompt, count):
        requests.append(engine.add_request(prompt, count))
        return requests[-1]

    history = tokens_of(1, 6)
    common = tokens_of(2, 8)
    for turn in range(3):
        request = add(history, 7)
        if turn == 1:
            add(common + [turn], 5)
        steps()
        history = history + [number(token) for token in engine.output(request).tokens] + [turn]
    for seed in range(3):
        add(common + tokens_of(3 + seed, 2 + seed), 6)
    steps(5)
    engine.abort(requests[-2])
    steps()
    for seed in range(4):
        add(tokens_of(10 + seed, 12), 9)
    steps()
    add(history, 3)
    add(common, 3)
    steps()
    for request in requests:
        output = engine.output(request)
        check_output(output)
        seen.append([number(output.num_cached_tokens), [number(token) for token in output.tokens]])
    return seen


def test_all_that_can_be_seen_is_as_in_eager_mode():
    knobs = dict(num_blocks=14, max_batch=3)
    eager = make("eager", **knobs)
    cold = make("graph", **knobs)
    expected = life(eager)
    assert life(cold) == expected
    # the same again, on the engine whose steps are all captured by now
    cold.reset()
    assert life(cold) == expected
    assert number(eager.stats.evictions) > 0 and number(eager.stats.preemptions) > 0


def test_captured_steps_are_replayed(monkeypatch):
    made, replays, outside = [], [], []
    depth = [0]
    inner_init, inner_replay = graph.Graph.__init__, graph.Graph.replay
    inner_linear = kernels.KERNELS["linear"]

    def init(self, *args, **kwargs):
        made.append(1)
        inner_init(self, *args, **kwargs)

    def replay(self):
        replays.append(1)
        depth[0] += 1
        try:
            return inner_replay(self)
        finally:
            depth[0] -= 1

    def linear(*args):
        if not depth[0]:
            outside.append(1)
        return inner_linear(*args)

    monkeypatch.setattr(graph.Graph, "__init__", init)
    monkeypatch.setattr(graph.Graph, "replay", replay)
    monkeypatch.setitem(kernels.KERNELS, "linear", linear)
    engine = make("graph", num_blocks=16, max_batch=2)
    warm(engine, 32, both=True)
    places = [store.__array_interface__["data"][0] for store in (engine.cache.k, engine.cache.v)]
    captures = number(engine.stats.graph_captures)
    assert captures > 0 and made
    made.clear()
    replays.clear()
    before = number(engine.stats.graph_replays)
    steps = 0
    engine.reset()
    base = tokens_of(20, 27)
    # every count of reused blocks before rests of several lengths
    for cut in range(0, 25, 4):
        for rest in (1, 2, 3, 6):
            if cut + rest <= 27:
                request = engine.add_request(base[:cut] + tokens_of(21 + cut + rest, rest), 3)
                for _ in working(engine):
                    steps += 1
                check_output(engine.output(request))
    assert number(engine.stats.reused_tokens) > 0
    engine.load_weights(DENSE.weights)
    engine.reset()
    request = engine.add_request(base, 2)
    for _ in working(engine):
        steps += 1
    check_output(engine.output(request))
    assert not made and not outside
    assert len(replays) >= steps
    assert [
        store.__array_interface__["data"][0] for store in (engine.cache.k, engine.cache.v)
    ] == places
    assert before > 0 and number(engine.stats.reused_tokens) == 0
    assert number(generate(engine, base, 1).num_cached_tokens) == 24
    assert not made


@pytest.mark.parametrize("reused", [4, 12, 24])
def test_a_captured_prefill_has_the_size_of_the_rest(reused, monkeypatch):
    work = Work(monkeypatch)
    engine = make("replay", num_blocks=32)
    base = tokens_of(30, 26)
    generate(engine, base, 1)
    rest = tokens_of(31, 5)
    request = engine.add_request(base[:reused] + rest, 2)
    spent = work.of(engine.step)
    check_contents(engine, request)
    drain(engine)
    check_output(engine.output(request))
    assert number(engine.output(request).num_cached_tokens) == reused
    # five rows alone, padded in the same way, and the whole prompt without reuse
    alone = make("replay", num_blocks=32)
    alone.add_request(rest, 2)
    small = work.of(alone.step)
    whole = Engine(MODEL, EngineConfig(graph_mode=True), DENSE.weights)
    whole.add_request(base[:reused] + rest, 2)
    large = work.of(whole.step)
    assert 0 < spent <= small < large


def test_blocks_filled_by_replayed_steps_are_found():
    """Twice the same shape of work; in the second all steps are replays."""
    engine = make("graph", num_blocks=64, max_batch=2)
    for seed in (32, 33, 34):
        prompt = tokens_of(seed, 5)
        # no prefill fills a block after the first one: decode steps do
        output = generate(engine, prompt, 13)
        history = prompt + [number(token) for token in output.tokens]
        assert number(engine.match_prefix(history)) == 16
        longer = generate(engine, history[:16] + [seed], 4)
        assert number(longer.num_cached_tokens) == 16
        check_output(longer)
        # two at once
        pair = [engine.add_request(history[:12] + [seed + 1, i], 8) for i in (1, 2)]
        drain(engine)
        for request in pair:
            output = engine.output(request)
            check_output(output)
            assert number(output.num_cached_tokens) == 12
            # 14 and 8 tokens, of which 21 are computed
            assert number(engine.match_prefix(list(output.prompt) + list(output.tokens))) == 20
    check_pool(engine, [])
