"""How a queue forgets that it started empty: against its course, jump by jump."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from scipy.linalg import expm

import sim
from analytic import Prediction, check_scenario, overall, predict, suggested_warmup
from analytic.machinery.markov import birth_death
from analytic.transient.forgetting import FORGOTTEN, forgetting, forgetting_of_levels
from analytic.transient.queue_start import queue_forgetting, residual_area
from analytic.transient.start_up import UNKNOWN_START, StartShifts, remembered_starts
from analytic.transient.transitions import ByJumps
from scenarios import Scenario, scenario_from
from scenarios.laws import Deterministic, Exponential, Pareto


def queue(**changes: Any) -> Scenario:
    """An overloaded queue of 602 states that takes as long to fill as it runs."""
    base = scenario_from(
        {
            "name": "filling",
            "robots": {"available": 2, "access_time": {"exponential": {"mean": 1.0}}},
            "buffer": {"waiting_places": 600, "service": {"exponential": {"mean": 0.51}}},
            "run": {"horizon": 4000.0, "warmup": 200.0, "replications": 10, "seed": 5},
        }
    )
    return base.with_(changes) if changes else base


def distances(births: np.ndarray, deaths: np.ndarray, step: float, steps: int) -> np.ndarray:
    """Distances in total variation from the stationary distribution, step by step."""
    generator = np.diag(births, 1) + np.diag(deaths, -1)
    generator -= np.diag(generator.sum(axis=1))
    stationary = birth_death(births, deaths)
    after = expm(generator * step)
    row = np.eye(len(stationary))[0]
    found = []
    for _ in range(steps):
        found.append(0.5 * np.abs(row - stationary).sum())
        row = row @ after
    return np.array(found)


@pytest.mark.parametrize("load", [0.5, 0.9, 1.0, 1.1, 2.0])
@pytest.mark.parametrize("places", [3, 60])
def test_the_areas_bound_the_course_and_are_not_much_larger(load: float, places: int) -> None:
    births, deaths = np.full(places, load), np.ones(places)
    known = forgetting_of_levels(births, deaths)
    step = known.time / 400
    course = distances(births, deaths, step, 800)
    beyond = step * np.cumsum(course[::-1])[::-1]
    assert course[400] <= FORGOTTEN
    for place in (0, 100, 200, 400):
        assert beyond[place] <= known.left(place * step) * 1.02
    settled = step * np.argmax(course <= FORGOTTEN)
    assert known.time <= 2.0 * settled, "a warm-up of twice what is needed at most"
    assert known.left(0.0) <= 2.0 * beyond[0] * 1.02


def test_whichever_state_all_are_related_to_the_areas_are_the_same() -> None:
    births, deaths = np.full(30, 1.1), np.ones(30)
    generator = np.diag(births, 1) + np.diag(deaths, -1)
    generator -= np.diag(generator.sum(axis=1))
    start = np.eye(31)[0]
    areas = [forgetting(generator, start, likely).areas for likely in (5, 29)]
    assert areas[0] == pytest.approx(areas[1], rel=1e-9)


def test_a_queue_of_one_place_forgets_exponentially_by_hand() -> None:
    """Rates a and b: all differences shrink like exp(-(a + b) t), so M_k = 2 p / (a + b)^k."""
    known = forgetting_of_levels(np.array([2.0]), np.array([3.0]))
    assert known.areas == pytest.approx(2 * 0.4 / 5.0 ** np.arange(1, 13), rel=1e-10)
    assert known.slower(3.0).areas == pytest.approx(2 * 0.4 * 0.6 ** np.arange(1, 13), rel=1e-10)


def test_filling_takes_the_places_over_the_excess_rate() -> None:
    for places in (1000, 100_000):
        known = forgetting_of_levels(np.full(places, 2.0), np.ones(places))
        assert places <= known.time <= 2.1 * places
        assert known.left(0.0) == pytest.approx(2.0 * places, rel=0.01)


def test_the_chain_and_the_stand_in_of_its_rates_are_alike() -> None:
    """The chain of a threshold rule with three indexers, and birth and death at its rates."""
    scenario = queue(
        **{
            "activation": {"threshold": {"robots": [2, 1], "at": [300]}},
            "buffer.servers": 3,
            "buffer.service": {"exponential": {"mean": 1.6}},
        }
    )
    levels = np.arange(1, 604)
    births = np.where(np.arange(603) <= 300, 2.0, 1.0)
    stand_in = forgetting_of_levels(births, np.minimum(levels, 3) / 1.6)
    exact = queue_forgetting(scenario)
    assert exact is not None
    assert exact.areas == pytest.approx(stand_in.areas, rel=1e-6)


@pytest.mark.parametrize(
    "service", [{"deterministic": {"value": 0.51}}, {"gamma": {"mean": 0.51, "sd": 0.2}}]
)
def test_times_that_vary_less_forget_more_slowly(service: Any) -> None:
    regular, ordinary = (
        queue_forgetting(queue(**{"buffer.service": service})),
        queue_forgetting(queue()),
    )
    assert regular is not None
    assert ordinary is not None
    assert ordinary.time < regular.time < 4.0 * ordinary.time


def test_a_queue_that_fills_slowly_is_not_called_wrong() -> None:
    """At ten seeds; without its start, the mean in system alone was ten standard errors off."""
    scenario = queue()
    predictions, _ = predict(scenario)
    assert remembered_starts(scenario)
    for seed in range(10):
        rows = check_scenario(scenario, predictions, sim.run(scenario, seed=seed))
        assert overall(rows) == "inconclusive"
        assert any(row.warmup_too_short for row in rows)


def test_after_the_suggested_warmup_it_agrees_and_an_error_of_a_twentieth_does_not() -> None:
    scenario = queue(
        **{"buffer.waiting_places": 450, "buffer.service": {"exponential": {"mean": 0.8}}}
    )
    warmup, rule = suggested_warmup(scenario.with_("run.horizon", 1e6))
    assert rule == "the time in which the queue forgets that it was empty"
    run = {"run.warmup": warmup, "run.horizon": warmup + 300_000.0}
    scenario = scenario.with_({**run, "judged": ["mean_in_system", "loss_probability"]})
    predictions, _ = predict(scenario)
    results = sim.run(scenario)
    assert overall(check_scenario(scenario, predictions, results)) == "agrees"
    wrong = [
        Prediction(each.measure, each.subject, 0.95 * each.value, each.kind, each.source)
        for each in predictions
        if each.measure == "loss_probability"
    ]
    assert overall(check_scenario(scenario, wrong, results)) == "disagrees"


def test_where_nothing_is_known_of_the_start_no_run_settles_a_row() -> None:
    """The phase of joint deliveries depends on where it began; a rare state."""
    stuck = {"D": [[[-1.0, 0.0], [0.0, -2.0]], [[1.0, 0.0], [0.0, 2.0]]]}
    scenario = queue(**{"robots.deliveries": {"modes": [{"bmap": stuck}] * 2}})
    (unknown,) = [each for each in remembered_starts(scenario) if each.name == UNKNOWN_START]
    assert np.isinf(unknown.time)
    prediction = Prediction("mean_in_system", None, 1.0, "exact", "mine")
    assert np.isinf(StartShifts(scenario).of(prediction, 2.0))
    (row,) = check_scenario(scenario, [prediction], sim.run(scenario, replications=3))
    assert row.verdict == "inconclusive"
    assert row.reason == UNKNOWN_START
    assert suggested_warmup(scenario)[0] < scenario.run.horizon


@pytest.mark.thorough
def test_the_rest_of_a_time_by_hand() -> None:
    """Constant: (1 - t)^2 / 2; exponential: e^-t; Pareto of shape 1.5, far out: like t^(1/2)."""
    assert residual_area(Deterministic(value=1.0), 0.25, 9.0) == pytest.approx(
        0.75**2 / 2, rel=1e-2
    )
    assert residual_area(Exponential(mean=1.0), 1.0, 50.0) == pytest.approx(np.exp(-1.0), rel=1e-3)
    far = residual_area(Pareto(mean=1.0, shape=1.5), 100.0, 400.0)
    least = 1.0 / 3.0
    assert far == pytest.approx(4.0 * least**1.5 * (20.0 - 10.0), rel=1e-3)


@pytest.mark.parametrize("rate", [0.0, 1.0, 3.0])
def test_a_chain_of_two_states_is_followed_by_its_jumps(rate: float) -> None:
    generator = scipy.sparse.csr_array(rate * np.array([[-1.0, 1.0], [1.0, -1.0]]))
    moved = ByJumps(generator).move(np.array([1.0, 0.0]), 0.7)
    there = -np.expm1(-1.4 * rate) / 2
    assert moved.after == pytest.approx([1 - there, there], rel=1e-12)
    assert moved.during.sum() == pytest.approx(0.7, rel=1e-12)
