def test_unit():
    pass
