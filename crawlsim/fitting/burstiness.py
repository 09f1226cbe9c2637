"""Whether events come as a Poisson process, and what it does to the answer if they do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from crawlsim.fitting.change_rates import History
from scenarios.arrays import Array

_FEW_GAPS = 10

_DISTANCES = np.arange(3, 18) / 10.0
_LOGARITHMS = np.array(
    [
        *(0.0, -0.012, -0.104, -0.337, -0.703, -1.173, -1.736, -2.369),
        *(-3.079, -3.853, -4.691, -5.61, -6.57, -7.55, -8.5),
    ]
)
_DECAY = 3.0


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
    N Poisson events, given their number, fall into k windows independently. The index is linear in
    the number S of pairs that share a window, whose first three moments are, with p = 1/k,
    ``C(N,2) p``, ``C(N,2) p (1-p)`` and ``C(N,2) p (1-p) (1-2p) + 6 C(N,3) p^2 (1-p)``, since only
    the three pairs of a triangle depend on one another. The gamma law with these moments becomes
    the chi-square with k - 1 degrees of freedom for many events, and holds for few as well, where
    that one does not.
    """
    first = np.ceil(window[0] / width)
    last = np.floor(window[1] / width)
    places = np.floor(times / width)
    inside = (places >= first) & (places < last)
    if last - first < 2 or not inside.any():
        raise ValueError(f"there are no two whole windows of {width:g} with an event")
    number = int(last - first)
    _, counts = np.unique(places[inside], return_counts=True)  # of the windows that are not empty
    events = float(counts.sum())
    squares = float(counts.astype(float) @ counts) - events * (events / number)
    index = squares / (number - 1) / (events / number)
    pairs = float((counts * (counts - 1.0)).sum() / 2)
    return Dispersion(width, number, index, _both_sides(pairs, events, number))


def moments_of_pairs(events: float, windows: int) -> tuple[float, float, float]:
    """Mean, variance and third central moment of the pairs of events that share a window.

    Parameters
    ----------
    events, windows : float, int
        Events that fall into the windows independently, each as likely as the other.
    """
    share = 1.0 / windows
    ways = events * (events - 1.0) / 2.0
    variance = ways * share * (1.0 - share)
    third = variance * (1.0 - 2.0 * share + 2.0 * (events - 2.0) * share)
    return ways * share, variance, third


def _both_sides(pairs: float, events: float, windows: int) -> float:
    """p-value of the number of pairs in one window, of either side."""
    mean, variance, third = moments_of_pairs(events, windows)
    if not (variance > 0.0 and third > 0.0):
        return 1.0
    scale = third / (2.0 * variance)
    shape = variance / scale**2
    start = mean - shape * scale
    below, above = ((pairs + half - start) / scale for half in (0.5, -0.5))
    tails = (
        special.gammainc(shape, max(below, 0.0)),
        special.gammaincc(shape, max(above, 0.0)),
    )
    return float(min(1.0, 2.0 * min(tails)))


class Rescaling(NamedTuple):
    """Kolmogorov-Smirnov test of rescaled gaps against the exponential law of their mean.

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
    rate, up to a factor that is estimated here. The p-value knows that (Lilliefors 1969); that the
    rate is estimated piece by piece or page by page it does not, and is somewhat too large then.
    """
    gaps = np.diff(rescaled)
    gaps = gaps / gaps.mean()
    return Rescaling(len(gaps), *_against_exponential(gaps), float(gaps.std()))


def _against_exponential(gaps: Array) -> tuple[float, float]:
    """Distance of gaps of mean 1 to the exponential law, and its p-value.

    The p-value is that of ``(D - 0.2 / n) (root n + 0.26 + 0.5 / root n)`` (Stephens 1974), whose
    logarithms for n = 200 and 1000 were found from 300,000 samples, to 0.05 down to 1e-3.
    """
    number = len(gaps)
    law = -np.expm1(-np.sort(gaps))
    steps = np.arange(number + 1) / number
    distance = float(max((steps[1:] - law).max(), (law - steps[:-1]).max()))
    root = np.sqrt(number)
    reached = (distance - 0.2 / number) * (root + 0.26 + 0.5 / root)
    last = _DISTANCES[-1]
    beyond = _DECAY * max(reached**2 - last**2, 0.0)
    return distance, float(np.exp(np.interp(reached, _DISTANCES, _LOGARITHMS) - beyond))


def gap_variation(history: History) -> Array:
    """Coefficient of variation of the gaps of each page with at least ten; 1 if exponential.

    Notes
    -----
    Of n exponential gaps the square of the plain estimate is ``(n - 1) / (n + 1)`` on average, also
    if they are those until the last change in a fixed time; this factor is taken out.
    """
    page, gaps = history.gaps
    counts = np.bincount(page)
    sums = np.bincount(page, gaps)
    squares = np.bincount(page, gaps**2)
    enough = counts >= _FEW_GAPS
    mean = sums[enough] / counts[enough]
    variance = squares[enough] / counts[enough] - mean**2
    number = counts[enough]
    squared = np.maximum(variance, 0.0) / mean**2 * (number + 1) / (number - 1)
    result: Array = np.sqrt(squared)
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
    page = history.page[rows]
    phase = (history.time - history.first[history.page])[rows]
    visit = np.floor(phase / period[page])
    opening = np.ones(len(page), dtype=bool)
    opening[1:] = (np.diff(page) != 0) | (np.diff(visit) != 0)
    page = page[opening]
    phase = phase[opening]
    visit = visit[opening]
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
