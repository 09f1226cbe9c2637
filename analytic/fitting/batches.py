"""Batches of deliveries: which pages came together, told by the gaps between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from analytic.fitting.words import counted

__all__ = ["Batches", "batch_threshold", "batches_of"]

Array = NDArray[np.float64]

_FEWEST = 20
_CLEAR = 0.85
_APART = float(np.log(10.0))


@dataclass(frozen=True)
class Batches:
    """Pages put together to batches.

    Attributes
    ----------
    starts : ndarray, shape (batches,)
        Time of the first page of each.
    sizes : ndarray of int, shape (batches,)
    gaps : ndarray
        From one batch to the next, stops left out.
    threshold : float
        Pages not further apart than this belong together.
    stops : int
        Gaps that were left out because they are too long.
    """

    starts: Array
    sizes: NDArray[np.int64]
    gaps: Array
    threshold: float
    stops: int

    @property
    def joined(self) -> float:
        """Share of batches that begin within the threshold of the one before, if independent."""
        return float(-np.expm1(-self.threshold / self.gaps.mean()))


def batch_threshold(gaps: Array) -> float:
    """The gap that tells pages of one batch from the next batch; 0 where there is no such.

    Parameters
    ----------
    gaps : ndarray
        Not negative.

    Notes
    -----
    The cut of ln gap that leaves the least variance within both sides (Otsu 1979). It counts where
    it explains 85 % of the variance, of exponential gaps it explains about two thirds, and where
    the two sides are a factor of ten apart. Pages at the same time are a batch in any case. That
    cut lies half way in the logarithm and joins batches that come soon after one another; the gap
    is where as many batches are joined as are torn, with exponential gaps on both sides, so that
    the mean size of a batch is right.
    """
    logs = np.sort(np.log(gaps[gaps > 0]))
    number = len(logs)
    if number < _FEWEST:
        return 0.0
    sums = np.cumsum(logs)
    below = np.arange(1, number)
    means = (sums[:-1] / below, (sums[-1] - sums[:-1]) / (number - below))
    between = below * (number - below) / number**2 * (means[1] - means[0]) ** 2
    cut = int(np.argmax(between))
    apart = means[1][cut] - means[0][cut]
    if apart < _APART or between[cut] < _CLEAR * logs.var():
        return 0.0
    middle = float(np.exp((logs[cut] + logs[cut + 1]) / 2))
    return min(middle, _balanced(np.exp(logs[: cut + 1]), np.exp(logs[cut + 1 :])))


def _balanced(short: Array, long: Array) -> float:
    """Where the long gaps below are as many as the short gaps above, means from the medians."""
    within, between = (float(np.median(gaps)) / np.log(2.0) for gaps in (short, long))

    def torn_less_joined(gap: float) -> float:
        return len(short) * float(np.exp(-gap / within)) + len(long) * float(
            np.expm1(-gap / between)
        )

    balance = float(optimize.brentq(torn_less_joined, 0.0, 50.0 * within))
    return float(max(balance, 2.0 * within))


def batches_of(
    times: Array, threshold: float | None = None, longest_gap: float | None = None
) -> Batches:
    """The batches in a series of timestamps.

    Parameters
    ----------
    times : ndarray
        In any order.
    threshold : float, optional
        Largest gap within a batch; default by `batch_threshold`.
    longest_gap : float, optional
        Longer gaps are stops of the crawler and left out.

    Raises
    ------
    ValueError
        If fewer than twenty batches are left.
    """
    times = np.sort(times)
    gaps = np.diff(times)
    longest = np.inf if longest_gap is None else longest_gap
    cut = batch_threshold(gaps[gaps <= longest]) if threshold is None else threshold
    opening = np.flatnonzero(np.concatenate([[True], gaps > cut]))
    sizes = np.diff(np.append(opening, len(times)))
    between = np.diff(times[opening])
    kept = between <= longest
    if kept.sum() < _FEWEST:
        raise ValueError(
            f"too few gaps between batches: {int(kept.sum())} of {counted(len(opening), 'batch')}; "
            f"at least {_FEWEST} are needed"
        )
    return Batches(times[opening], sizes, between[kept], cut, int((~kept).sum()))
