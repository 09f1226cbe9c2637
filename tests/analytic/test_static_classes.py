"""The best number of robots of each class, against chains written by hand; prices of their own."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from profiles import examples

import analytic
import sim
from analytic.index.optimum import NoOptimumError
from analytic.rules.fixed import best_fixed_number
from crawlsim.searching import SearchRequest, next_best
from scenarios import Scenario, ScenarioError, load, scenario_from
from sim import compiled_engine, simpy_engine

PHASES = {"phase-type": {"alpha": [0.4, 0.6], "T": [[-2.0, 1.0], [0.0, -1.5]]}}


def queue(
    rates: list[float], counts: list[int], prices: Any, places: int, timer: float
) -> Scenario:
    classes = [
        {"available": count, "access_time": {"exponential": {"rate": rate}}}
        for rate, count in zip(rates, counts, strict=True)
    ]
    buffer: dict[str, Any] = {"waiting_places": places, "service": PHASES}
    if timer:
        buffer["obsolescence"] = {"exponential": {"rate": timer}}
    costs = {"loss": 1.0, "obsolescence": 0.7, "starvation": 1.4, "robots": prices}
    entries = {"name": "classes", "robots": {"classes": classes}, "buffer": buffer, "costs": costs}
    return scenario_from(entries)


def by_hand(scenario: Scenario, numbers: tuple[int, ...]) -> float:
    """The cost of so many robots of each class: a chain of the level and the phase of service."""
    assert scenario.buffer is not None
    assert scenario.robots is not None
    assert scenario.robots.classes is not None
    law = scenario.buffer.service
    alpha, T = np.array(law.alpha), np.array(law.T)  # type: ignore[union-attr]
    ends = -T.sum(axis=1)
    timer = scenario.buffer.obsolescence
    theta = 0.0 if isinstance(timer, str) else timer.rate  # type: ignore[union-attr]
    laws = [each.access_time for each in scenario.robots.classes]
    rate = sum(n * law.rate for n, law in zip(numbers, laws, strict=True))  # type: ignore[union-attr]
    top = scenario.buffer.capacity
    phases = len(alpha)
    states = [(0, 0)] + [(level, j) for level in range(1, top + 1) for j in range(phases)]
    place = {state: index for index, state in enumerate(states)}
    Q = np.zeros((len(states), len(states)))
    for (level, j), here in place.items():
        if level == 0:
            for k in range(phases):
                Q[here, place[1, k]] += rate * alpha[k]
            continue
        if level < top:
            Q[here, place[level + 1, j]] += rate
        if level > 1:
            Q[here, place[level - 1, j]] += (level - 1) * theta
        for k in range(phases):
            if k != j:
                Q[here, place[level, k]] += T[j, k]
            then = place[level - 1, k] if level > 1 else 0
            Q[here, then] += ends[j] * alpha[k]
    np.fill_diagonal(Q, Q.diagonal() - Q.sum(axis=1))
    system = np.vstack([Q.T, np.ones(len(states))])
    law_of = np.linalg.lstsq(system, np.append(np.zeros(len(states)), 1.0), rcond=None)[0]
    levels = np.bincount([level for level, _ in states], law_of)
    waiting = np.maximum(np.arange(top + 1) - 1, 0)
    prices = scenario.costs.robots
    each = prices if isinstance(prices, tuple) else [prices] * len(numbers)
    paid = sum(n * price for n, price in zip(numbers, each, strict=True))
    return float(1.4 * levels[0] + rate * levels[top] + 0.7 * theta * levels @ waiting + paid)


def vectors(counts: list[int]) -> list[tuple[int, ...]]:
    """Every vector, the fewest robots first, and of as many the smaller vector."""
    every = itertools.product(*(range(count + 1) for count in counts))
    return sorted(every, key=lambda numbers: (sum(numbers), numbers))


@pytest.mark.thorough
@settings(max_examples=examples(30))
@given(
    st.lists(
        st.tuples(st.floats(0.05, 1.0), st.integers(1, 3), st.floats(0.0, 0.3)),
        min_size=2,
        max_size=3,
    ),
    st.integers(0, 3),
    st.sampled_from([0.0, 0.3]),
)
def test_no_vector_is_cheaper(
    classes: list[tuple[float, int, float]], places: int, timer: float
) -> None:
    rates, counts, prices = map(list, zip(*classes, strict=True))
    scenario = queue(rates, counts, prices, places, timer)
    costs = {numbers: by_hand(scenario, numbers) for numbers in vectors(counts)}
    found = analytic.optimize(scenario, "static")
    assert found.cost == pytest.approx(min(costs.values()), rel=1e-9)
    assert costs[tuple(found.decision["robots"])] == pytest.approx(found.cost, rel=1e-9)
    for row in found.table:
        some = [cost for numbers, cost in costs.items() if sum(numbers) == sum(row["robots"])]
        assert row["cost"] == pytest.approx(min(some), rel=1e-9)
    decided = scenario.with_(found.changes)
    rows = {row.measure: row.value for row in analytic.predict(decided)[0] if row.subject is None}
    assert rows["control_cost"] == pytest.approx(found.cost, rel=1e-9)


def test_equal_costs_go_to_the_smaller_vector() -> None:
    """Two classes that are alike: of all ways to have two robots the second class has both."""
    scenario = queue([0.5, 0.5], [2, 2], [0.05, 0.05], 2, 0.0)
    least = min(by_hand(scenario, numbers) for numbers in vectors([2, 2]))
    assert by_hand(scenario, (1, 1)) == pytest.approx(least, rel=1e-12)
    assert analytic.optimize(scenario, "static").decision == {"robots": [0, 2]}


def test_equal_costs_go_to_fewer_robots() -> None:
    """One robot does what two of half its rate and price do."""
    scenario = queue([0.5, 0.25], [1, 2], [0.4, 0.2], 2, 0.0)
    costs = {numbers: by_hand(scenario, numbers) for numbers in vectors([1, 2])}
    assert costs[1, 0] == pytest.approx(costs[0, 2], rel=1e-12)
    assert min(costs.values()) == pytest.approx(costs[1, 0], rel=1e-12)
    assert analytic.optimize(scenario, "static").decision == {"robots": [1, 0]}


def test_a_price_of_the_response() -> None:
    """Without timers Little's law gives the mean response; with 0 robots there is none."""
    scenario = queue([0.5, 0.2], [2, 3], [0.05, 0.01], 3, 0.0).with_("costs.response", 0.2)
    found = best_fixed_number(scenario)
    assert math.isnan(found.costs[0])
    assert found.optimum > 0
    decided = scenario.with_(found.changes)
    rows = {row.measure: row.value for row in analytic.predict(decided)[0] if row.subject is None}
    response = rows["mean_in_system"] / rows["throughput"]
    numbers = tuple(found.decision["robots"])
    plain = scenario.with_("costs.response", 0.0)
    expected = by_hand(plain, numbers) + 0.2 * response
    assert found.costs[found.optimum] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    "changes",
    [
        {"buffer.servers": 2, "buffer.service": {"exponential": {"rate": 0.8}}},
        {"buffer.service": {"deterministic": {"value": 1.0}}},
        {"robots.classes.0.access_time": {"erlang": {"shape": 2, "mean": 2.0}}},
    ],
    ids=["servers", "constant service", "erlang accesses"],
)
def test_the_formula_of_the_cost_agrees_for_each_vector(changes: dict[str, Any]) -> None:
    scenario = queue([0.5, 0.2], [2, 2], [0.05, 0.01], 2, 0.3).with_(changes)
    found = analytic.optimize(scenario, "static")
    costs = {}
    for numbers in vectors([2, 2])[1:]:
        rows = analytic.predict(scenario.with_("activation", {"static": list(numbers)}))[0]
        costs[numbers] = next(row.value for row in rows if row.measure == "control_cost")
    least = min(costs.values())
    assert found.cost == pytest.approx(least, rel=1e-9)
    assert costs[tuple(found.decision["robots"])] == pytest.approx(least, rel=1e-9)


