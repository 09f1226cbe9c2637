"""The rate of a point process that repeats every week: piecewise constant, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analytic.fitting.intervals import rates_of_counts

__all__ = ["Intensity", "equal_breaks", "periodic_intensity"]

Array = NDArray[np.float64]


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
    """

    breaks: Array
    period: float
    counts: NDArray[np.int64]
    exposures: Array
    values: Array
    low: Array
    high: Array

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
    times: Array, breaks: Sequence[float] | Array, period: float, window: tuple[float, float]
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
    return Intensity(edges[:-1], period, counts, exposures, values, low, high)


def _time_in_pieces(edges: Array, time: float) -> Array:
    """Time spent in each piece from 0 until a time, shape (pieces,)."""
    widths, period = np.diff(edges), edges[-1]
    whole, phase = np.divmod(time, period)
    result: Array = whole * widths + np.clip(phase - edges[:-1], 0.0, widths)
    return result
