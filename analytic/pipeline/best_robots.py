"""The best number of robots end to end: fixed, or the targets of the switching rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from analytic.index.conditions import buffer_and_robots, one_price_of_robots
from analytic.index.optimum import NoOptimumError, Optimum, require
from analytic.machinery.progress import Progress, followed
from analytic.machinery.refusal import NoAnswerError
from analytic.pipeline.conditions import copies_leave_together
from analytic.pipeline.costs import (
    CostOf,
    cost_of,
    cost_of_no_robot,
    more_may_be_better,
    more_than,
    own_criterion,
    price_of_alone,
    prices_pages,
    require_prices,
)
from analytic.rules.fixed import (
    StaticSearch,
    best_sets,
    kinds_of_robots,
    numbers_of_classes,
    optimal_fixed_number,
    static_optimum,
    static_search,
)
from analytic.rules.searching import descended
from analytic.rules.switching import optimal_switching
from scenarios import Scenario
from scenarios.text import counted, quantity

_MOST_RULES = 750
"""Levels times robots: of more the search would take minutes."""

Targets = tuple[int, ...]
"""Robots that are wanted at levels 0, 1, …"""


def end_to_end_robots(scenario: Scenario, cost: CostOf = cost_of) -> Optimum:
    """The best fixed number of robots from 0 on, end to end; the table has the cost of each.

    Where staleness has no price, that of `optimal_fixed_number`; where copies of a page leave the
    buffer together, the same search by the formulas of this package.

    Raises
    ------
    NoOptimumError
        If the cost has no exact value.
    """
    if not prices_pages(scenario):
        require_prices(scenario)
        return _by_papers(scenario)
    search = _searched(scenario, cost)
    alone, reason = price_of_alone(scenario, _by_papers, cost)
    if alone is not None:
        number = _how_many(alone.decision)
        search = replace(search, other=(*alone.short, number))
    beside = alone.note(float(search.costs[search.optimum])) if alone else reason
    return _optimum(scenario, search, ["more: per cent above the best", beside])


def _by_papers(scenario: Scenario) -> Optimum:
    """The best number by other prices than that of staleness."""
    if not copies_leave_together(scenario):
        return optimal_fixed_number(scenario)
    return _optimum(scenario, _searched(scenario, cost_of), ["more: per cent above the best"])


def _searched(scenario: Scenario, cost: CostOf) -> StaticSearch:
    """The cost of each number of robots from 0 on; of the best ones where they are not alike."""
    kinds = kinds_of_robots(scenario)
    _, robots = buffer_and_robots(scenario)
    doing = f"{scenario.name}: sets of robots"
    if len(kinds) > 1 and robots.classes is not None:
        sizes = tuple(map(len, kinds))

        def cost_of_numbers(chosen: tuple[int, ...]) -> float:
            if not chosen:
                return cost_of_no_robot(scenario)
            numbers = list(numbers_of_classes(chosen, sizes))
            return cost(scenario.with_("activation", {"static": numbers}))

        best = best_sets(kinds, cost_of_numbers, doing, prefer=max)
        return static_search(scenario, best)
    if len(kinds) > 1:

        def cost_of_set(chosen: tuple[int, ...]) -> float:
            return cost(scenario.with_("activation", {"these": list(chosen)}))

        return static_search(scenario, best_sets(kinds, cost_of_set, doing))
    available = robots.available
    numbers = followed(range(1, available + 1), f"{scenario.name}: numbers of robots", available)
    some = [cost(scenario.with_("activation", {"static": each})) for each in numbers]
    return static_search(scenario, np.array([cost_of_no_robot(scenario), *some]))


def _how_many(decision: Mapping[str, Any]) -> int:
    """Robots of a decision: a number, a number of each class, or named ones."""
    if "these" in decision:
        return len(decision["these"])
    return int(np.sum(decision["robots"]))


def _optimum(scenario: Scenario, search: StaticSearch, said: Sequence[str]) -> Optimum:
    optimum = static_optimum(search)
    at_limit = more_may_be_better(search.optimum, scenario)
    return replace(
        optimum,
        table=[row | {"more": more_than(row["cost"], optimum.cost)} for row in search.rows()],
        notes=[*said, *at_limit, *search.notes()],
    )


# --- targets of the switching rule --------------------------------------------------------------


@dataclass(frozen=True)
class BestTargets:
    """The best targets that a search has met, and those by the papers' criterion.

    Attributes
    ----------
    scenario : str
        Its name.
    targets : tuple of int
        Robots that are wanted at each level.
    cost : float
        Per unit time, end to end.
    other : tuple of str and float, optional
        Another criterion, and the cost of what it decides.
    other_targets : tuple of int
        Its targets; empty where they are not known.
    """

    scenario: str
    targets: tuple[int, ...]
    cost: float
    other: tuple[str, float] | None = None
    other_targets: tuple[int, ...] = ()


def end_to_end_switching(scenario: Scenario) -> Optimum:
    """Targets that no change of a single one improves, end to end.

    Searched one level at a time, from the optimum by the papers' criterion, the best constant
    targets, and two that fall in a line. Not certified: no bound is known for the cost end to end.
    Where staleness has no price, the optimum of `optimal_switching`.

    Raises
    ------
    NoOptimumError
        If the cost has no exact value, or the search would take too long.
    """
    if not prices_pages(scenario):
        require_prices(scenario)
        return optimal_switching(scenario)
    require([one_price_of_robots], scenario)
    buffer, robots = buffer_and_robots(scenario)
    levels = buffer.capacity + 1
    available = robots.available
    if levels * available > _MOST_RULES:
        many = f"{counted(levels, 'level')} × {counted(available, 'robot')}"
        raise NoOptimumError(f"{many}; at most {_MOST_RULES} are searched")
    known: dict[Targets, float] = {}
    progress = Progress(f"{scenario.name}: switching, rules tried")

    def cost(targets: Targets) -> float:
        if targets not in known:
            known[targets] = cost_of(scenario.with_("activation", _switching(targets)))
            progress.step()
        return known[targets]

    constant = min(range(1, available + 1), key=lambda each: cost((each,) * levels))
    by_papers = _flat_targets(scenario)
    ramps = [_ramp(available, levels, last) for last in (levels - 1, max(levels // 2, 1))]
    starts = [(constant,) * levels, *by_papers, *ramps]
    best = min((_descended(start, available, cost) for start in starts), key=cost)
    alone, reason = price_of_alone(scenario, optimal_switching, cost_of)
    rules = quantity(f"{len(known):,}", "rule")
    searched = (
        f"best found: {rules} tried; no single target can be changed for the better; not proved"
    )
    other = alone.short if alone else None
    at_limit = more_may_be_better(max(best), scenario)
    search = BestTargets(scenario.name, best, cost(best), other, *by_papers[:1])
    return Optimum(
        target="switching",
        cost=search.cost,
        decision={"targets": list(best)},
        changes={"activation": _switching(best)},
        table=[{"level": level, "target": target} for level, target in enumerate(best)],
        notes=[searched, alone.note(search.cost) if alone else reason, *at_limit],
        search=search,
        proved=False,
    )


def _switching(targets: Sequence[int]) -> dict[str, dict[str, list[int]]]:
    """As in a scenario file."""
    return {"switching": {"targets": list(targets)}}


def _flat_targets(scenario: Scenario) -> list[Targets]:
    """The optimum by the papers' criterion, where it is one list of targets."""
    try:
        targets = optimal_switching(own_criterion(scenario)[0]).decision.get("targets")
    except NoAnswerError:
        return []
    if targets is None:
        return []
    rows = targets if isinstance(targets[0], list) else [targets]
    return [tuple(max(each, int(level == 0)) for level, each in enumerate(rows[0]))]


def _ramp(available: int, levels: int, last: int) -> Targets:
    """Targets that fall in a line from all robots to none at a level."""
    return tuple(max(round(available * (1.0 - level / last)), 0) for level in range(levels))


def _descended(targets: Targets, available: int, cost: Callable[[Targets], float]) -> Targets:
    """No single target can be changed for the better.

    Numbers near the present one come first: that takes a third of the rules.
    """
    for steps in ((-4, -2, -1, 1, 2, 4), range(-available, available + 1)):
        moves = [partial(_with_another, level, steps, available) for level in range(len(targets))]
        targets, _ = descended(targets, moves, lambda some: np.array(list(map(cost, some))))
    return targets


def _with_another(
    level: int, steps: Sequence[int], available: int, targets: Targets
) -> list[Targets]:
    """The same but for one target, up or down by some steps."""
    numbers = (targets[level] + step for step in steps)
    return [
        (*targets[:level], each, *targets[level + 1 :])
        for each in numbers
        if int(level == 0) <= each <= available
    ]
