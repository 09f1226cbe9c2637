"""Thresholds that the level passes at one place and goes back at another; switches counted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from systems import queue

import sim
from scenarios import Scenario, ScenarioError
from sim import compiled_engine, rules, simpy_engine
from sim.event_log import Row
from sim.search_engine import SearchEngine
from sim.tally import Tally

RULE = {"robots": [3, 2, 0], "at": [1, 3], "back": [0, 2]}


class Kept:
    """A log whose rows are kept."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def add(self, row: Row) -> None:
        self.rows.append(row)


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ([0, 1, 2, 1, 0], [0, 0, 1, 1, 0]),
        ([2, 3, 4, 3, 2], [1, 1, 2, 2, 1]),
        ([4, 0], [2, 0]),
        ([4, 2, 1, 2, 0, 1], [2, 1, 1, 1, 0, 0]),
    ],
)
def test_the_level_passes_thresholds_and_goes_back_behind_them(
    levels: list[int], expected: list[int]
) -> None:
    passed, seen = 0, []
    for level in levels:
        passed = rules.thresholds_passed(level, passed, (1, 3), (0, 2))
        seen.append(passed)
    assert seen == expected


def test_without_a_gap_it_is_the_level_that_counts() -> None:
    at = (1, 1, 4)
    for passed in range(4):
        for level in range(7):
            robots = rules.threshold_robots(level, range(4), at)
            assert rules.thresholds_passed(level, passed, at, at) == robots


@pytest.mark.thorough
def test_back_at_the_thresholds_themselves_changes_nothing() -> None:
    plain = queue()
    given = plain.with_("activation.threshold.back", [2])
    for simulate in (simpy_engine.simulate, compiled_engine.simulate):
        before, after = simulate(plain, 0, 7), simulate(given, 0, 7)
        assert after.switched_on
        assert after.robots_time == pytest.approx(before.robots_time, rel=1e-12)
        alike = replace(after, switched_on=None, robots_time=before.robots_time)
        assert alike == before


def by_hand() -> Scenario:
    """Two robots by the clock, one indexer by the clock.

    Both deliver at 1, 2, 3, …; a service takes 1.5. Levels after the events: 2 at 1, then one
    robot is left; 3 at 2; 2 at 2.5; 3 at 3; 2 at 4 (served, then delivered: 3); the level stays
    at 2 or 3, so nobody is switched on again, until a limit of no robots lets the queue run empty.
    """
    return queue(
        {
            "robots.available": 2,
            "robots.access_time": {"deterministic": {"value": 1.0}},
            "activation.threshold": {"robots": [2, 1], "at": [1], "back": [0]},
            "buffer.service": {"deterministic": {"value": 1.5}},
            "buffer.obsolescence": "never",
            "interventions": [{"at": 4.0, "until": 20.0, "robots": 0}],
            "run": {"horizon": 30.0, "warmup": 0.0, "replications": 2},
        }
    )


EITHER_ENGINE = pytest.mark.parametrize(
    "simulate",
    [simpy_engine.simulate, pytest.param(compiled_engine.simulate, marks=pytest.mark.thorough)],
)


@EITHER_ENGINE
def test_switches_by_hand(simulate: Callable[..., Tally]) -> None:
    """At 20 the limit ends with an empty queue: both are switched on, one is off again at 21."""
    tally = simulate(by_hand(), 0, 1)
    assert tally.switched_on == 2
    assert tally.robots_time == pytest.approx(2 * 1 + 3 + 2 * 1 + 9, rel=1e-9)


@EITHER_ENGINE
def test_a_robot_that_starts_counts_as_active_and_delivers_later(
    simulate: Callable[..., Tally],
) -> None:
    """At 20 both start, at 22 their accesses begin, at 23 both deliver and one robot is left."""
    start_up = {"activation.start_up": {"deterministic": {"value": 2.0}}}
    quick, slow = simulate(by_hand(), 0, 1), simulate(by_hand().with_(start_up), 0, 1)
    assert slow.switched_on == quick.switched_on
    assert slow.robots_time == pytest.approx(2 * 1 + 3 + 2 * 3 + 7, rel=1e-9)
    assert slow.buffer is not None
    assert quick.buffer is not None
    assert slow.buffer.delivered < quick.buffer.delivered


def test_the_event_log_has_the_robots_that_are_active_after_the_event() -> None:
    log = Kept()
    SearchEngine(queue({"activation.threshold": RULE}), 0, 1, log).run()
    passed = 0
    for *_, level, active in log.rows:
        passed = rules.thresholds_passed(level, passed, (1, 3), (0, 2))
        assert active == (3, 2, 0)[passed]
    assert len(log.rows) > 100


def test_switches_are_paid_for() -> None:
    scenario = queue({"costs.switch": 2.0, "activation.threshold.back": [0]})
    results = sim.run(scenario, engine="simpy")
    rate, cost = results.rows.find("switch_rate"), results.rows.find("control_cost")
    assert rate is not None
    assert cost is not None
    assert rate.estimate > 0.01
    assert cost.estimate == pytest.approx(2.0 * rate.estimate, rel=1e-12)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"activation.threshold.back": [3]}, r"back\[0\] = 3\nmust be at most at\[0\] \(2\)"),
        ({"activation.threshold.back": [1, 2]}, "must have 1 entry, as many as at"),
        (
            {"activation.threshold": {"robots": [3, 2, 1], "at": [2, 3], "back": [2, 1]}},
            r"threshold.back = \[2, 1\]\nmust not decrease",
        ),
        (
            {"activation": {"levels": [3, 3, 3, 1, 1]}, "costs.switch": 1.0},
            "costs.switch = 1.0\ngoes with activation.threshold, not with activation.levels",
        ),
        (
            {
                "activation.start_up.exponential.mean": 1.0,
                "robots.access_time": None,
                "robots.deliveries.independent": [{"poisson": {"rate": 1.0}}] * 3,
            },
            "activation.start_up\nneeds robots.access_time or robots.classes",
        ),
    ],
)
def test_what_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        queue(changes)
