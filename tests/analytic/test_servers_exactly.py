"""Several servers: which formulas answer, and that the others say why not."""

from __future__ import annotations

import pytest
from systems import EVERY_KIND

import analytic
from scenarios import Scenario, ScenarioError, library_names, load
from scenarios.activation import Optimal

OF_THE_ROBOTS = {"crawl_rate", "crawl_frequency"}
"""What a fixed number of robots does, whatever the buffer."""


def with_two_servers(scenario: Scenario) -> Scenario | None:
    """The same with two servers, in place of a waiting place where there is one."""
    assert scenario.buffer is not None
    places = scenario.buffer.waiting_places
    try:
        return scenario.with_({"buffer.servers": 2, "buffer.waiting_places": max(places - 1, 0)})
    except ScenarioError:  # targets by phase, or of another capacity
        return None


LIBRARY = {name: load(name) for name in library_names()}
SYSTEMS = {
    name: system
    for name, one in {**EVERY_KIND, **LIBRARY}.items()
    if one.buffer is not None and (system := with_two_servers(one)) is not None
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_no_formula_of_one_server_answers_for_two(name: str) -> None:
    scenario = SYSTEMS[name]
    if isinstance(scenario.activation, Optimal):
        with pytest.raises(ScenarioError, match="2 servers index pages at a time"):
            analytic.resolve(scenario)
        return
    scenario = analytic.resolve(scenario)
    predictions, others = analytic.predict(scenario)
    assert {each.measure for each in predictions} <= OF_THE_ROBOTS
    assert any("2 servers index pages at a time" in each.reasons for each in others)
    assert analytic.relaxation_time_of(scenario) is None
    assert analytic.accuracy_of(scenario) is None
    for law in analytic.exact_laws(scenario):
        assert "2 servers" in law.reason
