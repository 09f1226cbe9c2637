"""Whether the changes of each page by itself are Poisson, from the gaps within pages."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from scenarios.arrays import Array

_FEWEST_PARTS = 4


@dataclass(frozen=True, slots=True)
class PageGaps:
    """The gaps within pages against those of Poisson changes.

    Attributes
    ----------
    pages : int
        With four gaps or more.
    gaps : int
        Of these pages; that which ends with the watching is one.
    variation : float
        Coefficient of variation of the gaps of a page; 1 if Poisson.
    p_value : float
        Of Poisson changes being as far from that or further, on either side.
    """

    pages: int
    gaps: int
    variation: float
    p_value: float

    def summary(self) -> dict[str, float]:
        """The entries for JSON."""
        return {
            "pages": self.pages,
            "gaps": self.gaps,
            "coefficient_of_variation": self.variation,
            "p_value": self.p_value,
        }


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
    tails = special.gammainc(shape, place), special.gammaincc(shape, place)
    return float(min(1.0, 2.0 * min(tails)))


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
