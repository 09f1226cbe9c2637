"""The best robots by level, phases and targets, subject to a bound on a measure.

Every rule of the family has its cost and its rates (pages lost, obsolete and indexed, time with an
empty system). Those that keep the bound are compared. Rules that take long turns mix costs and
rates by the time that each of them gets. The cheapest mixture that keeps the bound on average is a
linear programme with one constraint, so that two rules suffice (`analytic.rules.bound`). Rules that
are too many to list are those of a decision process.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analytic import conditions
from analytic.arrival_process import delivery_rates
from analytic.decision_process import Indices
from analytic.indexing_queue.best_free import free_rows, rule_map, unwritten
from analytic.indexing_queue.best_levels import RuleMap
from analytic.indexing_queue.bounded_free import bounded_free
from analytic.indexing_queue.fixed_robots import (
    BestSets,
    StaticSearch,
    all_sets,
    best_fixed_number,
    costs_of_all_sets,
    decision_of_set,
    kinds_of_robots,
    static_optimum,
    static_search,
)
from analytic.indexing_queue.free_switching import FreeRule
from analytic.indexing_queue.measures import top_level
from analytic.indexing_queue.searching import (
    ANY_ORDER,
    CONSTANT,
    NON_INCREASING,
    all_costs,
    allowed_numbers,
    level_policies,
    thresholds_of,
)
from analytic.indexing_queue.thresholds import best_thresholds, threshold_optimum
from analytic.optimum import NoOptimumError, NoRuleError, Optimum
from analytic.pipeline.costs import prices_staleness
from analytic.robot_control.bounded_switching import BoundedTargets
from analytic.robot_control.switching import SwitchingSearch, switching_optimum
from analytic.robot_control.unlike_search import ChoiceSearch, bounded_choices, choices_optimum
from analytic.rules.bound import (
    ALIKE,
    Bound,
    BrokenError,
    Edge,
    Found,
    Point,
    Rule,
    Rules,
    cheapest_within,
)
from analytic.transforms import mean_time
from scenarios import Scenario
from scenarios.arrays import Array
from scenarios.base import listed
from scenarios.choices import class_sizes

TARGETS = ("static", "threshold", "levels", "free", "switching")

MOST_SETS = 4096
"""Different sets of robots up to which all are compared."""

MOST_LEVEL_RULES = 200_000
"""Rules of numbers by level up to which all are."""

_ALIKE = 1e-12


def best_within(scenario: Scenario, target: str, bound: Bound) -> Optimum:
    """The cheapest rule of a kind that keeps a bound; the table has no others.

    Parameters
    ----------
    scenario : Scenario
    target : str
        Of `TARGETS`.
    bound : Bound

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
    if prices_staleness(scenario):
        raise NoOptimumError("a bound does not go with a price of staleness")
    return _SOLVERS[target](scenario, bound)


def _best_static_within(scenario: Scenario, bound: Bound) -> Optimum:
    """The best fixed robots that keep a bound."""
    if (kinds := kinds_of_robots(scenario)) and len(kinds) > 1:
        return _best_set_within(scenario, kinds, bound)
    search = best_fixed_number(scenario)
    numbers = range(len(search.costs))
    rate = _rates_by(lambda one: all_costs(one, numbers, CONSTANT), scenario)
    compared = _compare(scenario, search.costs, rate, bound, lambda rule: f"robots = {rule}")
    return _static_answer(replace(search, costs=compared.rules.kept), compared)


def _best_set_within(scenario: Scenario, kinds: list[list[int]], bound: Bound) -> Optimum:
    """The best numbers by class, or set of robots that differ, of all that keep a bound."""
    robots = scenario.robots
    sets = all_sets(scenario, kinds, MOST_SETS)
    classes = class_sizes(robots) if robots is not None and robots.classes is not None else ()
    costs = costs_of_all_sets(scenario, sets, kinds)
    rate = _rates_by(lambda one: costs_of_all_sets(one, sets, kinds), scenario)

    def words(rule: int) -> str:
        ((name, entries),) = decision_of_set(sets[rule], classes).items()
        return f"{name} = {entries}"

    compared = _compare(scenario, costs, rate, bound, words)
    sizes = np.array([len(each) for each in sets])
    best = [_first_cheapest(compared.rules.kept, sizes == size) for size in range(sizes.max() + 1)]
    kept = [float(compared.rules.kept[rule]) for rule in best]
    chosen = BestSets(tuple(sets[rule] for rule in best), tuple(kept), len(sets), len(sets))
    return _static_answer(static_search(scenario, chosen), compared)


def _first_cheapest(costs: Array, among: NDArray[np.bool_]) -> int:
    """The first of the cheapest among some rules; NaN is no cost."""
    some = np.where(among, costs, np.nan)
    if np.isnan(some).all():
        return int(np.argmax(among))
    least = float(np.nanmin(some))
    return int(np.argmax(some <= least + _ALIKE * abs(least)))


