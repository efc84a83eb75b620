def test_purse():
    pass
