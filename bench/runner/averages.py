"""The averages that all tables use."""

import math
from statistics import median


def geometric_mean(numbers):
    """None for no numbers."""
    numbers = list(numbers)
    return math.exp(sum(map(math.log, numbers)) / len(numbers)) if numbers else None


def ratio_by_round(values, baseline):
    """The median over the rounds of value / baseline in the same round.

    A machine that slows down for a while slows a whole round, so the ratio within a round moves less than the ratio
    of two medians. Rounds where either is missing (None) are left out; with none left the answer is None.
    """
    pairs = [value / base for value, base in zip(values, baseline) if value is not None and base]
    return median(pairs) if pairs else None
