"""Comparing systems that were simulated with the same random numbers.

Replication for replication two systems share their streams, so their estimates move together and
the difference of the two is known better than either. Its standard error is the jackknife's, from
the differences with one replication left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scenarios.arrays import Array
from sim.estimates.jackknife import jackknife_error, t_quantile

_CONFIDENCE = 0.95
_ROUNDING = 1e-14


@dataclass(frozen=True, slots=True)
class Estimated:
    """One estimate of one system.

    Attributes
    ----------
    estimate : float
    leave_one_out : ndarray, shape (replications,)
        The estimate with one replication left out at a time.
    """

    estimate: float
    leave_one_out: Array

    def times(self, factor: int) -> Estimated:
        """The same of another quantity, a multiple of this one."""
        return Estimated(factor * self.estimate, factor * self.leave_one_out)

    @property
    def pseudo_values(self) -> Array:
        """The jackknife's value of each replication: their mean is the jackknife's estimate."""
        count = len(self.leave_one_out)
        return count * self.estimate - (count - 1) * self.leave_one_out


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference of two estimates, its standard error and 95 % interval; nan if undefined."""

    difference: float
    standard_error: float
    low: float
    high: float
    degrees: int

    @property
    def is_tie(self) -> bool:
        """Whether nothing at all was seen to differ."""
        return self.difference == 0 and not self.standard_error > 0

    @property
    def doubt(self) -> float:
        """The one-sided p-value of the hypothesis that the true difference is below 0.

        That of Student's t; 1/2 where nothing distinguishes the two.
        """
        from scipy.special import stdtr

        if math.isnan(self.standard_error):
            return 0.5
        if self.standard_error == 0:
            return 0.5 if self.difference == 0 else float(self.difference < 0)
        return float(stdtr(self.degrees, -self.difference / self.standard_error))


@dataclass(frozen=True, slots=True)
class Best:
    """Which system has the least estimate, and which others may be the best all the same.

    Attributes
    ----------
    index : int
        Of the system with the least estimate; of equal ones the first.
    confidence : float
        The highest level of confidence at which it has no rivals, never below 0. At most a share
        alpha of all comparisons name a system that is not the best with a confidence of 1 - alpha
        or more. It is not the share of right names among those that are so confident: of equal
        systems half of these names are wrong.
    rivals : tuple of int
        The systems that are not told apart from it. With probability at least the level asked for
        the best system is `index` or one of them.
    ties : tuple of int
        Those among the rivals whose every replication is the same, such as counts of events that
        were never seen.
    """

    index: int
    confidence: float
    rivals: tuple[int, ...]
    ties: tuple[int, ...] = ()


def paired_difference(one: Estimated, other: Estimated) -> Difference:
    """How much larger `one` is than `other`, with its error.

    Where the two have different numbers of replications, the errors are added as if they were
    independent; common random numbers make that too large rather than too small.

    Parameters
    ----------
    one, other : Estimated
    """
    difference = _rounded(one.estimate - other.estimate, one, other)
    counts = len(one.leave_one_out), len(other.leave_one_out)
    if counts[0] == counts[1]:
        error = float(jackknife_error(one.leave_one_out - other.leave_one_out))
    else:
        errors = [float(jackknife_error(each.leave_one_out)) for each in (one, other)]
        error = math.hypot(*errors)
    error = _rounded(error, one, other)
    degrees = min(counts) - 1
    half = t_quantile(degrees) * error
    return Difference(difference, error, difference - half, difference + half, degrees)


def _rounded(value: float, one: Estimated, other: Estimated) -> float:
    """A value that is not 0 only because of the last bits of the two estimates is 0."""
    scale = max(abs(one.estimate), abs(other.estimate))
    return 0.0 if abs(value) <= _ROUNDING * scale else value


def best_of(systems: Sequence[Estimated], level: float = _CONFIDENCE) -> Best | None:
    """The system with the least estimate, and its rivals; None where no estimate is defined.

    A system is not a rival where Student's t of its paired difference is significant at
    (1 - level) / (systems - 1). The best system is wrongly left out only if it lies so far above
    one of the systems - 1 others, each of which happens with at most that probability: so the level
    is kept (Bonferroni) whatever the truth is, and although the data say which system has the least
    estimate. This is the screening of Nelson, Swann, Goldsman and Song (2001), against one system.

    Parameters
    ----------
    systems : sequence of Estimated
        A system whose estimate is undefined is not a rival.
    level : float
        The confidence with which the best is the one with the least estimate or a rival.
    """
    estimates = np.array([each.estimate for each in systems])
    if np.isnan(estimates).all():
        return None
    index = int(np.nanargmin(estimates))
    differences = {
        other: paired_difference(each, systems[index])
        for other, each in enumerate(systems)
        if other != index and not math.isnan(each.estimate)
    }
    doubts = {other: len(differences) * each.doubt for other, each in differences.items()}
    rivals = tuple(other for other, doubt in doubts.items() if doubt > 1 - level)
    ties = tuple(other for other, each in differences.items() if each.is_tie)
    return Best(index, max(0.0, 1.0 - max(doubts.values(), default=0.0)), rivals, ties)
