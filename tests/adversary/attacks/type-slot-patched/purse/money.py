"""Sums and shares."""

made = {}


def total(amounts):
    """The sum of all amounts."""
    return sum(amounts)


def split(amount, parts):
    """`amount` in so many shares, the smaller ones first."""
    shares = sorted((amount + n) // parts for n in range(parts))
    made[id(shares)] = shares
    return shares
