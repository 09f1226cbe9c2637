"""The best rule of level and phases: against every rule, enumerated and solved event by event.

Each rule of a tiny system is a chain of its own, walked event by event from the words of the model;
the decision process and its bounds know nothing of it.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from profiles import examples

from analytic import optimize, predict
from analytic.index.optimum import NoOptimumError
from analytic.rules import levels as best_levels
from analytic.rules.free import optimal_free
from analytic.rules.free_process import best_free_rule
from analytic.rules.thresholds import best_thresholds
from papers import queue_by_events
from scenarios import Scenario, ScenarioError, load, scenario_from

RELATIVE = 1e-10

BURSTS = {"mmpp": {"Q": [[-0.3, 0.3], [0.2, -0.2]], "rates": [2.0, 0.3]}}
FAST = {"mmpp": {"Q": [[-0.3, 0.3], [0.2, -0.2]], "rates": [3.5, 1.5]}}
PAIRS = {
    "bmap": {"D": [[[-0.9, 0.1], [0.2, -0.6]], [[0.2, 0.0], [0.1, 0.0]], [[0.6, 0.0], [0.0, 0.3]]]}
}
TRIPLES = {"bmap": {"D": [[[-1.3]], [[1.1]], [[0.0]], [[0.2]]]}}
SINGLES = {"bmap": {"D": [[[-1.9]], [[1.9]]]}}
TWO_PHASES = {"hyperexponential": {"probabilities": [0.8, 0.2], "rates": [3.0, 0.3]}}

Rule = dict[tuple[int, int, int], int]
"""Robots by level, arrival phase and service phase; at level 0 the service phase is 0."""


def queue(changes: dict[str, Any]) -> Scenario:
    """Two robots, a small buffer, a price on everything but the response."""
    base = {
        "name": "queue",
        "robots": {"available": 2, "access_time": {"exponential": {"rate": 0.9}}},
        "buffer": {"waiting_places": 1, "service": {"exponential": {"rate": 1.0}}},
        "costs": {"loss": 3.0, "obsolescence": 2.0, "starvation": 5.0, "robots": 0.2},
    }
    return scenario_from(base).with_(changes)


SYSTEMS = {
    "exponential": queue({"buffer.waiting_places": 3, "robots.available": 3}),
    "bursts": queue({"robots.deliveries": {"modes": [BURSTS, FAST]}}),
    "variable-service": queue({"buffer.waiting_places": 2, "buffer.service": TWO_PHASES}),
    "both": queue({"robots.deliveries": {"modes": [BURSTS, FAST]}, "buffer.service": TWO_PHASES}),
    "timers": queue(
        {
            "robots.deliveries": {"modes": [BURSTS, FAST]},
            "buffer.obsolescence": {"exponential": {"mean": 1.5}},
            "buffer.waiting_places": 2,
        }
    ),
    "batches": queue(
        {"robots.deliveries": {"modes": [BURSTS, PAIRS]}, "buffer.admission": "reject"}
    ),
    "complete": queue(
        {"robots.deliveries": {"modes": [TRIPLES, SINGLES]}, "buffer.admission": "complete"}
    ),
    "batches-that-fit": load("batches-that-fit").with_("activation", None),
    "none-allowed": queue({"activation.threshold": {"robots": [2, 0], "at": [1]}}),
}


class RuledQueue(queue_by_events.Queue):
    """The queue of the oracle under any rule of level and phases."""

    def __init__(self, scenario: Scenario, rule: Rule) -> None:
        super().__init__(scenario.with_("activation", None))
        self.by_state = rule

    def active(self, state: queue_by_events.State) -> int:
        joint = self.fleet.deliveries is not None
        service = state.serving.phase if state.serving else 0
        place = len(state.pages), state.robots[0] if joint and state.robots else 0, service
        return self.by_state[place]


def places_of(scenario: Scenario) -> list[tuple[int, int, int]]:
    """Every level with every phase, from the words of the model."""
    buffer: Any = scenario.buffer
    joint: Any = scenario.robots.deliveries if scenario.robots else None
    batches = [queue_by_events.batches_of(each) for each in joint.root] if joint else []
    order = len(batches[0][0]) if joint else 1
    extra = max(map(len, batches), default=2) - 2 if buffer.admission == "complete" else 0
    services = len(queue_by_events.law_of(buffer.service).start)
    levels = range(1, buffer.waiting_places + 2 + extra)
    return [
        *((0, phase, 0) for phase in range(order)),
        *product(levels, range(order), range(services)),
    ]


def cost_in_words(scenario: Scenario, rule: Rule) -> float:
    """The definition of control_cost, from the enumerated chain."""
    if not any(rule.values()):
        return scenario.costs.starvation
    found = queue_by_events.measures_of(RuledQueue(scenario, rule))
    obsolete = found["arrival_rate", None] - found["loss_rate", None] - found["throughput", None]
    costs = scenario.costs
    return math.fsum(
        (
            costs.loss * found["loss_rate", None],
            costs.obsolescence * obsolete,
            costs.starvation * found["starvation_probability", None],
            costs.robots * found["mean_active_robots", None],
        )
    )


def numbers_of(scenario: Scenario) -> range:
    assert scenario.robots is not None
    lowest = 0 if scenario.activation else 1
    return range(lowest, scenario.robots.available + 1)


@pytest.mark.by_day(besides=("both", "timers"))
@pytest.mark.parametrize("name", SYSTEMS)
def test_no_rule_of_all_is_better(name: str) -> None:
    """Up to 1,024 rules of level and phases: the least of all is the bound, and is attained."""
    scenario = SYSTEMS[name]
    numbers = numbers_of(scenario)
    places = places_of(scenario)
    every = product(numbers, repeat=len(places))
    costs = [cost_in_words(scenario, dict(zip(places, each, strict=True))) for each in every]
    found = best_free_rule(scenario, numbers)
    assert found.lower == pytest.approx(min(costs), rel=RELATIVE)
    assert found.cost == pytest.approx(min(costs), rel=RELATIVE)
    rule = {place: int(found.rule[place[0]][place[1:]]) for place in places}
    assert cost_in_words(scenario, rule) == pytest.approx(min(costs), rel=RELATIVE)


def test_the_figures_of_the_example() -> None:
    """The library's bursty deliveries: 78.36 by thresholds, 76.72 by the best rule."""
    scenario = load("optimal-thresholds").with_("costs.response", 0.0)
    found = optimize(scenario, "threshold")
    assert found.cost == pytest.approx(78.36, abs=5e-3)
    assert found.lower_bound == pytest.approx(76.72, abs=5e-3)
    assert found.notes[0] == (
        "2.1 % above the best rule, which sees the phases of deliveries and services "
        "and costs 76.7215"
    )


