"""The best fixed number of robots, end to end."""

from __future__ import annotations

import numpy as np

from analytic.indexing_queue.fixed_robots import StaticSearch, optimal_fixed_number
from analytic.optimum import NoOptimumError, Optimum
from analytic.pipeline.criteria import (
    cost_of,
    cost_of_no_robot,
    more_than,
    price_of_alone,
    prices_staleness,
    require_prices,
)
from analytic.progress import followed
from scenarios import Scenario

__all__ = ["end_to_end_robots"]


def end_to_end_robots(scenario: Scenario) -> Optimum:
    """The best fixed number of robots from 0 on, end to end; the table has the cost of each.

    Where staleness has no price, that of `optimal_fixed_number`.

    Raises
    ------
    NoOptimumError
        If the cost has no exact value.
    """
    if not prices_staleness(scenario):
        require_prices(scenario)
        return optimal_fixed_number(scenario)
    assert scenario.robots is not None
    available = scenario.robots.available
    doing = f"{scenario.name}: numbers of robots"
    numbers = followed(range(1, available + 1), doing, available)
    some = [cost_of(scenario.with_("activation", {"static": each})) for each in numbers]
    costs = np.array([cost_of_no_robot(scenario), *some])
    if np.isnan(costs).all():
        raise NoOptimumError("no number has a cost: nothing is served")
    alone, reason = price_of_alone(scenario, optimal_fixed_number)
    other = alone.short if alone else None
    search = StaticSearch(scenario.name, scenario.time_unit, costs, other)
    best = float(costs[search.optimum])
    return Optimum(
        target="static",
        cost=best,
        lower_bound=None,
        decision={"robots": search.optimum},
        changes={"activation": {"static": search.optimum}},
        table=[row | {"more": more_than(row["cost"], best)} for row in search.rows()],
        notes=[
            "more: per cent above the best",
            alone.note(best) if alone else reason,
            *search.notes(),
        ],
        search=search,
        proved=True,
        gap=0.0,
    )
