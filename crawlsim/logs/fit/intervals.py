"""Estimates with 95 % intervals: rates of counts, shares of trials, means of dependent series.

Student's interval takes an estimate for normal, with an error that does not depend on it. Both
fail for skewed observations: where large values are rare, the estimate and its error are too small
together. Hall's transformation of the t-statistic takes the skewness out; logarithms and Fisher's z
take out most of what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from scenarios.arrays import Array

NORMAL_95 = 1.959963984540054
"""Quantile of the normal law for two-sided 95 % intervals."""

CHI_SQUARE_95 = NORMAL_95**2
"""Twice the drop of a log-likelihood at the ends of a 95 % interval of one parameter."""

_HALVINGS = 60


@dataclass(frozen=True, slots=True)
class Parameter:
    """A fitted number with its 95 % interval.

    Attributes
    ----------
    name : str
    subject : str, int or None
        A page, a piece of the week, a batch size; None for the whole.
    estimate, low, high : float
        Without a bound `high` is infinite; without an interval both ends are NaN.
    standard_error : float or None
        Where the method has one.
    """

    name: str
    subject: str | int | None
    estimate: float
    low: float = np.nan
    high: float = np.nan
    standard_error: float | None = None

    def record(self) -> dict[str, Any]:
        """The entries for JSON."""
        return {
            "parameter": self.name,
            "subject": self.subject,
            "estimate": self.estimate,
            "standard_error": self.standard_error,
            "low": self.low,
            "high": self.high,
        }


def parameters_of(
    name: str, subjects: Sequence[str | int], *columns: Array
) -> tuple[Parameter, ...]:
    """Parameters of one name: arrays of estimates, lower and upper ends, and standard errors."""
    rows = zip(subjects, *(each.tolist() for each in columns), strict=True)
    return tuple(Parameter(name, subject, *numbers) for subject, *numbers in rows)


def rates_of_counts(counts: ArrayLike, times: ArrayLike) -> tuple[Array, Array, Array]:
    """Rates of Poisson processes, with the ends of their 95 % intervals.

    Parameters
    ----------
    counts : array_like
        N, events in a time fixed beforehand.
    times : array_like
        T > 0.

    Returns
    -------
    rates, low, high : ndarray

    Notes
    -----
    N / T, and where ``P(more than N) + P(N) / 2`` is 0.025 and 0.975 (mid-P): the exact interval
    (Garwood) covers more than it says, Jeffreys' as little as 0.9. Without an event the interval
    begins with 0 and ends where that has the probability 0.05.
    """
    counts = np.asarray(counts, float)
    times = np.asarray(times, float)
    seen, back = np.unique(counts, return_inverse=True)
    low, high = (_mean_at(level, seen)[back].reshape(counts.shape) for level in (0.025, 0.975))
    low = np.where(counts > 0, low, 0.0)
    high = np.where(counts > 0, high, -np.log(0.05))
    return counts / times, low / times, high / times


def _mean_at(level: float, counts: Array) -> Array:
    """The mean of a Poisson law at which the mid-P reaches a level."""

    def mid_p(mean: Array) -> Array:
        at_least = np.where(counts > 0, special.gammainc(np.maximum(counts, 1.0), mean), 1.0)
        more = special.gammainc(counts + 1, mean)
        result: Array = 0.5 * (at_least + more)
        return result

    return _reaching(mid_p, level, np.zeros_like(counts), counts + 10.0 * np.sqrt(counts + 1.0))


def shares_by_mid_p(successes: ArrayLike, trials: ArrayLike) -> tuple[Array, Array]:
    """The ends of 95 % intervals of probabilities of independent trials, by the mid-P.

    Parameters
    ----------
    successes, trials : array_like
        X of n.

    Notes
    -----
    Where ``P(more than X) + P(X) / 2`` is 0.025 and 0.975: Clopper and Pearson's interval with half
    of the probability of what was seen (Lancaster 1961). 0 or 1 where all trials ended alike, and
    the other end then has ``share^n = 0.05``.
    """
    won, trials = np.broadcast_arrays(np.asarray(successes, float), np.asarray(trials, float))
    pairs, back = np.unique(np.stack([won, trials]).reshape(2, -1), axis=1, return_inverse=True)
    low, high = (_share_at(level, *pairs)[back].reshape(won.shape) for level in (0.025, 0.975))
    return np.where(won > 0, low, 0.0), np.where(won < trials, high, 1.0)


def _share_at(level: float, won: Array, trials: Array) -> Array:
    """The probability of a success at which the mid-P reaches a level."""
    lost = trials - won

    def mid_p(share: Array) -> Array:
        at_least = np.where(won > 0, special.betainc(np.maximum(won, 1.0), lost + 1, share), 1.0)
        more = np.where(lost > 0, special.betainc(won + 1, np.maximum(lost, 1.0), share), 0.0)
        return 0.5 * (at_least + more)

    return _reaching(mid_p, level, np.zeros_like(won), np.ones_like(won))


def _reaching(
    increasing: Callable[[Array], Array], level: float, left: Array, right: Array
) -> Array:
    """Where increasing functions, one per entry, reach a level, by bisection."""
    for _ in range(_HALVINGS):
        middle = 0.5 * (left + right)
        below = increasing(middle) < level
        left = np.where(below, middle, left)
        right = np.where(below, right, middle)
    return 0.5 * (left + right)


class Estimate(NamedTuple):
    """A number with the ends of its 95 % interval and its standard error."""

    value: float
    low: float
    high: float
    error: float


def skewed_mean(values: Array) -> Estimate:
    """Mean of independent observations, with Hall's interval.

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
    low, high = _deviations(values, error)
    return Estimate(mean, mean - high, mean - low, error)


