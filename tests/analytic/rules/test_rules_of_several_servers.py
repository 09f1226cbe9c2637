"""Searches over rules for several servers: many together, and the best of all rules."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from analytic import optimize
from analytic.rules.free_process import best_free_rule
from analytic.rules.levels import thresholds_by_level
from analytic.rules.searching import NON_INCREASING, all_costs, exact_cost, threshold_policies
from analytic.rules.thresholds import best_thresholds
from scenarios import Scenario, load, scenario_from

PHASES = {"phase-type": {"alpha": [0.6, 0.4], "T": [[-2.0, 0.5], [0.3, -1.1]]}}


def random_queue(rng: np.random.Generator, service: dict[str, Any] | None = None) -> Scenario:
    """Two or three indexers, two to four robots, and prices of what goes wrong."""
    servers, robots = int(rng.integers(2, 4)), int(rng.integers(2, 5))
    prices = dict(zip(("loss", "starvation", "robots"), rng.uniform(0.1, 2.0, 3), strict=True))
    patience = {"exponential": {"rate": rng.uniform(0.05, 0.5)}} if rng.random() < 0.5 else None
    buffer = {
        "servers": servers,
        "waiting_places": int(rng.integers(0, 4)),
        "service": service or {"exponential": {"mean": rng.uniform(0.3, 3.0)}},
        **({} if patience is None else {"obsolescence": patience}),
    }
    return scenario_from(
        {
            "name": "several",
            "robots": {"available": robots, "access_time": {"exponential": {"mean": 1.0}}},
            "buffer": buffer,
            "costs": prices | ({} if patience is None else {"obsolescence": 0.7}),
        }
    )


@pytest.mark.parametrize("service", [None, PHASES])
def test_many_rules_together_cost_what_each_costs_by_itself(service: dict[str, Any] | None) -> None:
    """Elimination of all at once against the chain of each, which is another program."""
    rng = np.random.default_rng(11)
    for _ in range(3):
        scenario = random_queue(rng, service)
        numbers = range(1, count_of_robots(scenario) + 1)
        levels = scenario.model.queue.capacity + 1  # type: ignore[union-attr]
        costs = all_costs(scenario, numbers, NON_INCREASING)
        rows = rng.choice(len(costs), 4)
        for row, policy in zip(rows, threshold_policies(numbers, levels, rows), strict=True):
            used = by_thresholds(scenario, policy.tolist())
            assert costs[row] == pytest.approx(exact_cost(used, "none"), rel=1e-9)


def count_of_robots(scenario: Scenario) -> int:
    """How many there are."""
    assert scenario.robots is not None
    return scenario.robots.available


def by_thresholds(scenario: Scenario, robots: list[int]) -> Scenario:
    """The scenario with numbers of robots by level."""
    return scenario.with_("activation", {"levels": robots})


@pytest.mark.thorough
def test_the_best_of_all_rules_is_the_best_list_of_thresholds_where_it_falls() -> None:
    """Against all lists, of random systems; where it rises somewhere nothing is said."""
    rng = np.random.default_rng(12)
    falling = 0
    for _ in range(12):
        scenario = random_queue(rng)
        every = best_thresholds(scenario).optimum
        found = thresholds_by_level(scenario)
        free = best_free_rule(scenario, range(1, count_of_robots(scenario) + 1))
        assert free.lower <= every.cost * (1 + 1e-9)
        robots = [int(each.flat[0]) for each in free.rule]
        rises = any(below < above for below, above in pairwise(robots))
        assert rises == (found is None)
        if found is not None:
            falling += 1
            assert found.cost == pytest.approx(every.cost, rel=1e-9)
            decided = scenario.with_(found.changes)
            assert exact_cost(decided, "none") == pytest.approx(every.cost, rel=1e-9)
    assert falling >= 6


def test_the_best_thresholds_of_an_operators_queue_are_found_and_proved() -> None:
    """Forty robots and 103 levels: more lists of thresholds than could ever be compared."""
    scenario = scenario_from(
        {
            "name": "eng",
            "robots": {"available": 40, "access_time": {"exponential": {"mean": 0.8}}},
            "buffer": {
                "waiting_places": 100,
                "servers": 3,
                "service": {"exponential": {"mean": 0.0625}},
            },
            "costs": {"loss": 0.5, "robots": 0.02, "starvation": 1.0},
        }
    )
    best = optimize(scenario, "threshold")
    assert best.cost == pytest.approx(best.lower_bound, rel=1e-9)
    assert best.cost is not None
    one_less = {"threshold": {"robots": [39, 1], "at": [0]}}
    assert exact_cost(scenario.with_("activation", one_less), "none") > best.cost
    assert exact_cost(scenario.with_(best.changes), "none") == pytest.approx(best.cost, rel=1e-9)


def test_numbers_by_level_of_several_indexers_are_found_and_rules_of_phases_have_no_words() -> None:
    scenario = load("several-indexers").with_("costs", {"loss": 1.0, "robots": 0.1})
    levels = optimize(scenario, "levels")
    assert levels.proved
    with pytest.raises(Exception, match="index pages at a time"):
        optimize(scenario, "free")
