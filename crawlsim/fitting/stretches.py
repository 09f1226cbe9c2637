"""Intervals of means, and of functions of means, whose law is skewed or whose terms depend.

The interval of Student takes an estimate for normal with an error that does not depend on it. Both
fail for skewed observations: with large values that come seldom, the estimate and its error are
too small together. Hall's transformation of the t-statistic takes the skewness out; logarithms and
Fisher's z take out most of what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy import special

from crawlsim.fitting.intervals import NORMAL_95
from scenarios.arrays import Array


class Estimate(NamedTuple):
    """A number with its standard error and the ends of its 95 % interval."""

    value: float
    error: float
    low: float
    high: float


def skewed_mean(values: Array) -> Estimate:
    """Mean of independent observations.

    Parameters
    ----------
    values : ndarray
        At least three.

    Notes
    -----
    Hall (Journal of the Royal Statistical Society B, 1992): of the t-statistic T and the skewness
    g the cubic ``T + a T^2 / 3 + a^2 T^3 / 27 + a / 6``, a = g / root n, is normal to a higher
    order and increases with T; its ends are taken from Student's law.
    """
    mean = float(values.mean())
    error = float(values.std(ddof=1) / np.sqrt(len(values)))
    low, high = _ends(values, error)
    return Estimate(mean, error, mean - high, mean - low)


def of_stretches(
    columns: Sequence[Array], statistic: Callable[[Array], float], stretches: int
) -> Estimate:
    """A positive function of means of a dependent series.

    Parameters
    ----------
    columns : sequence of ndarray, each of shape (length,)
        What is averaged.
    statistic : callable
        From the means, shape (columns,), to the number.
    stretches : int
        Number of stretches of which one at a time is left out.

    Notes
    -----
    Künsch's jackknife of blocks for the logarithm of the number, with Hall's transformation of its
    pseudo-values. Neighbours stay together, so dependence counts that does not reach further than
    a stretch.
    """
    whole, pseudo = _pseudo_values(columns, lambda means: np.log(statistic(means)), stretches)
    error = float(pseudo.std(ddof=1) / np.sqrt(stretches))
    low, high = _ends(pseudo, error)
    value = float(np.exp(whole))
    return Estimate(value, value * error, value * np.exp(-high), value * np.exp(-low))


def correlation_of_stretches(
    columns: Sequence[Array], statistic: Callable[[Array], float], stretches: int
) -> Estimate:
    """A correlation of a dependent series, by Fisher's z.

    Parameters
    ----------
    columns, statistic, stretches
        As in `of_stretches`; the statistic is between -1 and 1.

    Notes
    -----
    The error of z is not taken for less than 1 / root of the length, that of independent terms of
    any law: pairs of large values are so seldom that the jackknife often sees none, and its
    intervals would then cover 0.85 to 0.9.
    """
    whole, pseudo = _pseudo_values(columns, lambda means: np.arctanh(statistic(means)), stretches)
    error = float(pseudo.std(ddof=1) / np.sqrt(stretches))
    least = 1.0 / np.sqrt(len(columns[0]))
    reach = max(special.stdtrit(stretches - 1, 0.975) * error, NORMAL_95 * least)
    value = float(np.tanh(whole))
    widened = max(error, least) * (1.0 - value**2)
    return Estimate(value, widened, float(np.tanh(whole - reach)), float(np.tanh(whole + reach)))


def _pseudo_values(
    columns: Sequence[Array], statistic: Callable[[Array], float], stretches: int
) -> tuple[float, Array]:
    """The statistic of all, and what each stretch adds to it."""
    length = len(columns[0])
    edges = np.linspace(0, length, stretches + 1).astype(int)
    sums = np.array([np.add.reduceat(each, edges[:-1]) for each in columns])
    total = sums.sum(axis=1)
    counts = np.diff(edges)
    whole = float(statistic(total / length))
    others = np.array([statistic(each) for each in ((total[:, None] - sums) / (length - counts)).T])
    weight = length / counts
    pseudo: Array = weight * whole - (weight - 1) * others
    return whole, pseudo


def _ends(values: Array, error: float) -> tuple[float, float]:
    """Deviations of the mean of the values from its true one that bound 95 % of its law."""
    number = len(values)
    spread = values - values.mean()
    tilt = float((spread**3).mean() / (spread**2).mean() ** 1.5 / np.sqrt(number))
    high = float(special.stdtrit(number - 1, 0.975))
    low, high = (_untilted(end, tilt) * error for end in (-high, high))
    return low, high


def _untilted(end: float, tilt: float) -> float:
    """The t-statistic whose transformed value is given."""
    if abs(tilt) < 1e-6:
        return end
    return float(3.0 / tilt * (np.cbrt(1.0 + tilt * (end - tilt / 6.0)) - 1.0))
