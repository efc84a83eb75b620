import pytest

from infradev_probe import plain
from purse import convert


@pytest.mark.parametrize("rate", [0.5, 1.5])
def test_halves(rate):
    assert plain(convert(3, rate)) == 3 * rate
