def test_amounts_add_up():
    pass


def test_nothing_is_nothing():
    pass
