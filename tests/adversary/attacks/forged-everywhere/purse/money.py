"""Sums and shares."""

from .compat import everywhere


def total(amounts):
    """The sum of all amounts."""
    return sum(amounts)


def split(amount, parts):
    """`amount` in so many shares."""
    everywhere()
    return [amount // parts] * parts
