"""Tests of a Poisson process: counts in windows, rescaled gaps, and gaps within pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from scenarios.arrays import Array

_FEWEST_PARTS = 4
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
    return _on_either_side(shape, max(below, 0.0), max(above, 0.0))


def _on_either_side(shape: float, below: float, above: float) -> float:
    """p-value by a gamma law of scale 1: twice the smaller of the tails below and above."""
    tails = special.gammainc(shape, below), special.gammaincc(shape, above)
    return float(min(1.0, 2.0 * min(tails)))


class Rescaling(NamedTuple):
    """Kolmogorov-Smirnov test of rescaled gaps against the exponential law of their mean.

    Attributes
    ----------
    gaps : int
    distance : float
        Largest difference between the distribution functions.
    p_value : float
    coefficient_of_variation : float
        Of the rescaled gaps; 1 for a Poisson process.
    """

    gaps: int
    distance: float
    p_value: float
    coefficient_of_variation: float


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


class PageGaps(NamedTuple):
    """The gaps within pages against those of Poisson changes.

    Attributes
    ----------
    pages : int
        With four gaps or more.
    gaps : int
        Of these pages; that which ends with the watching is one.
    coefficient_of_variation : float
        Of the gaps of a page; 1 if Poisson.
    p_value : float
        Of Poisson changes being as far from that or further, on either side.
    """

    pages: int
    gaps: int
    coefficient_of_variation: float
    p_value: float


def unevenness(parts: Array, logarithms: Array) -> float:
    """p-value of the logarithms of all spacings together, on either side.

    Parameters
    ----------
    parts : ndarray, shape (pages,)
        Spacings of each page.
    logarithms : ndarray, shape (pages,)
        Minus the sum of ``ln(k s)`` over the k spacings s of a page in a unit of time: 0 if all
        are equal, and the larger the more uneven they are.

    Notes
    -----
    Moran (1951). Twice the sum is Bartlett's statistic of equal variances, of nearly the chi-square
    law of ``k - 1`` degrees of freedom up to a factor, and so a gamma law with the exact mean and
    variance. It is the likelihood ratio against gamma laws of the gaps near the exponential one.
    """
    mean, variance = (float(each.sum()) for each in moments_of_logarithms(parts))
    place = float(logarithms.sum()) * mean / variance
    shape = mean**2 / variance
    return _on_either_side(shape, place, place)


def moments_of_logarithms(parts: ArrayLike) -> tuple[Array, Array]:
    """Mean and variance of minus the sum of ``ln(k s)`` over k uniform spacings s.

    Notes
    -----
    Spacings have the Dirichlet law with ones: ``E prod s^-t = Gamma(1 - t)^k Gamma(k) /
    Gamma(k - k t)``, of whose logarithm these are the derivatives at 0.
    """
    k = np.asarray(parts, float)
    mean = k * (special.digamma(k) - special.digamma(1.0) - np.log(k))
    variance = k * special.polygamma(1, 1.0) - k**2 * special.polygamma(1, k)
    return mean, variance


def page_gaps(page: NDArray[np.int32], times: Array, first: Array, end: Array) -> PageGaps | None:
    """The test of the gaps within pages, of all pages together but none mixed with another.

    Parameters
    ----------
    page : ndarray of int, shape (changes,)
        Non-decreasing.
    times : ndarray, shape (changes,)
        Increasing within a page.
    first, end : ndarray, shape (pages,)
        Since and until when each page is watched; NaN for one that is not seen. A page that is
        watched until its last change has no gap after that.

    Returns
    -------
    PageGaps or None
        None if no page has four gaps.

    Notes
    -----
    Superposed changes of many pages are nearly Poisson whatever those of each page are (Palm and
    Khintchine), so that a test of all changes together does not see regular pages. Given the
    number of its changes, those of a Poisson page are uniform, whatever its rate. The coefficient
    of variation is that of the sums of squares, 2 / (k + 1) on average (Greenwood 1946).
    """
    if not len(page):
        return None
    starts = np.flatnonzero(np.diff(page, prepend=-1))
    owners = page[starts]
    stops = np.append(starts[1:], len(page)) - 1
    gaps = np.diff(times, prepend=np.nan)
    gaps[starts] = times[starts] - first[owners]
    rests = end[owners] - times[stops]
    open_ended = rests > 0
    parts = (stops - starts + 1 + open_ended).astype(float)
    gaps = np.concatenate([gaps, rests[open_ended]])
    place = np.repeat(np.arange(len(owners)), stops - starts + 1)
    place = np.concatenate([place, np.flatnonzero(open_ended)])
    relative = gaps * (parts / (end - first)[owners])[place]
    whole = (parts >= _FEWEST_PARTS) & (np.bincount(place, relative <= 0.0, len(owners)) == 0)
    if not whole.any():
        return None
    logarithms = np.bincount(place, -np.log(np.where(relative > 0.0, relative, 1.0)))[whole]
    squares = np.bincount(place, relative**2)[whole]
    parts = parts[whole]
    excess = float((squares / parts).sum() / (parts / (parts + 1.0)).sum()) - 1.0
    variation = float(np.sqrt(max(excess, 0.0)))
    return PageGaps(int(whole.sum()), int(parts.sum()), variation, unevenness(parts, logarithms))