def jackknife(
    columns: Sequence[Array], statistic: Callable[[Array], float], blocks: int
) -> Estimate:
    """A function of means of a dependent series.

    Parameters
    ----------
    columns : sequence of ndarray, each of shape (length,)
        What is averaged.
    statistic : callable
        From the means, shape (columns,), to the number.
    blocks : int
        Number of blocks of which one at a time is left out.

    Notes
    -----
    Künsch's jackknife of blocks: neighbours stay together, so dependence within a block counts.
    Student's t with blocks - 1 degrees of freedom.
    """
    whole, others, _ = _leave_one_out(columns, statistic, blocks)
    error = float(np.sqrt((blocks - 1) / blocks * ((others - others.mean()) ** 2).sum()))
    reach = float(special.stdtrit(blocks - 1, 0.975)) * error
    return Estimate(whole, whole - reach, whole + reach, error)


def positive_jackknife(
    columns: Sequence[Array], statistic: Callable[[Array], float], blocks: int
) -> Estimate:
    """A positive function of means of a dependent series.

    Parameters
    ----------
    columns, statistic, blocks
        As in `jackknife`.

    Notes
    -----
    Künsch's jackknife of blocks for the logarithm of the number, with Hall's transformation of its
    pseudo-values. Neighbours stay together, so that dependence counts which reaches no further
    than a block.
    """
    whole, pseudo = _pseudo_values(columns, lambda means: np.log(statistic(means)), blocks)
    error = float(pseudo.std(ddof=1) / np.sqrt(blocks))
    low, high = _deviations(pseudo, error)
    value = float(np.exp(whole))
    return Estimate(value, value * np.exp(-high), value * np.exp(-low), value * error)


def correlation_jackknife(
    columns: Sequence[Array], statistic: Callable[[Array], float], blocks: int
) -> Estimate:
    """A correlation of a dependent series, by Fisher's z.

    Parameters
    ----------
    columns, statistic, blocks
        As in `jackknife`; the statistic is between -1 and 1.

    Notes
    -----
    The error of z is at least 1 / root of the length, that of independent terms of any law: pairs
    of large values are so rare that the jackknife often sees none, and its intervals would then
    cover 0.85 to 0.9.
    """
    whole, pseudo = _pseudo_values(columns, lambda means: np.arctanh(statistic(means)), blocks)
    error = float(pseudo.std(ddof=1) / np.sqrt(blocks))
    least = 1.0 / np.sqrt(len(columns[0]))
    reach = max(special.stdtrit(blocks - 1, 0.975) * error, NORMAL_95 * least)
    value = float(np.tanh(whole))
    widened = max(error, least) * (1.0 - value**2)
    return Estimate(value, float(np.tanh(whole - reach)), float(np.tanh(whole + reach)), widened)


def _leave_one_out(
    columns: Sequence[Array], statistic: Callable[[Array], float], blocks: int
) -> tuple[float, Array, NDArray[np.int64]]:
    """The statistic of all, that without each block, and the lengths of the blocks."""
    length = len(columns[0])
    edges = np.linspace(0, length, blocks + 1).astype(int)
    sums = np.array([np.add.reduceat(each, edges[:-1]) for each in columns])
    total = sums.sum(axis=1)
    lengths = np.diff(edges)
    without = ((total[:, None] - sums) / (length - lengths)).T
    return float(statistic(total / length)), np.array([statistic(m) for m in without]), lengths


def _pseudo_values(
    columns: Sequence[Array], statistic: Callable[[Array], float], blocks: int
) -> tuple[float, Array]:
    """The statistic of all, and what each block adds to it."""
    whole, others, lengths = _leave_one_out(columns, statistic, blocks)
    weight = len(columns[0]) / lengths
    return whole, weight * whole - (weight - 1) * others


def _deviations(values: Array, error: float) -> tuple[float, float]:
    """Deviations of the mean of the values from its true one that bound 95 % of its law."""
    number = len(values)
    spread = values - values.mean()
    tilt = float((spread**3).mean() / (spread**2).mean() ** 1.5 / np.sqrt(number))
    reach = float(special.stdtrit(number - 1, 0.975))
    if abs(tilt) < 1e-6:
        return -reach * error, reach * error
    low, high = (
        float(3.0 / tilt * (np.cbrt(1.0 + tilt * (end - tilt / 6.0)) - 1.0)) * error
        for end in (-reach, reach)
    )
    return low, high
