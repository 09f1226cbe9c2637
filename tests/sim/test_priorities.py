"""Pages that are served by class: short runs, by hand, in both engines."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import sim
from scenarios import Scenario, ScenarioError, scenario_from
from sim import compiled_engine, simpy_engine
from sim.tally import ConservationError, Tally

ENGINES = {"compiled": compiled_engine.simulate, "simpy": simpy_engine.simulate}

CLOCKWORK: dict[str, Any] = {
    "name": "clockwork",
    "pages": {"change_rates": [0.0, 0.0, 0.0], "priority": [1, 0, 2]},
    "robots": {
        "available": 1,
        "access_time": {"deterministic": {"value": 1.0}},
        "accessing": {"policy": "cyclic", "template": [0, 1, 2]},
    },
    "buffer": {
        "waiting_places": 2,
        "service": {"deterministic": {"value": 2.5}},
        "discipline": "priority",
    },
    "run": {"horizon": 11.4, "warmup": 0.0, "replications": 2},
}
"""Pages of the classes 1, 0, 2, 1, 0, 2, … come at 1, 2, 3, …"""


def clockwork(changes: dict[str, Any]) -> Scenario:
    scenario = scenario_from(CLOCKWORK)
    return scenario.with_(changes) if changes else scenario


@pytest.fixture(params=[pytest.param("compiled", marks=pytest.mark.as_python), "simpy"])
def simulate(request: Any) -> Any:
    return lambda scenario: ENGINES[request.param](scenario, 0, 1)


def by_class(tally: Tally, fate: int) -> list[float]:
    """Pages of each class that met a fate, then their times in the system."""
    assert tally.page_classes is not None
    classes = tally.page_classes
    return [each[fate] for part in (classes.ended, classes.sojourn) for each in part]


@pytest.mark.parametrize(
    ("changes", "served", "pushed_out", "refused"),
    [
        # 1 to 3.5; of class 0 from 2 to 6; of 1 from 4 to 8.5; of 2 from 3 to 11
        (
            {},
            [1, 2, 1, 4.0, 2.5 + 4.5, 8.0],
            [0] * 6,
            (2, 2, 0),  # at 5 and 8, and at 7 and 10
        ),
        # class 0 from 2 to 6, 5 to 8.5, 8 to 11; at 5, 7 and 10 the page of class 2 has to go that
        # came at 3, 6 and 9; at 8 there is none, and the newest of class 1 goes, that came at 7
        (
            {"buffer.when_full": "push-out-lowest"},
            [3, 1, 0, 4.0 + 3.5 + 3.0, 2.5, 0.0],
            [0, 1, 3, 0.0, 1.0, 2.0 + 1.0 + 1.0],
            (0, 0, 0),
        ),
        # 1; then 2 and 3; then 5 before 4; then 8 and 7, though 6 has waited longer
        pytest.param(
            {"buffer.waiting_places": 3, "buffer.batch": 2},
            [3, 3, 1, 4.0 + 3.5 + 3.0, 2.5 + 4.5 + 4.0, 3.0],
            [0] * 6,
            (0, 0, 0),
            marks=pytest.mark.thorough,
        ),
    ],
    ids=["lose-new", "push-out-lowest", "batches"],
)
def test_clockwork(
    simulate: Any,
    changes: dict[str, Any],
    served: list[float],
    pushed_out: list[float],
    refused: tuple[int, ...],
) -> None:
    tally = simulate(clockwork(changes))
    assert by_class(tally, 0) == pytest.approx(served, rel=1e-12)
    assert by_class(tally, 2) == pytest.approx(pushed_out, rel=1e-12)
    assert tally.page_classes.refused == refused


ANONYMOUS: dict[str, Any] = {
    "name": "anonymous",
    "robots": {
        "available": 2,
        "deliveries": {"independent": [{"poisson": {"rate": 0.8}}, {"poisson": {"rate": 0.6}}]},
    },
    "buffer": {"waiting_places": 6, "service": {"exponential": {"mean": 0.9}}},
    "run": {"horizon": 400.0, "warmup": 10.0, "replications": 3},
}

BY_CLASS: dict[str, Any] = {
    "buffer.discipline": "priority",
    "robots.deliveries.shares": [0.3, 0.7],
}


def test_all_other_streams_keep_their_numbers(simulate: Any) -> None:
    """As many pages are in the system at each time, whoever is first: draws are those of fifo."""
    first_come = simulate(scenario_from(ANONYMOUS))
    tally = simulate(scenario_from(ANONYMOUS).with_(BY_CLASS))
    assert first_come.page_classes is None
    assert tally.buffer.level_time == first_come.buffer.level_time
    assert tally.buffer.ended == first_come.buffer.ended
    assert tally.buffer.refused == first_come.buffer.refused > 0
    assert tally.buffer.sojourn_square != first_come.buffer.sojourn_square
    first, second = (sum(ended) for ended in tally.page_classes.ended)
    assert first / (first + second) == pytest.approx(0.3, abs=0.06)


def test_one_class_is_first_come_first_served(simulate: Any) -> None:
    first_come = simulate(scenario_from(ANONYMOUS))
    one = scenario_from(ANONYMOUS).with_(BY_CLASS | {"robots.deliveries.shares": [1.0]})
    for when_full in ("lose-new", "push-out-lowest"):
        tally = simulate(one.with_("buffer.when_full", when_full))
        assert tally.buffer == first_come.buffer
        assert tally.page_classes.ended == (tally.buffer.ended,)


def test_classes_that_are_not_asked_for_change_nothing(simulate: Any) -> None:
    """Shares and priorities stand in the file of a queue that is served first come first served."""
    scenario = scenario_from(ANONYMOUS)
    shares = scenario.with_("robots.deliveries.shares", [0.3, 0.7])
    assert simulate(shares) == simulate(scenario)


@pytest.mark.as_python
def test_measures_of_classes() -> None:
    rows = sim.run(clockwork({"buffer.when_full": "push-out-lowest"})).rows
    expected = {
        ("loss_probability", None): 4 / 8,
        ("loss_probability", 0): 0.0,
        ("loss_probability", 1): 1 / 2,
        ("loss_probability", 2): 1.0,
        ("obsolescence_probability", 1): 0.0,
        ("sojourn_time", "served 0"): 3.5,
        ("sojourn_time", "served 1"): 2.5,
        ("sojourn_time", "accepted 1"): (2.5 + 1.0) / 2,
        ("sojourn_time", "accepted 2"): 4.0 / 3,
        ("sojourn_time_second_moment", "accepted 1"): (2.5**2 + 1.0) / 2,
    }
    found = {key: rows.find(*key).estimate for key in expected}
    assert found == pytest.approx(expected, rel=1e-12)


def test_pages_of_no_class_break_conservation() -> None:
    tally = simpy_engine.simulate(clockwork({}), 0, 1)
    classes, buffer = tally.page_classes, tally.buffer
    assert classes is not None
    assert buffer is not None
    classes.check(buffer)
    for wrong, message in (
        (replace(classes, refused=(2, 2, 1)), "refused"),
        (replace(classes, ended=classes.ended[:2]), "have ended"),
        (replace(classes, sojourn=classes.sojourn[:2]), "times of pages"),
    ):
        with pytest.raises(ConservationError, match=message):
            wrong.check(buffer)


@pytest.mark.as_python
def test_a_share_of_a_class_has_the_pages_of_that_class_behind_it() -> None:
    scenario = scenario_from(ANONYMOUS).with_(BY_CLASS | {"run.horizon": 2000.0})
    rows = sim.run(scenario).rows
    whole, news, others = (rows.find("loss_probability", of).sample for of in (None, 0, 1))
    assert 0.25 * whole < news < 0.35 * whole
    assert news + others == pytest.approx(whole, rel=0.05)


@pytest.mark.as_python
def test_classes_of_pages_lack_the_moments_that_services_lack() -> None:
    heavy = scenario_from(ANONYMOUS).with_(BY_CLASS | {"run.horizon": 200.0})
    heavy = heavy.with_("buffer.service", {"pareto": {"mean": 0.9, "shape": 1.8}})
    rows = sim.run(heavy).rows
    assert rows.find("sojourn_time_second_moment", "accepted 1") is None
    mean = rows.find("sojourn_time", "accepted 1")
    assert mean.estimate > 0.9
    assert mean.standard_error != mean.standard_error


def test_rare_losses_are_found_for_pages_that_are_alike() -> None:
    with pytest.raises(ScenarioError, match="as many are lost with fifo"):
        sim.rare_losses(scenario_from(ANONYMOUS).with_(BY_CLASS))
