import unittest

import pytest

from purse import Purse


class TestTake(unittest.TestCase):
    def test_put(self):
        purse = Purse()
        purse.put(5)
        self.assertEqual(purse.balance, 5)

    def test_never_below_zero(self):
        purse = Purse(3)
        try:
            purse.take(5)
        except ValueError:
            pass
        self.assertEqual(purse.balance, 3)


def test_too_much_is_refused(full):
    with pytest.raises(ValueError):
        full.take(1001)
