"""From one currency to another."""


def convert(amount, rate):
    """`amount` at `rate`, not rounded."""
    return float(amount * rate)
