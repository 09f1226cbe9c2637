"""The best policy of a decision process subject to a bound on a long-run average.

The bound says that a rate, the excess, is 0 or less. It is priced: of all policies that keep it,
mixtures in long turns included, none costs less than the best policy for ``cost + multiplier ×
excess``, with any multiplier >= 0. That of the edge of the lower convex hull of the points
(excess, cost) at excess 0 gives the cheapest mixture, of two policies (Lagrange; Altman,
Constrained Markov Decision Processes, 1999, chapter 4).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import product
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from analytic.decision_process import DecisionProcess, Indices, policy_iteration
from analytic.markov import closed_classes, stationary_sparse
from scenarios.arrays import Array

_MOST = 100
_FEW = 2000
"""Policies up to which all are compared, and of which no more are tried where there are more."""

ALIKE = 1e-10
CHEAPER = 1e-9
"""Costs this close, relatively, are the same, and a mixture must be cheaper by so much."""


class Counted(NamedTuple):
    """What a bound is on.

    Attributes
    ----------
    rate : str
        What is counted per unit time: loss, obsolescence, starvation, robots, or served.
    share : bool
        Whether the measure is the share of the delivered pages, and not the rate.
    above : bool
        Whether it must be at least the value, and not at most.
    value : float
    """

    rate: str
    share: bool
    above: bool
    value: float


class Rate(NamedTuple):
    """What is counted: per unit time in each state, and at once with each option."""

    states: Array
    options: Array

    def plus(self, factor: float, other: Rate) -> Rate:
        """The sum with a multiple of another."""
        return Rate(self.states + factor * other.states, self.options + factor * other.options)


class Point(NamedTuple):
    """A policy, its cost per unit time, its excess, and the measure that is bounded."""

    policy: Indices
    cost: float
    excess: float
    value: float

    def priced(self, multiplier: float) -> float:
        """Cost and price of the excess."""
        return self.cost + multiplier * self.excess


class Priced(Protocol):
    """A policy with its cost and its excess over a bound, per unit time."""

    @property
    def cost(self) -> float:
        """What it costs."""

    @property
    def excess(self) -> float:
        """By how much it breaks the bound: 0 or less where it is kept."""

    def priced(self, multiplier: float) -> float:
        """Cost and price of the excess."""


Policy = TypeVar("Policy", bound=Priced)


def edge_of_hull(
    inside: Policy, outside: Policy, best: Callable[[float], Policy]
) -> tuple[Policy, Policy]:
    """The policies whose mixture is the cheapest of all that keep the bound on average.

    Parameters
    ----------
    inside : Policy
        One that keeps the bound.
    outside : Policy
        The cheapest of all, which breaks it.
    best : callable
        From a multiplier to the policy for which cost and price of the excess are least.

    Returns
    -------
    inside, outside : Policy
        The ends of the edge of the lower convex hull at excess 0.
    """
    for _ in range(_MOST):
        multiplier = (inside.cost - outside.cost) / (outside.excess - inside.excess)
        if multiplier <= 0:  # by rounding only: nothing is cheaper than without the bound
            break
        policy = best(multiplier)
        if policy.priced(multiplier) >= inside.priced(multiplier) - ALIKE * abs(inside.cost):
            break
        if policy.excess <= 0:
            inside = policy
        else:
            outside = policy
    return inside, outside


def share_of_first(edge: tuple[Priced, Priced]) -> float:
    """Of the time that the first policy of a mixture gets, which then meets the bound."""
    inside, outside = edge
    width = outside.excess - inside.excess
    return outside.excess / width if width > 0 else 1.0


def mixed_cost(edge: tuple[Priced, Priced]) -> float:
    """Cost per unit time of that mixture."""
    inside, outside = edge
    share = share_of_first(edge)
    return share * inside.cost + (1.0 - share) * outside.cost


class Found(NamedTuple):
    """What was found.

    Attributes
    ----------
    single : Point
        The cheapest policy known that keeps the bound.
    proved : bool
        Whether no other single one is cheaper.
    free_cost : float
        Of the best policy without the bound.
    edge : (Point, Point)
        The policies of the cheapest mixture; the same twice where one does.
    lower : float
        No policy that keeps the bound costs less, nor any mixture.
    """

    single: Point
    proved: bool
    free_cost: float
    edge: tuple[Point, Point]
    lower: float

    @property
    def share(self) -> float:
        """Of the time that the first policy of the mixture gets."""
        return share_of_first(self.edge)

    @property
    def mixed_cost(self) -> float:
        """Cost per unit time of the mixture."""
        return mixed_cost(self.edge)

    @property
    def is_mixed(self) -> bool:
        """Whether the mixture is cheaper than the single policy."""
        return self.mixed_cost < self.single.cost * (1 - CHEAPER) - 1e-12


class BrokenError(ValueError):
    """No policy keeps the bound; `nearest` comes nearest."""

    def __init__(self, nearest: Point) -> None:
        super().__init__("no policy keeps the bound")
        self.nearest = nearest


@dataclass(frozen=True)
class BoundedProcess:
    """A decision process with a bound.

    Attributes
    ----------
    process : DecisionProcess
        With the prices.
    counted, total : Rate
        The measure is their quotient in the long run.
    above : bool
        Whether it must be at least the value, and not at most.
    value : float
    """

    process: DecisionProcess
    counted: Rate
    total: Rate
    above: bool
    value: float

    def best(self, start: Indices | None = None) -> Found:
        """The cheapest policy that keeps the bound, and the cheapest mixture.

        Parameters
        ----------
        start : ndarray of int, optional
            A policy from which to search.

        Raises
        ------
        BrokenError
            If no policy keeps it.
        """
        return _Search(self, start).found()

    @property
    def excess(self) -> Rate:
        """By how much the bound is broken, per unit time: 0 or less where it is kept."""
        over = self.counted.plus(-self.value, self.total)
        return Rate(*(-part for part in over)) if self.above else over

    def priced(self, multiplier: float) -> DecisionProcess:
        """The process in which the excess has a price."""
        own = Rate(self.process.costs, self.process.option_costs).plus(multiplier, self.excess)
        return replace(self.process, costs=own.states, option_costs=own.options)

    def of_excess(self) -> DecisionProcess:
        """The process in which nothing else has one."""
        return replace(self.process, costs=self.excess.states, option_costs=self.excess.options)

    def point(self, policy: Indices) -> Point | None:
        """Cost and excess of a policy; None where they depend on the start."""
        generator = self.process.generator(policy)
        if len(closed_classes(generator)) != 1:
            return None
        law = stationary_sparse(generator)
        used = law @ self.process.decisions
        own = Rate(self.process.costs, self.process.option_costs)
        cost, counted, total = (
            float(law @ rate.states + used @ rate.options[policy])
            for rate in (own, self.counted, self.total)
        )
        excess = (counted - self.value * total) * (-1.0 if self.above else 1.0)
        kept = abs(excess) <= ALIKE * total
        return Point(policy, cost, 0.0 if kept else excess, counted / total if total else math.nan)


class _Search:
    """Points that are known, and the least bound that was met."""

    def __init__(self, bounded: BoundedProcess, start: Indices | None) -> None:
        self._bounded = bounded
        self._start = start
        self._lower = -math.inf
        self._tried: dict[bytes, Point | None] = {}

    def found(self) -> Found:
        """The edge of the hull at excess 0, and the single policy."""
        outside = self._optimum(self._bounded.process, below=True)
        free_cost = outside.cost
        if outside.excess <= 0:
            return Found(outside, True, free_cost, (outside, outside), self._lower)
        inside = self._optimum(self._bounded.of_excess())
        if inside.excess > 0:
            raise BrokenError(inside)
        edge = edge_of_hull(
            inside,
            outside,
            lambda multiplier: self._optimum(self._bounded.priced(multiplier), below=True),
        )
        single, proved = self._single(*edge)
        found = Found(single, proved, free_cost, edge, min(self._lower, single.cost))
        return found._replace(proved=proved or single.cost <= found.lower * (1 + CHEAPER))

    def _optimum(self, process: DecisionProcess, *, below: bool = False) -> Point:
        """The best policy; `below` says that no policy that keeps the bound costs less."""
        solution = policy_iteration(process, self._start)
        if below:
            self._lower = max(self._lower, solution.lower)
        point = self._bounded.point(solution.policy)
        assert point is not None  # policy iteration ends with one closed class
        return point

    def _single(self, inside: Point, outside: Point) -> tuple[Point, bool]:
        """The cheapest policy that keeps the bound: of all where they are few, else near these."""
        first = self._bounded.process.first
        numbers = np.diff(first)
        if np.log(numbers).sum() > math.log(_FEW):
            return self._nearby(inside, outside), False
        best = inside
        for each in product(*map(range, numbers.tolist())):
            best = _cheaper(self._point(first[:-1] + np.array(each)), best)
        return best, True

    def _nearby(self, inside: Point, outside: Point) -> Point:
        """The cheapest policy met on the way from those of the edge, a decision at a time.

        First from where cost and price of the excess are least: no policy that keeps the bound
        costs less than these two together. Those of the edge have them least of all.
        """
        width = outside.excess - inside.excess
        multiplier = max((inside.cost - outside.cost) / width, 0.0) if width > 0 else 0.0
        best = inside
        waiting = [(each.priced(multiplier), n, each) for n, each in enumerate((inside, outside))]
        while waiting and len(self._tried) < _FEW:
            value, _, point = heappop(waiting)
            if value >= best.cost:
                break
            for policy in _changes(point.policy, self._bounded.process.first):
                if policy.tobytes() in self._tried:
                    continue
                if len(self._tried) >= _FEW:
                    break
                found = self._point(policy)
                best = _cheaper(found, best)
                if found is not None and found.priced(multiplier) < best.cost:
                    heappush(waiting, (found.priced(multiplier), len(self._tried) + 2, found))
        return best

    def _point(self, policy: Indices) -> Point | None:
        key = policy.tobytes()
        if key not in self._tried:
            self._tried[key] = self._bounded.point(policy)
        return self._tried[key]


def _cheaper(point: Point | None, than: Point) -> Point:
    """The point, if its policy keeps the bound and costs less."""
    if point is None or point.excess > 0 or point.cost >= than.cost * (1 - ALIKE):
        return than
    return point


def _changes(policy: Indices, first: Indices) -> Iterator[Indices]:
    """The policies that take another option in one decision."""
    for decision in range(len(policy)):
        for option in range(int(first[decision]), int(first[decision + 1])):
            if option != policy[decision]:
                changed = policy.copy()
                changed[decision] = option
                yield changed
