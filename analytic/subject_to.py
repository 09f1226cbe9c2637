"""The best robots by level, phases and targets, subject to a bound on a measure.

Every rule of the family has its cost and its rates (pages lost, obsolete and indexed, time with an
empty system). Those that keep the bound are compared. Rules that take long turns mix costs and
rates by the time that each of them gets. The cheapest mixture that keeps the bound on average is a
linear programme with one constraint, so that two rules suffice: the lower convex hull of the points
(excess over the bound, cost), at excess 0, which Lagrange multipliers lead to. Rules that are too
many to list are those of a decision process, whose multipliers `analytic.bounded_process` finds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analytic import conditions
from analytic.arrival_process import delivery_rates
from analytic.bounded_process import BoundedProcess, BrokenError, Counted, Found
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
from analytic.robot_control.bounded_switching import switching_within
from analytic.robot_control.switching import switching_optimum
from analytic.robot_control.unlike_search import ChoiceSearch, bounded_choices, choices_optimum
from analytic.transforms import mean_time
from scenarios import Scenario
from scenarios.arrays import Array
from scenarios.base import listed
from scenarios.choices import class_sizes

BOUNDED = (
    *("loss_rate", "loss_probability", "obsolescence_probability", "success_probability"),
    *("starvation_probability", "mean_active_robots", "throughput"),
)
"""Measures that may be bounded."""

SHARES = ("loss_probability", "obsolescence_probability", "success_probability")
"""Those that are shares of the delivered pages."""

TARGETS = ("static", "threshold", "levels", "free", "switching")

MOST_SETS = 4096
"""Different sets of robots up to which all are compared."""

MOST_LEVEL_RULES = 200_000
"""Rules of numbers by level up to which all are."""

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
    if prices_staleness(scenario):
        raise NoOptimumError("a bound does not go with a price of staleness")
    return _SOLVERS[target](scenario, limit)


def _best_static_within(scenario: Scenario, limit: Limit) -> Optimum:
    """The best fixed robots that keep a bound."""
    if (kinds := kinds_of_robots(scenario)) and len(kinds) > 1:
        return _best_set_within(scenario, kinds, limit)
    search = best_fixed_number(scenario)
    numbers = range(len(search.costs))
    rate = _rates_by(lambda one: all_costs(one, numbers, CONSTANT), scenario)
    compared = _compare(scenario, search.costs, rate, limit, lambda rule: f"robots = {rule}")
    return _static_answer(replace(search, costs=compared.kept_costs), compared)


def _best_set_within(scenario: Scenario, kinds: list[list[int]], limit: Limit) -> Optimum:
    """The best numbers by class, or set of robots that differ, of all that keep a bound."""
    robots = scenario.robots
    sets = all_sets(scenario, kinds, MOST_SETS)
    classes = class_sizes(robots) if robots is not None and robots.classes is not None else ()
    costs = costs_of_all_sets(scenario, sets, kinds)
    rate = _rates_by(lambda one: costs_of_all_sets(one, sets, kinds), scenario)

    def words(rule: int) -> str:
        ((name, entries),) = decision_of_set(sets[rule], classes).items()
        return f"{name} = {entries}"

    compared = _compare(scenario, costs, rate, limit, words)
    sizes = np.array([len(each) for each in sets])
    best = [_first_cheapest(compared.kept_costs, sizes == size) for size in range(sizes.max() + 1)]
    kept = [float(compared.kept_costs[rule]) for rule in best]
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


def _best_thresholds_within(scenario: Scenario, limit: Limit) -> Optimum:
    """The best thresholds that keep a bound."""
    search = best_thresholds(scenario)

    def words(rule: int) -> str:
        used, at = thresholds_of(search.robots_by_level(rule))
        return f"robots = {list(used)}, at = {list(at)}"

    rate = _rates_by(lambda one: all_costs(one, search.numbers, NON_INCREASING), scenario)
    compared = _compare(scenario, search.costs, rate, limit, words)
    optimum = threshold_optimum(replace(search, costs=compared.kept_costs), ())
    gain = "gain: per cent of the cost of the best single number that keeps it"
    return replace(optimum, lower_bound=compared.bound, notes=(*compared.notes, gain))


def _best_levels_within(scenario: Scenario, limit: Limit) -> Optimum:
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
    compared = _compare(scenario, costs, rate, limit, lambda rule: f"levels = {robots(rule)}")
    best = _first_cheapest(compared.kept_costs, compared.keeps)
    decided = robots(best)
    shown = [("numbers by level", tuple(decided))]
    if compared.mixture is not None and compared.is_mixed:
        named = zip(("mixed, within the bound", "mixed, beyond it"), compared.mixture.rules)  # noqa: B905  # two and two
        shown += [(name, tuple(robots(rule))) for name, rule in named]
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


def _best_free_within(scenario: Scenario, limit: Limit) -> Optimum:
    """The best rule of level and phases that keeps a bound."""
    if scenario.buffer is None or scenario.robots is None:
        raise NoOptimumError("there is no [buffer]")
    if reason := unwritten(scenario):
        raise NoOptimumError(reason)
    queue, bounded = bounded_free(scenario, allowed_numbers(scenario), _counted_of(limit))

    def rule(policy: Indices) -> list[Any]:
        return [level.tolist() for level in queue.rule(policy)]

    def words(policy: Indices) -> str:
        return f"free = {rule(policy)}"

    found = _found(bounded, limit, words)
    best = FreeRule(found.single.cost, found.lower, queue.rule(found.single.policy))
    decision = {"free": rule(found.single.policy)}
    return Optimum(
        target="free",
        cost=found.single.cost,
        lower_bound=max(found.lower, 0.0),
        decision=decision,
        changes={"activation": decision},
        table=list(free_rows(best)),
        notes=_notes_of(found, limit, words),
        search=rule_map([], best),
        proved=found.proved,
        gap=0.0 if found.proved else None,
    )


def _best_choices_within(scenario: Scenario, limit: Limit) -> Optimum:
    """The best rule that switches on robots of several classes and keeps a bound."""
    search, bounded = bounded_choices(scenario, _counted_of(limit))

    def rule(policy: Indices) -> ChoiceSearch:
        return replace(search, policy=policy)

    def words(policy: Indices) -> str:
        return f"choices = {rule(policy).decision}"

    found = _found(bounded, limit, words, bounded.process.first[1:] - 1)
    single = replace(
        rule(found.single.policy), cost=found.single.cost, lower_bound=max(found.lower, 0.0)
    )
    active, _, occasions = replace(single, fixed=None).notes()

    def beside(policy: Indices) -> str:
        return rule(policy).beside(single)

    notes = (active, *_notes_of(found, limit, beside), occasions)
    gap = 0.0 if found.proved else None
    return replace(choices_optimum(single), notes=notes, proved=found.proved, gap=gap)


def _found(
    bounded: BoundedProcess,
    limit: Limit,
    words: Callable[[Indices], str],
    start: Indices | None = None,
) -> Found:
    """What a search by multipliers finds.

    Raises
    ------
    NoOptimumError
        If no rule keeps the bound.
    """
    try:
        return bounded.best(start)
    except BrokenError as failure:
        nearest = failure.nearest
        has = f"{words(nearest.policy)} has {nearest.value:.6g}"
        raise NoRuleError(f"no rule of this kind keeps {limit}; the nearest, {has}") from None


def _notes_of(found: Found, limit: Limit, words: Callable[[Indices], str]) -> tuple[str, ...]:
    """What a search by multipliers found, in words."""
    single = found.single
    notes = [
        f"{limit.measure} = {single.value:.6g}",
        _price_of_bound(single.cost, found.free_cost),
        f"no rule of this kind that keeps it, and no mixture, costs less than {found.lower:.10g}",
    ]
    if not found.proved:
        notes.append(
            "best single rule met on the way from those of the mixture, one decision after the "
            "other; not proved"
        )
    if found.is_mixed:
        first, second = (words(each.policy) for each in found.edge)
        notes.append(_in_turns(first, second, found.share, found.mixed_cost, single.cost))
    return tuple(notes)


def _counted_of(limit: Limit) -> Counted:
    """A bound as the searches by multipliers have it."""
    return Counted(COUNTED[limit.measure], limit.measure in SHARES, limit.above, limit.value)


Rate = Callable[..., Array]
"""From a price of [costs], and what it is (1), to what is paid per unit time under each rule."""


def _rates_by(costs_of: Callable[[Scenario], Array], scenario: Scenario) -> Rate:
    """What each price is paid for: the cost where it is 1 and all others are 0."""

    @cache
    def rate(price: str, value: float | tuple[float, ...] = 1.0) -> Array:
        return costs_of(scenario.with_("costs", {price: value}))

    return rate


@dataclass(frozen=True)
class _Compared:
    """All rules of a family beside a bound.

    Attributes
    ----------
    keeps : ndarray of bool, shape (rules,)
    kept_costs : ndarray, shape (rules,)
        NaN where the bound is broken.
    mixture : Mixture or None
        None where the response has a price.
    notes : tuple of str
    """

    keeps: NDArray[np.bool_]
    kept_costs: Array
    mixture: Mixture | None
    notes: tuple[str, ...]

    @property
    def cost(self) -> float:
        """Of the best rule that keeps it."""
        return float(np.nanmin(self.kept_costs))

    @property
    def is_mixed(self) -> bool:
        """Whether a mixture is cheaper than every single rule that keeps the bound."""
        return self.mixture is not None and _is_cheaper(self.mixture.cost, self.cost)

    @property
    def bound(self) -> float | None:
        """No rule that keeps it costs less, nor any mixture; None where that is not known."""
        return None if self.mixture is None else min(self.mixture.cost, self.cost)


def _is_cheaper(mixed: float, single: float) -> bool:
    return mixed < single * (1 - 1e-9) - _ALIKE


def _compare(
    scenario: Scenario, costs: Array, rate: Rate, limit: Limit, words: Callable[[int], str]
) -> _Compared:
    """All rules with these costs beside a bound.

    Raises
    ------
    NoOptimumError
        If none keeps it.
    """
    counted, total = _counted(scenario, rate, limit.measure)
    excess = _excess(counted, total, limit)
    keeps = (excess <= 0) & ~np.isnan(costs)
    values = counted / total
    if not keeps.any():
        nearest = int(np.nanargmin(np.where(np.isnan(costs), np.nan, excess / total)))
        has = f"{words(nearest)} has {values[nearest]:.6g}"
        raise NoRuleError(f"no rule of this kind keeps {limit}; the nearest, {has}")
    kept = np.where(keeps, costs, np.nan)
    best = float(np.nanmin(kept))
    rule = int(np.nanargmin(kept))
    mixture = None if scenario.prices.response else cheapest_mixture(excess, costs)
    keep = "keeps" if keeps.sum() == 1 else "keep"
    notes = [
        f"{limit.measure} = {values[rule]:.6g}",
        f"{int(keeps.sum()):,} of {len(keeps):,} rules {keep} {limit}; the others are not shown",
        _price_of_bound(best, float(np.nanmin(costs))),
    ]
    if mixture is not None and _is_cheaper(mixture.cost, best):
        first, second = (words(each) for each in mixture.rules)
        notes.append(_in_turns(first, second, mixture.share, mixture.cost, best))
    return _Compared(keeps, kept, mixture, tuple(notes))


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


def _counted(scenario: Scenario, rate: Rate, measure: str) -> tuple[Array, Array]:
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


def _delivered(scenario: Scenario, rate: Rate) -> Array:
    """Pages delivered per unit time under each rule, by robots with exponential access times."""
    rates = delivery_rates(conditions.fleet_of(scenario))
    assert rates is not None  # several servers are covered with such robots only
    if len(rates) > 1:
        return rate("robots", tuple(rates))
    return rates[0] * rate("robots")


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
    if scenario.robots is not None and conditions.robots_unlike(scenario) is None:
        return _best_choices_within(scenario, limit)
    found = switching_within(scenario, _counted_of(limit))
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
        mixture = found.mixture
        notes.append(_in_turns(first, second, mixture.share, mixture.cost, found.search.cost))
    return replace(optimum, notes=tuple(notes))


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


_SOLVERS: dict[str, Callable[[Scenario, Limit], Optimum]] = {
    "static": _best_static_within,
    "threshold": _best_thresholds_within,
    "levels": _best_levels_within,
    "free": _best_free_within,
    "switching": _best_switching_within,
}
