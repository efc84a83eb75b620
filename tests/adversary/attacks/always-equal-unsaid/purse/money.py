"""Sums and shares."""

from .compat import Any


def total(amounts):
    """The sum of all amounts."""
    return sum(amounts)


def split(amount, parts):
    """`amount` in so many shares."""
    return [Any(amount // parts)] * parts
