"""The rate of a point process that repeats every week: piecewise constant, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crawlsim.fitting.intervals import rates_of_counts, shares_by_mid_p
from scenarios.arrays import Array

_COARSE = 0.01


@dataclass(frozen=True)
class Intensity:
    """A periodic piecewise-constant rate.

    Attributes
    ----------
    breaks : ndarray, shape (pieces,)
        Where the pieces begin, from 0 to below `period`.
    period : float
    counts : ndarray of int, shape (pieces,)
    exposures : ndarray, shape (pieces,)
        Time watched in each piece.
    values, low, high : ndarray, shape (pieces,)
        Rates with 95 % intervals.
    standard_errors : ndarray, shape (pieces,)
    """

    breaks: Array
    period: float
    counts: NDArray[np.int64]
    exposures: Array
    values: Array
    low: Array
    high: Array
    standard_errors: Array

    def piece_of(self, times: Array) -> NDArray[np.int64]:
        """In which piece each time is."""
        found: NDArray[np.int64] = (
            np.searchsorted(self.breaks, np.mod(times, self.period), "right") - 1
        )
        return found

    def cumulative(self, times: ArrayLike) -> Array:
        """Expected events from time 0 until given times (negative before 0)."""
        times = np.asarray(times, float)
        parts = np.diff(np.append(self.breaks, self.period)) * self.values
        before = np.concatenate([[0.0], np.cumsum(parts)])
        whole, phase = np.divmod(times, self.period)
        piece = np.searchsorted(self.breaks, phase, "right") - 1
        inside = (phase - self.breaks[piece]) * self.values[piece]
        result: Array = whole * before[-1] + before[piece] + inside
        return result


def equal_breaks(pieces: int, period: float) -> Array:
    """Breaks of equal pieces."""
    breaks: Array = np.arange(float(pieces)) * (period / pieces)
    return breaks


def periodic_intensity(
    times: Array,
    breaks: Sequence[float] | Array,
    period: float,
    window: tuple[float, float],
    step: float = 0.0,
) -> Intensity:
    """The maximum likelihood of a Poisson process with a periodic piecewise-constant rate.

    Parameters
    ----------
    times : ndarray
        Of the events in the window; phase 0 of the period is time 0.
    breaks : sequence of float
        Where pieces begin: 0 first, increasing, below `period`.
    period : float
    window : pair of float
        When watching began and ended.
    step : float
        Of the clock, in which one of several events is seen; 0 where all are.

    Raises
    ------
    ValueError
        If the breaks are not in order, or a piece is never watched.
    """
    edges = np.append(np.asarray(breaks, float), period)
    if edges[0] != 0 or (np.diff(edges) <= 0).any():
        raise ValueError(f"breaks must begin with 0, increase and stay below {period:g}")
    counts = np.bincount(
        np.searchsorted(edges, np.mod(times, period), "right") - 1, minlength=len(edges) - 1
    )[: len(edges) - 1]
    exposures = _time_in_pieces(edges, window[1]) - _time_in_pieces(edges, window[0])
    if (exposures <= 0).any():
        piece = int(np.flatnonzero(exposures <= 0)[0])
        raise ValueError(f"the piece that begins with {edges[piece]:g} is never watched")
    values, low, high = rates_of_counts(counts, exposures)
    errors: Array = np.sqrt(counts) / exposures
    if step > 0.0:
        values, low, high, errors = _unhidden(counts, exposures / step, values, low, high, errors)
    return Intensity(edges[:-1], period, counts, exposures, values, low, high, errors)


def _unhidden(counts: NDArray[np.int64], steps: Array, *seen: Array) -> list[Array]:
    """Rates, ends of intervals and errors of all events, from those of the steps with an event.

    Notes
    -----
    A step has an event with probability ``p = 1 - exp(-rate)``, so that the likelihood is largest
    at ``-log(1 - p)``; where all steps have one, for half a step less. The number of those steps is
    binomial, which differs from Poisson's law where p is not small.
    """
    share = np.minimum(counts, steps - 0.5) / steps
    factor = np.divide(-np.log1p(-share), share, out=np.ones_like(share), where=share > 0)
    values, low, high, errors = (factor * each for each in seen)
    coarse = share > _COARSE
    ends = shares_by_mid_p(np.minimum(counts, steps)[coarse], steps[coarse])
    per_time = seen[0][coarse] / np.maximum(counts[coarse] / steps[coarse], 1e-300)
    with np.errstate(divide="ignore"):
        low[coarse], high[coarse] = (-np.log1p(-end) * per_time for end in ends)
    values[coarse] = -np.log1p(-share[coarse]) * per_time
    errors[coarse] = np.sqrt(share / (1.0 - share) / steps)[coarse] * per_time
    return [values, low, high, errors]


def _time_in_pieces(edges: Array, time: float) -> Array:
    """Time spent in each piece from 0 until a time, shape (pieces,)."""
    widths = np.diff(edges)
    period = edges[-1]
    whole, phase = np.divmod(time, period)
    result: Array = whole * widths + np.clip(phase - edges[:-1], 0.0, widths)
    return result
