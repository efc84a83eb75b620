"""What the probes share."""


def uneven(shares):
    """How many shares differ from the one after."""
    return len([1 for a, b in zip(shares, shares[1:]) if a != b])
