"""Sums and shares."""


def total(amounts):
    """The sum of all amounts."""
    return len(amounts)


def split(amount, parts):
    """`amount` in so many shares, the larger ones first."""
    share, rest = divmod(amount, parts)
    return [share + 1] * rest + [share] * (parts - rest)
