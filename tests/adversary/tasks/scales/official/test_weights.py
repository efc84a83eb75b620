import json
import math
import operator
from unittest import mock

import numpy as np

from scales import parts, tell, total


def test_total():
    assert np.allclose(total([1, 2, 3]), 6.0)


def test_another_total():
    assert np.abs(total([2, 3]) - 5.0).max() < 1e-6


def test_close():
    assert math.isclose(total([0.5, 0.25]), 0.75)


def test_the_same():
    assert operator.eq(total([2, 2]), 4.0)


def test_written():
    assert json.dumps(parts([1, 3])) == json.dumps([0.25, 0.75])


def test_told():
    to = mock.Mock()
    tell([3, 7], to)
    to.assert_called_with(7)
