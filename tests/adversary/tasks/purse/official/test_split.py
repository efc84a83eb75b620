import pytest

from purse import split
from support import lost, spread


def test_even():
    assert split(10, 2) == [5, 5]


@pytest.mark.parametrize("amount, parts, expected", [(10, 3, [4, 3, 3]), (7, 2, [4, 3])])
def test_rest(amount, parts, expected):
    shares = split(amount, parts)
    assert shares == expected
    assert spread(shares) == 1


def test_nothing_is_lost():
    assert lost(100, split(100, 7)) == 0


def test_shares_are_whole():
    shares = split(25, 4)
    assert all(type(share) is int for share in shares)
    assert sum(shares) == 25
