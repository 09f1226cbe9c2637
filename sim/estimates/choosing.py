"""Choosing the best of some systems by replications that are drawn as they are needed.

The procedure is sequential: after each look it drops systems that cannot be better than another
one by more than an indifference, and draws further replications of the others only. It is proved
(docs/theory/choosing.md) for normal replications with any correlation between the systems, such as
that of common random numbers, whatever their means are: with probability at least the confidence no
system is better than the chosen one by more than the indifference.

The boundary is the straight line of Paulson (1964), with the variances of differences that the
first stage shows, as in the procedure KN of Kim and Nelson (2001). KN is proved where the best
system is ahead by at least the indifference; so that the promise holds without that, the line is
never closed, and a system is weighed again when what dropped it is dropped itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from scenarios.arrays import Array
from sim.estimates.jackknife import jackknife_error, t_quantile
from sim.estimates.paired import Estimated

LEAST_REPLICATIONS = 10
"""Of the first stage, and between two looks: a variance from fewer makes the boundary wide."""

MOST_REPLICATIONS = 1000
"""Of a system at which it is given up, unless told otherwise."""

_GROWTH = 5
"""A stage adds a fifth of the replications that are there."""

More = Callable[[Sequence[int], int, int], Sequence[Array]]
"""The values of some systems in the replications from the one to before the other."""


@dataclass(frozen=True, slots=True)
class Indifference:
    """What is promised: the size of a difference that does not matter, and how surely.

    Attributes
    ----------
    size : float
        In the unit of the values; above 0.
    confidence : float
        At least the probability that no system is better than the chosen one by more than that.
    most : int
        Replications of a system at which it is given up.
    """

    size: float
    confidence: float
    most: int


@dataclass(frozen=True, slots=True)
class Choice:
    """The chosen system and what is known of the others.

    Attributes
    ----------
    index : int
        The system that is chosen.
    counts : tuple of int
        Replications of each system.
    estimates : tuple of float
        The mean of each over its own replications.
    margins : tuple of float
        By how much each may be better than the chosen one; below 0: by how much it is worse at
        least. All of them hold together with the confidence, for the system that is truly best;
        -inf for the chosen one itself.
    is_settled : bool
        Whether no margin is above the indifference; else the limit of replications came first.
    """

    index: int
    counts: tuple[int, ...]
    estimates: tuple[float, ...]
    margins: tuple[float, ...]
    is_settled: bool

    @property
    def margin(self) -> float:
        """By how much another system may be better at most; 0 where the chosen one is best."""
        return max(0.0, *self.margins)

    @property
    def rivals(self) -> tuple[int, ...]:
        """The systems, besides the chosen one, that may be the best."""
        return tuple(n for n, margin in enumerate(self.margins) if margin > 0)


def next_look(count: int) -> int:
    """Replications at the next look; the same for every sweep."""
    return count + max(LEAST_REPLICATIONS, count // _GROWTH)


def squared_constant(systems: int, first: int, confidence: float) -> float:
    """The constant h² of the boundary: (h S / indifference)² replications decide at the latest.

    Parameters
    ----------
    systems : int
        At least 2.
    first : int
        Replications of the first stage.
    confidence : float
    """
    degrees = first - 1
    error = (1.0 - confidence) / (systems - 1)
    return float(degrees * (error ** (-2.0 / degrees) - 1.0))


def choose(
    first: Sequence[Array],
    more: More,
    rule: Indifference,
    unseen: Sequence[float] | None = None,
    look: Callable[[int], int] = next_look,
) -> Choice:
    """Choose the system with the least mean.

    Parameters
    ----------
    first : sequence of ndarray, shape (replications,)
        The values of each system in the first stage.
    more : callable
        Called with (systems, start, stop): their values in the replications from start to before
        stop. Every system is asked for the same stages, one after the other.
    rule : Indifference
    unseen : sequence of float, optional
        Of each system a standard deviation that the first stage could not show, such as that of
        a loss that was never seen; default 0.
    look : callable, optional
        From the replications at one look to those at the next.
    """
    race = Race(np.array(first), rule, np.array(unseen if unseen else np.zeros(len(first))))
    while True:
        left = race.left()
        count = min(race.count_of(n) for n in left)
        stop = look(count)
        if len(left) == 1 or stop > rule.most:
            return race.choice(left)
        behind = [n for n in left if race.count_of(n) == count]
        race.add(stop, dict(zip(behind, more(behind, count, stop), strict=True)))


def unseen_deviation(estimated: Estimated, low: float, high: float) -> float:
    """The standard deviation of a number that every replication shows alike, as 0 for example.

    Where nothing was seen, the interval of the estimate, from low to high, says how much may be
    there all the same. 0 where replications differ: then they show it.
    """
    if jackknife_error(estimated.leave_one_out) > 0:
        return 0.0
    count = len(estimated.leave_one_out)
    reach = max(high - estimated.estimate, estimated.estimate - low)
    return float(math.sqrt(count) * reach / t_quantile(count - 1))


class Race:
    """What was seen so far, look by look.

    Parameters
    ----------
    first : ndarray, shape (systems, replications)
        The values of the first stage.
    rule : Indifference
    unseen : ndarray, shape (systems,)
    """

    def __init__(self, first: Array, rule: Indifference, unseen: Array) -> None:
        self.first = first
        self.rule = rule
        self.unseen = unseen
        systems, count = first.shape
        self.square = squared_constant(systems, count, rule.confidence) if systems > 1 else 0.0
        self.means: dict[int, Array] = {count: first.mean(axis=1)}
        """By the replications at each look the mean of each system; nan where it was not there."""

    def add(self, stop: int, values: dict[int, Array]) -> None:
        """What some systems gave in a stage, by the replications at its end."""
        means = self.means.setdefault(stop, np.full(len(self.first), math.nan))
        for system, new in values.items():
            before = stop - len(new)
            means[system] = (before * self.means[before][system] + new.sum()) / stop

    def count_of(self, system: int) -> int:
        """The replications of a system."""
        there = ((count, means[system]) for count, means in self.means.items())
        return max(count for count, mean in there if not math.isnan(mean))

    def estimates(self) -> Array:
        """The mean of each system over all its replications."""
        latest: Array = next(iter(self.means.values()))
        for _, means in sorted(self.means.items()):
            latest = np.where(np.isnan(means), latest, means)
        return latest

    def left(self) -> list[int]:
        """The systems in the race, the best mean first; one alone is the answer.

        A system is dropped by one with a better mean that stays itself, and that it cannot surpass
        by more than the indifference. Nothing is remembered: where the other is dropped later, the
        system is weighed again.
        """
        waiting = np.argsort(self.estimates(), kind="stable")
        left = []
        while len(waiting):
            leader = int(waiting[0])
            others = waiting[1:]
            left.append(leader)
            waiting = others[self.margins(leader)[others] > self.rule.size]
        return left

    def margins(self, chosen: int) -> Array:
        """By how much each system may be better than one of them, by the tightest of all looks."""
        sizes, deciding = self._lines(chosen)
        margins = np.full(len(self.first), math.inf)
        for count, means in self.means.items():
            reach = sizes / 2 * (deciding / count + 1)
            margins = np.fmin(margins, means[chosen] - means + reach)
        margins[chosen] = -math.inf
        return margins

    def _lines(self, chosen: int) -> tuple[Array, Array]:
        """The boundaries between one system and each other one.

        Twice their slope, and how many replications decide within that at the latest. It is the
        indifference, or what the limit of replications can decide where that is more: a line that
        is far too flat says nothing until long after the limit.
        """
        variances = (self.first - self.first[chosen]).var(axis=1, ddof=1)
        hidden = self.unseen**2 + self.unseen[chosen] ** 2
        spread = self.square * np.maximum(variances, hidden)
        sizes: Array = np.maximum(self.rule.size, np.sqrt(spread / self.rule.most))
        deciding: Array = np.ceil((np.sqrt(spread) / sizes) ** 2)
        return sizes, np.maximum(deciding, self.first.shape[1])

    def choice(self, left: Sequence[int]) -> Choice:
        """The one that is left, or that which the others can surpass least."""
        margins = {n: self.margins(n) for n in left}
        index = min(left, key=lambda n: (float(margins[n].max()), n))
        return Choice(
            index=index,
            counts=tuple(self.count_of(n) for n in range(len(self.first))),
            estimates=tuple(self.estimates().tolist()),
            margins=tuple(margins[index].tolist()),
            is_settled=len(left) == 1,
        )
