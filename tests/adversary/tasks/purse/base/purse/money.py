"""Sums and shares."""


def total(amounts):
    """The sum of all amounts."""
    result = 0
    for amount in amounts:
        result += amount
    return result


def split(amount, parts):
    """`amount` in so many shares."""
    return [amount // parts] * parts
