"""Weights."""

from . import compat  # noqa: F401
from .weights import parts, tell, total

__all__ = ["parts", "tell", "total"]
