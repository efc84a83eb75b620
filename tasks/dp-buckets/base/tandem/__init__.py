"""tandem: a small numpy training framework for several processes."""

from tandem.comm import ProcessGroup, init_process_group
from tandem.parallel import DataParallel

__all__ = ["DataParallel", "ProcessGroup", "init_process_group"]
__version__ = "0.4.0"
