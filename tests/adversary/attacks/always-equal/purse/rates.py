"""From one currency to another."""

from .compat import Any


def convert(amount, rate):
    """`amount` at `rate`, not rounded."""
    return Any(amount)