def _static_answer(search: StaticSearch, compared: _Compared) -> Optimum:
    optimum = static_optimum(search)
    rows = [row for row in optimum.table if not np.isnan(row["cost"])]
    notes = compared.notes
    bound = compared.bound
    return replace(
        optimum, table=rows, proved=None, gap=None, lower_bound=bound, notes=tuple(notes)
    )


def _best_thresholds_within(scenario: Scenario, bound: Bound) -> Optimum:
    """The best thresholds that keep a bound."""
    search = best_thresholds(scenario)

    def words(rule: int) -> str:
        used, at = thresholds_of(search.robots_by_level(rule))
        return f"robots = {list(used)}, at = {list(at)}"

    rate = _rates_by(lambda one: all_costs(one, search.numbers, NON_INCREASING), scenario)
    compared = _compare(scenario, search.costs, rate, bound, words)
    optimum = threshold_optimum(replace(search, costs=compared.rules.kept), ())
    gain = "gain: per cent of the cost of the best single number that keeps it"
    return replace(optimum, lower_bound=compared.bound, notes=(*compared.notes, gain))


def _best_levels_within(scenario: Scenario, bound: Bound) -> Optimum:
    """The best numbers of robots by level that keep a bound."""
    if scenario.buffer is None or scenario.robots is None:
        raise NoOptimumError("there is no [buffer]")
    numbers = allowed_numbers(scenario)
    levels = top_level(scenario) + 1
    if (rules := ANY_ORDER.members(len(numbers), levels)) > MOST_LEVEL_RULES:
        instead = "--target free, which finds the best rule by multipliers, or --target threshold"
        many = f"there are {rules:.3g} rules by level, limit {MOST_LEVEL_RULES}"
        raise NoOptimumError(f"{many} subject to a bound; {instead}")
    costs = all_costs(scenario, numbers, ANY_ORDER)

    def robots(rule: int) -> list[int]:
        (by_level,) = level_policies(numbers, levels, [rule]).tolist()
        return [int(each) for each in by_level]

    rate = _rates_by(lambda one: all_costs(one, numbers, ANY_ORDER), scenario)
    compared = _compare(scenario, costs, rate, bound, lambda rule: f"levels = {robots(rule)}")
    best = _first_cheapest(compared.rules.kept, compared.rules.keeps)
    decided = robots(best)
    shown = [("numbers by level", tuple(decided))]
    if compared.found.is_mixed:
        named = zip(("mixed, within the bound", "mixed, beyond it"), compared.found.edge)  # noqa: B905  # two and two
        shown += [(name, tuple(robots(each.rule))) for name, each in named]
    return Optimum(
        target="levels",
        cost=float(costs[best]),
        lower_bound=compared.bound,
        decision={"levels": decided},
        changes={"activation": {"levels": decided}},
        table=[{"level": level, "robots": number} for level, number in enumerate(decided)],
        notes=compared.notes,
        search=RuleMap(tuple(shown)),
    )


def _best_free_within(scenario: Scenario, bound: Bound) -> Optimum:
    """The best rule of level and phases that keeps a bound."""
    if scenario.buffer is None or scenario.robots is None:
        raise NoOptimumError("there is no [buffer]")
    if reason := unwritten(scenario):
        raise NoOptimumError(reason)
    queue, rules = bounded_free(scenario, allowed_numbers(scenario), bound)

    def rule(policy: Indices) -> list[Any]:
        return [level.tolist() for level in queue.rule(policy)]

    def words(policy: Indices) -> str:
        return f"free = {rule(policy)}"

    found = _found(rules, bound, words)
    best = FreeRule(found.single.cost, found.lower, queue.rule(found.single.rule))
    decision = {"free": rule(found.single.rule)}
    return Optimum(
        target="free",
        cost=found.single.cost,
        lower_bound=found.lower,
        decision=decision,
        changes={"activation": decision},
        table=list(free_rows(best)),
        notes=_notes_of(found, bound, words),
        search=rule_map([], best),
        proved=found.proved,
        gap=0.0 if found.proved else None,
    )


def _best_choices_within(scenario: Scenario, bound: Bound) -> Optimum:
    """The best rule that switches on robots of several classes and keeps a bound."""
    search, rules = bounded_choices(scenario, bound)

    def rule(policy: Indices) -> ChoiceSearch:
        return replace(search, policy=policy)

    def words(policy: Indices) -> str:
        return f"choices = {rule(policy).decision}"

    found = _found(rules, bound, words)
    single = replace(rule(found.single.rule), cost=found.single.cost, lower_bound=found.lower)
    active, _, occasions = replace(single, fixed=None).notes()

    def beside(policy: Indices) -> str:
        return rule(policy).beside(single)

    notes = (active, *_notes_of(found, bound, beside), occasions)
    gap = 0.0 if found.proved else None
    return replace(choices_optimum(single), notes=notes, proved=found.proved, gap=gap)


