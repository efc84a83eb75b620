import numpy as np
import pytest

from tandem.comm import init_process_group


def test_all_reduce_ops(group):
    mine = np.array([group.rank, 10.0 - group.rank])
    results = {op: group.all_reduce(mine, op=op) for op in ("sum", "mean", "max", "min")}
    last = group.world_size - 1
    everyone = np.array([[r, 10.0 - r] for r in range(group.world_size)])
    assert np.array_equal(results["sum"], everyone.sum(axis=0))
    assert np.allclose(results["mean"], everyone.mean(axis=0))
    assert np.array_equal(results["max"], [last, 10.0])
    assert np.array_equal(results["min"], [0.0, 10.0 - last])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64", "uint8"])
def test_all_reduce_keeps_dtype_and_shape(group, dtype):
    out = group.all_reduce(np.ones((2, 3), dtype=dtype))
    assert out.dtype == np.dtype(dtype) and out.shape == (2, 3)
    assert np.array_equal(out, np.full((2, 3), group.world_size, dtype=dtype))


def test_all_reduce_of_a_scalar_and_of_nothing(group):
    scalar = group.all_reduce(np.array(2.0))
    nothing = group.all_reduce(np.zeros((0, 4), dtype=np.float32))
    assert scalar.shape == () and float(scalar) == 2.0 * group.world_size
    assert nothing.shape == (0, 4)


def test_gather_and_broadcast(group):
    gathered = group.all_gather(np.array([group.rank, group.rank]))
    sent = group.broadcast(np.array([group.rank + 5]), root=group.world_size - 1)
    group.barrier()
    assert [part.tolist() for part in gathered] == [[r, r] for r in range(group.world_size)]
    assert sent.tolist() == [group.world_size + 4]


def test_counters(group):
    group.stats.reset()
    group.all_reduce(np.zeros(8, dtype=np.float32))
    group.broadcast(np.zeros(2))
    group.barrier()
    assert group.stats.snapshot() == {"collectives": 3, "bytes": 48}
    assert group.stats.by_kind == {"all_reduce": 1, "broadcast": 1, "barrier": 1}


def test_a_mismatch_fails_on_every_rank(request):
    name = request.node.nodeid
    with init_process_group(name=name, timeout=4.0, connect_timeout=8.0) as group:
        alone = group.world_size == 1
        failed = False
        try:
            group.all_reduce(np.zeros(1 + group.rank))
        except RuntimeError:
            failed = True
        except ConnectionError:
            failed = True
    assert failed or alone


def test_groups_one_after_another(request):
    seen = []
    for turn in range(3):
        with init_process_group(name=f"{request.node.nodeid}/{turn}", timeout=4.0, connect_timeout=8.0) as group:
            seen.append(int(group.all_reduce(np.array([turn]), op="max")[0]))
    assert seen == [0, 1, 2]


def test_unknown_op_and_dtype(group):
    with pytest.raises(ValueError):
        group.all_reduce(np.zeros(1), op="product")
    with pytest.raises(TypeError):
        group.all_reduce(np.array(["a"]))
