"""The policies of a decision process beside bounds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from itertools import product
from typing import NamedTuple

import numpy as np

from analytic.machinery.decision_process import DecisionProcess, policy_iteration
from analytic.machinery.markov import closed_classes, stationary_sparse
from analytic.rules.bound import ALIKE, Bound, Point
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
    """A decision process with bounds.

    Attributes
    ----------
    process : DecisionProcess
        With the prices.
    bounds : sequence of Bound
    counted, total : sequence of Rate
        Each measure is their quotient in the long run.
    start : ndarray of int, optional
        A policy from which to search.
    """

    process: DecisionProcess
    bounds: Sequence[Bound]
    counted: Sequence[Rate]
    total: Sequence[Rate]
    start: IntArray | None = None
    _tried: dict[bytes, Policy | None] = field(default_factory=dict)

    def cheapest(self, multipliers: Array, of_cost: float = 1.0) -> tuple[Policy, float]:
        """The best policy for cost and prices of the excesses, and a bound below every one."""
        paid = self._cost.plus(of_cost - 1.0, self._cost)
        every = zip(self.bounds, self.counted, self.total, multipliers, strict=True)
        for bound, counted, total, multiplier in every:
            paid = paid.plus(float(multiplier), bound.excess_rate(counted, total))
        process = replace(self.process, costs=paid.states, option_costs=paid.options)
        solution = policy_iteration(process, self.start)
        point = self._at(solution.policy)
        assert point is not None  # policy iteration ends with one closed class
        return point, solution.lower

    def nearest(self, last: Policy) -> Policy:
        """The policy that was met last, where no mixture keeps the bounds."""
        return last

    def single(
        self, mixture: Sequence[Policy], multipliers: Array, /
    ) -> tuple[Policy | None, bool | None]:
        """The cheapest policy that keeps the bounds: of all where few, else near these."""
        best = min((each for each in mixture if each.keeps), key=_cost_of, default=None)
        if len(mixture) == 1:
            return best, True
        first = self.process.first
        numbers = np.diff(first)
        if np.log(numbers).sum() > math.log(_FEW):
            return self._nearby(mixture, multipliers, best), False
        for each in product(*map(range, numbers.tolist())):
            best = _cheaper(self._point(first[:-1] + np.array(each)), best)
        return best, True

    @property
    def _cost(self) -> Rate:
        return Rate(self.process.costs, self.process.option_costs)

    def _nearby(
        self, mixture: Sequence[Policy], multipliers: Array, best: Policy | None
    ) -> Policy | None:
        """The cheapest policy met on the way from those of the mixture, a decision at a time.

        First from where cost and prices of the excesses are least: no policy that keeps the bounds
        costs less than these together. Those of the mixture have them least of all.
        """
        waiting = [(each.priced(multipliers), n, each) for n, each in enumerate(mixture)]
        while waiting and len(self._tried) < _FEW:
            value, _, point = heappop(waiting)
            if best is not None and value >= best.cost:
                break
            for policy in _changes(point.rule, self.process.first):
                if policy.tobytes() in self._tried:
                    continue
                if len(self._tried) >= _FEW:
                    break
                found = self._point(policy)
                best = _cheaper(found, best)
                if found is not None and (best is None or found.priced(multipliers) < best.cost):
                    order = len(self._tried) + len(mixture)
                    heappush(waiting, (found.priced(multipliers), order, found))
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

        def mean(rate: Rate) -> float:
            return float(law @ rate.states + used @ rate.options[policy])

        counts = [
            (mean(one), mean(all_)) for one, all_ in zip(self.counted, self.total, strict=True)
        ]
        pairs = zip(self.bounds, counts, strict=True)
        excess = tuple(float(bound.excess(*each)) for bound, each in pairs)
        values = tuple(one / all_ if all_ else math.nan for one, all_ in counts)
        return Point(policy, mean(self._cost), excess, values)


def _cost_of(point: Policy) -> float:
    return point.cost


def _cheaper(point: Policy | None, than: Policy | None) -> Policy | None:
    """The point, if its policy keeps the bounds and costs less."""
    if point is None or not point.keeps:
        return than
    return point if than is None or point.cost < than.cost * (1 - ALIKE) else than


def _changes(policy: IntArray, first: IntArray) -> Iterator[IntArray]:
    """The policies that take another option in one decision."""
    for decision in range(len(policy)):
        for option in range(int(first[decision]), int(first[decision + 1])):
            if option != policy[decision]:
                changed = policy.copy()
                changed[decision] = option
                yield changed
