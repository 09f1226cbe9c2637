"""Anonymous pages of which a share is unchanged: 304s that robots answer for and nobody indexes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import analytic
from analytic.indexing_queue.one_robot import rows_of_one_robot
from scenarios import Scenario, ScenarioError, load
from sim import compiled_engine, simpy_engine

SHARE, OF_TIME = 0.6, 0.25


def shortened(**changes: Any) -> Scenario:
    """The library's queue of changed pages for a short time."""
    given = {name.replace("__", "."): value for name, value in changes.items()}
    return load("only-changed-pages").with_({"run.horizon": 3000.0} | given)


def exact_rows(scenario: Scenario) -> dict[Any, float]:
    """Every exact value, by measure and subject."""
    rows = analytic.predict(scenario)[0]
    return {(row.measure, row.subject): row.value for row in rows if row.kind == "exact"}


RULES: dict[str, dict[str, Any]] = {
    "static": {},
    "threshold": {"activation": {"threshold": {"robots": [3, 1], "at": [3]}}},
    "switched": {"activation": {"switching": {"targets": [3, 3, 2, 1, 1, 0]}}},
    "started": {
        "activation": {
            "threshold": {"robots": [3, 1], "at": [2], "back": [1]},
            "start_up": {"exponential": {"mean": 0.5}},
        }
    },
}


@pytest.mark.parametrize("share_of_time", [1.0, OF_TIME])
@pytest.mark.parametrize(
    "rule",
    ["static", "threshold", "switched", pytest.param("started", marks=pytest.mark.as_python)],
)
def test_engines_agree_to_the_last_bit(rule: str, share_of_time: float) -> None:
    scenario = shortened(**RULES[rule]).with_(
        {"robots.unchanged.share_of_time": share_of_time, "run.warmup": 10.0}
    )
    compiled, simpy = (each.simulate(scenario, 1, 7) for each in (compiled_engine, simpy_engine))
    assert compiled == simpy
    assert compiled.unchanged


def test_as_long_they_are_failures_by_another_name() -> None:
    scenario = shortened(robots__unchanged={"share": SHARE})
    failing = scenario.with_({"robots.unchanged": None, "robots.failure.probability": SHARE})
    unchanged, failed = (compiled_engine.simulate(each, 0, 5) for each in (scenario, failing))
    assert unchanged.unchanged is not None
    assert replace(unchanged, unchanged=None) == failed
    exact = [exact_rows(each) for each in (scenario, failing)]
    assert exact[0].pop(("unchanged_rate", None)) == pytest.approx(3 * SHARE)
    assert exact[0] == exact[1]


def test_a_single_place_loses_what_the_hand_says() -> None:
    """GI/M/1/1: a page is lost if the gap before it ends within the service of the last one."""
    scenario = shortened(
        robots__available=1,
        robots__access_time={"deterministic": {"value": 1.0}},
        buffer__waiting_places=0,
    )
    rate = 2.0
    h, short = math.exp(-rate), math.exp(-rate * OF_TIME)
    expected = (1 - SHARE) * h / (1 - SHARE * short)
    exact = exact_rows(scenario)
    assert exact["loss_probability", None] == pytest.approx(expected, rel=1e-12)
    pace = 1 / (1 - SHARE + SHARE * OF_TIME)
    assert exact["arrival_rate", None] == pytest.approx((1 - SHARE) * pace, rel=1e-12)
    assert exact["unchanged_rate", None] == pytest.approx(SHARE * pace, rel=1e-12)


@pytest.mark.parametrize(
    "law", [{"erlang": {"shape": 2, "mean": 1.0}}, {"exponential": {"mean": 1.0}}]
)
def test_phases_and_transforms_say_the_same(law: dict[str, Any]) -> None:
    """Two ways to one robot: its phases, each there twice, and the chain at its deliveries."""
    scenario = shortened(robots__available=1, robots__access_time=law)
    by_phases = exact_rows(scenario)
    at_deliveries = {row[:2]: row[2] for row in rows_of_one_robot(scenario)}
    assert len(at_deliveries.keys() & by_phases.keys()) > 10
    for key in at_deliveries.keys() & by_phases.keys():
        value = at_deliveries[key]
        assert value == pytest.approx(by_phases[key], rel=1e-9), key


@pytest.mark.parametrize("rule", ["static", "threshold"])
def test_the_chain_is_what_is_simulated(rule: str) -> None:
    """Seed 3: false alarm 1e-3 in all; errors of 4 % of the loss are seen."""
    slow = {"run.horizon": 40_000.0, "buffer.service.exponential.mean": 1.0}
    scenario = shortened(**RULES[rule]).with_(slow)
    exact = exact_rows(scenario)
    tallies = [compiled_engine.simulate(scenario, number, 3) for number in range(12)]
    lost = np.array(
        [each.buffer.refused / each.buffer.delivered for each in tallies if each.buffer]
    )
    robots = np.array([each.robots_time / each.window for each in tallies])
    for key, seen in (("loss_probability", lost), ("mean_active_robots", robots)):
        error = max(seen.std(ddof=1) / math.sqrt(len(seen)), 1e-9)
        assert abs(seen.mean() - exact[key, None]) < 5 * error, key
        assert error < 0.008 * exact[key, None]
    if rule == "static":
        rate = np.array([(each.unchanged or 0) / each.window for each in tallies])
        error = rate.std(ddof=1) / math.sqrt(len(rate))
        assert abs(rate.mean() - exact["unchanged_rate", None]) < 5 * error


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"robots.unchanged": {"bytes": 300.0}}, "share without them"),
        ({"robots.failure": {"probability": 0.1}}, "does not go with robots.failure"),
        ({"costs.access": 1.0}, "costs.access"),
        ({"robots.unchanged.share": 1.0}, "robots.unchanged.share"),
    ],
)
def test_what_does_not_go_with_it_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        load("only-changed-pages").with_(changes)


def test_known_pages_have_their_own_share() -> None:
    with pytest.raises(ScenarioError, match="follows from their change rates"):
        load("not-modified").with_("robots.unchanged.share", 0.5)


def test_switched_robots_are_refused_with_the_reason() -> None:
    missing = analytic.predict(shortened(**RULES["switched"]))[1]
    (row,) = [each for each in missing if each.quantity == "control cost"][:1]
    assert any("accesses to unchanged pages are shorter" in each for each in row.reasons)
