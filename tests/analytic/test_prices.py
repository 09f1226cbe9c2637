"""Prices of indexers, waiting places, accesses and bytes: the same in every formula and search."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from pipelines import PIPELINES, pipeline

import analytic
from scenarios import Scenario, ScenarioError, load, scenario_from

PAID = {"indexer": 0.35, "waiting_place": 0.04, "access": 0.15}
FAILING = {"probability": 0.25, "retries": 1}
SIZES = {"pages.sizes": [9.0, 2.0, 5.0, 1.0, 7.0], "robots.unchanged": {"bytes": 0.5}}


def exactly(scenario: Scenario) -> dict[Any, float]:
    """The exact values, by measure and subject."""
    return {key: value for key, (value, _) in analytic.exact_values(scenario).items()}


def paid_for(scenario: Scenario, found: dict[Any, float]) -> float:
    """What the prices are of, by other exact measures: written out once more."""
    costs, robots, buffer = scenario.costs, scenario.robots, scenario.buffer
    assert robots is not None
    attempts = 1.0 / (1.0 - robots.failure.probability) if robots.failure else 1.0
    delivered = found.get(("arrival_rate", None))
    if delivered is None:
        assert scenario.model.pages is not None
        delivered = sum(found["crawl_rate", page] for page in range(scenario.model.pages.count))
    cost = costs.access * attempts * delivered
    if costs.byte:
        cost += costs.byte * attempts * found["bytes_rate", None]
    if buffer is not None:
        cost += costs.indexer * buffer.servers + costs.waiting_place * buffer.waiting_places
    return cost


def random_queue(number: int, most: int = 6) -> dict[str, Any]:
    """One of many queues that some formula of the control cost covers."""
    random = np.random.default_rng([29, number])
    mean = float(random.uniform(0.5, 3.0))
    available = int(random.integers(1, 5))
    service = [
        {"exponential": {"mean": 1.0}},
        {"erlang": {"shape": 2, "mean": 1.0}},
        {"hyperexponential": {"probabilities": [0.4, 0.6], "rates": [0.5, 2.0]}},
        {"deterministic": {"value": 0.7}},
    ][number % 4]
    tables: dict[str, Any] = {
        "name": "priced",
        "robots": {"available": available, "access_time": {"exponential": {"mean": mean}}},
        "buffer": {"waiting_places": int(random.integers(0, most)), "service": service},
    }
    if number % 4 < 3 and number % 3:
        tables["buffer"]["servers"] = int(random.integers(1, 4))
    if number % 4 == 0 and number % 3 == 0:
        tables["robots"] = {"available": 1, "access_time": {"deterministic": {"value": mean / 2}}}
    if number % 5 == 0:
        tables["robots"]["failure"] = FAILING
    if number % 8 < 3:
        tables["buffer"]["obsolescence"] = {"exponential": {"mean": 5.0}}
    tables["costs"] = {"loss": float(random.uniform(0.5, 2.0)), "starvation": 0.3, "robots": 0.05}
    return tables


@pytest.mark.by_day(every=10)
@pytest.mark.parametrize("number", range(100))
def test_the_cost_of_a_queue_has_what_is_paid_for(number: int) -> None:
    before = scenario_from(random_queue(number))
    after = before.with_({f"costs.{name}": price for name, price in PAID.items()})
    found = exactly(after)
    cost = exactly(before)["control_cost", None] + paid_for(after, found)
    assert found["control_cost", None] == pytest.approx(cost, rel=1e-12)


@pytest.mark.by_day(every=5, besides=("replacement", "cyclic, gamma"))
@pytest.mark.parametrize("name", PIPELINES)
def test_the_cost_end_to_end_has_what_is_paid_for(name: str) -> None:
    """Where robots never rest the bytes are known, too."""
    prices = {"costs.staleness": 2.0, "costs.loss": 1.0}
    before = pipeline(name).with_(prices | SIZES)
    if ("control_cost", None) not in exactly(before):
        before = before.with_("costs.loss", None)
    bytes_known = ("bytes_rate", None) in exactly(before)
    paid = PAID | ({"byte": 0.2} if bytes_known else {})
    after = before.with_({f"costs.{name}": price for name, price in paid.items()})
    found = exactly(after)
    cost = exactly(before)["control_cost", None] + paid_for(after, found)
    assert found["control_cost", None] == pytest.approx(cost, rel=1e-12)
    if not bytes_known:
        assert ("control_cost", None) not in exactly(after.with_("costs.byte", 0.2))


@pytest.mark.parametrize("name", ["not-modified", "short-304s", "frontier", "failing-fetches"])
def test_the_cost_of_pages_has_what_is_paid_for(name: str) -> None:
    before = load(name).with_("costs", {"staleness": 1.0})
    prices: dict[str, Any] = {"costs.access": 0.15}
    if before.pages is not None and before.pages.sizes is not None:
        prices["costs.byte"] = 1e-4
    after = before.with_(prices)
    found = exactly(after)
    cost = exactly(before)["control_cost", None] + paid_for(after, found)
    assert found["control_cost", None] == pytest.approx(cost, rel=1e-12)


SEARCHED = {
    "robots": {"available": 3, "access_time": {"exponential": {"mean": 1.5}}},
    "buffer": {"waiting_places": 2, "service": {"exponential": {"mean": 0.8}}},
    "costs": {"loss": 1.0, "starvation": 0.8, "robots": 0.02} | PAID,
}


@pytest.mark.by_day(every=4)
@pytest.mark.parametrize("target", ["static", "threshold", "levels", "free", "switching"])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"costs.staleness": 1.0},
        {"costs.switch": 0.1},
        {"costs.response": 0.1},
        {"buffer.servers": 2},
        {"robots.failure": FAILING, "buffer.service": {"erlang": {"shape": 2, "mean": 0.8}}},
    ],
    ids=str,
)
def test_a_search_shows_the_cost_that_solve_shows_of_its_decision(
    target: str, changes: dict[str, Any]
) -> None:
    scenario = scenario_from({"name": "searched", **SEARCHED})
    if "costs.staleness" in changes:
        pages = {"change_rates": [0.1, 0.3], "weights": "uniform"}
        changes = changes | {"pages": pages, "robots.accessing": {"policy": "randomized"}}
    priced = scenario.with_(changes)
    try:
        found = analytic.optimize(priced, target)
    except ScenarioError:
        return  # not every search covers every price
    decided = priced.with_(found.changes)
    if target == "static" and "costs.switch" in changes:
        decided = decided.with_("costs.switch", None)
    assert found.cost == pytest.approx(exactly(decided)["control_cost", None], rel=1e-10)
    if found.lower_bound is not None and found.cost is not None:
        assert found.lower_bound <= found.cost * (1 + 1e-9)


@pytest.mark.by_day(every=10)
@pytest.mark.parametrize("number", range(50))
def test_no_fixed_number_and_no_threshold_costs_less(number: int) -> None:
    """Accesses that cost make fewer robots best; every rule is solved by itself."""
    tables = random_queue(4 * number + number % 3, most=3)
    tables["robots"] = {"available": 3, "access_time": {"exponential": {"mean": 1.5}}}
    tables["buffer"].pop("servers", None)
    random = np.random.default_rng([31, number])
    tables["costs"] = {
        "loss": 1.0,
        "starvation": float(random.uniform(0.5, 2.0)),
        "access": float(10.0 ** random.uniform(-2.0, 0.0)),
        "indexer": 0.1,
    }
    scenario = scenario_from(tables)
    rules: list[dict[str, Any]] = [{"static": each} for each in range(1, 4)]
    top = tables["buffer"]["waiting_places"] + 1
    rules += [
        {"threshold": {"robots": [more, less], "at": [at]}}
        for more, less, at in product(range(2, 4), range(1, 3), range(top))
        if less < more
    ]
    costs = [exactly(scenario.with_("activation", rule))["control_cost", None] for rule in rules]
    best = analytic.optimize(scenario, "static")
    # With no robot nothing is fetched, and the engine always starves.
    none = tables["costs"]["starvation"] + 0.1
    assert best.cost == pytest.approx(min(none, *costs[:3]), rel=1e-10)
    threshold = analytic.optimize(scenario.with_("activation", None), "threshold")
    assert threshold.cost is not None
    assert threshold.cost <= min(costs) * (1 + 1e-10)
