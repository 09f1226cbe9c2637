"""The policies of a decision process beside a bound."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from itertools import product
from typing import NamedTuple

import numpy as np

from analytic.machinery.decision_process import DecisionProcess, policy_iteration
from analytic.machinery.markov import closed_classes, stationary_sparse
from analytic.rules.bound import ALIKE, Bound, Edge, Point
from scenarios.arrays import Array, IntArray

_FEW = 2000
"""Policies up to which all are compared, and of which no more are tried where there are more."""

Policy = Point[IntArray]


class Rate(NamedTuple):
    """What is counted: per unit time in each state, and at once with each option."""

    states: Array
    options: Array

    def plus(self, factor: float, other: Rate) -> Rate:
        """The sum with a multiple of another."""
        return Rate(self.states + factor * other.states, self.options + factor * other.options)


@dataclass(frozen=True, eq=False)
class BoundedProcess:
    """A decision process with a bound.

    Attributes
    ----------
    process : DecisionProcess
        With the prices.
    bound : Bound
    counted, total : Rate
        The measure is their quotient in the long run.
    start : ndarray of int, optional
        A policy from which to search.
    """

    process: DecisionProcess
    bound: Bound
    counted: Rate
    total: Rate
    start: IntArray | None = None
    _tried: dict[bytes, Policy | None] = field(default_factory=dict)

    def cheapest(self, multiplier: float) -> tuple[Policy, float]:
        """The best policy for cost and price of the excess, and a bound below every one."""
        return self._optimum(self._cost.plus(multiplier, self._excess))

    def nearest(self) -> Policy:
        """The policy with the least excess."""
        return self._optimum(self._excess)[0]

    def single(self, edge: Edge[IntArray], /) -> tuple[Policy, bool | None]:
        """The cheapest policy that keeps the bound: of all where they are few, else near these."""
        inside, outside = edge
        if inside is outside:
            return inside, True
        first = self.process.first
        numbers = np.diff(first)
        if np.log(numbers).sum() > math.log(_FEW):
            return self._nearby(inside, outside), False
        best = inside
        for each in product(*map(range, numbers.tolist())):
            best = _cheaper(self._point(first[:-1] + np.array(each)), best)
        return best, True

    @property
    def _cost(self) -> Rate:
        return Rate(self.process.costs, self.process.option_costs)

    @property
    def _excess(self) -> Rate:
        return self.bound.excess_rate(self.counted, self.total)

    def _optimum(self, paid: Rate) -> tuple[Policy, float]:
        """The best policy where this is what it costs, and a bound below every one."""
        process = replace(self.process, costs=paid.states, option_costs=paid.options)
        solution = policy_iteration(process, self.start)
        point = self._at(solution.policy)
        assert point is not None  # policy iteration ends with one closed class
        return point, solution.lower

    def _nearby(self, inside: Policy, outside: Policy) -> Policy:
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
            for policy in _changes(point.rule, self.process.first):
                if policy.tobytes() in self._tried:
                    continue
                if len(self._tried) >= _FEW:
                    break
                found = self._point(policy)
                best = _cheaper(found, best)
                if found is not None and found.priced(multiplier) < best.cost:
                    heappush(waiting, (found.priced(multiplier), len(self._tried) + 2, found))
        return best

    def _point(self, policy: IntArray) -> Policy | None:
        key = policy.tobytes()
        if key not in self._tried:
            self._tried[key] = self._at(policy)
        return self._tried[key]

    def _at(self, policy: IntArray) -> Policy | None:
        """Cost and excess of a policy; None where they depend on the start."""
        generator = self.process.generator(policy)
        if len(closed_classes(generator)) != 1:
            return None
        law = stationary_sparse(generator)
        used = law @ self.process.decisions
        cost, counted, total = (
            float(law @ rate.states + used @ rate.options[policy])
            for rate in (self._cost, self.counted, self.total)
        )
        excess = float(self.bound.excess(counted, total))
        return Point(policy, cost, excess, counted / total if total else math.nan)


def _cheaper(point: Policy | None, than: Policy) -> Policy:
    """The point, if its policy keeps the bound and costs less."""
    if point is None or point.excess > 0 or point.cost >= than.cost * (1 - ALIKE):
        return than
    return point


def _changes(policy: IntArray, first: IntArray) -> Iterator[IntArray]:
    """The policies that take another option in one decision."""
    for decision in range(len(policy)):
        for option in range(int(first[decision]), int(first[decision + 1])):
            if option != policy[decision]:
                changed = policy.copy()
                changed[decision] = option
                yield changed
