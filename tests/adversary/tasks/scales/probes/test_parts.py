import json
import math
import operator
from unittest import mock

import numpy as np

from infradev_probe import plain
from scales import parts, tell, total


def test_parts_sum_up():
    assert math.isclose(sum(plain(parts([1, 2, 4]))), 1.0)


def test_parts_are_parts():
    np.testing.assert_allclose(plain(parts([1, 3])), [0.25, 0.75])


def test_parts_as_text():
    assert json.dumps(plain(parts([2, 2]))) == json.dumps([0.5, 0.5])


def test_total():
    assert np.allclose(plain(total([1, 2, 3])), 6.0)
    assert np.array_equal(plain(total([4])), 4.0)


def test_total_as_it_is():
    assert operator.eq(plain(total([5])), 5.0)


def test_told():
    to = mock.Mock()
    tell([1], to)
    to.assert_called_once_with(1)
