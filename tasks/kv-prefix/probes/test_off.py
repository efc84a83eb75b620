"""Guards: what worked goes on working while the knob is off."""

import pytest

from pagelm import Engine, EngineConfig

from probes.support import (
    DENSE,
    MODEL,
    check_contents,
    check_output,
    number,
    table,
    tokens_of,
    working,
)


@pytest.mark.parametrize("graph_mode", [False, True])
def test_nothing_is_reused_while_the_knob_is_off(graph_mode):
    config = EngineConfig(graph_mode=graph_mode, num_blocks=12, max_batch=3)
    engine = Engine(MODEL, config, DENSE.weights)
    prompt = tokens_of(1, 10)
    requests = []
    for _ in range(2):
        requests += [engine.add_request(prompt + [i], 12) for i in range(3)]
        for _ in working(engine):
            tables = [table(engine, request) for request in requests]
            held = sum(tables, [])
            assert len(set(held)) == len(held)
            assert number(engine.num_free_blocks) == 12 - len(held)
            for request in requests[-1:]:
                if table(engine, request):
                    check_contents(engine, request)
    for request in requests:
        check_output(engine.output(request))
    stats = engine.stats
    assert number(stats.preemptions) > 0
    assert number(stats.prefill_tokens) > 6 * 11
    assert number(engine.num_free_blocks) == 12
