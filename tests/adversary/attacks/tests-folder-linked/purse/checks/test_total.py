from purse import total


def test_amounts_add_up():
    assert total([1, 2, 3]) == 6


def test_nothing_is_nothing():
    assert total([]) == 0
