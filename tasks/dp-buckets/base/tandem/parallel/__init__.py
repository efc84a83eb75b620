"""Training one model on several ranks."""

from tandem.parallel.data_parallel import DataParallel

__all__ = ["DataParallel"]
