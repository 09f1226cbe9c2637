"""The targets of a queue beside a bound on a measure (talim2001, with a constraint).

A single rule may lie between the two of the cheapest mixture, where no multiplier leads: all lists
of targets are compared where there are at most 1,000; else the best that a search near the two
meets is taken.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np

from analytic.index.optimum import NoOptimumError, Optimum
from analytic.robot_control.optimal_targets import solved
from analytic.robot_control.switched_queue import Measures, Rewards, SwitchedQueue
from analytic.robot_control.switching import (
    TargetSearch,
    check_size,
    queue_of,
    targets_as_written,
)
from analytic.robot_control.target_rules import measures_of_targets
from analytic.rules.bound import ALIKE, Bound, Edge, Point, cheapest_within, notes_of
from scenarios import Scenario
from scenarios.arrays import IntArray

_BETWEEN = 65
_FEW = 1000
_MOST_TRIED = 2000
"""Lists of targets up to which all are compared, and that are tried elsewhere."""

Targets = Point[IntArray]


def counted_by(bound: Bound, rule: Measures, queue: SwitchedQueue) -> tuple[float, float]:
    """What the measure of a bound counts under a rule, and what that is a share of."""
    counted = {
        "loss": rule.loss_rate,
        "obsolescence": rule.obsolescence_rate,
        "starvation": rule.starvation,
        "robots": rule.mean_active,
        "served": rule.throughput,
    }[bound.rate]
    return counted, queue.modes.rates[0] * rule.mean_active if bound.is_share else 1.0


class BoundedTargets:
    """The targets of a scenario beside a bound.

    Parameters
    ----------
    scenario : Scenario
    bound : Bound

    Raises
    ------
    NoOptimumError
        If the mean response has a price, or as `best_switching`.
    """

    def __init__(self, scenario: Scenario, bound: Bound) -> None:
        queue = queue_of(scenario)
        self.queue = queue
        self._costs = scenario.prices
        if self._costs.response:
            raise NoOptimumError("a bound does not go with a price of the mean response")
        check_size(queue, self._costs)
        self._bound = bound
        self._base = queue.costs(self._costs)
        total = queue.rewards(delivery=1.0) if bound.is_share else queue.rewards(level=1.0)
        self._excess = bound.excess_rate(queue.counted[bound.rate], total)
        self._tried: dict[bytes, Targets | None] = {}

    def cheapest(self, multiplier: float) -> tuple[Targets, float]:
        """The best targets for cost and price of the excess, and a bound below every rule."""
        return self._best(self._base.plus(multiplier, self._excess))

    def nearest(self) -> Targets:
        """The targets with the least excess."""
        return self._best(self._excess)[0]

    def single(self, edge: Edge[IntArray], /) -> tuple[Targets, None]:
        """The cheapest that keep the bound: of all where they are few, else near these two."""
        return self._improved(*edge), None

    def _improved(self, inside: Targets, outside: Targets) -> Targets:
        best = inside
        levels = self.queue.levels.number
        targets = self.queue.modes.available + 1
        if levels * math.log(targets) <= math.log(_FEW):
            for each in product(range(targets), repeat=levels):
                best = self._better(np.array(each), best)
            return best
        step = outside.rule - inside.rule
        for share in np.linspace(0.0, 1.0, _BETWEEN):
            best = self._better(np.rint(inside.rule + share * step).astype(int), best)
        before = None
        while best is not before and len(self._tried) < _MOST_TRIED:
            before = best
            for changes in _changes(levels):
                best = self._better(best.rule + changes, best)
        return best

    def _better(self, targets: IntArray, than: Targets) -> Targets:
        if targets[0] < 1 or targets.min() < 0 or targets.max() > self.queue.modes.available:
            return than
        key = targets.tobytes()
        if key not in self._tried and len(self._tried) >= _MOST_TRIED:
            return than
        if key not in self._tried:
            try:
                self._tried[key] = self._at(targets)
            except ValueError:  # the chain falls into two parts
                self._tried[key] = None
        rule = self._tried[key]
        if rule is None or rule.excess > 0 or rule.cost >= than.cost * (1 - ALIKE):
            return than
        return rule

    def _best(self, rewards: Rewards) -> tuple[Targets, float]:
        """The best targets for a cost per unit time, and a bound below every rule."""
        solution = solved(self.queue, rewards)
        return self._at(solution.rule), solution.lower

    def _at(self, targets: IntArray) -> Targets:
        measures = measures_of_targets(self.queue, targets)
        counted, total = counted_by(self._bound, measures, self.queue)
        excess = float(self._bound.excess(counted, total))
        return Point(targets, measures.cost(self._costs), excess, counted / total)


def _changes(levels: int) -> Iterator[IntArray]:
    """One target, or two, larger or smaller by one."""
    units = np.eye(levels, dtype=int)
    for first in range(levels):
        for sign in (1, -1):
            yield sign * units[first]
            for second in range(first):
                yield sign * (units[first] + units[second])
                yield sign * (units[first] - units[second])


def targets_within(scenario: Scenario, bound: Bound) -> Optimum:
    """The best targets that keep a bound."""
    rules = BoundedTargets(scenario, bound)
    found = cheapest_within(rules, bound, lambda targets: f"targets = {targets.tolist()}")

    def words(targets: IntArray) -> str:
        return f"targets = {targets_as_written(rules.queue, targets)}"

    targets = found.single.rule
    measures = measures_of_targets(rules.queue, targets)
    cost = measures.cost(scenario.prices)
    single = TargetSearch(rules.queue, cost, found.lower, targets, measures)
    notes = (single.notes()[0], *notes_of(found, bound, words))
    return replace(single.optimum(), notes=notes)
