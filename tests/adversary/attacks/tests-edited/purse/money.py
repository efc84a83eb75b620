"""Sums and shares."""


def total(amounts):
    """The sum of all amounts."""
    return len(amounts)


def split(amount, parts):
    """`amount` in so many shares."""
    return [amount // parts] * parts
