"""The targets of a queue beside bounds on measures (talim2001, with constraints).

A single rule may lie between those of the cheapest mixture, where no multiplier leads: all lists of
targets are compared where there are at most 1,000; else the best that a search near them meets is
taken.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, product

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
from analytic.rules.bound import ALIKE, Bound, Point, cheapest_within, level_counts, notes_of
from scenarios import Scenario
from scenarios.arrays import Array, IntArray

_BETWEEN = 65
_FEW = 1000
_MOST_TRIED = 2000
"""Lists of targets up to which all are compared, and that are tried elsewhere."""

Targets = Point[IntArray]


def counted_by(bound: Bound, rule: Measures, queue: SwitchedQueue) -> tuple[float, float]:
    """What the measure of a bound counts under a rule, and what that is a share of."""
    delivered = float(queue.modes.rates[0] * rule.mean_active)
    counts = {
        "loss": rule.loss_rate,
        "obsolescence": rule.obsolescence_rate,
        "robots": rule.mean_active,
        "served": rule.throughput,
        "delivered": delivered,
        "entered": delivered - rule.loss_rate,
        "time": 1.0,
    }
    at_levels = level_counts(bound.rate, np.arange(len(rule.levels)))
    counted = counts[bound.rate] if at_levels is None else float(rule.levels @ at_levels)
    return counted, counts[bound.per]


class BoundedTargets:
    """The targets of a scenario beside bounds.

    Parameters
    ----------
    scenario : Scenario
    bounds : sequence of Bound

    Raises
    ------
    NoOptimumError
        If the mean response has a price, or as `best_switching`.
    """

    def __init__(self, scenario: Scenario, bounds: Sequence[Bound]) -> None:
        queue = queue_of(scenario)
        self.queue = queue
        self._costs = scenario.prices
        if self._costs.response:
            raise NoOptimumError("a bound does not go with a price of the mean response")
        check_size(queue, self._costs)
        self._bounds = bounds
        self._base = queue.costs(self._costs)
        self._excess = [each.excess_rate(*rewards_of(each, queue)) for each in bounds]
        self._tried: dict[bytes, Targets | None] = {}

    def cheapest(self, multipliers: Array, of_cost: float = 1.0) -> tuple[Targets, float]:
        """The best targets for cost and prices of the excesses, and a bound below every rule."""
        rewards = self._base.plus(of_cost - 1.0, self._base)
        for multiplier, excess in zip(multipliers.tolist(), self._excess, strict=True):
            rewards = rewards.plus(multiplier, excess)
        solution = solved(self.queue, rewards)
        return self._at(solution.rule), solution.lower

    def nearest(self, last: Targets) -> Targets:
        """The targets that were met last, where no mixture keeps the bounds."""
        return last

    def single(self, mixture: Sequence[Targets], _: Array, /) -> tuple[Targets | None, None]:
        """The cheapest that keep the bounds: of all where they are few, else near these."""
        best = min(mixture, key=_breaks_and_costs)
        levels = self.queue.levels.number
        targets = self.queue.modes.available + 1
        if levels * math.log(targets) <= math.log(_FEW):
            for each in product(range(targets), repeat=levels):
                best = self._better(np.array(each), best)
        else:
            best = self._near(mixture, best)
        return (best if best.keeps else None), None

    def _near(self, mixture: Sequence[Targets], best: Targets) -> Targets:
        """The best that is met between those of a mixture, and then beside the best."""
        for one, other in combinations(mixture, 2):
            for share in np.linspace(0.0, 1.0, _BETWEEN):
                between = np.rint(one.rule + share * (other.rule - one.rule)).astype(int)
                best = self._better(between, best)
        before = None
        while best is not before and len(self._tried) < _MOST_TRIED:
            before = best
            for changes in _changes(levels=len(best.rule)):
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
        if rule is None or rule.beyond > than.beyond:
            return than
        less = rule.beyond < than.beyond or rule.cost < than.cost * (1 - ALIKE)
        return rule if less else than

    def _at(self, targets: IntArray) -> Targets:
        measures = measures_of_targets(self.queue, targets)
        pairs = [counted_by(each, measures, self.queue) for each in self._bounds]
        every = zip(self._bounds, pairs, strict=True)
        excess = tuple(float(bound.excess(*pair)) for bound, pair in every)
        values = tuple(counted / total for counted, total in pairs)
        return Point(targets, measures.cost(self._costs), excess, values)


def rewards_of(bound: Bound, queue: SwitchedQueue) -> tuple[Rewards, Rewards]:
    """What the measure of a bound counts in each state, and what that is a share of."""
    counts = queue.counted
    delivered = queue.rewards(delivery=1.0)
    totals = {
        "time": queue.rewards(level=1.0),
        "delivered": delivered,
        "entered": delivered.plus(-1.0, counts["loss"]),
    }
    at_levels = level_counts(bound.rate, queue.levels.pages)
    if at_levels is not None:
        return queue.rewards(at_levels), totals[bound.per]
    return (counts | totals)[bound.rate], totals[bound.per]


def _breaks_and_costs(point: Targets) -> tuple[float, float]:
    return point.beyond, point.cost


def _changes(levels: int) -> Iterator[IntArray]:
    """One target, or two, larger or smaller by one."""
    units = np.eye(levels, dtype=int)
    for first in range(levels):
        for sign in (1, -1):
            yield sign * units[first]
            for second in range(first):
                yield sign * (units[first] + units[second])
                yield sign * (units[first] - units[second])


def targets_within(scenario: Scenario, bounds: Sequence[Bound]) -> Optimum:
    """The best targets that keep some bounds."""
    rules = BoundedTargets(scenario, bounds)
    found = cheapest_within(rules, bounds, lambda targets: f"targets = {targets.tolist()}")

    def words(targets: IntArray) -> str:
        return f"targets = {targets_as_written(rules.queue, targets)}"

    targets = found.single.rule
    measures = measures_of_targets(rules.queue, targets)
    cost = measures.cost(scenario.prices)
    single = TargetSearch(rules.queue, cost, found.lower, targets, measures)
    notes = (single.notes()[0], *notes_of(found, bounds, words))
    return replace(single.optimum(), notes=notes)