@pytest.mark.thorough
def test_end_to_end_the_best_vector_is_that_of_its_own_costs() -> None:
    pages = {
        "pages": {"change_rates": [0.5, 0.1], "weights": "uniform"},
        "robots.accessing": {"policy": "randomized"},
        "buffer.service": {"exponential": {"rate": 1.0}},
        "costs.staleness": 2.0,
    }
    scenario = queue([0.5, 0.2], [2, 2], [0.05, 0.01], 2, 0.3).with_(pages)
    found = analytic.optimize(scenario, "static")
    costs = {}
    for numbers in vectors([2, 2])[1:]:
        rows = analytic.predict(scenario.with_("activation", {"static": list(numbers)}))[0]
        costs[numbers] = next(row.value for row in rows if row.measure == "control_cost")
    assert found.cost == pytest.approx(min(costs.values()), rel=1e-9)
    assert costs[tuple(found.decision["robots"])] == pytest.approx(found.cost, rel=1e-9)


def test_robots_of_a_joint_process_have_prices_of_their_own() -> None:
    """Alike but for their prices: the cheap ones. The cost is that of the queue and the prices."""
    poisson = {"poisson": {"rate": 0.4}}
    entries = {
        "name": "priced",
        "robots": {"available": 3, "deliveries": {"independent": [poisson] * 3}},
        "buffer": {"waiting_places": 2, "service": {"exponential": {"rate": 1.0}}},
        "costs": {"loss": 1.0, "starvation": 1.4, "robots": [0.2, 0.01, 0.02]},
    }
    scenario = scenario_from(entries)
    found = analytic.optimize(scenario, "static")
    assert found.decision == {"these": [1, 2]}
    weights = 0.8 ** np.arange(4.0)
    levels = weights / weights.sum()
    assert found.cost == pytest.approx(1.4 * levels[0] + 0.8 * levels[3] + 0.03, rel=1e-12)
    decided = scenario.with_(found.changes)
    rows = {row.measure: row.value for row in analytic.predict(decided)[0] if row.subject is None}
    assert rows["control_cost"] == pytest.approx(found.cost, rel=1e-12)


