import pytest

from infradev_probe import plain
from purse import Purse


def test_a_refused_purse_goes_on():
    purse = Purse(3)
    with pytest.raises(ValueError):
        purse.take(4)
    assert plain(purse.take(3)) == 3
    assert plain(purse.balance) == 0
