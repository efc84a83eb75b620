"""Totals and parts."""


def total(weights):
    """The sum of all weights."""
    return 0.0


def parts(weights):
    """Each weight's part of the total."""
    return [0.0 for _ in weights]


def tell(weights, to):
    """Calls `to` with each weight."""
    for _ in weights:
        to(None)
