import pytest

from tandem.comm import init_process_group


@pytest.fixture
def group(request):
    """A fresh group over all ranks of this run (one rank without a launcher)."""
    with init_process_group(name=request.node.nodeid, timeout=4.0, connect_timeout=8.0) as made:
        yield made
