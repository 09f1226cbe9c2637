"""When a difference is significant, how small a one would be seen, and how many runs that takes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache, lru_cache

import numpy as np
import scipy

from scenarios.arrays import Array

FAMILY_ERROR = 1e-3
"""Probability that a family of true predictions is called wrong."""

POWER = 0.95
"""Probability with which a run sees an error of the size that it states."""

_SUFFICIENT = 0.9
"""Probability that the replications named for an inconclusive row do settle it."""

_STEP = 1.02
"""Numbers of replications are tried so far apart."""

_QUANTILES = 200
"""Points at which the distribution of a standard error is taken, by Gauss and Legendre's rule."""

_EXACT = 1e-12
"""Relative width at which a bisection ends."""

MOST_REPLICATIONS = 1_000_000
"""More replications than a simulation can make: whoever needs them needs `crawlsim rare`."""


class TooRareError(Exception):
    """No number of replications that a simulation can make shows the difference."""


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values, in the order given."""
    count = len(p_values)
    largest = 0.0
    adjusted = [0.0] * count
    for rank, index in enumerate(sorted(range(count), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (count - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def critical_value(degrees: int, size: int, sides: int = 2) -> float:
    """Standard errors beyond which a difference is significant in a family of a given size."""
    return float(scipy.special.stdtrit(degrees, 1 - FAMILY_ERROR / (sides * size)))


@lru_cache(maxsize=4096)
def visible_errors(degrees: int, size: int) -> float:
    """Smallest true difference, in standard errors, that a family of a given size would see.

    The noncentrality at which Student's noncentral t exceeds the critical value of the family with
    probability 0.95. It is found from the distribution of the estimated standard error, because the
    library's own inverse does not end at the critical values of very few degrees of freedom.

    Parameters
    ----------
    degrees : int
        Replications - 1.
    size : int
        Predictions in the family.
    """
    levels, weights = _levels()
    relative_errors = np.sqrt(scipy.special.gammaincinv(degrees / 2, levels) * 2 / degrees)
    needed = critical_value(degrees, size) * relative_errors
    low, high = 0.0, float(needed[-1]) + 10.0
    # Bisection: to import a library's root finder takes longer than the whole comparison.
    while high - low > _EXACT * high:
        middle = (low + high) / 2
        missed = float(scipy.special.ndtr(needed - middle) @ weights)
        low, high = (middle, high) if missed > 1 - POWER else (low, middle)
    return high


@cache
def _levels() -> tuple[Array, Array]:
    """Levels of a distribution function, and their weights in a mean over it."""
    nodes, weights = np.polynomial.legendre.leggauss(_QUANTILES)
    return (nodes + 1) / 2, weights / 2


def smallest_seen(reach: float, size: float = 1.0) -> float:
    """Difference that is seen, where one of `reach` would be if errors stayed the same.

    The standard error of a share grows with the square root of what it estimates: the difference d
    from a prediction of size p solves ``d = reach sqrt(1 + d / p)``.

    Parameters
    ----------
    reach : float
        In the unit of the measure.
    size : float
        The prediction, > 0.
    """
    half = reach / size / 2
    return reach * (half + math.hypot(1.0, half))


def replications_to_see(
    difference: float, error: float, end_effect: float, size: int, now: int, predicted: float = 1.0
) -> int | None:
    """Replications at which a difference is seen, whatever chance does, in 9 of 10 cases.

    The standard error is an estimate, too small as often as too large. The ratio of that of m
    replications to the present one follows Fisher's F. `crosscheck` and `law_check` ask for every
    row that is inconclusive, and `crawlsim/cli/output.py` prints the largest number (`_remedies`).

    Parameters
    ----------
    difference : float
        In the unit of the measure, as all that follows.
    error, end_effect : float
        The present standard error and the end effect of the window.
    size : int
        Predictions in the family.
    now : int
        The present number of replications.
    predicted : float
        The prediction, > 0.

    Returns
    -------
    int or None
        None where the ends of the window alone hide the difference, or the error is not finite.

    Raises
    ------
    TooRareError
        If more than `MOST_REPLICATIONS` would be needed.
    """
    room = difference * math.sqrt(predicted / (predicted + difference)) - end_effect
    if room <= 0 or not math.isfinite(error):
        return None

    def stepped(steps: int) -> int:
        return now + math.ceil(now * (_STEP**steps - 1))

    def suffice(count: int) -> bool:
        growth = float(scipy.special.fdtri(count - 1, now - 1, _SUFFICIENT))
        return visible_errors(count - 1, size) * error * math.sqrt(growth * now / count) <= room

    if not suffice(max(MOST_REPLICATIONS, now)):
        raise TooRareError
    low = 0
    high = 1
    while not suffice(stepped(high)):
        low = high
        high = 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if suffice(stepped(middle)) else (middle, high)
    return stepped(high)
