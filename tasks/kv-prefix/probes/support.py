"""What the probes share: an independent calculation, and ways to look at an engine.

Results of the engine are turned into built-in integers and plain arrays before they
are compared.
"""

import numpy as np

from pagelm import Engine, EngineConfig, ModelConfig, init_weights
from pagelm import kernels

MODEL = ModelConfig()
SIZE = 4  # block size, unless a probe says otherwise
# Float32 arithmetic through two layers with sums over at most 64 terms: on logits up
# to 5 the difference to float64 stays under 2e-6 here; the bound leaves another order
# of summation fifty times that. Rows rounded to half precision move the results by
# 2e-4 or more, wrong or missing rows by 1e-1.
ATOL = 1e-4
MODES = ["eager", "replay"]


def number(value):
    return int(value)


def array(value):
    return np.array(value, dtype=np.float64)


# an independent calculation


class Dense:
    """The model of README.md in float64, without cache, blocks or batches."""

    def __init__(self, seed=0):
        self.weights = init_weights(MODEL, seed)
        self._w = {name: array(value) for name, value in self.weights.items()}
        self._known = {}

    def run(self, tokens, past=None, stored=None):
        """Logits after each token, and keys and values of all positions by layer.

        `past`: keys and values, by layer, of positions before the first token.
        `stored`: the same of all positions, read in place of those computed here.
        """
        tokens = tuple(int(token) for token in tokens)
        if past is None and tokens in self._known:
            return self._known[tokens]
        w = self._w
        start = 0 if past is None else len(past[0][0])
        positions = np.arange(start, start + len(tokens))
        x = w["embed"][list(tokens)]
        kept = []
        for layer in range(MODEL.num_layers):
            name = f"layers.{layer}."
            h = self._norm(x, w[name + "attn_norm"])
            q = self._rope(self._heads(h @ w[name + "wq"]), positions)
            k = self._rope(self._heads(h @ w[name + "wk"]), positions)
            v = self._heads(h @ w[name + "wv"])
            if past is not None:
                k = np.concatenate([past[layer][0], k])
                v = np.concatenate([past[layer][1], v])
            if stored is not None:
                k, v = stored[layer]
            kept.append((k, v))
            x = x + self._attend(q, k, v, positions) @ w[name + "wo"]
            h = self._norm(x, w[name + "ffn_norm"])
            gate = h @ w[name + "w_gate"]
            x = x + (gate / (1 + np.exp(-gate)) * (h @ w[name + "w_up"])) @ w[name + "w_down"]
        result = self._norm(x, w["final_norm"]) @ w["lm_head"], kept
        if past is None:
            self._known[tokens] = result
        return result

    @staticmethod
    def _norm(x, weight):
        return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + MODEL.norm_eps) * weight

    @staticmethod
    def _heads(x):
        return x.reshape(len(x), -1, MODEL.head_dim)

    @staticmethod
    def _rope(x, positions):
        half = MODEL.head_dim // 2
        angles = positions[:, None, None] * MODEL.rope_theta ** (-np.arange(half) / half)
        a, b = x[..., :half], x[..., half:]
        cos, sin = np.cos(angles), np.sin(angles)
        return np.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)

    @staticmethod
    def _attend(q, k, v, positions):
        rows = []
        for head in range(MODEL.num_heads):
            group = head // (MODEL.num_heads // MODEL.num_kv_heads)
            scores = q[:, head] @ k[:, group].T / np.sqrt(MODEL.head_dim)
            scores[np.arange(len(k))[None, :] > positions[:, None]] = -np.inf
            scores = np.exp(scores - scores.max(axis=1, keepdims=True))
            rows.append(scores / scores.sum(axis=1, keepdims=True) @ v[:, group])
        return np.concatenate(rows, axis=1)

    def logits(self, prompt, tokens, past=None, start=0):
        """The logits from which `tokens` were taken; `past` covers `start` positions."""
        everything = list(prompt) + list(tokens)
        rows, _ = self.run(everything[start:-1], past)
        return rows[len(prompt) - 1 - start :]


DENSE = Dense()


# engines


def make(mode="eager", dense=DENSE, **knobs):
    """An engine with prefix reuse. In mode "replay" all of its steps are captured
    already, with and without reuse, by other requests that a reset then drops."""
    knobs.setdefault("prefix_cache", True)
    knobs.setdefault("block_size", SIZE)
    config = EngineConfig(graph_mode=mode != "eager", **knobs)
    engine = Engine(MODEL, config, dense.weights)
    if mode == "replay":
        warm(engine)
        engine.reset()
    return engine


def warm(engine, largest=16, both=False):
    """Runs prefills of 1, 2, 4 .. `largest` tokens after reused blocks (`both`: and
    after nothing), and decode steps of all sizes, with tokens that no probe uses."""
    config = engine.config
    room = min(config.num_blocks * config.block_size, config.max_seq_len - 1)
    common = [60] * config.block_size
    generate(engine, common + [59], 1)
    for power in range(largest.bit_length()):
        rest = [44 + power] * 2**power
        for beginning in ([], common) if both else (common,):
            if len(beginning) + len(rest) <= room:
                generate(engine, beginning + rest, 1)
    for index in range(config.max_batch):
        engine.add_request([52 + index], 2 + index)
    drain(engine)


