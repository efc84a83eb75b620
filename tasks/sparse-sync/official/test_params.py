import numpy as np
import pytest

from reinlet.params import ParamStore, from_bf16, to_bf16


def test_put_binds_the_array_itself():
    a = np.zeros(3, np.float32)
    store = ParamStore({"a": a})
    a[1] = 5.0
    assert store["a"] is a
    assert store["a"][1] == 5.0


def test_unsupported_dtype_is_refused():
    with pytest.raises(TypeError):
        ParamStore({"a": np.zeros(3, np.float64)})


def test_generation_counts_known_changes():
    store = ParamStore({"a": np.zeros(3, np.float32)})
    seen = store.generation
    store.touch()
    store.put("b", np.zeros((), np.int64))
    store.remove("a")
    assert store.generation == seen + 3
    assert store.names() == ("b",)


def test_snapshot_is_independent():
    store = ParamStore({"a": np.arange(6, dtype=np.float32).reshape(2, 3).T})
    copy = store.snapshot()["a"]
    store["a"][0, 0] = 9.0
    assert copy.flags.c_contiguous
    assert copy[0, 0] == 0.0
    assert copy.shape == (3, 2)


def test_counts():
    store = ParamStore({"a": np.zeros((2, 3), np.float16), "b": np.array(1, np.int64)})
    assert store.n_entries == 7
    assert store.n_bytes == 20


def test_bf16_round_trip():
    x = np.array([0.0, -0.0, 1.0, -2.5, np.inf], np.float32)
    assert np.array_equal(from_bf16(to_bf16(x)), x)
    assert np.isnan(from_bf16(to_bf16(np.array([np.nan], np.float32))))[0]


def test_bf16_rounds_ties_to_even():
    x = np.array([1.0 + 2**-8, 1.0 + 3 * 2**-8], np.float32)
    assert from_bf16(to_bf16(x)).tolist() == [1.0, 1.0 + 2**-6]
