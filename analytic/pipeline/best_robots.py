"""The best fixed number of robots, end to end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from analytic.indexing_queue.fixed_robots import (
    StaticSearch,
    best_sets,
    kinds_of_robots,
    optimal_fixed_number,
    with_some_cost,
)
from analytic.optimum import Optimum
from analytic.pipeline.criteria import (
    copies_leave_together,
    cost_of,
    cost_of_no_robot,
    more_may_be_better,
    more_than,
    price_of_alone,
    prices_staleness,
    require_prices,
)
from analytic.progress import followed
from scenarios import Scenario
from scenarios.arrays import Array


def end_to_end_robots(scenario: Scenario) -> Optimum:
    """The best fixed number of robots from 0 on, end to end; the table has the cost of each.

    Where staleness has no price, that of `optimal_fixed_number`; where copies of a page leave the
    buffer together, the same search by the formulas of this package.

    Raises
    ------
    NoOptimumError
        If the cost has no exact value.
    """
    if not prices_staleness(scenario):
        require_prices(scenario)
        return _by_papers(scenario)
    search = _searched(scenario)
    alone, reason = price_of_alone(scenario, _by_papers)
    if alone is not None:
        search = replace(search, other=(*alone.short, _number(alone.decision)))
    best = float(search.costs[search.optimum])
    said = ["more: per cent above the best", alone.note(best) if alone else reason]
    return _optimum(scenario, search, said)


def _by_papers(scenario: Scenario) -> Optimum:
    """The best number by other prices than that of staleness."""
    if not copies_leave_together(scenario):
        return optimal_fixed_number(scenario)
    return _optimum(scenario, _searched(scenario), ["more: per cent above the best"])


def _number(decision: Mapping[str, Any]) -> int:
    return int(decision["robots"]) if "robots" in decision else len(decision["these"])


def _searched(scenario: Scenario) -> StaticSearch:
    """The cost of each number of robots from 0 on; of the best ones where they are not alike."""
    name = scenario.name
    unit = scenario.time_unit
    if len(kinds := kinds_of_robots(scenario)) < 2:
        return StaticSearch(name, unit, _costs(scenario))

    def cost(chosen: tuple[int, ...]) -> float:
        return cost_of(scenario.with_("activation", {"these": list(chosen)}))

    best = best_sets(kinds, cost, f"{name}: sets of robots")
    return StaticSearch(name, unit, with_some_cost(np.array(best.costs)), best=best)


def _costs(scenario: Scenario) -> Array:
    """The cost of each number of robots from 0 on."""
    assert scenario.robots is not None
    available = scenario.robots.available
    doing = f"{scenario.name}: numbers of robots"
    numbers = followed(range(1, available + 1), doing, available)
    some = [cost_of(scenario.with_("activation", {"static": each})) for each in numbers]
    costs = np.array([cost_of_no_robot(scenario), *some])
    return with_some_cost(costs)


def _optimum(scenario: Scenario, search: StaticSearch, said: Sequence[str]) -> Optimum:
    best = float(search.costs[search.optimum])
    edge = more_may_be_better(search.optimum, scenario)
    return Optimum(
        target="static",
        cost=best,
        lower_bound=None,
        decision=search.decision,
        changes=search.changes,
        table=[row | {"more": more_than(row["cost"], best)} for row in search.rows()],
        notes=[*said, *edge, *search.notes()],
        search=search,
        proved=search.is_complete,
        gap=0.0 if search.is_complete else None,
    )
