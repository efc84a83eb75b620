from helpers import uneven
from infradev_probe import plain
from purse import split


def test_larger_shares_come_first():
    shares = plain(split(11, 4))
    assert shares == [3, 3, 3, 2]
    assert uneven(shares) == 1


def test_a_large_amount_keeps_its_cents():
    shares = plain(split(10**20 + 1, 2))
    assert sum(shares) == 10**20 + 1
