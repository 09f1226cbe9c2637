"""Families of rules that are all listed, with their costs, beside a bound.

Every rule has its cost and its rates (pages lost, obsolete and indexed, time with an empty system):
what it costs where one price is 1 and all others are 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analytic.index import conditions
from analytic.machinery.arrival_process import delivery_rates
from analytic.machinery.transforms import mean_time
from analytic.rules.bound import Bound, Edge, Found, Point, cheapest_within, notes_of
from scenarios import Scenario
from scenarios.arrays import Array
from scenarios.model import present

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
    """All rules of a family beside a bound.

    Attributes
    ----------
    costs, excess, values : ndarray, shape (rules,)
        NaN where a rule has none; values of the measure that is bounded.
    distance : ndarray, shape (rules,)
        By how much the measure breaks the bound.
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
        """Whether each rule keeps the bound."""
        return (self.excess <= 0) & ~np.isnan(self.costs)

    @cached_property
    def kept(self) -> Array:
        """Costs; NaN where the bound is broken."""
        return np.where(self.keeps, self.costs, np.nan)

    def _at(self, rule: int) -> Point[int]:
        numbers = (float(each[rule]) for each in (self.costs, self.excess, self.values))
        return Point(rule, *numbers)

    def cheapest(self, multiplier: float) -> tuple[Point[int], float]:
        """The best rule for cost and price of the excess, and that price."""
        if not self.mixes:
            return self.nearest(), -np.inf
        point = self._at(int(np.nanargmin(self.costs + multiplier * self.excess)))
        return point, point.priced(multiplier)

    def nearest(self) -> Point[int]:
        """The cheapest rule that keeps the bound, or the one that comes nearest."""
        if self.keeps.any():
            return self._at(int(np.nanargmin(self.kept)))
        distance = np.where(np.isnan(self.costs), np.nan, self.distance)
        return self._at(int(np.nanargmin(distance)))

    def single(self, _: Edge[int], /) -> tuple[Point[int], None]:
        """The cheapest rule that keeps the bound."""
        return self.nearest(), None


class Compared(NamedTuple):
    """All rules of a family beside a bound, the best of them, and what a reader should know."""

    rules: ListedRules
    found: Found[int]
    notes: tuple[str, ...]

    @property
    def bound(self) -> float | None:
        """No rule that keeps it costs less, nor any mixture; None where that is not known."""
        found = self.found
        return min(found.mixed_cost, found.single.cost) if self.rules.mixes else None


def compare(
    scenario: Scenario,
    costs: Array,
    costs_of: Callable[[Scenario], Array],
    bound: Bound,
    words: Callable[[int], str],
) -> Compared:
    """All rules beside a bound.

    Parameters
    ----------
    scenario : Scenario
    costs : ndarray, shape (rules,)
        Of the rules, by the prices of the scenario.
    costs_of : callable
        From a scenario with other prices to the costs of the same rules.
    bound : Bound
    words : callable
        From the position of a rule to its words.

    Raises
    ------
    NoRuleError
        If none keeps it.
    """
    counted, total = _counted(scenario, _rates_by(costs_of, scenario), bound)
    excess = bound.excess(counted, total, _ROUNDING)
    mixes = not scenario.prices.response
    rules = ListedRules(costs, excess, counted / total, excess / total, mixes)
    found = cheapest_within(rules, bound, words, _ROUNDING)._replace(
        free_cost=float(np.nanmin(costs))
    )
    number = int(rules.keeps.sum())
    keep = "keeps" if number == 1 else "keep"
    kept = f"{number:,} of {len(costs):,} rules {keep} {bound}; the others are not shown"
    return Compared(rules, found, notes_of(found, bound, words, kept))


def _counted(scenario: Scenario, rate: Rate, bound: Bound) -> tuple[Array, Array]:
    """What a measure counts per unit time under each rule, and what that is a share of."""

    def lost() -> Array:
        return rate("loss")

    def obsolete() -> Array:
        never = conditions.timer_of(scenario) is None
        return np.zeros_like(lost()) if never else rate("obsolescence")

    def served() -> Array:
        if conditions.several_servers(scenario) is None:
            return _delivered(scenario, rate) - lost() - obsolete()
        busy = 1.0 - rate("starvation")
        return np.asarray(busy / mean_time(conditions.service_law(scenario)))

    counts: dict[str, Callable[[], Array]] = {
        "loss": lost,
        "obsolescence": obsolete,
        "served": served,
        "starvation": lambda: rate("starvation"),
        "robots": lambda: rate("robots"),
    }
    counted = counts[bound.rate]()
    if not bound.is_share:
        return counted, np.ones_like(counted)
    delivered = lost() + obsolete() + served()
    return counted, np.where(delivered > 0, delivered, np.nan)


def _delivered(scenario: Scenario, rate: Rate) -> Array:
    """Pages delivered per unit time under each rule, by robots with exponential access times."""
    # Several servers are covered with such robots only.
    rates = present(delivery_rates(conditions.fleet_of(scenario)))
    if len(rates) > 1:
        return rate("robots", tuple(rates))
    return rates[0] * rate("robots")


def first_cheapest(costs: Array, among: NDArray[np.bool_] | None = None) -> int:
    """The first of the cheapest rules, among some; NaN does not count."""
    some = costs if among is None else np.where(among, costs, np.nan)
    if np.isnan(some).all():
        return 0 if among is None else int(np.argmax(among))
    least = float(np.nanmin(some))
    return int(np.argmax(some <= least + _ROUNDING * abs(least)))
