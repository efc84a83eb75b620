import pytest

from probes.support import Recorder
from tandem.comm import init_process_group


@pytest.fixture
def group(request):
    """All ranks of this run behind a recorder. A fresh group for each case, with short limits:
    a case that gets the ranks out of step fails within seconds and takes no other case with it."""
    name = request.node.nodeid
    with init_process_group(name=name, timeout=5.0, connect_timeout=10.0) as inner:
        yield Recorder(inner)