def test_both_engines_pay_each_class_its_price() -> None:
    short = {"run.horizon": 300.0, "run.warmup": 10.0, "run.replications": 3}
    scenario = load("near-or-far").with_(short)
    free = scenario.with_("costs.robots", 0.0)
    paths = []
    for engine in ("simpy", "compiled"):
        priced, unpriced = (sim.run(each, engine=engine) for each in (scenario, free))
        difference = priced.find("control_cost").estimate - unpriced.find("control_cost").estimate  # type: ignore[union-attr]
        numbers = scenario.activation.root.root  # type: ignore[union-attr]
        paid = (
            numbers["near"] * scenario.costs.robots[0] + numbers["far"] * scenario.costs.robots[1]
        )  # type: ignore[index]
        assert difference == pytest.approx(paid, rel=1e-9)
        paths.append(priced.replications)
    assert simpy_engine is not compiled_engine
    for key, values in paths[0].items():
        np.testing.assert_array_equal(values, paths[1][key])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"costs.robots": [0.1]}, "has 1 entry; must have 2, one per class"),
        ({"costs.robots": [0.1, -0.1]}, "must be >= 0"),
        ({"activation": {"threshold": {"robots": [3, 1], "at": [1]}}}, "activation.threshold"),
        ({"activation": {"optimal": "threshold"}}, "activation.optimal"),
        ({"interventions": [{"at": 1.0, "until": 2.0, "robots": 1}]}, "limit the robots"),
        (
            {
                "robots": {"available": 2, "access_time": {"exponential": {"rate": 1.0}}},
                "activation": None,
            },
            "must be one number; a list needs robots.classes",
        ),
    ],
)
def test_prices_that_fit_nothing_are_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ScenarioError, match=r"costs\.robots") as refusal:
        load("near-or-far").with_(changes)
    assert words in str(refusal.value)


@pytest.mark.parametrize("target", ["threshold", "levels"])
def test_targets_that_follow_the_level_have_one_price(target: str) -> None:
    with pytest.raises(ScenarioError, match=r"has no exact answer: .costs. has a price"):
        analytic.optimize(load("near-or-far"), target)


def test_a_simulated_search_tries_vectors() -> None:
    changes = {
        "robots.classes.0.access_time": {"deterministic": {"value": 2.0}},
        "run.horizon": 500.0,
        "run.warmup": 50.0,
    }
    scenario = queue([0.5, 0.2], [1, 2], [0.05, 0.01], 2, 0.3).with_(changes)
    with pytest.raises(NoOptimumError):
        best_fixed_number(scenario)
    found = next_best(scenario, "static", SearchRequest(indifference=0.2, first=10))
    assert found.kind == "simulated"
    assert [row["robots"] for row in found.table] == [[a, b] for a in range(2) for b in range(3)]
    assert scenario.with_(found.changes).activation is not None