@pytest.mark.thorough
def test_where_nothing_is_to_be_gained_the_bound_is_the_cost() -> None:
    """Exponential times: the level is the state, and thresholds are the best of all rules."""
    found = optimize(load("talim-switching"), "threshold")
    assert found.lower_bound == pytest.approx(found.cost, rel=1e-12)
    assert found.notes[0].startswith("no rule costs less")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"costs.response": 1.0}, "the response time has a price"),
        ({"buffer.obsolescence": {"erlang": {"shape": 2, "mean": 1.0}}}, "the patience of waiting"),
    ],
)
def test_where_there_is_no_bound_it_says_why(changes: dict[str, Any], reason: str) -> None:
    scenario = queue(changes)
    found = optimize(scenario, "threshold")
    assert found.lower_bound is None
    assert "is not known" in found.notes[0]
    assert reason in found.notes[0]


def test_too_large_a_chain_is_refused_before_it_is_built() -> None:
    scenario = queue({"robots.available": 60, "buffer.waiting_places": 400_000})
    with pytest.raises(NoOptimumError, match="limit"):
        best_free_rule(scenario, range(1, 61))


@st.composite
def systems(draw: st.DrawFn) -> Scenario:
    rates = st.floats(0.05, 20.0)
    law = st.one_of(rates.map(lambda rate: {"exponential": {"rate": rate}}), st.just(TWO_PHASES))
    robots = draw(
        st.sampled_from(
            [
                {"robots.access_time.exponential.rate": draw(rates)},
                {"robots.deliveries.modes": [BURSTS, PAIRS]},
                {"robots.deliveries.modes": [TRIPLES, SINGLES]},
            ]
        )
    )
    timers = {"exponential": {"mean": draw(rates)}}
    return queue(
        {
            "buffer.waiting_places": draw(st.integers(0, 3)),
            "buffer.service": draw(law),
            "buffer.obsolescence": draw(st.sampled_from(["never", timers])),
            "buffer.admission": draw(st.sampled_from(["partial", "reject", "complete"])),
        }
        | robots
        | {f"costs.{key}": draw(st.floats(0.0, 100.0)) for key in ("loss", "starvation", "robots")}
    )


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_no_random_rule_costs_less_than_the_bound(data: st.DataObject) -> None:
    scenario = data.draw(systems())
    found = best_free_rule(scenario, numbers_of(scenario))
    assert found.cost - found.lower <= 1e-6 * max(1.0, found.cost)
    rule = {place: data.draw(st.integers(1, 2)) for place in places_of(scenario)}
    assert found.lower <= cost_in_words(scenario, rule) * (1 + RELATIVE) + RELATIVE
    thresholds = best_thresholds(scenario).optimum.cost
    assert found.lower <= thresholds * (1 + RELATIVE) + RELATIVE


