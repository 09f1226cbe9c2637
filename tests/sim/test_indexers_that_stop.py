"""Interventions that let only some indexers work: small systems by hand, in both engines."""

from __future__ import annotations

from typing import Any

import pytest

from scenarios import Scenario, scenario_from
from sim import compiled_engine, simpy_engine

SIMULATE = [
    pytest.param(compiled_engine.simulate, id="compiled", marks=pytest.mark.as_python),
    pytest.param(simpy_engine.simulate, id="simpy"),
]
INDEXED = 2


def by_the_clock(*interventions: dict[str, Any], **buffer: Any) -> Scenario:
    """A robot that delivers at 1, 2, 3 …, and two indexers that need 2.5 for each page."""
    service = {"deterministic": {"value": 2.5}}
    return scenario_from(
        {
            "name": "by-the-clock",
            "robots": {"available": 1, "access_time": {"deterministic": {"value": 1.0}}},
            "buffer": {"waiting_places": 3, "servers": 2, "service": service} | buffer,
            "interventions": interventions,
            "run": {"horizon": 8.0, "warmup": 0.0, "observe": 0.5, "replications": 2},
        }
    )


def ends(course: Any) -> list[float]:
    """When pages are indexed, up to the time of the observation."""
    indexed = course.counts[:, INDEXED].tolist()
    return [0.5 * (place + 1) for place, number in enumerate(indexed) for _ in range(number)]


@pytest.mark.parametrize("simulate", SIMULATE)
@pytest.mark.parametrize(
    ("interventions", "expected"),
    [
        ([], [3.5, 4.5, 6.0, 7.0]),
        # The second page has had 0.25 at 2.25, and goes on when the first one ends; the third one,
        # which takes its indexer then, begins when both may work again.
        ([{"at": 2.25, "until": 4.25, "indexers": 1}], [3.5, 5.75, 6.75]),
        ([{"at": 2.25, "until": 5.25, "indexers": 1}], [3.5, 5.75, 7.75]),
        ([{"at": 2.25, "until": 4.25, "indexers": 2}], [3.5, 4.5, 6.0, 7.0]),
        ([{"at": 2.25, "until": 4.25, "indexers": 0}], [5.5, 6.5, 8.0]),
        # The least counts, and speeds act on what goes on: the first page ends at 4.
        (
            [
                {"at": 2.0, "until": 4.0, "indexers": 1},
                {"at": 0.0, "indexers": 2},
                {"at": 2.5, "until": 3.5, "service_speed": 0.5},
            ],
            [4.0, 6.5, 6.5],
        ),
        # From the start: each page alone, one after the other.
        ([{"at": 0.0, "indexers": 1}], [3.5, 6.0]),
    ],
)
def test_those_begun_first_go_on_and_the_others_go_on_later(
    simulate: Any, interventions: list[dict[str, Any]], expected: list[float]
) -> None:
    found = ends(simulate(by_the_clock(*interventions), 0, 1).course)
    rounded = [0.5 * -(-time // 0.5) for time in expected]
    assert found == rounded


@pytest.mark.parametrize("simulate", SIMULATE)
def test_a_page_in_an_indexer_that_stands_still_does_not_become_obsolete(simulate: Any) -> None:
    """Those that wait leave after 1.25: the pages of 4 and 6. That of 2 is in an indexer."""
    one = {"at": 0.5, "until": 7.25, "indexers": 1}
    patience = {"deterministic": {"value": 1.25}}
    course = simulate(by_the_clock(one, obsolescence=patience), 0, 1).course
    assert ends(course) == [3.5, 6.0]
    assert course.level.tolist() == [0, 1, 1, 2, 2, 3, 2, 3, 3, 4, 3, 3, 3, 4, 3, 4]
