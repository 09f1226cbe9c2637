"""The best numbers of robots by level, in any order.

A rule that sees the level only cannot always be found by a decision process, whose states have
phases, too. Where the best rule of level and phases looks at the level only, it is found; otherwise
every rule is evaluated where they are few enough, and a descent goes from the best thresholds on
where they are not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import pairwise
from math import nan
from typing import Any, NamedTuple

import numpy as np

from analytic.index.optimum import Best, NoOptimumError, Optimum
from analytic.indexing_queue.measures import top_level
from analytic.rules.bound import Bound
from analytic.rules.fixed import best_fixed_number
from analytic.rules.free_process import (
    FreeRule,
    QueueProcess,
    best_free_rule,
    queue_process,
    runner_up,
)
from analytic.rules.listed import compare, first_cheapest
from analytic.rules.searching import (
    ANY_ORDER,
    Policy,
    all_costs,
    allowed_numbers,
    descended,
    level_policies,
    thresholds_of,
)
from analytic.rules.thresholds import (
    GAIN,
    ThresholdPolicy,
    best_thresholds,
    threshold_optimum,
)
from scenarios import Scenario
from scenarios.arrays import Array

_MOST_TOGETHER = 200_000
"""Rules up to which all of them are evaluated where a descent would do, too: some seconds."""

_MOST_BOUNDED = 200_000
"""Rules up to which all of them are compared beside a bound."""

_MOST_TRIED = 3000
"""Levels times robots of a descent, which takes some milliseconds for each."""

_MOST_AT_ALL_LEVELS = 50_000
"""Levels times numbers of a decision process whose best rule is asked first: some ten seconds."""

_ALIKE = 1e-12
"""Costs that differ by less, relatively, are the same: what is left is rounding."""


class LevelRule(NamedTuple):
    """Numbers of robots by level, the cost per unit time, and whether none costs less."""

    robots: Policy
    cost: float
    proved: bool


class Rung(NamedTuple):
    """The best rule of one kind.

    Attributes
    ----------
    rule : str
        The kind, in words.
    levels : tuple of int or None
        Robots at levels 0, 1, …; None where the phases decide, too.
    cost : float
        Per unit time.
    """

    rule: str
    levels: Policy | None
    cost: float


class RuleMap(NamedTuple):
    """Numbers of robots by level, for each of several rules or phases: what a figure shows.

    Attributes
    ----------
    rows : tuple of (str, tuple of int)
        What the numbers are those of, and the numbers at levels 0, 1, …
    """

    rows: tuple[tuple[str, Policy], ...]


def optimal_levels(scenario: Scenario) -> Optimum:
    """The best numbers of robots by level; the table has the best rule of each kind.

    Raises
    ------
    NoOptimumError
        If no cost has an exact value here, or there are too many rules.
    """
    numbers = allowed_numbers(scenario)
    free = _free_or_none(scenario, numbers)
    simpler = simpler_rules(scenario, numbers)
    found = best_levels(scenario, numbers, free, [each.levels for each in simpler if each.levels])
    rungs = [*simpler, Rung("numbers by level", found.robots, found.cost)]
    if free is not None:
        rungs.append(Rung("level and phases", None, free.cost))
    best = rungs[-1].cost
    levels = list(found.robots)
    optimum = Optimum(
        target="levels",
        cost=found.cost,
        decision={"levels": levels},
        changes={"activation": {"levels": levels}},
        table=[_row(each, best) for each in rungs],
        notes=() if found.proved else (_NOT_PROVED,),
        search=RuleMap(tuple((each.rule, each.levels) for each in rungs if each.levels)),
        proved=found.proved,
        gap=0.0 if found.proved else None,
    )
    return runner_up(optimum, scenario, numbers)


_NOT_PROVED = (
    "best found: from the best thresholds and single numbers on, until another number at one level "
    "costs no less; not proved"
)


def _row(rung: Rung, best: float) -> dict[str, Any]:
    same = abs(rung.cost - best) <= _ALIKE * abs(best)
    more = 0.0 if same else 100.0 * (rung.cost / best - 1.0) if best > 0 else None
    return {
        "rule": rung.rule,
        "levels": None if rung.levels is None else list(rung.levels),
        "cost": rung.cost,
        "above the best, %": more,
    }


def _free_or_none(scenario: Scenario, numbers: Sequence[int]) -> Best[FreeRule] | None:
    try:
        return best_free_rule(scenario, numbers)
    except NoOptimumError:
        return None


def simpler_rules(scenario: Scenario, numbers: Sequence[int]) -> list[Rung]:
    """The best single number and the best thresholds, where their costs are known."""
    levels = top_level(scenario) + 1
    rungs = []
    try:
        search = best_thresholds(scenario)
    except NoOptimumError:
        fixed = best_fixed_number(scenario).costs
        least = min(numbers, key=lambda number: float(np.nan_to_num(fixed[number], nan=np.inf)))
        return [Rung("one number", (least,) * levels, float(fixed[least]))]
    single = min((row for row in search.table if len(row.robots) == 1), key=lambda row: row.cost)
    best = search.optimum
    rungs.append(Rung("one number", single.robots * levels, single.cost))
    by_level = tuple(best.robots[sum(level > one for one in best.at)] for level in range(levels))
    rungs.append(Rung("thresholds", by_level, best.cost))
    return rungs


def thresholds_by_level(scenario: Scenario) -> Optimum | None:
    """The best thresholds, where the best of all rules has no more robots at a higher level.

    None where it has, or looks at phases too, or is not known.
    """
    numbers = allowed_numbers(scenario)
    if (top_level(scenario) + 1) * len(numbers) > _MOST_AT_ALL_LEVELS:
        return None
    free = _free_or_none(scenario, numbers)
    if free is None or not _sees_levels_only(free):
        return None
    robots = tuple(int(each.flat[0]) for each in free.rule)
    if any(below < above for below, above in pairwise(robots)):
        return None
    costs = best_fixed_number(scenario).costs[numbers[0] :]
    single = numbers[int(np.nanargmin(costs))]
    paid = float(np.nanmin(costs))
    used, at = thresholds_of(robots)
    alone = ThresholdPolicy((single,), (), paid, 0.0)
    gain = 100.0 * (paid - free.cost) / paid if paid else nan
    best = alone if used == (single,) else ThresholdPolicy(used, at, free.cost, gain)
    notes = [GAIN, "found by policy iteration over all rules of the level and the phases"]
    found = threshold_optimum(_Policies(best, tuple(dict.fromkeys((alone, best)))), notes)
    rows = (("one number", (single,) * len(robots)), ("thresholds", robots))
    return runner_up(replace(found, search=RuleMap(rows)), scenario, numbers)


class _Policies(NamedTuple):
    """The best thresholds, and those to show beside them."""

    optimum: ThresholdPolicy
    table: tuple[ThresholdPolicy, ...]


def _sees_levels_only(free: Best[FreeRule]) -> bool:
    return all((each == each.flat[0]).all() for each in free.rule)


def best_levels(
    scenario: Scenario,
    numbers: Sequence[int],
    free: Best[FreeRule] | None,
    starts: Sequence[Policy],
) -> LevelRule:
    """The best rule that sees the level only.

    Parameters
    ----------
    scenario : Scenario
        Its [activation] is ignored.
    numbers : sequence of int
        Numbers of robots that may be active, increasing.
    free : Best or None
        The best rule of level and phases; None where it is not known.
    starts : sequence of tuple of int
        Rules from which a descent starts.

    Raises
    ------
    NoOptimumError
        If there are too many rules.
    """
    if free is not None and _sees_levels_only(free):
        return LevelRule(tuple(int(each.flat[0]) for each in free.rule), free.cost, True)
    levels = top_level(scenario) + 1
    if free is None or ANY_ORDER.members(len(numbers), levels) <= _MOST_TOGETHER:
        costs = all_costs(scenario, numbers, ANY_ORDER)
        if np.isnan(costs).all():
            raise NoOptimumError("no rule has a cost")
        row = first_cheapest(costs)
        (robots,) = level_policies(numbers, levels, [row]).tolist()
        return LevelRule(tuple(robots), float(costs[row]), True)
    if levels * len(numbers) > _MOST_TRIED:
        many = f"{levels} levels × {len(numbers)} numbers"
        raise NoOptimumError(f"{many}; at most {_MOST_TRIED} are searched")
    return _by_descent(queue_process(scenario, numbers), starts)


def _by_descent(process: QueueProcess, starts: Sequence[Policy]) -> LevelRule:
    """The best end of the descents that change one level at a time."""

    @cache
    def cost(robots: Policy) -> float:
        return process.cost_of_levels(robots)

    def costs(rules: Sequence[Policy]) -> Array:
        return np.array([cost(robots) for robots in rules])

    def other_numbers(level: int, robots: Policy) -> Iterator[Policy]:
        for number in process.numbers:
            yield (*robots[:level], number, *robots[level + 1 :])

    moves = [partial(other_numbers, level) for level in range(process.top + 1)]
    ends = [descended(start, moves, costs) for start in starts]
    robots, least = min(ends, key=lambda end: end[1])
    return LevelRule(robots, least, False)


def levels_within(scenario: Scenario, bounds: Sequence[Bound]) -> Optimum:
    """The best numbers of robots by level that keep some bounds."""
    numbers = allowed_numbers(scenario)
    levels = top_level(scenario) + 1
    if (rules := ANY_ORDER.members(len(numbers), levels)) > _MOST_BOUNDED:
        instead = "--target free, which finds the best rule by multipliers, or --target threshold"
        many = f"there are {rules:.3g} rules by level, limit {_MOST_BOUNDED}"
        raise NoOptimumError(f"{many} subject to a bound; {instead}")

    def costs_of(one: Scenario) -> Array:
        return all_costs(one, numbers, ANY_ORDER)

    def robots(rule: int) -> list[int]:
        (by_level,) = level_policies(numbers, levels, [rule]).tolist()
        return [int(each) for each in by_level]

    costs = costs_of(scenario)

    def rule_of(rule: int) -> dict[str, Any]:
        return {"levels": robots(rule)}

    def words(rule: int) -> str:
        return f"levels = {robots(rule)}"

    compared = compare(scenario, costs, costs_of, rule_of, bounds, words)
    best = first_cheapest(compared.rules.kept, compared.rules.keeps)
    decided = robots(best)
    shown = [("numbers by level", tuple(decided))]
    if compared.found.is_mixed:
        for each in compared.found.mixture:
            name = "mixed, within the bound" if each.keeps else "mixed, beyond it"
            shown.append((name, tuple(robots(each.rule))))
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
