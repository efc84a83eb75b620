"""Claims on results, and on which blocks are the same."""

import pytest

from probes.support import (
    MODES,
    SIZE,
    check_contents,
    check_output,
    check_pool,
    drain,
    finish,
    generate,
    make,
    number,
    same,
    table,
    tokens_of,
    working,
)


class Beginnings:
    """All beginnings, in whole blocks, of the sequences that were computed."""

    def __init__(self):
        self.known = set()

    def add(self, tokens, computed):
        for end in range(SIZE, computed + 1, SIZE):
            self.known.add(tuple(tokens[:end]))

    def longest(self, tokens):
        end = 0
        while end + SIZE <= len(tokens) and tuple(tokens[: end + SIZE]) in self.known:
            end += SIZE
        return end


def play(engine, prompts, new_tokens):
    """Runs the prompts one after the other; each reuses exactly what it may."""
    seen = Beginnings()
    for prompt in prompts:
        assert number(engine.match_prefix(prompt)) == seen.longest(prompt)
        output = generate(engine, prompt, new_tokens)
        expected = min(seen.longest(prompt), (len(prompt) - 1) // SIZE * SIZE)
        assert number(output.num_cached_tokens) == expected
        check_output(output)
        everything = list(prompt) + [number(token) for token in output.tokens]
        seen.add(everything, len(everything) - 1)
    return seen


@pytest.mark.parametrize("mode", MODES)
def test_results_equal_an_independent_calculation(mode):
    engine = make(mode, num_blocks=64, max_seq_len=48)
    base = tokens_of(1, 30)
    # beginnings of many lengths in common, rests of many lengths, and a batch
    cuts = [(30, 0), (5, 4), (9, 1), (13, 8), (17, 2), (21, 11), (29, 3), (30, 1)]
    requests = []
    for index, (cut, rest) in enumerate(cuts):
        prompt = base[:cut] + (tokens_of(20 + index, rest) if rest else [])
        requests.append(engine.add_request(prompt, 4 + index % 3))
    steps = 0
    for _ in working(engine):
        steps += 1
        check_pool(engine, requests)
        for request in requests if steps % 3 == 0 else []:
            if table(engine, request):
                check_contents(engine, request)
    cached = []
    for request in requests:
        output = engine.output(request)
        check_output(output)
        cached.append(number(output.num_cached_tokens))
    assert cached == [0, 4, 8, 12, 16, 20, 28, 28]


@pytest.mark.parametrize("mode", MODES)
def test_the_same_block_after_another_beginning(mode):
    engine = make(mode, num_blocks=96)
    x, y, z = tokens_of(1, 4), tokens_of(2, 4), tokens_of(3, 4)
    prompts = [
        x + y + [1],
        z + y + [1],  # y again, in the same place, after another block
        x + x + y + [1],  # y again, in another place
        y + x + [1],  # the same blocks in another order
        y + y + y + [1],
        x + y + z + [1],
        z + y + z + [1],
        x + z + y + [2],
        z + z + y + y + [1],
        x + y + y + [5, 6],
    ]
    play(engine, prompts, 1)


def test_blocks_that_look_alike():
    engine = make(num_blocks=128)
    blocks = [
        [1, 11, 2, 3],
        [11, 1, 2, 3],
        [1, 1, 12, 3],
        [1, 12, 3, 1],
        [3, 2, 11, 1],
        [0, 0, 0, 0],
        [0, 0, 0, 1],
        [1, 0, 0, 0],
        [0, 31, 7, 7],
        [1, 0, 7, 7],
        [0, 60, 7, 8],
        [1, 1, 1, 1],
    ]
    # each block alone, and each as the second block after the same first one
    prompts = [block + [9] for block in blocks]
    prompts += [blocks[5] + block + [9] for block in blocks]
    # they differ in the last token of the block only, or in the first of the next
    prompts += [[21, 22, 23, 24, 25, 26], [21, 22, 23, 25, 25, 26], [21, 22, 23, 24, 26, 26]]
    play(engine, prompts, 1)


def test_many_blocks_are_told_apart():
    """Some hundred different beginnings in the pool against some thousand others."""
    engine = make(num_blocks=320, block_size=2, max_seq_len=128)
    seen = set()
    for seed in range(5):
        prompt = tokens_of(seed, 120)
        check_output(generate(engine, prompt, 1))
        seen |= {tuple(prompt[:end]) for end in range(2, 121, 2)}
    assert number(engine.num_cached_blocks) == len(seen) == 300
    for first in range(61):
        for second in range(61):
            expected = 2 if (first, second) in seen else 0
            assert number(engine.match_prefix([first, second])) == expected


def test_a_block_is_not_found_behind_another_one():
    """A block may outlast the one before it, whose place in the pool others then take."""
    engine = make(num_blocks=12, max_batch=2)
    prompt = tokens_of(8, 8)
    generate(engine, prompt, 1)
    # the whole prompt is there: this one may get a second block of its own
    running = engine.add_request(prompt, 12)
    for _ in range(6):
        engine.step()
    everything = list(engine.output(running).prompt) + list(engine.output(running).tokens)
    third = [number(token) for token in everything[8:12]]
    assert number(engine.match_prefix(everything)) == 12
    # all that nobody holds is pressed out, and many blocks take the places
    finish(engine, engine.add_request(tokens_of(9, 32), 1))
    others = [prompt[:4] + tokens_of(20 + index, 4) for index in range(6)]
    for other in others:
        output = finish(engine, engine.add_request(other + [1], 1))
        assert number(output.num_cached_tokens) == 4
    assert str(engine.output(running).state) == "running"
    # twelve blocks: four of the running request and eight more, six of these here
    assert [number(engine.match_prefix(other + third)) for other in others] == [8] * 6
    for other in others:
        left = number(engine.match_prefix(other))  # each presses a part of the rest out
        output = finish(engine, engine.add_request(other + third + [1], 1))
        assert number(output.num_cached_tokens) == left
        check_output(output)
    for tokens, expected in ((third, 0), (prompt[4:] + third, 0), (prompt[:4] + third, 4)):
        assert number(engine.match_prefix(tokens)) == expected
    drain(engine)
    check_output(engine.output(running))


@pytest.mark.parametrize("block_size", [1, 2, 8])
def test_other_block_sizes(block_size):
    engine = make("replay", num_blocks=128 // block_size, block_size=block_size)
    base = tokens_of(4, 20)
    for cut, rest in [(20, 1), (11, 6), (16, 1), (1, 9), (19, 3)]:
        prompt = base[:cut] + tokens_of(30 + cut, rest)
        output = generate(engine, prompt, 5)
        check_output(output)
        computed_before = 0 if cut == 20 else cut // block_size * block_size
        assert number(output.num_cached_tokens) == computed_before
    assert number(engine.stats.reused_tokens) > 0


@pytest.mark.parametrize("mode", MODES)
def test_match_prefix_looks_and_does_not_touch(mode):
    engine = make(mode, num_blocks=8)
    first, second = tokens_of(5, 9), tokens_of(6, 9)
    generate(engine, first, 1)
    generate(engine, second, 1)
    running = engine.add_request(second + [1, 2], 8)
    engine.step()

    def look():
        stats = engine.stats
        return [
            number(n)
            for n in (
                stats.prefill_tokens,
                stats.reused_tokens,
                stats.blocks_allocated,
                stats.peak_blocks,
                stats.evictions,
                engine.num_free_blocks,
                engine.num_cached_blocks,
            )
        ] + [number(engine.block_refs(block)) for block in range(8)]

    before = look()
    for _ in range(3):
        assert number(engine.match_prefix(first)) == 8
        assert number(engine.match_prefix(tuple(first))) == 8
        assert number(engine.match_prefix(first[:8])) == 8
        assert number(engine.match_prefix(first[:7])) == 4
        assert number(engine.match_prefix(first[:3])) == 0
        assert number(engine.match_prefix([])) == 0
        assert number(engine.match_prefix(second + [1])) == 8  # held at present
        assert number(engine.match_prefix(second[4:])) == 0
    assert look() == before
    drain(engine)
    check_output(engine.output(running))
    # the blocks of the first are still those whose use lies longest ago
    for _ in range(3):
        engine.match_prefix(first)
    generate(engine, tokens_of(7, 13), 1)
    assert number(engine.match_prefix(first)) < 8
    assert number(engine.match_prefix(second)) == 8
