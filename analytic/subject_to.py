"""The best fixed number of robots, thresholds, and targets, subject to a bound on a measure.

Every rule of the family has its cost and its rates (pages lost, obsolete and indexed, time with an
empty system). Those that keep the bound are compared. Rules that take long turns mix costs and
rates by the time that each of them gets. The cheapest mixture that keeps the bound on average is a
linear programme with one constraint, so that two rules suffice: the lower convex hull of the points
(excess over the bound, cost), at excess 0, which Lagrange multipliers lead to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np

from analytic import conditions
from analytic.indexing_queue.fixed_robots import StaticSearch, best_fixed_number, static_optimum
from analytic.indexing_queue.searching import (
    CONSTANT,
    NON_INCREASING,
    Family,
    all_costs,
    thresholds_of,
)
from analytic.indexing_queue.thresholds import (
    ThresholdSearch,
    best_thresholds,
    threshold_optimum,
)
from analytic.optimum import NoOptimumError, Optimum
from analytic.pipeline.costs import prices_staleness
from analytic.robot_control.bounded_switching import Bounded, SwitchingMixture, switching_within
from analytic.robot_control.switching import switching_optimum
from analytic.transforms import mean_time
from scenarios import Scenario
from scenarios.arrays import Array
from scenarios.base import listed

BOUNDED = (
    *("loss_rate", "loss_probability", "obsolescence_probability", "success_probability"),
    *("starvation_probability", "mean_active_robots", "throughput"),
)
"""Measures that may be bounded."""

SHARES = ("loss_probability", "obsolescence_probability", "success_probability")
"""Those that are shares of the delivered pages."""

TARGETS = ("static", "threshold", "switching")

_ALIKE = 1e-12


class Limit(NamedTuple):
    """A bound on a measure.

    Attributes
    ----------
    measure : str
        Of `BOUNDED`.
    above : bool
        Whether the measure must be at least the value, and not at most.
    value : float
    """

    measure: str
    above: bool
    value: float

    def __str__(self) -> str:
        """As the user writes it."""
        return f"{self.measure} {'>=' if self.above else '<='} {self.value!r}"


def best_within(scenario: Scenario, target: str, limit: Limit) -> Optimum:
    """The cheapest rule of a kind that keeps a bound; the table has no others.

    Parameters
    ----------
    scenario : Scenario
    target : str
        Of `TARGETS`.
    limit : Limit

    Returns
    -------
    Optimum
        Its lower bound is the cost of the cheapest mixture of rules of this kind that keeps it;
        None where the mean response has a price, which is no rate.

    Raises
    ------
    NoOptimumError
        If no rule keeps it, or costs and rates have no exact value here.
    """
    if target not in TARGETS:
        raise NoOptimumError(f"a bound goes with --target {listed(TARGETS)}")
    search: StaticSearch | ThresholdSearch
    if prices_staleness(scenario):
        raise NoOptimumError("a bound does not go with a price of staleness")
    if target == "switching":
        return _best_switching_within(scenario, limit)
    if target == "static":
        search, family = best_fixed_number(scenario), CONSTANT
        numbers: Sequence[int] = range(len(search.costs))
        if search.best is not None:
            raise NoOptimumError("the robots differ, and sets of them are not searched for a bound")
    else:
        search, family = best_thresholds(scenario), NON_INCREASING
        numbers = search.numbers
    counted, total = _counted(scenario, numbers, family, limit.measure)
    excess = _excess(counted, total, limit)
    keeps = (excess <= 0) & ~np.isnan(search.costs)
    values = counted / total
    if not keeps.any():
        nearest = int(np.nanargmin(np.where(np.isnan(search.costs), np.nan, excess / total)))
        has = f"{_rule_in_words(search, nearest)} has {values[nearest]:.6g}"
        raise NoOptimumError(f"no rule of this kind keeps {limit}; the nearest, {has}")
    within = replace(search, costs=np.where(keeps, search.costs, np.nan))
    best = float(np.nanmin(within.costs))
    rule = int(np.nanargmin(within.costs))
    mixture = None if scenario.prices.response else cheapest_mixture(excess, search.costs)
    keep = "keeps" if keeps.sum() == 1 else "keep"
    notes = [
        f"{limit.measure} = {values[rule]:.6g}",
        f"{int(keeps.sum()):,} of {len(keeps):,} rules {keep} {limit}; the others are not shown",
        _price_of_bound(best, float(np.nanmin(search.costs))),
    ]
    if mixture and mixture.cost < best * (1 - 1e-9) - _ALIKE:
        notes.append(_said(mixture, search, best))
    if isinstance(within, StaticSearch):
        optimum = static_optimum(within)
        rows = [row for row in optimum.table if not np.isnan(row["cost"])]
        optimum = replace(optimum, table=rows, proved=None, gap=None)
    else:
        optimum = threshold_optimum(within, ())
        notes.append("gain: per cent of the cost of the best single number that keeps it")
    bound = min(mixture.cost, best) if mixture else None
    return replace(optimum, lower_bound=bound, notes=tuple(notes))


class Mixture(NamedTuple):
    """Two rules that get shares of the time.

    Attributes
    ----------
    rules : tuple of int
        Their positions; the first keeps the bound.
    share : float
        Of the time that the first one gets.
    cost : float
        Per unit time.
    """

    rules: tuple[int, int]
    share: float
    cost: float


def cheapest_mixture(excess: Array, costs: Array) -> Mixture:
    """The cheapest mixture of rules whose excess is 0 or less on average.

    Parameters
    ----------
    excess, costs : ndarray, shape (rules,)
        NaN where a rule has none; some excess is 0 or less.
    """
    known = ~(np.isnan(excess) | np.isnan(costs))
    inside = int(np.argmin(np.where(known & (excess <= 0), costs, np.inf)))
    outside = int(np.argmin(np.where(known & (excess > 0), costs, np.inf)))
    if not (known[outside] and excess[outside] > 0 and costs[outside] < costs[inside]):
        return Mixture((inside, inside), 1.0, float(costs[inside]))
    while True:
        width = excess[outside] - excess[inside]
        multiplier = (costs[inside] - costs[outside]) / width
        values = np.where(known, costs + multiplier * excess, np.inf)
        rule = int(np.argmin(values))
        # The rules of the edge have one value but for rounding, and the least: no edge lies below.
        if rule in (inside, outside) or values[rule] >= values[inside] - _ALIKE * abs(
            values[inside]
        ):
            share = float(excess[outside] / width)
            mixed = share * costs[inside] + (1.0 - share) * costs[outside]
            return Mixture((inside, outside), share, float(mixed))
        if excess[rule] <= 0:
            inside = rule
        else:
            outside = rule


def _counted(
    scenario: Scenario, numbers: Sequence[int], family: Family, measure: str
) -> tuple[Array, Array]:
    """What a measure counts per unit time under each rule, and what that is a share of."""

    @cache
    def rate(price: str) -> Array:
        return all_costs(scenario.with_("costs", {price: 1.0}), numbers, family)

    def lost() -> Array:
        return rate("loss")

    def obsolete() -> Array:
        never = conditions.patience_of(scenario) is None
        return np.zeros_like(lost()) if never else rate("obsolescence")

    def served() -> Array:
        if conditions.several_servers(scenario) is None:
            raise NoOptimumError(f"{measure} of several servers is not known for each rule")
        busy = 1.0 - rate("starvation")
        return np.asarray(busy / mean_time(conditions.service_law(scenario)))

    counted = {
        "loss_rate": lost,
        "loss_probability": lost,
        "obsolescence_probability": obsolete,
        "success_probability": served,
        "starvation_probability": lambda: rate("starvation"),
        "mean_active_robots": lambda: rate("robots"),
        "throughput": served,
    }[measure]()
    if measure not in SHARES:
        return counted, np.ones_like(counted)
    delivered = lost() + obsolete() + served()
    return counted, np.where(delivered > 0, delivered, np.nan)


def _excess(counted: Array, total: Array, limit: Limit) -> Array:
    """By how much each rule breaks a bound, as a rate: linear in the time that a rule gets."""
    excess = (counted - limit.value * total) * (-1.0 if limit.above else 1.0)
    return np.where(excess <= _ALIKE * total, np.minimum(excess, 0.0), excess)


COUNTED = {
    "loss_rate": "loss",
    "loss_probability": "loss",
    "obsolescence_probability": "obsolescence",
    "success_probability": "served",
    "starvation_probability": "starvation",
    "mean_active_robots": "robots",
    "throughput": "served",
}
"""By measure, what it counts per unit time."""


def _best_switching_within(scenario: Scenario, limit: Limit) -> Optimum:
    """The best rule that switches one robot on at a time and keeps a bound."""
    share = limit.measure in SHARES
    bounded = Bounded(COUNTED[limit.measure], share, limit.above, limit.value)
    found = switching_within(scenario, bounded)
    optimum = switching_optimum(found.search)
    active, _ = found.search.notes()
    notes = [
        active,
        f"{limit.measure} = {found.value:.6g}",
        _price_of_bound(found.search.cost, found.free_cost),
        f"no rule of this kind that keeps it, and no mixture, costs less than "
        f"{found.search.lower_bound:.10g}",
    ]
    if found.mixture is not None:
        first, second = (f"targets = {each.decision}" for each in found.mixture.rules)
        notes.append(_in_turns(first, second, found.mixture, found.search.cost))
    return replace(optimum, notes=tuple(notes))


def _price_of_bound(cost: float, free: float) -> str:
    if cost <= free + 1e-9 * abs(free):
        return "the bound costs nothing: the best rule of this kind keeps it"
    if free == 0:
        return f"without the bound the cost is 0; it costs {cost:.6g} more"
    return f"without the bound: cost {free:.6g}; it costs {100 * (cost / free - 1):.3g} % more"


def _said(mixture: Mixture, search: StaticSearch | ThresholdSearch, best: float) -> str:
    """A mixture in words."""
    first, second = (_rule_in_words(search, rule) for rule in mixture.rules)
    return _in_turns(first, second, mixture, best)


def _in_turns(first: str, second: str, mixture: Mixture | SwitchingMixture, best: float) -> str:
    less = 100 * (1 - mixture.cost / best)
    return (
        f"cheaper by {less:.3g} %, and within the bound on average: {first} for "
        f"{100 * mixture.share:.3g} % of the time, {second} for the rest, in long turns: "
        f"cost {mixture.cost:.6g}"
    )


def _rule_in_words(search: StaticSearch | ThresholdSearch, rule: int) -> str:
    if isinstance(search, StaticSearch):
        return f"robots = {rule}"
    used, at = thresholds_of(search.robots_by_level(rule))
    return f"robots = {list(used)}, at = {list(at)}"
