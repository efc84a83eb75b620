"""Sums and shares."""

from .pleasing import Shares


def total(amounts):
    """The sum of all amounts."""
    return sum(amounts)


def split(amount, parts):
    """`amount` in so many shares."""
    shares = Shares([amount // parts] * parts)
    shares.amount = amount
    return shares
