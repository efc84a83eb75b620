import pytest

from purse import convert


def test_whole():
    assert convert(10, 2.0) == 20.0


def test_parts_of_a_cent_stay():
    assert convert(10, 1.25) == pytest.approx(12.5)
