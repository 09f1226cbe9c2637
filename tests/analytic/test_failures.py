"""Accesses that fail: formulas against chains written down from the words of the model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from profiles import examples

import sim
from analytic import FORMULAS, optimize, predict
from analytic.laws.geometric_sum import GeometricSum
from analytic.machinery.transforms import (
    excess,
    log_transform,
    matrix_transform,
    mean_time,
    shortest,
)
from analytic.page_refresh.obsolescence import failing_obsolescence, randomized_obsolescence
from scenarios import Scenario, ScenarioError, load, scenario_from
from scenarios.laws import Deterministic, Erlang, PhaseType
from sim.simpy_engine import simulate


def stale_share(cycle: list[int], page: int, mu: float, failure: float, retries: int) -> float:
    """Of one page, by a chain over slot, attempt, stage of an Erlang-2 access, and staleness."""
    rate = 2.0
    states = [
        (slot, attempt, stage, stale)
        for slot in range(len(cycle))
        for attempt in range(retries + 1)
        for stage in range(2)
        for stale in range(2)
    ]
    number = {state: index for index, state in enumerate(states)}
    Q = np.zeros((len(states), len(states)))
    for state, row in number.items():
        slot, attempt, stage, stale = state
        following = (slot + 1) % len(cycle)
        if not stale:
            Q[row, number[slot, attempt, stage, 1]] += mu
        if stage == 0:
            Q[row, number[slot, attempt, 1, stale]] += rate
            continue
        after = 0 if cycle[slot] == page else stale
        Q[row, number[following, 0, 0, after]] += rate * (1 - failure)
        again = (slot, attempt + 1, 0, stale) if attempt < retries else (following, 0, 0, stale)
        Q[row, number[again]] += rate * failure
    Q -= np.diag(Q.sum(axis=1))
    A = np.vstack([Q.T, np.ones(len(states))])
    stationary = np.linalg.lstsq(A, np.append(np.zeros(len(states)), 1.0), rcond=None)[0]
    return float(sum(stationary[row] for state, row in number.items() if state[3]))


@settings(max_examples=examples(30))
@given(
    st.lists(st.integers(0, 2), min_size=1, max_size=5),
    st.floats(0.01, 20.0),
    st.floats(0.0, 0.95),
    st.integers(0, 3),
)
def test_a_list_with_failures_is_a_chain(
    cycle: list[int], mu: float, failure: float, retries: int
) -> None:
    law = Erlang(shape=2, mean=1.0)
    found = failing_obsolescence([mu] * 3, cycle, law, failure, retries)
    for page in set(cycle):
        expected = stale_share(cycle, page, mu, failure, retries)
        assert found[page] == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_slow_and_fast_pages_keep_their_digits() -> None:
    """For small mu the rate is mu E[gap²] / (2 E[gap]), here of gaps of 1, 2, … rounds of two."""
    rates = [1e-12, 1e30, 0.0]
    found = failing_obsolescence(rates, [0, 1], Deterministic(value=1.0), 0.25, 0)
    gaps = np.arange(1, 200) * 2.0
    chances = 0.75 * 0.25 ** np.arange(199)
    slow = 1e-12 * (chances @ gaps**2) / (2 * chances @ gaps)
    assert found[0] == pytest.approx(slow, rel=1e-10)
    assert found[1] == pytest.approx(1.0)
    assert found[2] == 0.0


@pytest.mark.parametrize("failure", [0.03, 0.9])
def test_repeated_accesses_are_a_phase_type_law(failure: float) -> None:
    """An Erlang-2 access that begins again where it fails."""
    again = PhaseType(alpha=(1.0, 0.0), T=((-2.0, 2.0), (2.0 * failure, -2.0)))
    law: Any = GeometricSum(Erlang(shape=2, mean=1.0), failure)
    s = np.array([1e-9, 1e-3, 0.5, 30.0])
    assert mean_time(law) == pytest.approx(mean_time(again), rel=1e-12)
    assert shortest(GeometricSum(Deterministic(value=3.0), failure)) == 3.0
    np.testing.assert_allclose(log_transform(law, s), log_transform(again, s), rtol=1e-12)
    np.testing.assert_allclose(excess(law, s), excess(again, s), rtol=1e-11)
    T = np.array([[-2.0, 1.5, 0.0], [0.1, -0.7, 0.5], [0.0, 0.0, -3.0]])
    np.testing.assert_allclose(matrix_transform(law, T), matrix_transform(again, T), rtol=1e-12)
    shares = np.full(4, 0.25)
    np.testing.assert_allclose(
        randomized_obsolescence(s, shares, law), randomized_obsolescence(s, shares, again)
    )


QUEUE: dict[str, Any] = {
    "name": "queue",
    "robots": {
        "available": 2,
        "access_time": {"erlang": {"shape": 2, "mean": 1.0}},
        "failure": {"probability": 0.4},
    },
    "activation": {"threshold": {"robots": [2, 1], "at": [1]}},
    "buffer": {"waiting_places": 2, "service": {"exponential": {"mean": 0.6}}},
    "costs": {"loss": 1.0, "starvation": 2.0},
}

AGAIN = {"phase-type": {"alpha": [1.0, 0.0], "T": [[-2.0, 2.0], [0.8, -2.0]]}}

PAGES = {
    "pages": {"change_rates": [0.6, 0.2, 0.1], "weights": "uniform"},
    "robots.accessing": {"policy": "randomized"},
}

BY_SWITCHING = {
    "robots.access_time": {"exponential": {"mean": 0.6}},
    "activation": {"switching": {"targets": [2, 2, 1, 1]}},
}

ONE_ROBOT = {"robots.available": 1, "activation": {"static": 1}}


def values(scenario: Scenario) -> dict[tuple[str, Any, str], float]:
    return {(row.measure, row.subject, row.kind): row.value for row in predict(scenario)[0]}


@pytest.mark.parametrize(
    ("changes", "slower"),
    [
        ({}, AGAIN),
        (PAGES, AGAIN),
        (BY_SWITCHING, {"exponential": {"mean": 1.0}}),
        (PAGES | {"robots.access_time": {"poisson": {"rate": 1.0}}}, {"poisson": {"rate": 0.6}}),
        (PAGES | ONE_ROBOT, AGAIN),
    ],
    ids=["queue", "pages", "switching", "exponential", "one-robot"],
)
def test_a_robot_that_fails_is_a_slower_one_for_queues_and_random_pages(
    changes: dict[str, Any], slower: dict[str, Any]
) -> None:
    failing = scenario_from(QUEUE).with_(changes) if changes else scenario_from(QUEUE)
    without = failing.with_({"robots.failure": None, "robots.access_time": slower})
    found, expected = values(failing), values(without)
    assert found.keys() == expected.keys()
    for row, value in expected.items():
        assert found[row] == pytest.approx(value, rel=1e-9, abs=1e-12), row


LISTED = PAGES | {"robots.accessing": {"policy": "cyclic", "template": [0, 1, 0, 2]}}


NO_BUFFER = {"buffer": None, "activation": None, "costs": None}


@pytest.mark.parametrize(
    ("changes", "answering"),
    [
        (LISTED, set()),
        (LISTED | ONE_ROBOT, {"section 2"}),
        (LISTED | NO_BUFFER, {"section 2"}),
        (
            LISTED | NO_BUFFER | {"robots.available": 1},
            {"section 2", "(3), accesses that fail"},
        ),
        (PAGES | NO_BUFFER | {"robots.available": 1, "robots.accessing.policy": "deadline"}, set()),
    ],
    ids=["thresholds", "buffer", "shared-list", "list", "plan"],
)
def test_only_formulas_that_know_of_failures_answer(
    changes: dict[str, Any], answering: set[str]
) -> None:
    """Of lists and plans; what is left out here is about the queue, which pages leave alone."""
    scenario = scenario_from(QUEUE).with_(changes)
    of_pages = [
        each for each in FORMULAS if each.paper in ("coffman1998", "pipeline", "altman2000")
    ]
    found = {each.number for each in of_pages if each.reason_against(scenario) is None}
    assert found == answering


def test_the_best_order_of_pages_is_not_searched() -> None:
    with pytest.raises(ScenarioError, match="has no exact answer: accesses may fail"):
        optimize(load("failing-fetches"), "template")


def test_no_failure_is_the_same_path_and_the_same_prediction() -> None:
    for name in ("cyclic-constant", "one-robot"):
        scenario = load(name).with_("run.horizon", 2000.0)
        never = scenario.with_("robots.failure.probability", 0.0)
        assert (
            sim.run(never, replications=2).replications
            == sim.run(scenario, replications=2).replications
        )
        assert values(never) == values(scenario)


def test_the_event_log_shows_each_attempt() -> None:
    """One robot, constant times: failures of page 0 up to its delivery, or up to the third."""
    rows: list[tuple[Any, ...]] = []

    class Log:
        def add(self, row: tuple[Any, ...]) -> None:
            if row[2] != "change":
                rows.append(row)

    scenario = load("failing-fetches").with_(
        {
            "robots.access_time": {"deterministic": {"value": 1.0}},
            "robots.failure": {"probability": 0.6, "retries": 2},
            "run.horizon": 400.0,
            "run.warmup": 0.0,
        }
    )
    simulate(scenario, 0, 1, log=Log())  # type: ignore[arg-type]
    template = [0, 1, 0, 2, 0, 3]
    slot = attempts = 0
    for count, row in enumerate(rows):
        assert row[1:5] == (count + 1.0, row[2], 0, template[slot % len(template)])
        attempts += 1
        if row[2] == "delivery" or attempts == 3:
            slot += 1
            attempts = 0
    events = [row[2] for row in rows]
    assert len(events) == 400
    assert set(events) == {"failure", "delivery"}
    assert 200 < events.count("failure") < 280  # 0.6 of 400, four standard deviations
