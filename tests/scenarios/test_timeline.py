"""The timeline against the words: what is in force at a time, asked of each intervention alone."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios import Scenario, scenario_from
from scenarios.interventions import FACTORS, Intervention
from scenarios.timeline import observation_times

END = 30.0
QUARTERS = st.integers(0, 60).map(lambda n: n / 4)


def system(interventions: list[dict[str, Any]], **run: float) -> Scenario:
    """A queue with pages and clients, so that every effect is allowed."""
    return scenario_from(
        {
            "name": "timeline",
            "pages": {"change_rates": [0.5, 0.25]},
            "robots": {
                "available": 3,
                "access_time": {"exponential": {"mean": 1.0}},
                "accessing": {"policy": "round-robin"},
            },
            "buffer": {"waiting_places": 2, "service": {"exponential": {"mean": 0.5}}},
            "clients": {"query_rate": 1.0},
            "interventions": interventions,
            "run": {"horizon": END, "warmup": 0.0} | run,
        }
    )


@st.composite
def interventions(draw: Any) -> dict[str, Any]:
    at = draw(QUARTERS)
    given: dict[str, Any] = {"at": at}
    if draw(st.booleans()):
        given["until"] = at + draw(QUARTERS.filter(bool))
        if draw(st.booleans()):
            given["every"] = given["until"] - at + draw(st.sampled_from([0.0, 0.25, 1.0, 7.0]))
    for name in draw(st.sets(st.sampled_from(["robots", *FACTORS]), min_size=1, max_size=3)):
        values = st.integers(0, 3) if name == "robots" else st.sampled_from([0.0, 0.5, 1.0, 2.0])
        given[name] = draw(values)
    return given


def in_force(each: Intervention, time: float) -> bool:
    """Whether `time` lies in (at + k every, until + k every] for some k; (at, …) without until."""
    if each.until is None:
        return each.at < time
    ks = range(200) if each.every else [0]
    return any(
        each.at + k * (each.every or 0) < time <= each.until + k * (each.every or 0) for k in ks
    )


@given(st.lists(interventions(), max_size=4), st.integers(0, 10))
def test_pieces_have_the_settings_in_force_and_cover_the_time(
    tables: list[dict[str, Any]], start: int
) -> None:
    scenario = system(tables)
    found = scenario.model.timeline.between(float(start), END)
    assert (found[0].begin, found[-1].end) == (start, END)
    for before, after in pairwise(found):
        assert before.end == after.begin
        assert not before.continued_by(after)
    for piece in found:
        eighths = range(math.floor(piece.begin * 8) + 1, math.floor(piece.end * 8) + 1)
        for time in (eighth / 8 for eighth in eighths):
            now = [each for each in scenario.interventions if in_force(each, time)]
            limits = [each.robots for each in now if each.robots is not None]
            assert piece.robots == min(limits, default=None)
            for name in FACTORS:
                factors = [getattr(each, name) for each in now]
                assert getattr(piece, name) == math.prod(f for f in factors if f is not None)


def test_an_intervention_that_fills_its_period_up_to_rounding_is_for_good() -> None:
    scenario = system([{"at": 0.1, "until": 0.3, "every": 0.2, "robots": 1}])
    found = scenario.model.timeline.pieces
    assert [(piece.begin, piece.robots) for piece in found] == [(0.0, None), (0.1, 1)]


@pytest.mark.parametrize(
    ("observe", "horizon", "expected"),
    [
        (10.0, 30.0, [10.0, 20.0, 30.0]),
        (7.0, 20.0, [7.0, 14.0]),
        (0.1, 0.31, [0.1, 0.2, 0.30000000000000004]),
        (0.1, 0.3, [0.1, 0.2]),
        (31.0, 30.0, []),
    ],
)
def test_times_of_observation_are_products(
    observe: float, horizon: float, expected: list[float]
) -> None:
    run = system([], observe=observe, horizon=horizon).run
    assert observation_times(run).tolist() == expected


def test_nothing_is_observed_by_default() -> None:
    assert observation_times(system([]).run).size == 0
