"""Families of rules that are all listed, with their costs, beside bounds.

Every rule has its cost and its rates (pages lost, obsolete and indexed, time with an empty system):
what it costs where one price is 1 and all others are 0.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analytic.index import conditions
from analytic.index.optimum import NoOptimumError
from analytic.indexing_queue.formulas import FORMULAS
from analytic.machinery.transforms import mean_time
from analytic.rules.bound import (
    Bound,
    Found,
    Point,
    cheapest_within,
    in_words,
    level_counts,
    notes_of,
)
from analytic.rules.searching import check_time
from scenarios import Scenario
from scenarios.arrays import Array
from scenarios.measures import Subject

_ROUNDING = 1e-12


Rate = Callable[..., Array]
"""From a price of [costs], and what it is (1), to what is paid per unit time under each rule."""


def _rates_by(costs_of: Callable[[Scenario], Array], scenario: Scenario) -> Rate:
    """What each price is paid for: the cost where it is 1 and all others are 0."""

    @cache
    def rate(price: str, value: float | tuple[float, ...] = 1.0) -> Array:
        return costs_of(scenario.with_("costs", {price: value}))

    return rate


@dataclass(frozen=True, eq=False)
class ListedRules:
    """All rules of a family beside bounds.

    Attributes
    ----------
    costs : ndarray, shape (rules,)
        NaN where a rule has none.
    excess, values : ndarray, shape (bounds, rules)
        Values of the measures that are bounded.
    distance : ndarray, shape (bounds, rules)
        By how much the measures break the bounds.
    mixes : bool
        Whether costs of rules that take turns mix, too: not where the response has a price.
    """

    costs: Array
    excess: Array
    values: Array
    distance: Array
    mixes: bool = True

    @cached_property
    def keeps(self) -> NDArray[np.bool_]:
        """Whether each rule keeps the bounds."""
        return (self.excess <= 0).all(axis=0) & ~np.isnan(self.costs)

    @cached_property
    def kept(self) -> Array:
        """Costs; NaN where a bound is broken."""
        return np.where(self.keeps, self.costs, np.nan)

    def _at(self, rule: int) -> Point[int]:
        numbers = tuple(self.excess[:, rule].tolist()), tuple(self.values[:, rule].tolist())
        return Point(rule, float(self.costs[rule]), *numbers)

    def cheapest(self, multipliers: Array, of_cost: float = 1.0) -> tuple[Point[int], float]:
        """The best rule for cost and prices of the excesses, and that price."""
        if not self.mixes:
            point = self._at(int(np.nanargmin(self.kept if self.keeps.any() else self.costs)))
            return point, -np.inf
        paid = of_cost * self.costs + 0.0 * self.costs + multipliers @ self.excess
        point = self._at(int(np.nanargmin(paid)))
        return point, point.priced(multipliers, of_cost)

    def nearest(self, _: Point[int]) -> Point[int]:
        """The rule whose measures, all together, break the bounds least."""
        distance = np.maximum(self.distance, 0.0).sum(axis=0)
        return self._at(int(np.nanargmin(np.where(np.isnan(self.costs), np.nan, distance))))

    def single(self, _: Sequence[Point[int]], __: Array, /) -> tuple[Point[int] | None, None]:
        """The cheapest rule that keeps the bounds."""
        return (self._at(int(np.nanargmin(self.kept))) if self.keeps.any() else None), None


class Compared(NamedTuple):
    """All rules of a family beside bounds, the best of them, and what a reader should know."""

    rules: ListedRules
    found: Found[int]
    notes: tuple[str, ...]

    @property
    def bound(self) -> float | None:
        """No rule that keeps them costs less, nor any mixture; None where that is not known."""
        found = self.found
        return min(found.mixed_cost, found.single.cost) if self.rules.mixes else None


def compare(
    scenario: Scenario,
    costs: Array,
    costs_of: Callable[[Scenario], Array],
    rule_of: Callable[[int], dict[str, Any]],
    bounds: Sequence[Bound],
    words: Callable[[int], str],
) -> Compared:
    """All rules beside bounds.

    Parameters
    ----------
    scenario : Scenario
    costs : ndarray, shape (rules,)
        Of the rules, by the prices of the scenario.
    costs_of : callable
        From a scenario with other prices to the costs of the same rules.
    rule_of : callable
        From the position of a rule to its activation, as in a scenario file.
    bounds : sequence of Bound
    words : callable
        From the position of a rule to its words.

    Raises
    ------
    NoRuleError
        If none keeps them.
    """
    rate = _rates_by(costs_of, scenario)
    by_formula = _formula_values(scenario, rule_of, costs)
    pairs = [_counted(scenario, rate, by_formula, bound) for bound in bounds]
    every = zip(bounds, pairs, strict=True)
    excess = np.stack([bound.excess(*pair, _ROUNDING) for bound, pair in every])
    totals = np.stack([total for _, total in pairs])
    values = np.stack([counted / total for counted, total in pairs])
    mixes = not scenario.prices.response
    rules = ListedRules(costs, excess, values, excess / totals, mixes)
    found = cheapest_within(rules, bounds, words, _ROUNDING)._replace(
        free_cost=float(np.nanmin(costs))
    )
    number = int(rules.keeps.sum())
    keep = "keeps" if number == 1 else "keep"
    kept = f"{number:,} of {len(costs):,} rules {keep} {in_words(bounds)}; the others are not shown"
    return Compared(rules, found, notes_of(found, bounds, words, kept))


Values = Callable[[Bound], Array]
"""From a bound to the values of its measure under each rule, by the formulas of the index."""


def _formula_values(
    scenario: Scenario, rule_of: Callable[[int], dict[str, Any]], costs: Array
) -> Values:
    """Each rule by itself: what its prices do not say, such as the share of idle indexers."""

    @cache
    def rows(rule: int) -> dict[tuple[str, Subject], float]:
        given = rule_of(rule)
        if math.isnan(costs[rule]) or not _ever_active(given):
            return {}
        decided = scenario.with_("activation", given)
        found: dict[tuple[str, Subject], float] = {}
        for formula in FORMULAS:
            if formula.kind == "exact" and formula.reason_against(decided) is None:
                for row in formula.predict(decided):
                    found.setdefault((row.measure, row.subject), row.value)
        return found

    def values(bound: Bound) -> Array:
        key = bound.measure, bound.subject
        begun = time.perf_counter()
        some = next(rule for rule in reversed(range(len(costs))) if not math.isnan(costs[rule]))
        if key not in rows(some):
            raise NoOptimumError(f"{bound.name} has no exact value under rules of this kind")
        spent = time.perf_counter() - begun
        check_time(spent * len(costs), f"the formulas of {bound.name} take")
        empty = level_counts(bound.rate, np.zeros(1, dtype=np.int64))  # without a robot
        never = math.nan if empty is None else float(empty[0])
        return np.array([rows(rule).get(key, never) for rule in range(len(costs))])

    return values


def _ever_active(rule: dict[str, Any]) -> bool:
    """Whether a rule has robots at some level; those of "these" are named."""
    ((kind, entries),) = rule.items()
    return len(entries) > 0 if kind == "these" else kind == "threshold" or bool(np.any(entries))


def _counted(
    scenario: Scenario, rate: Rate, by_formula: Values, bound: Bound
) -> tuple[Array, Array]:
    """What a measure counts per unit time under each rule, and what that is a share of."""

    def lost() -> Array:
        return rate("loss")

    def obsolete() -> Array:
        never = conditions.timer_of(scenario) is None
        return np.zeros_like(lost()) if never else rate("obsolescence")

    def served() -> Array:
        if conditions.several_servers(scenario) is None:
            return delivered() - lost() - obsolete()
        busy = 1.0 - rate("starvation")
        return np.asarray(busy / mean_time(conditions.service_law(scenario)))

    def delivered() -> Array:
        if conditions.several_servers(scenario) is None:
            return rate("access") / conditions.fleet_of(scenario).attempts
        return lost() + obsolete() + served()

    counts: dict[str, Callable[[], Array]] = {
        "loss": lost,
        "obsolescence": obsolete,
        "served": served,
        "starvation": lambda: rate("starvation"),
        "robots": lambda: rate("robots"),
        "delivered": delivered,
        "entered": lambda: delivered() - lost(),
        "time": lambda: np.ones_like(lost()),
    }
    total = counts[bound.per]()
    total = np.where(total > 0, total, np.nan)
    counted = counts[bound.rate]() if bound.rate in counts else by_formula(bound) * total
    return counted, total


def first_cheapest(costs: Array, among: NDArray[np.bool_] | None = None) -> int:
    """The first of the cheapest rules, among some; NaN does not count."""
    some = costs if among is None else np.where(among, costs, np.nan)
    if np.isnan(some).all():
        return 0 if among is None else int(np.argmax(among))
    least = float(np.nanmin(some))
    return int(np.argmax(some <= least + _ROUNDING * abs(least)))