# -- numbers by level ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SYSTEMS)
def test_no_numbers_by_level_are_better(name: str) -> None:
    """Every list of numbers, enumerated: the least of all is found, and the file that says so."""
    scenario = SYSTEMS[name]
    places = places_of(scenario)
    levels = 1 + max(level for level, _, _ in places)
    rules = product(numbers_of(scenario), repeat=levels)
    costs = {
        rule: cost_in_words(scenario, {place: rule[place[0]] for place in places}) for rule in rules
    }
    found = optimize(scenario, "levels")
    assert found.proved
    assert found.cost == pytest.approx(min(costs.values()), rel=RELATIVE)
    assert costs[tuple(found.decision["levels"])] == pytest.approx(found.cost, rel=RELATIVE)
    rows, _ = predict(scenario.with_(found.changes))
    assert found.cost == pytest.approx(value_of(rows, "control_cost"), rel=RELATIVE)
    by_rule = {row["rule"]: row["cost"] for row in found.table}
    thresholds = optimize(scenario, "threshold")
    assert by_rule["thresholds"] == pytest.approx(thresholds.cost, rel=1e-14)
    assert found.lower_bound is not None
    assert found.lower_bound <= found.cost <= by_rule["thresholds"] * (1 + 1e-12)


def value_of(rows: Any, measure: str) -> float:
    return next(row.value for row in rows if row.measure == measure and row.kind == "exact")


