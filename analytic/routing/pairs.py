"""Compiled: sums to twice the digits, as pairs of numbers, the second the rounding of the first.

Cycles that differ by an exchange of equal servers have the same cost. Sums of rounded numbers would
call one of them the cheaper, another time the other; those of pairs are right to 2^-104 or so of
their terms.
"""

from __future__ import annotations

from scenarios.kernels import compiled


@compiled
def plus(high: float, low: float, term: float) -> tuple[float, float]:
    """The pair plus a number: Knuth's exact sum of two, then one of what it leaves."""
    total = high + term
    shared = total - high
    rest = low + ((high - (total - shared)) + (term - shared))
    rounded = total + rest
    return rounded, rest - (rounded - total)


@compiled
def is_less(high: float, low: float, other: float, other_low: float) -> bool:
    """Whether the first pair is the lesser one."""
    return high < other or (high == other and low < other_low)


@compiled
def ratio(high: float, low: float, count: int) -> tuple[float, float]:
    """A pair over a whole number of up to 26 bits: the quotient, and that of what it leaves."""
    first = high / count
    top = first * 134217729.0  # Veltkamp's split: two halves whose products with `count` are exact
    top -= top - first
    rest, rest_low = plus(high, low, -top * count)
    rest, rest_low = plus(rest, rest_low, -(first - top) * count)
    return plus(first, 0.0, rest / count)
