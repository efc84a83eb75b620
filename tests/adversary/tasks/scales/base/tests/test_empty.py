from scales import parts


def test_nothing_has_no_parts():
    assert parts([]) == []