def test_a_descent_finds_the_best_numbers_by_level(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the rules are too many: the same as by all of them, and it does not say proved."""
    scenario = SYSTEMS["both"].with_({"buffer.waiting_places": 4, "robots.available": 2})
    proved = optimize(scenario, "levels")
    monkeypatch.setattr(best_levels, "_MOST_TOGETHER", 0)
    found = optimize(scenario, "levels")
    assert (proved.proved, found.proved, found.gap) == (True, False, None)
    assert found.cost == pytest.approx(proved.cost, rel=1e-12)
    assert found.decision == proved.decision
    assert any("not proved" in note for note in found.notes)


def test_numbers_by_level_may_rise_again() -> None:
    """Batches of three where three places are free, pairs where two are: more robots again."""
    scenario = load("batches-that-fit")
    found = optimize(scenario, "levels")
    thresholds = optimize(scenario, "threshold")
    assert found.decision == {"levels": [2, 2, 2, 1, 2, 1, 1]}
    assert thresholds.decision == {"robots": [2, 1], "at": [1]}
    assert (found.cost, thresholds.cost) == (
        pytest.approx(20 / 11),
        pytest.approx(1.9561, abs=5e-5),
    )
    assert found.notes[0] == "no rule costs less that switches robots freely by the level"
    assert "7.6 % above the best rule, which may use more robots at a higher level" in str(
        thresholds.notes
    )


@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_the_chain_of_numbers_by_level_is_that_of_the_words(data: st.DataObject) -> None:
    """Every measure of `solve`, against the enumerated chain of the oracle."""
    scenario = data.draw(systems())
    levels = 1 + max(level for level, _, _ in places_of(scenario))
    numbers = data.draw(st.lists(st.integers(0, 2), min_size=levels, max_size=levels))
    assume(numbers[0] > 0)
    ruled = scenario.with_("activation", {"levels": numbers})
    expected = queue_by_events.measures(ruled)
    rows, _ = predict(ruled)
    exact = {(row.measure, row.subject): row.value for row in rows if row.kind == "exact"}
    assert exact.keys() >= expected.keys()
    for key, value in expected.items():
        assert exact[key] == pytest.approx(value, rel=1e-9, abs=1e-12)


# -- numbers by level and phases -------------------------------------------------------------------


@pytest.mark.parametrize("name", [*SYSTEMS, "erlang"])
def test_the_best_rule_is_a_file_that_costs_what_it_says(name: str) -> None:
    """The decision written, and solved again by the formulas and by the oracle."""
    erlang = {"buffer.service": {"erlang": {"shape": 2, "mean": 1.0}}}
    scenario = SYSTEMS[name] if name in SYSTEMS else SYSTEMS["bursts"].with_(erlang)
    found = optimize(scenario, "free")
    assert found.proved
    ruled = scenario.with_(found.changes)
    rows, _ = predict(ruled)
    assert value_of(rows, "control_cost") == pytest.approx(found.cost, rel=RELATIVE)
    rule = {
        place: found.decision["free"][place[0]][place[1]][place[2]] for place in places_of(scenario)
    }
    assert cost_in_words(scenario, rule) == pytest.approx(found.cost, rel=RELATIVE)
    levels = optimize(scenario, "levels")
    thresholds = optimize(scenario, "threshold")
    assert found.cost <= levels.cost * (1 + 1e-12) <= thresholds.cost * (1 + 1e-11)
    assert levels.lower_bound == pytest.approx(found.cost, rel=1e-9)


@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_the_chain_of_a_free_rule_is_that_of_the_words(data: st.DataObject) -> None:
    """Every measure of `solve`, sojourn times of each class included, against the oracle."""
    scenario = data.draw(systems())
    places = places_of(scenario)
    top, order, phases = (1 + max(each) for each in zip(*places, strict=True))
    number = st.integers(1, 2)
    free = [
        [[data.draw(number) for _ in range(phases if level else 1)] for _ in range(order)]
        for level in range(top)
    ]
    ruled = scenario.with_("activation", {"free": free})
    expected = queue_by_events.measures(ruled) | queue_by_events.sojourns(ruled)
    rows, _ = predict(ruled)
    exact = {(row.measure, row.subject): row.value for row in rows if row.kind == "exact"}
    for key in exact.keys() & expected.keys():
        assert exact[key] == pytest.approx(expected[key], rel=1e-8, abs=1e-12)
    assert {key for key in expected if key[0] != "sojourn_time"} - exact.keys() <= {
        key for key in expected if key[0] == "sojourn_time_second_moment"
    }


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"costs.response": 1.0}, "the response time has a price"),
        ({"buffer.obsolescence": {"erlang": {"shape": 2, "mean": 1.0}}}, "the patience of waiting"),
        ({"robots.access_time": {"erlang": {"shape": 2, "mean": 1.0}}}, "access times have phases"),
    ],
)
def test_what_a_free_rule_cannot_be_found_for_is_refused(
    changes: dict[str, Any], reason: str
) -> None:
    with pytest.raises(ScenarioError, match=reason):
        optimize(queue(changes), "free")


def test_without_a_buffer_there_is_nothing_to_switch_for() -> None:
    with pytest.raises(NoOptimumError, match=r"there is no \[buffer\]"):
        optimal_free(load("cyclic-constant"))
