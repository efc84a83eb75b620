import numpy as np
import pytest

from tandem.nn import Linear, MSELoss, Sequential
from tandem.optim import SGD
from tandem.parallel import DataParallel
from tandem.train import Trainer


def stack(*dtypes):
    return Sequential(*[Linear(4, 4, dtype=dtype) for dtype in dtypes])


def test_one_bucket_by_default(group):
    model = DataParallel(stack(np.float32, np.float32), group)
    (bucket,) = model.buckets()
    assert sorted(bucket) == ["0.bias", "0.weight", "1.bias", "1.weight"]


def test_last_layer_comes_first(group):
    model = DataParallel(stack(np.float32, np.float32, np.float32), group, bucket_bytes=80)
    assert [sorted(bucket) for bucket in model.buckets()] == [
        [f"{layer}.bias", f"{layer}.weight"] for layer in (2, 1, 0)
    ]


@pytest.mark.parametrize("bucket_bytes", [1, 70, 200, 1000])
def test_every_parameter_is_in_one_bucket(group, bucket_bytes):
    model = DataParallel(stack(np.float32, np.float32, np.float32), group, bucket_bytes=bucket_bytes)
    names = [name for bucket in model.buckets() for name in bucket]
    assert sorted(names) == sorted(name for name, _ in model.named_parameters())


def test_dtypes_do_not_mix(group):
    model = DataParallel(stack(np.float32, np.float64, np.float32), group)
    named = dict(model.named_parameters())
    for bucket in model.buckets():
        assert len({named[name].dtype for name in bucket}) == 1
    assert len(model.buckets()) == 2


def test_large_parameter_is_alone(group):
    model = DataParallel(Sequential(Linear(2, 2), Linear(2, 30), Linear(30, 2)), group, bucket_bytes=130)
    assert ["1.weight"] in model.buckets()


@pytest.mark.parametrize("bucket_bytes", [0, -1])
def test_cap_must_be_positive(group, bucket_bytes):
    with pytest.raises(ValueError):
        DataParallel(stack(np.float32), group, bucket_bytes=bucket_bytes)


def test_bad_counts(group):
    model = DataParallel(stack(np.float32), group)
    with pytest.raises(ValueError):
        Trainer(model, SGD(model.parameters(), lr=0.1), MSELoss(), accumulate=0)
    with pytest.raises(ValueError):
        model.backward(model(np.ones((2, 4), dtype=np.float32)), samples=-1)