def tokens_of(seed, count):
    """`count` tokens below 40; different seeds differ in the first token already."""
    rng = np.random.default_rng(1000 + seed)
    return [seed % 40] + [int(token) for token in rng.integers(0, 40, count - 1)]


def working(engine, most=400):
    """Steps while there is work, and gives control after each step."""
    for _ in range(most):
        if not engine.has_work:
            return
        engine.step()
        yield
    raise AssertionError("the work does not come to an end")


def drain(engine):
    for _ in working(engine):
        pass


def generate(engine, prompt, count):
    """One request, until nothing is left to do."""
    request = engine.add_request(prompt, count)
    drain(engine)
    return engine.output(request)


def finish(engine, request):
    """Steps until this request has finished, and no further."""
    for _ in range(400):
        if str(engine.output(request).state) == "finished":
            return engine.output(request)
        engine.step()
    raise AssertionError("the request does not come to an end")


# checks


def same(actual, expected):
    actual, expected = array(actual), array(expected)
    assert actual.shape == expected.shape
    assert np.isfinite(actual).all()
    worst = float(np.abs(actual - expected).max())
    assert worst < ATOL, f"logits or cache rows differ by {worst:.3g}"


def check_output(output, dense=DENSE, past=None, start=0):
    """Tokens and logits of a request against the independent calculation."""
    tokens = [number(token) for token in output.tokens]
    logits = array(output.logits)
    assert len(tokens) > 0
    same(logits, dense.logits(output.prompt, tokens, past, start))
    assert tokens == [int(row.argmax()) for row in logits]


def table(engine, request):
    return [number(block) for block in engine.block_table(request)]


def check_pool(engine, requests):
    """Tables, counts of holders and the three kinds of blocks fit together."""
    total = engine.config.num_blocks
    holders = [0] * total
    for request in requests:
        blocks = table(engine, request)
        if not blocks:
            assert str(engine.output(request).state) != "running"
            continue
        assert str(engine.output(request).state) == "running"
        assert len(set(blocks)) == len(blocks)
        for block in blocks:
            assert 0 <= block < total
            holders[block] += 1
    assert [number(engine.block_refs(block)) for block in range(total)] == holders
    held = sum(1 for count in holders if count)
    free, cached = number(engine.num_free_blocks), number(engine.num_cached_blocks)
    assert free >= 0 and cached >= 0
    assert free + cached + held == total
    limit = engine.config.max_cached_blocks
    assert limit is None or cached <= limit


def check_contents(engine, request, dense=DENSE):
    """The rows that the table of a running request names hold its keys and values."""
    output = engine.output(request)
    size = engine.config.block_size
    tokens = list(output.prompt) + list(output.tokens)
    computed = len(tokens) - 1
    blocks = table(engine, request)
    assert len(blocks) * size >= computed
    _, kept = dense.run(tokens[:computed])
    for layer, (k, v) in enumerate(kept):
        for store, expected in ((engine.cache.k, k), (engine.cache.v, v)):
            rows = array(store[layer, blocks]).reshape(-1, MODEL.num_kv_heads, MODEL.head_dim)
            same(rows[:computed], expected)


def check_writable_alone(engine, requests):
    """The block that a running request writes to next has no other holder."""
    size = engine.config.block_size
    for request in requests:
        output = engine.output(request)
        blocks = table(engine, request)
        position = len(output.prompt) + len(output.tokens) - 1
        if blocks and position // size < len(blocks):
            assert number(engine.block_refs(blocks[position // size])) == 1


# observations that do not rely on the engine's counters


def rows_changed(engine, before):
    """How many rows of the pool differ from the copies (k, v); without the block for padding."""
    changed = np.zeros((engine.config.num_blocks, engine.config.block_size), dtype=bool)
    for store, old in zip((engine.cache.k, engine.cache.v), before):
        now = array(store)[:, : engine.config.num_blocks]
        changed |= (now != old[:, : engine.config.num_blocks]).any(axis=(0, 3, 4))
    return changed


def copies(engine):
    return array(engine.cache.k), array(engine.cache.v)


def disturb(engine):
    """Scales all stored values: what is reused can be told from what is computed anew."""
    values = engine.cache.v
    np.multiply(values, np.float32(1.5), out=values)


def disturbed_past(tokens, dense=DENSE):
    """Keys and values of `tokens`, computed before `disturb` and read after it."""
    _, kept = dense.run(tokens)
    return [(k, v * 1.5) for k, v in kept]


class Work:
    """Counts multiplications in the model's matrix products, padding included."""

    def __init__(self, monkeypatch):
        self.products = 0
        inner = kernels.KERNELS["linear"]

        def counted(out, x, weight):
            self.products += int(x.shape[0]) * int(weight.size)
            return inner(out, x, weight)

        monkeypatch.setitem(kernels.KERNELS, "linear", counted)

    def of(self, call):
        self.products = 0
        call()
        return self.products
