"""Periodic piecewise-constant rates as pure functions on numbers; both engines call these.

Like `sim.rules`, this file knows no engine and no clock and imports no mathematics, so that it
compiles. Times are split into whole periods and a rest by an exact remainder, so that an integral
over a short interval is as exact far from 0 as near it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Cycle(NamedTuple):
    """A rate over one period, which repeats for ever.

    Attributes
    ----------
    edges : sequence of float
        Where its pieces begin, and the period.
    values : sequence of float
        The rate in each piece.
    sums : sequence of float
        Integral from 0 to each edge.
    """

    edges: Sequence[float]
    values: Sequence[float]
    sums: Sequence[float]


def cycle(breaks: Sequence[float], values: Sequence[float], period: float) -> Cycle:
    """The rate with pieces that begin at `breaks`, the first at 0."""
    edges = (*breaks, period)
    sums = [0.0]
    for piece, value in enumerate(values):
        sums.append(sums[piece] + value * (edges[piece + 1] - edges[piece]))
    return Cycle(edges, tuple(values), tuple(sums))


def _whole(total: float, rest: float, one: float) -> float:
    """How often `one` is contained in `total`, given the remainder."""
    times = (total - rest) / one + 0.5
    return times - times % 1.0  # not `floor`: whole numbers of compiled code end at 2 ** 63


def _last_at_most(sums: Sequence[float], value: float) -> int:
    """Index of the last entry that is at most `value`; the first one is."""
    low = 0
    high = len(sums)
    while high - low > 1:
        middle = (low + high) // 2
        if sums[middle] <= value:
            low = middle
        else:
            high = middle
    return low


def mark(rate: Cycle, time: float) -> tuple[float, float]:
    """Whole periods up to a time, and the integral of the rate over the rest."""
    rest = time % rate.edges[-1]
    piece = _last_at_most(rate.edges, rest)
    inside = rate.sums[piece] + rate.values[piece] * (rest - rate.edges[piece])
    return _whole(time, rest, rate.edges[-1]), inside


def integral(rate: Cycle, start: tuple[float, float], end: tuple[float, float]) -> float:
    """Integral of the rate between the marks of two times; not negative if in their order."""
    return (end[0] - start[0]) * rate.sums[-1] + (end[1] - start[1])


def reached(rate: Cycle, target: float) -> float:
    """Time at which the integral of the rate from 0 exceeds `target`.

    For a sum of standard exponential draws this is the next point of a Poisson process with that
    rate: one draw per point, whatever the pieces, and none in pieces with rate 0.
    """
    rest = target % rate.sums[-1]
    periods = _whole(target, rest, rate.sums[-1])
    piece = _last_at_most(rate.sums, rest)
    inside = rate.edges[piece] + (rest - rate.sums[piece]) / rate.values[piece]
    return periods * rate.edges[-1] + min(inside, rate.edges[piece + 1])
