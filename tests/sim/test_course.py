"""The course of small systems by hand, in both engines, and what is estimated from it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sim
from analytic import course_of
from scenarios import Scenario, load, scenario_from
from sim import compiled_engine, simpy_engine
from sim.estimates.course import course_estimates
from sim.tally import ConservationError, CourseTally

SIMULATE = [
    pytest.param(compiled_engine.simulate, id="compiled"),
    pytest.param(simpy_engine.simulate, id="simpy"),
]
DELIVERED, LOST, INDEXED, DROPPED = range(4)


def by_the_clock(interventions: list[dict[str, Any]], observe: float, **buffer: Any) -> Scenario:
    """A robot that delivers at 1, 2, 3 …, and an indexer that needs half a unit for each page."""
    return scenario_from(
        {
            "name": "by-the-clock",
            "robots": {"available": 1, "access_time": {"deterministic": {"value": 1.0}}},
            "buffer": {"waiting_places": 3, "service": {"deterministic": {"value": 0.5}}} | buffer,
            "interventions": interventions,
            "run": {"horizon": 5.0, "warmup": 2.25, "observe": observe, "replications": 2},
        }
    )


@pytest.mark.parametrize("simulate", SIMULATE)
def test_a_service_stands_still_in_an_outage_and_goes_on(simulate: Any) -> None:
    """The first page has had half of its service at 1.25, and the other half from 3.25 on."""
    outage = {"at": 1.25, "until": 3.25, "service_speed": 0.0}
    course = simulate(by_the_clock([outage], 0.5), 0, 1).course
    assert course.level.tolist() == [0, 1, 1, 2, 2, 3, 2, 2, 1, 1]
    assert course.counts[:, INDEXED].tolist() == [0, 0, 0, 0, 0, 0, 1, 1, 1, 1]


@pytest.mark.parametrize("simulate", SIMULATE)
def test_timers_run_on_in_an_outage_up_to_its_very_end(simulate: Any) -> None:
    outage = {"at": 1.25, "until": 3.25, "service_speed": 0.0}
    patience = {"deterministic": {"value": 1.25}}
    course = simulate(by_the_clock([outage], 0.5, obsolescence=patience), 0, 1).course
    assert course.level.tolist() == [0, 1, 1, 2, 2, 3, 1, 1, 0, 1]
    assert course.counts[:, DROPPED].tolist() == [0, 0, 0, 0, 0, 0, 1, 0, 0, 0]


@pytest.mark.parametrize("simulate", SIMULATE)
def test_an_access_is_stretched_by_what_is_left_of_it(simulate: Any) -> None:
    """At half speed from 0.5 to 2.5 accesses end at 1.5 and 3, and at 4 and 5 again."""
    slow = {"at": 0.5, "until": 2.5, "robot_speed": 0.5}
    course = simulate(by_the_clock([slow], 0.5), 0, 1).course
    assert course.counts[:, DELIVERED].tolist() == [0, 0, 1, 0, 0, 1, 0, 1, 0, 1]


@pytest.mark.parametrize("simulate", SIMULATE)
def test_what_happens_at_a_change_is_still_under_the_old_rule(simulate: Any) -> None:
    """Delivered at 2, when the robot is switched off; discarded at 3, when it is back."""
    off = {"at": 2.0, "until": 3.0, "robots": 0}
    tally = simulate(by_the_clock([off], 0.5), 0, 1)
    assert tally.course.counts[:, DELIVERED].tolist() == [0, 1, 0, 1, 0, 0, 0, 1, 0, 1]
    assert tally.course.active.tolist() == [1, 1, 1, 1, 0, 0, 1, 1, 1, 1]
    assert tally.robots_time == pytest.approx(2.0, rel=1e-10)


@pytest.mark.parametrize("simulate", SIMULATE)
@pytest.mark.parametrize("access", [0.1, 0.2, 0.3, 0.7])
def test_rounds_that_end_at_observations_and_changes_whatever_their_rounding(
    simulate: Any, access: float
) -> None:
    """Fifteen times 0.2 is 3.0000000000000004 as a sum, and yet not after 3."""
    scenario = scenario_from(
        {
            "name": "decimal",
            "pages": {"change_rates": [1.0, 0.5, 0.1]},
            "robots": {
                "available": 2,
                "access_time": {"deterministic": {"value": access}},
                "accessing": {"policy": "round-robin"},
            },
            "interventions": [{"at": 4.2, "until": 8.4, "robots": 1}],
            "run": {"horizon": 42.0, "warmup": 0.0, "observe": 2.1, "replications": 1},
        }
    )
    course = simulate(scenario, 0, 1).course
    exact = course_of(scenario).course.columns
    for page in range(3):
        counted = course.deliveries[:, page] / 2.1
        assert counted == pytest.approx(exact["crawl_rate", page], rel=1e-12)


@pytest.mark.parametrize("simulate", SIMULATE)
def test_a_robot_that_was_off_delivers_the_page_that_it_had(simulate: Any) -> None:
    """The second robot waits with page 1 while the first goes on: round-robin in another order."""
    scenario = scenario_from(
        {
            "name": "rounds",
            "pages": {"change_rates": [0.0, 0.0, 0.0]},
            "robots": {
                "available": 2,
                "access_time": {"deterministic": {"value": 1.0}},
                "accessing": {"policy": "round-robin"},
            },
            "interventions": [{"at": 0.0, "until": 2.0, "robots": 1}],
            "run": {"horizon": 4.0, "warmup": 0.0, "observe": 1.0, "replications": 1},
        }
    )
    course = simulate(scenario, 0, 1).course
    assert course.deliveries.tolist() == [[1, 0, 0], [0, 0, 1], [1, 1, 0], [0, 1, 1]]


def test_a_count_of_the_wrong_interval_is_noticed() -> None:
    course = compiled_engine.simulate(by_the_clock([], 0.5), 0, 1).course
    assert course is not None
    course.check(robots=1, by_page=False)
    course.counts[:, DELIVERED] = np.roll(course.counts[:, DELIVERED], 1)
    with pytest.raises(ConservationError, match="do not add up in the intervals"):
        course.check(robots=1, by_page=False)


def sampled(levels: np.ndarray) -> list[CourseTally]:
    """Courses with these levels, shape (replications, times)."""
    times = levels.shape[1]
    empty = np.zeros((times, 0))
    counts = np.zeros((times, 7), dtype=np.int64)
    return [
        CourseTally(row, row, row[:0], row[:0], np.zeros(times), counts, empty, empty)
        for row in levels
    ]


def test_estimates_at_a_time_are_those_of_a_sample_and_bands_hold_intervals() -> None:
    levels = np.random.default_rng(1).integers(0, 5, (30, 10))
    course = course_estimates(sampled(levels), by_the_clock([], 0.5))
    estimate, error, low, high, band_low, band_high, _ = course.columns["mean_in_system", None]
    np.testing.assert_allclose(estimate, levels.mean(axis=0))
    np.testing.assert_allclose(error, levels.std(axis=0, ddof=1) / np.sqrt(30))
    np.testing.assert_allclose(high - estimate, 2.045 * error, rtol=1e-3)
    ratio = (band_high - band_low) / (high - low)
    np.testing.assert_allclose(ratio, ratio[0])
    assert 1.35 < ratio[0] < 1.51  # ten independent times: Bonferroni gives 3.04 / 2.045 = 1.486


def test_of_a_curve_that_moves_as_one_the_band_is_the_interval() -> None:
    levels = np.repeat(np.random.default_rng(1).integers(0, 5, (40, 1)), 10, axis=1)
    course = course_estimates(sampled(levels), by_the_clock([], 0.5))
    _, _, low, high, band_low, band_high, _ = course.columns["mean_in_system", None]
    np.testing.assert_allclose((band_high - band_low) / (high - low), 1.0, atol=0.06)


def test_the_course_of_a_run_is_given_time_by_time() -> None:
    results = sim.run(by_the_clock([], 2.5))
    rows = list(results.course)
    assert [row.time for row in rows if row.measure == "mean_in_system"] == [2.5, 5.0]
    assert [row.estimate for row in rows if row.measure == "mean_in_system"] == [0.0, 1.0]
    assert all(row.low == row.high == 1 for row in rows if row.measure == "mean_active_robots")
    frame = results.course.to_frame()
    assert list(frame.columns[:5]) == ["time", "measure", "subject", "estimate", "standard_error"]
    assert len(frame) == len(results.course) == len(rows)


def test_a_single_page_is_followed_by_itself() -> None:
    """The observed system is compiled for another test, too."""
    one = {"pages.change_rates": [0.1], "run.horizon": 600.0, "run.observe": 3.0}
    scenario = load("pipeline-light", one | {"run.warmup": 50.0, "run.replications": 2})
    engines = (compiled_engine, simpy_engine)
    stale = [each.simulate(scenario, 0, 1).course.stale for each in engines]
    assert stale[0].shape == (200, 1)
    assert stale[0].tolist() == stale[1].tolist()
    assert 0.05 < stale[0].mean() < 0.95


@pytest.mark.by_day(besides=("four-robots-one-threshold-simpy", "several-indexers-simpy"))
@pytest.mark.parametrize("engine", ["simpy", "compiled"])
@pytest.mark.parametrize(
    "name", ["four-robots-one-threshold", "several-indexers", "pipeline-light"]
)
def test_observing_a_run_changes_no_estimate_of_it(name: str, engine: str) -> None:
    """Not in the last bit: the window was longer by what sums of times are rounded."""
    scenario = load(name).with_({"run.horizon": 600.0, "run.warmup": 50.0, "run.replications": 3})
    plain = sim.run(scenario, engine=engine)
    observed = sim.run(scenario.with_("run.observe", 30.0), engine=engine)
    assert list(observed.estimates) == list(plain.estimates)
    assert observed.course.times.tolist() == [30.0 * each for each in range(1, 21)]
