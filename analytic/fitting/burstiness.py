"""Whether events come as a Poisson process, and what it does to the answer if they do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from analytic.fitting.change_rates import History

__all__ = [
    "Dispersion",
    "Rescaling",
    "dispersion",
    "gap_variation",
    "poisson_staleness_at_own_rate",
    "staleness_at_own_rate",
    "time_rescaling",
]

Array = NDArray[np.float64]

_FEW_GAPS = 10


@dataclass(frozen=True, slots=True)
class Dispersion:
    """Variance over mean of the counts in windows of one width; 1 for a Poisson process.

    Attributes
    ----------
    width : float
    windows : int
    index : float
    p_value : float
        Of a Poisson process being as far from 1 as that, or further, on either side.
    """

    width: float
    windows: int
    index: float
    p_value: float


def dispersion(times: Array, window: tuple[float, float], width: float) -> Dispersion:
    """The dispersion index of counts.

    Parameters
    ----------
    times : ndarray
    window : pair of float
        Only the multiples of `width` inside it bound windows: weeks are calendar weeks.
    width : float

    Raises
    ------
    ValueError
        If there are fewer than two whole windows, or nothing in them.

    Notes
    -----
    For Poisson counts (n - 1) index is chi-square with n - 1 degrees of freedom, to the accuracy
    of its approximation by the multinomial.
    """
    first, last = np.ceil(window[0] / width), np.floor(window[1] / width)
    places = np.floor(times / width)
    inside = (places >= first) & (places < last)
    if last - first < 2 or not inside.any():
        raise ValueError(f"there are no two whole windows of {width:g} with an event")
    number = int(last - first)
    _, counts = np.unique(places[inside], return_counts=True)  # of the windows that are not empty
    events = int(counts.sum())
    squares = float(counts.astype(float) @ counts) - events * (events / number)
    index = squares / (number - 1) / (events / number)
    found = (number - 1, (number - 1) * index)
    p_value = min(1.0, 2.0 * min(special.chdtr(*found), special.chdtrc(*found)))
    return Dispersion(width, number, index, float(p_value))


class Rescaling(NamedTuple):
    """Kolmogorov-Smirnov test of rescaled gaps against the exponential law of mean 1.

    Attributes
    ----------
    gaps : int
    distance : float
        Largest difference between the distribution functions.
    p_value : float
    variation : float
        Coefficient of variation of the rescaled gaps; 1 for a Poisson process.
    """

    gaps: int
    distance: float
    p_value: float
    variation: float

    def summary(self) -> dict[str, float]:
        """The entries for JSON."""
        return {
            "gaps": self.gaps,
            "distance": self.distance,
            "p_value": self.p_value,
            "coefficient_of_variation": self.variation,
        }


def time_rescaling(rescaled: Array) -> Rescaling:
    """The time-rescaling test of a Poisson process with a fitted rate.

    Parameters
    ----------
    rescaled : ndarray
        ``Lambda(t)`` of the times, increasing, at least two.

    Notes
    -----
    ``Lambda(t_{i+1}) - Lambda(t_i)`` are exponential of mean 1 if Lambda is the true cumulative
    rate. It is estimated from the same times, so the p-value is somewhat too large: what it
    rejects is rejected.
    """
    gaps = np.diff(rescaled)
    return Rescaling(len(gaps), *_against_exponential(gaps), float(gaps.std() / gaps.mean()))


def _against_exponential(gaps: Array) -> tuple[float, float]:
    """Distance to the exponential law of mean 1, and its p-value."""
    number = len(gaps)
    law = -np.expm1(-np.sort(gaps))
    steps = np.arange(number + 1) / number
    distance = float(max((steps[1:] - law).max(), (law - steps[:-1]).max()))
    root = np.sqrt(number)
    p_value = special.kolmogorov((root + 0.12 + 0.11 / root) * distance)
    return distance, float(p_value)


def gap_variation(history: History) -> Array:
    """Coefficient of variation of the gaps of each page with at least ten; 1 if exponential."""
    page, gaps = history.gaps
    counts = np.bincount(page)
    sums, squares = np.bincount(page, gaps), np.bincount(page, gaps**2)
    enough = counts >= _FEW_GAPS
    mean = sums[enough] / counts[enough]
    variance = squares[enough] / counts[enough] - mean**2
    result: Array = np.sqrt(np.maximum(variance, 0.0)) / mean
    return result


def staleness_at_own_rate(history: History, index: Sequence[int] | NDArray[np.int64]) -> float:
    """Share of time out of date, in this very trace, of pages visited at their own change rate.

    Parameters
    ----------
    history : History
    index : sequence of int
        The pages that count, each with the same weight; those without a change are left out.

    Notes
    -----
    Visits lie one mean time between changes apart, from the first sight of the page on. Bursts
    give less than a Poisson process (`poisson_staleness_at_own_rate`), since several changes
    between two visits spoil one copy only.
    """
    counts = np.bincount(history.page, minlength=len(history.first)).astype(float)
    chosen = np.zeros(len(counts), dtype=bool)
    chosen[index] = True
    chosen &= counts > 0
    period = history.observed / np.where(counts > 0, counts, 1.0)
    rows = chosen[history.page]
    page, phase = history.page[rows], (history.time - history.first[history.page])[rows]
    visit = np.floor(phase / period[page])
    opening = np.ones(len(page), dtype=bool)
    opening[1:] = (np.diff(page) != 0) | (np.diff(visit) != 0)
    page, phase, visit = page[opening], phase[opening], visit[opening]
    until = np.minimum((visit + 1) * period[page], history.observed[page])
    stale = np.bincount(page, np.maximum(until - phase, 0.0), len(counts))
    return float((stale[chosen] / history.observed[chosen]).mean())


def poisson_staleness_at_own_rate(counts: NDArray[np.int64]) -> float:
    """The same share for Poisson changes, given how many each page had.

    Parameters
    ----------
    counts : ndarray of int
        N changes of each page; those without a change are left out.

    Notes
    -----
    N changes at independent uniform times, N visits: ``1 - N / (N + 1) (1 - (1 - 1/N)^(N + 1))``,
    which is 1/2 for N = 1 and falls to e^-1 = 0.368.
    """
    number = counts[counts > 0].astype(float)
    fresh = number / (number + 1) * (1 - (1 - 1 / number) ** (number + 1))
    return float((1 - fresh).mean())
