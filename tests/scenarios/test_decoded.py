"""What is read off a checked scenario: heavy tails, phases, who brings pages."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter
from systems import queue

from scenarios import load
from scenarios.accessing.cyclic import Cyclic
from scenarios.deliveries import brings_pages
from scenarios.infinite import Infinite, infinite_quantities, without_variance
from scenarios.interventions import Intervention
from scenarios.laws import Distribution, Exponential
from scenarios.service_phases import seen_phases

HEAVY = {"pareto": {"mean": 1.0, "shape": 1.5}}
EXPONENTIAL = {"exponential": {"mean": 1.0}}
GAMMA = {"mean": 1.0, "shape": 2.0}
POISSON = {"poisson": {"rate": 1.0}}


def law(entries: dict[str, Any]) -> Any:
    return TypeAdapter(Distribution).validate_python(entries)


@pytest.mark.parametrize(
    ("deliveries", "brings"),
    [
        ({"marked": {"D0": [[-2.0]], "robots": [[], [[[2.0]]]]}}, [False, False, True]),
        ({"marked": {"D0": [[-3.0]], "robots": [[[[1.0]]], [[[2.0]]]]}}, [False, True, True]),
        ({"independent": [POISSON, POISSON]}, [False, True, True]),
        ({"thinned": {"process": POISSON, "keep": [0.0, 0.5]}}, [False, False, True]),
        ({"thinned": {"process": POISSON, "keep": [0.5, 0.5]}}, [False, True, True]),
        ({"modes": [POISSON, POISSON]}, [False, True, True]),
    ],
)
def test_who_brings_pages_at_all(deliveries: dict[str, Any], brings: list[bool]) -> None:
    changes = {"robots.available": 2, "robots.access_time": None, "activation": None}
    robots = queue(changes | {"robots.deliveries": deliveries}).robots
    assert robots is not None
    assert robots.deliveries is not None
    assert [brings_pages(robots.deliveries, active) for active in range(3)] == brings


@pytest.mark.parametrize(
    ("times", "is_for_good"),
    [
        ({"at": 1.0}, True),
        ({"at": 1.0, "until": 3.0}, False),
        ({"at": 1.0, "until": 3.0, "every": 2.5}, False),
        ({"at": 1.0, "until": 3.0, "every": 2.0}, True),
        ({"at": 1.0, "until": 3.0, "every": 2.0 * (1 + 5e-10)}, True),
        ({"at": 1.0, "until": 3.0, "every": 2.0 * (1 + 2e-9)}, False),
    ],
)
def test_an_intervention_without_an_end_or_a_pause_is_for_good(
    times: dict[str, float], is_for_good: bool
) -> None:
    assert Intervention.model_validate(times | {"robots": 1}).is_for_good is is_for_good


@pytest.mark.parametrize(
    ("service", "phases"),
    [
        ({"erlang": {"shape": 2, "mean": 1.0}}, 2),
        ({"mixture": {"probabilities": [0.5, 0.5], "of": [{"gamma": GAMMA}, HEAVY]}}, None),
        ({"mixture": {"probabilities": [0.5, 0.5], "of": [EXPONENTIAL, HEAVY]}}, None),
        ({"mixture": {"probabilities": [0.5, 0.5], "of": [EXPONENTIAL, {"gamma": GAMMA}]}}, 3),
        ({"hyperexponential": {"probabilities": [0.5, 0.5], "rates": [1.0, 2.0]}}, 2),
        (EXPONENTIAL, None),
        (HEAVY, None),
    ],
)
def test_a_mixture_has_phases_where_all_its_laws_have(
    service: dict[str, Any], phases: int | None
) -> None:
    seen = seen_phases(law(service))
    assert (seen and len(seen.alpha)) == phases


def test_sojourns_of_each_class_lack_the_moment_that_those_of_all_lack() -> None:
    classes = ("served", "accepted", "all", "served 0", "served 1", "accepted 0", "accepted 1")
    changes = {"buffer.service": HEAVY, "buffer.obsolescence": "never"}
    scenario = load("news-before-documents", changes)
    reason = "the variance of service times is infinite (tail index 1.5)"
    second = "sojourn_time_second_moment"
    assert infinite_quantities(scenario) == {second: Infinite(second, classes, reason)}
    found = without_variance(scenario)
    assert found["sojourn_time"] == Infinite("sojourn_time", classes, reason)


@pytest.mark.parametrize(
    ("activation", "active"),
    [
        ({"levels": [1, 3, 3, 3, 3]}, 1),
        ({"levels": [2, 0, 0, 0, 0]}, 2),
        ({"levels": [3, 1, 1, 1, 1]}, 3),
        ({"threshold": {"robots": [2, 1], "at": [1]}}, 2),
        ({"static": 1}, 1),
    ],
)
def test_ages_are_infinite_where_too_few_robots_start(activation: Any, active: int) -> None:
    """Those of an empty system are seldom free where their tail indices less 1 add up to 1."""
    scenario = load(
        "pipeline-more-robots",
        {
            "robots.available": 3,
            "robots.access_time": HEAVY,
            "buffer.waiting_places": 3,
            "activation": activation,
        },
    )
    found = infinite_quantities(scenario).get("index_age")
    if active > 2:  # 3 times 0.5 is above 1
        assert found is None
        return
    times = {
        1: "the variance of access times is infinite (tail index 1.5)",
        2: "all robots are busy for so long at once (tail index 1.5)",
    }
    assert found == Infinite("index_age", None, times[active])


def test_a_policy_that_is_made_already_is_taken_as_it_is() -> None:
    scenario = load("cyclic-constant")
    assert scenario.robots is not None
    policy = Cyclic(policy="cyclic", template=(0, 1, 2, 3))
    made = type(scenario.robots)(available=1, access_time=Exponential(mean=1.0), accessing=policy)
    assert made.accessing is policy
