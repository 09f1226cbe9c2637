"""The best switching rule subject to a bound on a measure (talim2001, with a constraint).

The bound is priced: of all rules that keep it, mixtures in long turns included, none costs less
than the best rule for ``cost + multiplier × excess``, with any multiplier >= 0. The multiplier is
that of the edge of the lower convex hull of the points (excess, cost) at excess 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from analytic.bounded_process import (
    ALIKE,
    CHEAPER,
    Counted,
    edge_of_hull,
    mixed_cost,
    share_of_first,
)
from analytic.optimum import NoOptimumError, NoRuleError
from analytic.robot_control.optimal_targets import solved
from analytic.robot_control.switched_queue import Rewards, SwitchedQueue
from analytic.robot_control.switching import Indices, SwitchingSearch, check_size, queue_of
from analytic.robot_control.target_rules import RuleMeasures, measures_of_targets
from scenarios import Scenario
from scenarios.sections import Costs

_BETWEEN = 65
_FEW = 1000
_MOST_TRIED = 2000
"""Lists of targets up to which all are compared, and that are tried elsewhere."""


def measure_of(limit: Counted, rule: RuleMeasures, queue: SwitchedQueue) -> float:
    """The measure that is bounded, under a rule."""
    counted = {
        "loss": rule.loss_rate,
        "obsolescence": rule.obsolescence_rate,
        "starvation": rule.starvation,
        "robots": rule.mean_active,
        "served": rule.throughput,
    }[limit.rate]
    return counted / (queue.modes.rates[0] * rule.mean_active) if limit.share else counted


def excess_of(limit: Counted, queue: SwitchedQueue) -> Rewards:
    """By how much the bound is broken, per unit time: 0 or less where it is kept."""
    total = queue.rewards(delivery=1.0) if limit.share else queue.rewards(level=1.0)
    sign = -1.0 if limit.above else 1.0
    priced = queue.rewards().plus(sign, queue.counted[limit.rate])
    return priced.plus(-sign * limit.value, total)


class _Rule(NamedTuple):
    """A rule, its cost, its excess over the bound, and its measures."""

    targets: Indices
    cost: float
    excess: float
    measures: RuleMeasures

    def priced(self, multiplier: float) -> float:
        return self.cost + multiplier * self.excess


class SwitchingMixture(NamedTuple):
    """Two rules in long turns, the share of the time of the first, and the cost per unit time."""

    rules: tuple[SwitchingSearch, SwitchingSearch]
    share: float
    cost: float


@dataclass(frozen=True)
class BoundedSwitching:
    """The best rule found that keeps a bound.

    Attributes
    ----------
    search : SwitchingSearch
        Its lower bound holds for all rules, and mixtures of rules, that keep the bound.
    value, free_cost : float
        The measure under the rule, and the cost of the best rule without the bound.
    mixture : SwitchingMixture or None
        The cheapest one that keeps the bound on average; None where it is no cheaper.
    """

    search: SwitchingSearch
    value: float
    free_cost: float
    mixture: SwitchingMixture | None


def switching_within(scenario: Scenario, bounded: Counted) -> BoundedSwitching:
    """The targets of least cost that keep a bound.

    Parameters
    ----------
    scenario : Scenario
    bounded : Counted

    Returns
    -------
    BoundedSwitching
        Its mixture and lower bound are the best possible. A single rule may lie between the two of
        the mixture, where no multiplier leads: all lists of targets are compared where there are at
        most 1,000; else it is the best that a search near the two meets.

    Raises
    ------
    NoOptimumError
        If no rule keeps the bound, if the mean response has a price, or as `best_switching`.
    """
    queue = queue_of(scenario)
    costs = scenario.prices
    if costs.response:
        raise NoOptimumError("a bound does not go with a price of the mean response")
    check_size(queue, costs)
    problem = _Problem(queue, costs, bounded)
    inside, outside = problem.edge()
    single = problem.improved(inside, outside)
    bound = min(max(problem.lower, 0.0), single.cost)

    def search(rule: _Rule) -> SwitchingSearch:
        name, unit = scenario.name, scenario.time_unit
        return SwitchingSearch(name, unit, queue, costs, rule.targets, bound)

    edge = inside, outside
    cost = mixed_cost(edge)
    mixture = SwitchingMixture((search(inside), search(outside)), share_of_first(edge), cost)
    return BoundedSwitching(
        search(single),
        measure_of(bounded, single.measures, queue),
        problem.free_cost,
        mixture if cost < single.cost * (1 - CHEAPER) else None,
    )


class _Problem:
    """The rules of a queue, with their costs and their excess over a bound."""

    def __init__(self, queue: SwitchedQueue, costs: Costs, bounded: Counted) -> None:
        self._queue = queue
        self._costs = costs
        self._bounded = bounded
        self._base = queue.costs(costs)
        self._extra = excess_of(bounded, queue)
        self._tried: dict[bytes, _Rule | None] = {}
        self.lower = 0.0
        self.free_cost = 0.0

    def edge(self) -> tuple[_Rule, _Rule]:
        """The rules on both sides of the bound whose mixture is the best; twice one if that is."""
        outside = self._best(self._base, priced=True)
        self.free_cost = outside.cost
        if outside.excess <= 0:
            return outside, outside
        inside = self._best(self._extra)
        if inside.excess > 0:
            value = measure_of(self._bounded, inside.measures, self._queue)
            nearest = f"the nearest, targets = {inside.targets.tolist()}, has {value:.6g}"
            raise NoRuleError(f"no rule of this kind keeps it; {nearest}")
        return edge_of_hull(
            inside,
            outside,
            lambda multiplier: self._best(self._base.plus(multiplier, self._extra), priced=True),
        )

    def improved(self, inside: _Rule, outside: _Rule) -> _Rule:
        """A cheaper rule that keeps the bound: of all where they are few, else near these two."""
        best = inside
        levels = self._queue.levels.number
        targets = self._queue.modes.available + 1
        if levels * math.log(targets) <= math.log(_FEW):
            for each in product(range(targets), repeat=levels):
                best = self._better(np.array(each), best)
            return best
        step = outside.targets - inside.targets
        for share in np.linspace(0.0, 1.0, _BETWEEN):
            best = self._better(np.rint(inside.targets + share * step).astype(int), best)
        before = None
        while best is not before and len(self._tried) < _MOST_TRIED:
            before = best
            for changes in _changes(levels):
                best = self._better(best.targets + changes, best)
        return best

    def _better(self, targets: Indices, than: _Rule) -> _Rule:
        if targets[0] < 1 or targets.min() < 0 or targets.max() > self._queue.modes.available:
            return than
        key = targets.tobytes()
        if key not in self._tried and len(self._tried) >= _MOST_TRIED:
            return than
        if key not in self._tried:
            try:
                self._tried[key] = self._rule(targets)
            except ValueError:  # the chain falls into two parts
                self._tried[key] = None
        rule = self._tried[key]
        if rule is None or rule.excess > 0 or rule.cost >= than.cost * (1 - ALIKE):
            return than
        return rule

    def _best(self, rewards: Rewards, *, priced: bool = False) -> _Rule:
        """The best rule for a reward; if that prices the bound, none that keeps it is below."""
        solution = solved(self._queue, rewards)
        if priced:
            self.lower = max(self.lower, solution.lower)
        return self._rule(solution.targets)

    def _rule(self, targets: Indices) -> _Rule:
        measures = measures_of_targets(self._queue, targets)
        total = self._queue.modes.rates[0] * measures.mean_active if self._bounded.share else 1.0
        over = (measure_of(self._bounded, measures, self._queue) - self._bounded.value) * total
        excess = -over if self._bounded.above else over
        if abs(excess) <= ALIKE * total:
            excess = 0.0
        return _Rule(targets, measures.cost(self._costs), excess, measures)


def _changes(levels: int) -> Iterator[Indices]:
    """One target, or two, larger or smaller by one."""
    units = np.eye(levels, dtype=int)
    for first in range(levels):
        for sign in (1, -1):
            yield sign * units[first]
            for second in range(first):
                yield sign * (units[first] + units[second])
                yield sign * (units[first] - units[second])
