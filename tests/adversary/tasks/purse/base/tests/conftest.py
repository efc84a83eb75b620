import pytest

from purse import Purse


@pytest.fixture
def full():
    return Purse(1000)
