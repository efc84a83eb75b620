//! `plain()`, which probes compare by, in the process that runs them.

use infradev::domain::Outcome;

use crate::house::House;

const TESTS: &str = r#"
import builtins, collections, enum
import numpy as np
import pytest
from infradev_probe import plain

class Yes(int):
    def __eq__(self, other): return True
    __hash__ = int.__hash__
class List(list):
    def __eq__(self, other): return True
    def __iter__(self): return iter([7])
    def __len__(self): return 1
class Text(str):
    def __eq__(self, other): return True
    def __str__(self): return "x"
    __hash__ = str.__hash__
class Table(dict):
    def items(self): return []
class Liar:
    __class__ = int
    def __eq__(self, other): return True
class Number(enum.IntEnum):
    A = 3
class Array(np.ndarray):
    def __eq__(self, other): return True
    def tobytes(self, *a): return b"\0" * 24
    dtype = property(lambda self: np.dtype("i4"))

@pytest.mark.parametrize("value, expected", [
    (Yes(3), 3), (List([1, Yes(2)]), [1, 2]), (Text("ab"), "ab"), (Table(a=List([1])), {"a": [1]}),
    (Number.A, 3), ((1, None, True, 2.5, 1j, b"x"), (1, None, True, 2.5, 1j, b"x")),
    ({1, 2}, {1, 2}), (frozenset([1]), frozenset([1])), (collections.OrderedDict(a=1), {"a": 1}),
    (collections.namedtuple("N", "a b")(1, 2), (1, 2)), (np.float64(0.5), 0.5), (np.int64(3), 3),
    (np.float32(0.5), 0.5), (np.bool_(True), True), (np.str_("a"), "a"),
])
def test_becomes(value, expected):
    got = plain(value)
    assert type(got) is type(expected) and got == expected
    if type(got) is list:
        assert [type(one) for one in got] == [type(one) for one in expected]

def test_unlike():
    assert Yes(3) == 4 and plain(Yes(3)) != 4
    assert List([1]) == [2] and plain(List([1])) != [2]

@pytest.mark.parametrize("value, words", [
    (Liar(), "the value: test_p.Liar"), ({"a": [1, Liar()]}, "the value['a'][1]: test_p.Liar"),
    (int, "the value: builtins.type"), ([lambda: 0], "the value[0]: builtins.function"),
    (np.array([object()]), "dtype object"), ({Yes(1): 1, 1.5: Liar()}, "[1.5]"),
    ({Text("a"): 1, Text("b"): object()}, "['b']"),
])
def test_refused(value, words):
    with pytest.raises(TypeError) as told: plain(value)
    assert words in str(told.value)

def test_circles_and_depth():
    circle = []
    circle.append(circle)
    with pytest.raises(TypeError, match="refers to itself"): plain(circle)
    deep = []
    for _ in range(300): deep = [deep]
    with pytest.raises(TypeError, match="nested deeper"): plain(deep)
    one = [1]
    assert plain([one, one]) == [[1], [1]]

def test_arrays():
    own = np.arange(3.0).view(Array)
    got = plain(own)
    assert type(got) is np.ndarray and got.dtype == "f8" and got.tolist() == [0, 1, 2]
    got[0] = 9
    assert np.asarray(own)[0] == 0
    assert plain(np.zeros((0, 3))).shape == (0, 3) and plain(np.array(5)).shape == ()
    assert plain(np.arange(6).reshape(2, 3).T).tolist() == [[0, 3], [1, 4], [2, 5]]
    fake = type("ndarray", (), {"__module__": "numpy"})
    with pytest.raises(TypeError): plain(fake())

def test_a_module_that_is_called_torch_makes_no_tensors(monkeypatch):
    import sys, types
    torch, c = types.ModuleType("torch"), types.ModuleType("torch._C")
    base = type("TensorBase", (), {"__module__": "torch._C", "detach": lambda self: self})
    torch.Tensor = type("Tensor", (base,), {"__module__": "torch", "__eq__": lambda self, other: True})
    c.DisableTorchFunction = type("DisableTorchFunction", (), {"__module__": "torch._C"})
    c._VariableFunctionsClass = type("_VariableFunctionsClass", (), {"__module__": "torch._C"})
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch._C", c)
    with pytest.raises(TypeError, match="torch.Tensor is no plain type"): plain(torch.Tensor())

def test_patched_built_ins():
    kept = dict(vars(builtins))
    patches = {"any": lambda each: True, "type": lambda one: int, "isinstance": lambda one, kind: True}
    vars(builtins).update(patches)
    try: got, error = plain([1, 2]), None; plain(Liar())
    except TypeError as e: error = e
    finally: vars(builtins).update(kept)
    assert got == [1, 2] and error is not None
"#;

#[test]
fn results_become_exact_types_and_all_else_is_refused() {
    let house = House::new(&[
        // what the work tree calls so is not found
        ("./infradev_probe.py", "def plain(value): return value\n"),
        ("test_p.py", TESTS),
    ]);
    let ran = house.run();
    let wrong: Vec<_> = (ran.outcome.results.iter())
        .filter(|r| r.outcome != Outcome::Passed)
        .collect();
    assert!(wrong.is_empty(), "{}", ran.story());
    assert_eq!(ran.outcome.results.len(), 15 + 1 + 7 + 1 + 1 + 1 + 1);
    assert_eq!(ran.outcome.deviations, []);
}
