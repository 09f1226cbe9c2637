"""Few phases in place of access times of any law."""

from __future__ import annotations

from typing import Any

import pytest
from systems import queue

from analytic import predict
from analytic.indexing_queue.matched_accesses import likeliest_phases, with_likeliest_phases
from analytic.machinery.phase_type import phase_count
from analytic.machinery.transforms import moments
from scenarios import Scenario
from scenarios.laws import Distribution

SOURCE = "pipeline accesses of few phases"


def robots(access: dict[str, Any], number: int) -> Scenario:
    return queue(
        {
            "robots": {"available": number, "access_time": access},
            "activation.static": number,
            "buffer.waiting_places": 4,
            "buffer.obsolescence": "never",
            "buffer.service": {"exponential": {"mean": 0.2}},
        }
    )


def law_of(scenario: Scenario) -> Distribution:
    fleet = scenario.model.fleet
    assert fleet is not None
    law = fleet.law
    assert law is not None
    return law


def approximated(scenario: Scenario) -> dict[str, float]:
    rows = [row for row in predict(scenario)[0] if row.source == SOURCE]
    assert all(row.kind == "approximation" for row in rows)
    return {row.measure: row.value for row in rows if row.subject is None}


def test_a_law_of_two_phases_is_its_own_likeliest() -> None:
    slow = {"hyperexponential": {"probabilities": [0.9, 0.1], "rates": [1.0, 0.05]}}
    law = law_of(robots(slow, 2))
    assert moments(likeliest_phases(law, 2)) == pytest.approx(moments(law), rel=1e-3)


@pytest.mark.by_day("access0-2", "access1-3")
@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize(
    "access", [{"gamma": {"mean": 2.0, "shape": 0.4}}, {"pareto": {"mean": 2.0, "shape": 1.5}}]
)
def test_the_mean_is_kept(access: dict[str, Any], order: int) -> None:
    law = likeliest_phases(law_of(robots(access, 2)), order)
    assert moments(law)[0] == pytest.approx(2.0, rel=1e-12)
    assert len(law.alpha) == order


@pytest.mark.thorough
def test_many_phases_are_left_out_for_few() -> None:
    """Erlang times of two phases are found where their phases are said to be too many."""
    erlang = {"erlang": {"shape": 2, "mean": 2.0}}
    nearly = {"erlang": {"shape": 2, "mean": 2.000001}}
    mixed = {"mixture": {"probabilities": [0.5, 0.5], "of": [erlang, nearly]}}
    exact = {
        row.measure: row.value for row in predict(robots(erlang, 60))[0] if row.subject is None
    }
    found = approximated(robots(mixed, 60))
    assert found["loss_probability"] == pytest.approx(exact["loss_probability"], rel=1e-3)


def test_gamma_accesses_of_four_robots() -> None:
    """Six million time units lose .13662 ± .00010 of the pages; exponential accesses .0888."""
    found = approximated(robots({"gamma": {"mean": 1.0, "shape": 0.5}}, 4))
    assert found["loss_probability"] == pytest.approx(0.13662, rel=0.03)


def test_few_robots_have_more_phases() -> None:
    gamma = {"gamma": {"mean": 1.0, "shape": 0.5}}
    fewer = [with_likeliest_phases(robots(gamma, number)) for number in (3, 9, 40)]
    orders = [phase_count(law_of(each)) for each in fewer]
    assert orders == [4, 3, 2]