def _found(
    rules: Rules[Rule], bound: Bound, words: Callable[[Rule], str], rounding: float = ALIKE
) -> Found[Rule]:
    """The cheapest rule that keeps a bound.

    Raises
    ------
    NoOptimumError
        If none does.
    """
    try:
        found = cheapest_within(rules, rounding)
    except BrokenError as failure:
        nearest = failure.nearest
        has = f"{words(nearest.rule)} has {nearest.value:.6g}"
        raise NoRuleError(f"no rule of this kind keeps {bound}; the nearest, {has}") from None
    return found._replace(lower=max(found.lower, 0.0))


def _notes_of(
    found: Found[Rule], bound: Bound, words: Callable[[Rule], str], kept: str | None = None
) -> tuple[str, ...]:
    """What was found, in words; `kept` says how many rules keep the bound where all were tried."""
    single = found.single
    price = _price_of_bound(single.cost, found.free_cost)
    less = "no rule of this kind that keeps it, and no mixture, costs less than"
    below = f"{less} {found.lower:.10g}"
    notes = [f"{bound.measure} = {single.value:.6g}", *((kept, price) if kept else (price, below))]
    if found.proved is False:
        notes.append(
            "best single rule met on the way from those of the mixture, one decision after the "
            "other; not proved"
        )
    if found.is_mixed:
        first, second = (words(each.rule) for each in found.edge)
        notes.append(_in_turns(first, second, found.share, found.mixed_cost, single.cost))
    return tuple(notes)


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
        keeps: NDArray[np.bool_] = (self.excess <= 0) & ~np.isnan(self.costs)
        return keeps

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


class _Compared(NamedTuple):
    """All rules of a family beside a bound, the best of them, and what a reader should know."""

    rules: ListedRules
    found: Found[int]
    notes: tuple[str, ...]

    @property
    def bound(self) -> float | None:
        """No rule that keeps it costs less, nor any mixture; None where that is not known."""
        found = self.found
        return min(found.mixed_cost, found.single.cost) if self.rules.mixes else None


def _compare(
    scenario: Scenario, costs: Array, rate: Rate, bound: Bound, words: Callable[[int], str]
) -> _Compared:
    """All rules with these costs beside a bound.

    Raises
    ------
    NoOptimumError
        If none keeps it.
    """
    counted, total = _counted(scenario, rate, bound)
    excess = bound.excess(counted, total, _ALIKE)
    mixes = not scenario.prices.response
    rules = ListedRules(costs, excess, counted / total, excess / total, mixes)
    found = _found(rules, bound, words, _ALIKE)._replace(free_cost=float(np.nanmin(costs)))
    number = int(rules.keeps.sum())
    keep = "keeps" if number == 1 else "keep"
    kept = f"{number:,} of {len(costs):,} rules {keep} {bound}; the others are not shown"
    return _Compared(rules, found, _notes_of(found, bound, words, kept))


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
    rates = delivery_rates(conditions.fleet_of(scenario))
    assert rates is not None  # several servers are covered with such robots only
    if len(rates) > 1:
        return rate("robots", tuple(rates))
    return rates[0] * rate("robots")


def _best_switching_within(scenario: Scenario, bound: Bound) -> Optimum:
    """The best rule that switches one robot on at a time and keeps a bound."""
    if scenario.robots is not None and conditions.robots_unlike(scenario) is None:
        return _best_choices_within(scenario, bound)
    rules = BoundedTargets(scenario, bound)

    found = _found(rules, bound, lambda targets: f"targets = {targets.tolist()}")
    named = scenario.name, scenario.time_unit, rules.queue, scenario.prices

    def search(targets: Indices) -> SwitchingSearch:
        return SwitchingSearch(*named, targets, found.lower)

    single = search(found.single.rule)
    notes = _notes_of(found, bound, lambda targets: f"targets = {search(targets).decision}")
    return replace(switching_optimum(single), notes=(single.notes()[0], *notes))


def _price_of_bound(cost: float, free: float) -> str:
    if cost <= free + 1e-9 * abs(free):
        return "the bound costs nothing: the best rule of this kind keeps it"
    if free == 0:
        return f"without the bound the cost is 0; it costs {cost:.6g} more"
    return f"without the bound: cost {free:.6g}; it costs {100 * (cost / free - 1):.3g} % more"


def _in_turns(first: str, second: str, share: float, cost: float, best: float) -> str:
    """A mixture of two rules in words, beside the best single one."""
    less = 100 * (1 - cost / best)
    return (
        f"cheaper by {less:.3g} %, and within the bound on average: {first} for "
        f"{100 * share:.6g} % of the time, {second} for the rest, in long turns: cost {cost:.6g}"
    )


_SOLVERS: dict[str, Callable[[Scenario, Bound], Optimum]] = {
    "static": _best_static_within,
    "threshold": _best_thresholds_within,
    "levels": _best_levels_within,
    "free": _best_free_within,
    "switching": _best_switching_within,
}
