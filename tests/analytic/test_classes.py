"""Classes of robots: formulas against chains written by hand, and who is heard when."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sim
from analytic import FORMULAS, optimize, predict
from scenarios import Scenario, load, scenario_from
from scenarios.fleet import order_of_activation
from sim.simpy_engine import simulate

FAST = {"name": "fast", "available": 2, "access_time": {"exponential": {"mean": 1.0}}}
SLOW = {"name": "slow", "available": 3, "access_time": {"exponential": {"mean": 4.0}}}

QUEUE: dict[str, Any] = {
    "name": "queue",
    "robots": {"classes": [FAST, SLOW]},
    "activation": {"threshold": {"robots": [[2, 3], [0, 3], [0, 1]], "at": [1, 3]}},
    "buffer": {"waiting_places": 4, "service": {"exponential": {"mean": 0.5}}},
    "costs": {"loss": 1.0, "starvation": 2.0, "robots": 0.05},
}

PAGES = {
    "pages": {"change_rates": [0.6, 0.2, 0.1], "weights": "uniform"},
    "robots.accessing": {"policy": "randomized"},
}

NO_BUFFER = {"buffer": None, "activation": None, "costs": None}


def queue(changes: dict[str, Any] | None = None) -> Scenario:
    scenario = scenario_from(QUEUE)
    return scenario.with_(changes) if changes else scenario


def values(scenario: Scenario) -> dict[tuple[str, Any, str], float]:
    return {(row.measure, row.subject, row.kind): row.value for row in predict(scenario)[0]}


def assert_alike(one: Scenario, other: Scenario) -> None:
    found, expected = values(one), values(other)
    assert expected
    assert found.keys() == expected.keys()
    for row, value in expected.items():
        assert found[row] == pytest.approx(value, rel=1e-9, abs=1e-12), row


@pytest.mark.parametrize("failure", [0.0, 0.25])
def test_exponential_classes_are_a_birth_death_queue(failure: float) -> None:
    """Two fast and three slow robots up to level 1, the slow ones up to 3, one of them above."""
    rates = (1 - failure) * np.array([2.75, 2.75, 0.75, 0.75, 0.25, 0.25])
    weights = np.cumprod([1.0, *(rates[:-1] / 2.0)])
    levels = weights / weights.sum()
    found = values(queue({"robots.failure.probability": failure}))
    for level in range(6):
        assert found["level_probability", level, "exact"] == pytest.approx(levels[level], rel=1e-12)
    assert found["arrival_rate", None, "exact"] == pytest.approx(levels @ rates)
    assert found["loss_rate", None, "exact"] == pytest.approx(levels[5] * rates[5])
    active = levels @ [5, 5, 3, 3, 1, 1]
    assert found["mean_active_robots", None, "exact"] == pytest.approx(active)


@pytest.mark.parametrize("pages", [{}, PAGES], ids=["queue", "pages"])
def test_classes_with_phases_superpose(pages: dict[str, Any]) -> None:
    """As independent processes, written down in the order in which they become active."""
    staged = {"erlang": {"shape": 2, "mean": 1.0}}
    as_map = {"map": {"D0": [[-2.0, 2.0], [0.0, -2.0]], "D1": [[0.0, 0.0], [2.0, 0.0]]}}
    slow = {"poisson": {"rate": 0.25}}
    classes = [FAST | {"access_time": staged}, SLOW | {"available": 2}]
    robots = [{"fast": 2, "slow": 2}, {"fast": 0, "slow": 2}, {"fast": 0, "slow": 1}]
    by_name = queue({"robots.classes": classes, "activation.threshold.robots": robots, **pages})
    assert list(order_of_activation(by_name.robots, by_name.activation)) == [2, 3, 0, 1]  # type: ignore[arg-type]
    written = {"robots.available": 4, "robots.deliveries.independent": [slow, slow, as_map, as_map]}
    assert_alike(by_name, by_name.with_({**written, "activation.threshold.robots": [4, 2, 1]}))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        PAGES,
        {**NO_BUFFER, **PAGES},
        {**NO_BUFFER, **PAGES, "robots.accessing": {"policy": "cyclic", "template": [0, 1, 2]}},
    ],
    ids=["queue", "pages", "random", "list"],
)
def test_one_class_is_as_good_as_none(changes: dict[str, Any]) -> None:
    rule = {"activation": {"threshold": {"robots": [3, 2, 1], "at": [1, 3]}}}
    alone = queue(rule | changes | {"robots.classes": [SLOW]})
    plain = alone.with_({"robots.available": 3, "robots.access_time": SLOW["access_time"]})
    assert plain.robots is not None
    assert plain.robots.classes is None
    assert_alike(alone, plain)
    short = {"run.horizon": 500.0, "run.warmup": 10.0, "run.replications": 2}
    paths = [dict(sim.run(each.with_(short)).replications) for each in (alone, plain)]
    for path in paths:  # losses are estimated from the time with a full buffer, or from counts
        path.pop(("loss_rate", None), None)
        path.pop(("control_cost", None), None)
    assert paths[0] == paths[1]


@pytest.mark.parametrize("access", [{"gamma": {"shape": 0.5, "mean": 2.0}}, SLOW["access_time"]])
def test_a_class_of_which_one_robot_works_is_that_robot(access: dict[str, Any]) -> None:
    cyclic = {"policy": "cyclic", "template": [0, 1, 0, 2]}
    listed = {**NO_BUFFER, **PAGES, "robots.accessing": cyclic}
    chosen = {"robots.classes": [FAST, SLOW | {"access_time": access}], "activation.static": [0, 1]}
    plain = {"robots.available": 1, "robots.access_time": access, "activation": None}
    assert_alike(queue({**listed, **chosen}), queue({**listed, **plain}))


def test_random_pages_see_one_fast_robot() -> None:
    classes = queue({**NO_BUFFER, **PAGES})
    one = {"robots.available": 1, "robots.access_time": {"exponential": {"rate": 2.75}}}
    found, expected = values(classes), values(classes.with_(one))
    for page in range(3):
        for measure in ("obsolescence_rate", "crawl_rate"):
            row = (measure, page, "exact")
            assert found[row] == pytest.approx(expected[row], rel=1e-12)


@pytest.mark.parametrize(
    ("changes", "answering"),
    [
        ({**NO_BUFFER, **PAGES}, {"Lemma 4.1", "(12)-(15)", "(7) in time", "section 2"}),
        (
            {**NO_BUFFER, **PAGES, "robots.accessing": {"policy": "round-robin"}},
            {"(7) in time", "section 2"},
        ),
        (
            {
                **PAGES,
                "robots.accessing": {"policy": "round-robin"},
                "activation": {"static": 5},
            },
            {"section 2", "decomposition"},
        ),
        (
            {"activation": {"switching": {"targets": [5, 4, 3, 2, 1, 0]}}},
            {
                *("Lemma and Theorem 1", "Theorem 2", "Theorem 3", "Corollary 1", "Theorem 4"),
                *("(2)", "(8), classes", "(6), classes"),
            },
        ),
    ],
    ids=["random", "list", "buffer", "switching"],
)
def test_only_formulas_that_know_of_classes_answer(
    changes: dict[str, Any], answering: set[str]
) -> None:
    scenario = queue(changes)
    papers = {"coffman1998", "pipeline", "altman2000"}
    if "pages" not in changes:
        papers |= {"avrachenkov2011", "talim2001", "kleinrock1975"}
    asked = [each for each in FORMULAS if each.paper in papers]
    assert {each.number for each in asked if each.reason_against(scenario) is None} == answering


def test_the_best_totals_are_those_of_the_formulas() -> None:
    """The first robots of the file become active first; each number is predicted on its own."""
    table = optimize(queue(), "static").table
    for row in table[1:]:
        predicted = values(queue({"activation": {"static": row["robots"]}}))
        assert row["cost"] == pytest.approx(predicted["control_cost", None, "exact"], rel=1e-9)
    best = optimize(queue(), "threshold")
    predicted = values(queue(dict(best.changes)))
    assert best.cost == pytest.approx(predicted["control_cost", None, "exact"], rel=1e-9)
    chosen = optimize(queue(), "switching")
    predicted = values(queue(dict(chosen.changes)))
    assert chosen.cost == pytest.approx(predicted["control_cost", None, "exact"], rel=1e-9)
    assert chosen.cost == pytest.approx(predicted["control_cost", None, "lower bound"], rel=1e-9)


def test_robots_are_heard_up_to_their_levels_and_numbered_class_by_class() -> None:
    rows: list[tuple[Any, ...]] = []

    class Log:
        def add(self, row: tuple[Any, ...]) -> None:
            rows.append(row)

    scenario = load("fast-and-slow-robots").with_({"run.horizon": 2000.0, "run.warmup": 0.0})
    simulate(scenario, 0, 1, log=Log())  # type: ignore[arg-type]
    before = 0
    delivered: dict[int, set[int]] = {}
    for *_, event, robot, _page, level, active in rows:
        if event in ("delivery", "loss"):
            delivered.setdefault(robot, set()).add(before)
        assert active == (6 if level <= 2 else 4)
        before = level
    assert all(max(delivered[robot]) == 2 for robot in (0, 1))
    assert all(max(delivered[robot]) == 5 for robot in (2, 3, 4, 5))


def test_robots_that_never_work_take_no_page() -> None:
    """Two robots of constant times, of which the rule names one: pages come in their order."""
    constant = {"deterministic": {"value": 1.0}}
    classes = [FAST | {"access_time": constant}, SLOW | {"access_time": constant}]
    scenario = queue(
        {
            **NO_BUFFER,
            **PAGES,
            "robots.accessing": {"policy": "round-robin"},
            "robots.classes": classes,
            "activation.static": {"slow": 1, "fast": 0},
            "run.horizon": 9.0,
            "run.warmup": 0.0,
        }
    )
    rows: list[tuple[Any, ...]] = []

    class Log:
        def add(self, row: tuple[Any, ...]) -> None:
            rows.append(row)

    simulate(scenario, 0, 1, log=Log())  # type: ignore[arg-type]
    delivered = [row[3:5] for row in rows if row[2] == "delivery"]
    assert delivered == [(2, count % 3) for count in range(9)]


def test_no_robot_of_a_class_is_at_work() -> None:
    """The engine starves for ever, whatever the law of the accesses that nobody makes."""
    robots = {"classes": [{"available": 1, "access_time": {"gamma": {"shape": 0.3, "mean": 0.25}}}]}
    buffer = {"waiting_places": 0, "service": {"exponential": {"mean": 0.25}}}
    tables = {"name": "idle", "robots": robots, "buffer": buffer, "activation": {"static": 0}}
    rows = {(row.measure, row.subject): row.value for row in predict(scenario_from(tables))[0]}
    assert rows["starvation_probability", None] == 1
    assert rows["arrival_rate", None] == 0
