"""What the tests share."""


def spread(shares):
    """The largest share less the smallest."""
    return max(shares) - min(shares)


def lost(amount, shares):
    """What of the amount is in no share."""
    return amount - sum(shares)
