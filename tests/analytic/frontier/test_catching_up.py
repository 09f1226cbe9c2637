"""How long it takes to catch up: by hand without chance, and beside simulations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import analytic
import sim
from analytic.frontier import catching_up
from analytic.frontier.catching_up import Outage, catch_up_time
from analytic.machinery.refusal import NoAnswerError
from scenarios import scenario_from


def test_a_backlog_by_hand() -> None:
    """100 pages every 10, of which 20 robots could do 20 per unit time; none works for 2.

    20 wait then, 20 are taken at once, and no page had ever waited.
    """
    outage = Outage([5.0, 7.0], [0.0, 20.0], [0.0, 20.0], 20.0, 7.0)
    assert catch_up_time([9.0], [100.0], 1.0, outage, 0.5) == pytest.approx(0.0, abs=0.02)


def test_what_cannot_be_taken_at_once_is_taken_at_the_pace_of_the_robots() -> None:
    """Without robots that are switched on: 20 wait, 20 per unit time are taken, 10 fall due.

    Nothing is due again before 9 + 1 have passed since: the outage is over after 2.
    """
    outage = Outage([5.0, 7.0], [0.0, 20.0], [0.0, 0.0], 20.0, 7.0)
    assert catch_up_time([9.0], [100.0], 1.0, outage, 0.0) == pytest.approx(2.0, abs=0.03)


def test_more_pages_than_usual_never_become_few() -> None:
    outage = Outage([5.0, 7.0], [0.0, 5.0], [0.0, 0.0], 5.0, 7.0)
    with pytest.raises(NoAnswerError, match="without interventions more pages wait"):
        catch_up_time([9.0], [100.0], 1.0, outage, 1.0)


SYSTEM: dict[str, Any] = {
    "name": "outage",
    "pages": {"change_rates": [0.1] * 140, "weights": "uniform"},
    "robots": {
        "available": 10,
        "access_time": {"exponential": {"mean": 0.45}},
        "accessing": {"policy": "due", "intervals": [5.0, 10.0] * 70},
    },
    "interventions": [{"at": 100.0, "until": 106.0, "robots": 3}],
    "run": {"horizon": 250.0, "warmup": 0.0, "replications": 20, "seed": 4},
}


@pytest.mark.statistical
def test_the_fluid_is_near_the_simulation() -> None:
    """Within a fifth; without the robots that are switched on again it is off by a third."""
    scenario = analytic.resolve(scenario_from(SYSTEM))
    (said,) = [row for row in analytic.predict(scenario)[0] if row.measure == "catch_up_time"]
    found = sim.run(scenario, engine="simpy").find("catch_up_time").estimate
    assert said.kind == "approximation"
    assert said.value == pytest.approx(found, rel=0.2)


def test_as_many_as_usual_is_what_the_formula_says() -> None:
    scenario = scenario_from(SYSTEM)
    resolved = analytic.resolve(scenario)
    usual = analytic.predict(scenario.with_("interventions", None))[0]
    (length,) = [row.value for row in usual if row.measure == "frontier_length"]
    assert resolved.as_file()["robots"]["accessing"]["caught_up"] == length


@pytest.mark.parametrize("order", ["most-overdue", "priority"])
def test_every_order_is_asked_for_the_same_length(order: str) -> None:
    """So that orders can be compared: each has a time, predicted and simulated."""
    scenario = scenario_from(SYSTEM)
    changes = {"robots.accessing.order": order, "pages.priority": [0.0] * 140}
    usual, other = (analytic.resolve(each) for each in (scenario, scenario.with_(changes)))
    lengths = [each.as_file()["robots"]["accessing"]["caught_up"] for each in (usual, other)]
    assert lengths[0] == lengths[1] > 0
    assert "catch_up_time" in {row.measure for row in analytic.predict(other)[0]}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"interventions": None}, "there are no [[interventions]]"),
        ({"interventions.0.until": None}, "an intervention repeats, or never ends"),
        ({"interventions.0.every": 50.0}, "an intervention repeats, or never ends"),
        ({"run.horizon": 105.0}, "the last intervention ends after the horizon"),
        (
            {"robots.accessing.from": "start"},
            "give robots.accessing.caught_up: no formula gives the mean length",
        ),
    ],
)
def test_what_it_does_not_cover(changes: dict[str, Any], reason: str) -> None:
    scenario = analytic.resolve(scenario_from(SYSTEM).with_(changes))
    others = analytic.predict(scenario)[1]
    (said,) = [each.reasons for each in others if each.source == "frontier catching up"]
    assert reason in said
    found = (
        []
        if "run.horizon" in changes
        else sim.run(
            scenario.with_({"run.replications": 2, "run.horizon": 120.0}), engine="simpy"
        ).estimates
    )
    assert "catch_up_time" not in {row.measure for row in found}


def test_given_pages_that_may_wait_are_taken_as_they_are() -> None:
    """Where no formula knows the mean length, the file can say it; and it is not replaced."""
    changes = {"robots.accessing.from": "start", "robots.accessing.caught_up": 2.0}
    scenario = analytic.resolve(scenario_from(SYSTEM).with_(changes))
    assert scenario.as_file()["robots"]["accessing"]["caught_up"] == 2.0
    assert "catch_up_time" in {row.measure for row in analytic.predict(scenario)[0]}


def test_what_takes_too_many_steps_is_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty pages wait at the end of two time units without a robot, and ten more fall due."""
    outage = Outage([5.0, 7.0], [0.0, 20.0], [0.0, 0.0], 20.0, 7.0)
    known = catch_up_time([9.0], [100.0], 1.0, outage, 0.0)
    step = min(2.0 / catching_up._STEPS_OF_AN_OUTAGE, 10.0 / catching_up._STEPS_OF_A_CYCLE)
    steps = round((2.0 + known) / step) + 1
    monkeypatch.setattr(catching_up, "_MOST_STEPS", steps + 1)
    assert catch_up_time([9.0], [100.0], 1.0, outage, 0.0) == known
    monkeypatch.setattr(catching_up, "_MOST_STEPS", steps - 1)
    with pytest.raises(NoAnswerError, match=r"^it takes too long to be followed$"):
        catch_up_time([9.0], [100.0], 1.0, outage, 0.0)


def test_neighbouring_intervals_are_joined_where_they_are_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The mean of each group by its numbers of pages, which are all kept."""
    intervals, counts = np.array([1.0, 2.0, 5.0, 7.0, 9.0]), np.array([3.0, 1.0, 2.0, 2.0, 4.0])
    monkeypatch.setattr(catching_up, "_MOST_KINDS", 5)
    same = catching_up._joined(intervals, counts)
    assert same[0] is intervals
    assert same[1] is counts
    monkeypatch.setattr(catching_up, "_MOST_KINDS", 2)
    joined, numbers = catching_up._joined(intervals, counts)
    assert numbers.tolist() == [6.0, 6.0]
    assert joined == pytest.approx([(3 + 2 + 10) / 6, (14 + 36) / 6])


@pytest.mark.parametrize(
    ("capacity", "wait"), [(0.0, math.inf), (2.0, 0.0), (1.5, 0.0), (1.0, 2.0), (0.5, 8.0)]
)
def test_pages_wait_until_robots_keep_up(capacity: float, wait: float) -> None:
    """Six pages of 4: 6 / (4 + w) is the capacity where it is below 1.5."""
    found = catching_up.steady_wait(np.array([6.0]), np.array([4.0]), capacity)
    assert found == pytest.approx(wait)
