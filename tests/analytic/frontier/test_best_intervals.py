"""The best intervals: against the bound that they reach, and what is said of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import analytic
import crawlsim
import sim
from analytic import optimize
from analytic.page_refresh import in_time_bound
from scenarios import ScenarioError, scenario_from

PAGES: dict[str, Any] = {
    "name": "frontier",
    "pages": {"change_rates": [0.5, 0.3, 0.2, 1.0, 0.1], "weights": "uniform"},
    "robots": {
        "available": 2,
        "access_time": {"exponential": {"mean": 1.0}},
        "accessing": {"policy": "due", "intervals": "optimal"},
    },
}

INSTANT = {
    "robots.access_time.exponential.mean": 1e-9,
    "robots.available": 5,
    "robots.accessing.budget": 2.0,
}


def test_accesses_that_take_no_time_reach_the_bound() -> None:
    """Of two accesses per unit time nothing is lost but what no schedule can do without."""
    best = optimize(scenario_from(PAGES).with_(INSTANT), "frequencies")
    mu, hosts, caps = np.array([0.5, 0.3, 0.2, 1.0, 0.1]), np.zeros(5, dtype=int), [np.inf]
    assert best.cost == pytest.approx(in_time_bound(mu, np.ones(5), 0.5, hosts, caps), rel=1e-6)
    assert sum(1 / each for each in best.decision["intervals"]) == pytest.approx(2.0, rel=1e-6)


def test_no_other_intervals_of_the_same_budget_are_better() -> None:
    scenario = scenario_from(PAGES).with_(INSTANT)
    best = optimize(scenario, "frequencies")
    rates = 1.0 / np.array(best.decision["intervals"])
    assert best.cost is not None
    stream = np.random.default_rng(1)
    for _ in range(20):
        others = rates * stream.uniform(0.9, 1.1, 5)
        changed = {
            "robots.accessing.budget": None,
            "robots.accessing.intervals": (others.sum() / 2.0 / others).tolist(),
        }
        rows = analytic.predict(scenario.with_(changed))[0]
        (cost,) = [row.value for row in rows if row.measure == "weighted_obsolescence"]
        assert cost > best.cost


def test_the_decision_is_what_resolve_puts_into_the_file() -> None:
    scenario = scenario_from(PAGES)
    best = optimize(scenario, "frequencies")
    resolved = analytic.resolve(scenario)
    assert resolved == scenario.with_(best.changes)
    assert best.lower_bound is not None
    assert best.cost is not None
    assert best.lower_bound < best.cost
    rows = {(row.measure, row.subject): row.value for row in analytic.predict(resolved)[0]}
    assert rows["weighted_obsolescence", None] == best.cost


def test_what_is_given_stands_beside_what_is_best() -> None:
    given = scenario_from(PAGES).with_("robots.accessing.intervals", 2.0)
    as_given, best = optimize(given, "frequencies").table
    assert best["cost"] < as_given["cost"]
    rows = analytic.predict(given)[0]
    accesses = sum(row.value for row in rows if row.measure == "crawl_rate")
    assert as_given["accesses per unit time"] == pytest.approx(accesses)
    assert best["accesses per unit time"] > accesses


def test_a_page_that_is_best_never_accessed_is_never_due_and_named() -> None:
    scenario = scenario_from(PAGES).with_("pages.weights", [1.0, 1.0, 1.0, 0.01, 1.0])
    best = optimize(scenario, "frequencies")
    assert best.decision["intervals"][3] == math.inf
    assert any("1 of 5 pages is never accessed: 3" in note for note in best.notes)


def test_more_than_the_robots_can_give_is_said() -> None:
    best = optimize(scenario_from(PAGES).with_("robots.accessing.budget", 9.0), "frequencies")
    assert list(best.notes) == ["the robots can give 2 accesses per unit time, at most"]
    assert best.decision == optimize(scenario_from(PAGES), "frequencies").decision


def test_other_access_times_have_a_cost_that_is_near() -> None:
    constant = {"robots.access_time": {"deterministic": {"value": 1.0}}}
    best = crawlsim.optimize(scenario_from(PAGES).with_(constant), "frequencies")
    assert best.kind == "approximation"
    assert any("not exponential" in note for note in best.notes)


def test_what_has_no_formula_has_no_cost_but_a_decision() -> None:
    hosts = {"pages.hosts": [0, 0, 0, 1, 1], "robots.host_spacing": 4.0}
    best = optimize(scenario_from(PAGES).with_(hosts), "frequencies")
    assert best.cost is None
    assert any("robots may wait for hosts" in note for note in best.notes)
    between = np.array(best.decision["intervals"]) + 1.0
    assert (1 / between)[:3].sum() <= 0.25 + 1e-9


def test_an_unresolved_frontier_cannot_be_simulated_and_says_how_to_go_on() -> None:
    with pytest.raises(ScenarioError, match="still to be resolved") as refusal:
        sim.run(scenario_from(PAGES))
    assert refusal.value.key == "robots.accessing.intervals"


def test_the_bound_is_that_of_the_budget() -> None:
    """No schedule of so many accesses is better; with fewer of them the bound is higher."""
    half = optimize(scenario_from(PAGES).with_("robots.accessing.budget", 1.0), "frequencies")
    everything = optimize(scenario_from(PAGES), "frequencies")
    mu, hosts, caps = np.array([0.5, 0.3, 0.2, 1.0, 0.1]), np.zeros(5, dtype=int), [np.inf]
    assert half.lower_bound == in_time_bound(mu, np.ones(5), 1.0, hosts, caps)
    assert half.cost is not None
    assert everything.lower_bound is not None
    assert everything.lower_bound < half.lower_bound < half.cost
