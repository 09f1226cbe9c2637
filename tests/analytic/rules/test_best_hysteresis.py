"""The best thresholds with a way back of their own, against all of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest
from thresholds_with_a_gap import measured, random_tables, switching_pipeline

import analytic
from analytic.indexing_queue.measures import top_level
from analytic.rules.hysteresis import (
    all_rules,
    as_thresholds,
    best_hysteresis,
    between,
    by_chain,
    cheapest,
    count_rules,
    steps_of,
    without_gap,
)
from scenarios import ScenarioError, scenario_from


def small_tables(number: int) -> dict[str, Any]:
    """One of many systems with a few hundred rules at most, and prices of all sizes."""
    random = np.random.default_rng([11, number])
    tables = random_tables(number + 1000)
    robots = int(random.integers(2, 4))
    places = int(random.integers(1, 4 if robots == 2 else 3))
    service = tables["buffer"]["service"]
    tables["robots"] = {
        "available": robots,
        "access_time": {"exponential": {"mean": float(random.uniform(0.5, 2.0))}},
    }
    tables["buffer"] = {"waiting_places": places, "service": service} | {
        key: value for key, value in tables["buffer"].items() if key == "obsolescence"
    }
    start_up = tables["activation"].get("start_up")
    tables["activation"] = {"threshold": {"robots": [robots], "at": [], "back": []}}
    if start_up:
        tables["activation"]["start_up"] = start_up
    prices = {name: float(random.uniform(0.0, 1.0)) for name in ("loss", "robots", "starvation")}
    tables["costs"] = {**prices, "switch": float(10.0 ** random.uniform(-2.0, 0.5))}
    return tables


def rules_of_files(tables: dict[str, Any], least: int = 1) -> Iterator[dict[str, Any]]:
    """Every list of numbers with every pair of lists of levels that a file may have."""
    robots = tables["robots"]["available"]
    top = tables["buffer"]["waiting_places"] + 1
    for count in range(1, robots + 2 - least):
        for used in combinations(range(robots, least - 1, -1), count):
            if used[0] == 0:
                continue
            for at in combinations_with_replacement(range(top), count - 1):
                for back in combinations_with_replacement(range(top), count - 1):
                    if all(low <= high for low, high in zip(back, at, strict=True)):
                        yield {"robots": list(used), "at": list(at), "back": list(back)}


def cheapest_of_files(tables: dict[str, Any]) -> float:
    """The least cost by dense matrices, robot by robot."""
    costs = []
    for rule in rules_of_files(tables):
        activation = {**tables["activation"], "threshold": rule}
        costs.append(measured({**tables, "activation": activation})["control_cost"])
    return float(min(costs))


@pytest.mark.by_day(every=25)
@pytest.mark.parametrize("number", range(100))
def test_no_rule_that_a_file_may_have_costs_less(number: int) -> None:
    tables = small_tables(number)
    best = best_hysteresis(scenario_from(tables))
    assert best.cost == pytest.approx(cheapest_of_files(tables), rel=1e-9)
    assert best.lower_bound is not None
    assert best.lower_bound <= best.cost


@pytest.mark.by_day(every=25, besides=("50",))
@pytest.mark.parametrize("number", range(100))
def test_nobody_at_all_is_a_number_too_where_the_file_lists_it(number: int) -> None:
    """The bound is known then, and no rule that a file may have costs less than it."""
    tables = small_tables(number)
    listed = {"robots": [tables["robots"]["available"], 0], "at": [1], "back": [0]}
    tables["activation"]["threshold"] = listed
    best = best_hysteresis(scenario_from(tables))
    costs = [tables["costs"]["starvation"]]  # of nobody, ever
    for rule in rules_of_files(tables, least=0):
        activation = {**tables["activation"], "threshold": rule}
        costs.append(measured({**tables, "activation": activation})["control_cost"])
    assert best.cost == pytest.approx(min(costs), rel=1e-9)
    assert best.lower_bound is not None
    assert best.lower_bound <= best.cost * (1 + 1e-9)
    assert best.lower_bound > 0


@pytest.mark.by_day(every=25)
@pytest.mark.parametrize("number", range(100))
def test_descents_find_what_lists_of_all_rules_find(number: int) -> None:
    scenario = scenario_from(small_tables(number))
    assert scenario.robots is not None
    assert scenario.buffer is not None
    numbers = range(scenario.robots.available + 1)
    top = scenario.buffer.capacity
    steps = steps_of(top, apart=True)
    value = by_chain(scenario)
    known: dict[Any, float] = {}

    def costs(rules: Any) -> Any:
        for rule in rules:
            given = as_thresholds(rule, numbers, top)
            if rule not in known:
                known[rule] = value(given) if given.robots != (0,) else np.inf
        return np.array([known[rule] for rule in rules])

    every = cheapest(len(numbers), steps, costs, [], most=10**6)
    found = cheapest(len(numbers), steps, costs, [], most=len(steps))
    assert every.proved
    assert not found.proved
    assert found.cost == pytest.approx(every.cost, rel=1e-9)


@pytest.mark.by_day(every=10)
@pytest.mark.parametrize("number", range(100))
def test_without_a_gap_no_rule_costs_less(number: int) -> None:
    """Level by level, against all of them: one or two indexers, 1 or 0 robots at the least."""
    random = np.random.default_rng([18, number])
    tables = small_tables(number)
    tables["activation"] = {"threshold": {"robots": [1], "at": [], "back": []}}
    tables["buffer"] |= {
        "service": {"exponential": {"mean": float(random.uniform(0.1, 2.0))}},
        "servers": int(random.integers(1, 3)),
    }
    if "obsolescence" in tables["buffer"]:
        tables["buffer"]["obsolescence"] = {
            "exponential": {"mean": float(random.uniform(0.5, 5.0))}
        }
    scenario = scenario_from(tables)
    assert scenario.robots is not None
    numbers = range(int(random.integers(0, 2)), scenario.robots.available + 1)
    top = top_level(scenario)
    value = by_chain(scenario)

    def costs(rules: Any) -> Any:
        given = (as_thresholds(rule, numbers, top) for rule in rules)
        return np.array([value(each) if each.robots != (0,) else np.inf for each in given])

    every = cheapest(len(numbers), steps_of(top, apart=False), costs, [], most=10**6)
    found = without_gap(scenario, numbers, costs)
    assert found is not None
    assert found.cost == pytest.approx(every.cost, rel=1e-10)


def test_a_policy_under_which_an_empty_system_is_beyond_all_numbers() -> None:
    """Its equations are solved in units of a state that is likely.

    The best pair of levels, by all of them, costs 0.498391; value iteration ends above 0.47609.
    """
    tables = small_tables(1)
    tables["robots"] = {"available": 40, "access_time": {"exponential": {"mean": 0.8}}}
    tables["activation"] = {"threshold": {"robots": [40, 20], "at": [50], "back": [30]}}
    service = {"exponential": {"mean": 0.0625}}
    tables["buffer"] = {"waiting_places": 60, "servers": 3, "service": service}
    tables["costs"] = {"loss": 1.0, "switch": 0.02, "robots": 0.01, "starvation": 50.0}
    best = best_hysteresis(scenario_from(tables))
    assert best.proved
    assert best.lower_bound == pytest.approx(best.cost, rel=1e-9)
    assert 0.47609 < best.cost < 0.498391


def test_without_a_gap_loads_of_all_sizes_have_a_rule() -> None:
    """Products of five hundred ratios of rates are beyond what a number can be."""
    tables = small_tables(1)
    tables["robots"]["available"] = 3
    tables["activation"] = {"threshold": {"robots": [3], "at": [], "back": []}}
    tables["buffer"] = {"waiting_places": 400, "service": {"exponential": {"mean": 300.0}}}
    scenario = scenario_from(tables)
    found = best_hysteresis(scenario)
    assert found.proved
    assert found.lower_bound == pytest.approx(found.cost, rel=1e-9)


def test_the_rules_are_those_of_files() -> None:
    """Each rule of a file that uses all its numbers is one rule, and the other way round."""
    tables = small_tables(0)
    tables["robots"]["available"] = 3
    tables["buffer"]["waiting_places"] = 2
    top, numbers = 3, (1, 2, 3)
    rules = list(all_rules(3, steps_of(top, apart=True)))
    assert len(rules) == count_rules(3, steps_of(top, apart=True))
    written = {as_thresholds(rule, numbers, top) for rule in rules}
    assert len(written) == len(rules)
    in_files = {
        (tuple(rule["robots"]), tuple(rule["at"]), tuple(rule["back"]))
        for rule in rules_of_files(tables)
        if len(set(zip(rule["at"], rule["back"], strict=True))) == len(rule["at"])
    }
    assert {(each.robots, each.at, each.back) for each in written} == in_files


def test_numbers_between_two_others_as_a_rule() -> None:
    """Three while the level is 0 or 1, two up to 3, one above; back to three at 0, to two at 2."""
    rule = between([3, 2, 2, 1, 1], [3, 3, 2, 2, 1], (1, 2, 3))
    given = as_thresholds(rule, (1, 2, 3), 4)
    assert (given.robots, given.at, given.back) == ((3, 2, 1), (1, 3), (0, 2))


def test_it_says_what_hysteresis_saves() -> None:
    best = analytic.optimize(switching_pipeline(), "threshold")
    assert best.changes["activation"]["threshold"] == best.decision
    last = best.table[-1]
    saved = 100 * (1 - last["cost"] / best.table[-2]["cost"])
    assert last["cost"] == best.cost
    assert saved > 5
    assert best.notes[0].startswith(f"hysteresis saves {saved:.2g} % of the cost of the best thre")
    assert "no rule costs less, of whatever it sees" in best.notes
    written = switching_pipeline().with_(best.changes)
    (cost, _) = analytic.exact_values(written)["control_cost", None]
    assert cost == pytest.approx(best.cost, rel=1e-12)


def test_where_switches_are_dear_nobody_is_switched() -> None:
    best = analytic.optimize(switching_pipeline({"costs.switch": 50.0}), "threshold")
    assert len(best.decision["robots"]) == 1
    assert best.notes[0].startswith("hysteresis saves nothing")


def test_a_start_up_stays_in_the_file() -> None:
    given = {"activation.start_up.exponential.mean": 0.5, "buffer.waiting_places": 2}
    best = analytic.optimize(
        switching_pipeline(given | {"activation.threshold.at": [2]}), "threshold"
    )
    assert best.changes["activation"]["start_up"] == {"exponential": {"mean": 0.5}}
    assert best.decision["back"] != best.decision["at"]


PAGES: dict[str, Any] = {
    "pages": {"change_rates": [0.1, 0.3], "weights": [1.0, 2.0]},
    "robots.accessing": {"policy": "randomized", "frequencies": [0.5, 0.5]},
    "robots.available": 2,
    "activation.threshold": {"robots": [2, 1], "at": [1]},
    "buffer.waiting_places": 1,
    "costs.staleness": 0.5,
}


def test_with_a_price_of_staleness_no_rule_of_files_costs_less() -> None:
    scenario = switching_pipeline(PAGES)
    best = analytic.optimize(scenario, "threshold")
    costs = []
    for robots in ([2], [1], [2, 1], [2, 0], [1, 0], [2, 1, 0]):
        for at in combinations_with_replacement(range(2), len(robots) - 1):
            for back in product(*(range(each + 1) for each in at)):
                if list(back) == sorted(back):
                    rule = {"robots": robots, "at": list(at), "back": list(back)}
                    exact = analytic.exact_values(scenario.with_("activation.threshold", rule))
                    costs.append(exact["control_cost", None][0])
    assert best.proved
    assert best.cost == pytest.approx(min(costs), rel=1e-9)


@pytest.mark.parametrize("target", ["levels", "free", "switching"])
def test_other_rules_do_not_count_switches(target: str) -> None:
    with pytest.raises(ScenarioError, match="switches"):
        analytic.optimize(switching_pipeline(), target)


def test_a_fixed_number_is_found_as_without_a_price_of_switches() -> None:
    scenario = switching_pipeline()
    best = analytic.optimize(scenario, "static")
    assert best.cost == analytic.optimize(scenario.with_("costs.switch", None), "static").cost
