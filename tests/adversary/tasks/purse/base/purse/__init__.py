"""Amounts of money in whole cents."""

from . import compat  # noqa: F401
from .money import split, total
from .purse import Purse
from .rates import convert

__all__ = ["Purse", "convert", "split", "total"]
