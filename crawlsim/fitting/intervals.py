"""Estimates with intervals: counts in known times, shares of trials, means, likelihoods."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
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
        Without a bound `high` is infinite.
    standard_error : float or None
        Where the method has one.
    """

    name: str
    subject: str | int | None
    estimate: float
    low: float
    high: float
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
    """The mean of a Poisson law at which the mid-P reaches a level, by bisection."""
    left = np.zeros_like(counts)
    right = counts + 10.0 * np.sqrt(counts + 1.0)
    for _ in range(_HALVINGS):
        mean = 0.5 * (left + right)
        at_least = np.where(counts > 0, special.gammainc(np.maximum(counts, 1.0), mean), 1.0)
        below = 0.5 * (at_least + special.gammainc(counts + 1, mean)) < level
        left = np.where(below, mean, left)
        right = np.where(below, right, mean)
    result: Array = 0.5 * (left + right)
    return result


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
    """Where the mid-P reaches a level, by bisection."""
    lost = trials - won
    left = np.zeros_like(won)
    right = np.ones_like(won)
    for _ in range(_HALVINGS):
        share = 0.5 * (left + right)
        at_least = np.where(won > 0, special.betainc(np.maximum(won, 1.0), lost + 1, share), 1.0)
        more = np.where(lost > 0, special.betainc(won + 1, np.maximum(lost, 1.0), share), 0.0)
        below = 0.5 * (at_least + more) < level
        left = np.where(below, share, left)
        right = np.where(below, right, share)
    result: Array = 0.5 * (left + right)
    return result


def mean_of_exponentials(values: Array, shape: int = 1) -> tuple[float, float, float]:
    """Mean of Erlang times of a known shape, with its exact 95 % interval.

    Notes
    -----
    ``2 shape n mean / true mean`` is chi-square with ``2 shape n`` degrees of freedom.
    """
    mean = float(values.mean())
    degrees = shape * len(values)
    ends = special.gammaincinv(degrees, [0.975, 0.025]) / degrees
    return mean, float(mean / ends[0]), float(mean / ends[1])


def jackknife(
    columns: Sequence[Array], statistic: Callable[[Array], float], blocks: int
) -> tuple[float, float, float, float]:
    """A function of means of a dependent series, with standard error and 95 % interval.

    Parameters
    ----------
    columns : sequence of ndarray, each of shape (length,)
        What is averaged.
    statistic : callable
        From the means, shape (columns,), to the number.
    blocks : int
        Number of stretches of which one at a time is left out.

    Returns
    -------
    estimate, standard_error, low, high : float

    Notes
    -----
    Künsch's jackknife of blocks: neighbours stay together, so dependence within a block counts.
    Student's t with blocks - 1 degrees of freedom.
    """
    length = len(columns[0])
    edges = np.linspace(0, length, blocks + 1).astype(int)
    sums = np.array([np.add.reduceat(each, edges[:-1]) for each in columns])
    total = sums.sum(axis=1)
    whole = statistic(total / length)
    counts = length - np.diff(edges)
    others = np.array([statistic(each) for each in ((total[:, None] - sums) / counts).T])
    error = float(np.sqrt((blocks - 1) / blocks * ((others - others.mean()) ** 2).sum()))
    reach = float(special.stdtrit(blocks - 1, 0.975)) * error
    return whole, error, whole - reach, whole + reach
