"""Laws whose parameters make them another, and services whose phases a rule may look at."""

from __future__ import annotations

from typing import Any

import pytest

import sim
from analytic import optimize, predict
from scenarios import Scenario, scenario_from
from scenarios.service_phases import seen_phases

EXPONENTIAL = {"exponential": {"mean": 2.0}}
SAME = {
    "weibull": ({"weibull": {"mean": 2.0, "shape": 1.0}}, EXPONENTIAL),
    "weibull by sd": ({"weibull": {"mean": 2.0, "sd": 2.0}}, EXPONENTIAL),
    "gamma": ({"gamma": {"mean": 2.0, "shape": 1.0}}, EXPONENTIAL),
    "gamma by sd": ({"gamma": {"mean": 2.0, "sd": 1.0}}, {"erlang": {"shape": 4, "mean": 2.0}}),
    "erlang": ({"erlang": {"shape": 1, "mean": 2.0}}, EXPONENTIAL),
    "hyperexponential": (
        {"hyperexponential": {"probabilities": [0.3, 0.7, 0.0], "rates": [0.5, 0.5, 9.0]}},
        {"exponential": {"rate": 0.5}},
    ),
    "uniform": ({"uniform": {"low": 2.0, "high": 2.0}}, {"deterministic": {"value": 2.0}}),
    "empirical": ({"empirical": {"values": [2.0, 2.0]}}, {"deterministic": {"value": 2.0}}),
    "mixture": (
        {
            "mixture": {
                "probabilities": [0.4, 0.6],
                "of": [EXPONENTIAL, {"weibull": {"mean": 2.0, "shape": 1.0}}],
            }
        },
        EXPONENTIAL,
    ),
}


def queue(access: Any, **buffer: Any) -> Scenario:
    return scenario_from(
        {
            "name": "queue",
            "robots": {"available": 3, "access_time": access},
            "buffer": {
                "waiting_places": 3,
                "servers": 2,
                "service": {"exponential": {"mean": 0.6}},
                **buffer,
            },
        }
    )


@pytest.mark.parametrize("name", SAME)
def test_the_simplest_law_has_the_same_times(name: str) -> None:
    given, simplest = SAME[name]
    law = queue(given).robots.access_time  # type: ignore[union-attr]
    other = queue(simplest).robots.access_time  # type: ignore[union-attr]
    assert law.simplest == other  # type: ignore[union-attr]
    assert other.simplest is other  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "law",
    [
        {"weibull": {"mean": 2.0, "shape": 1.5}},
        {"gamma": {"mean": 2.0, "shape": 0.5}},
        {"uniform": {"low": 1.0, "high": 1.5}},
    ],
)
def test_a_law_of_its_own_stays(law: Any) -> None:
    access = queue(law).robots.access_time  # type: ignore[union-attr]
    assert access.simplest is access  # type: ignore[union-attr]


@pytest.mark.parametrize("name", [name for name in SAME if name not in ("uniform", "empirical")])
def test_formulas_cover_it_as_they_cover_the_simplest(name: str) -> None:
    """Robots, indexers and patience; M/M/2/5 was refused for want of phases."""
    given, simplest = SAME[name]
    several = predict(queue(given))[0], predict(queue(simplest))[0]
    patient = (
        predict(queue(EXPONENTIAL, servers=1, service=law, obsolescence=law))[0]
        for law in SAME[name]
    )
    for found, expected in (several, tuple(patient)):
        assert [row[:2] for row in map(key, found)] == [row[:2] for row in map(key, expected)]
        for one, other in zip(found, expected, strict=True):
            assert one.value == pytest.approx(other.value, rel=1e-9, abs=1e-15)
    assert several[0]


def key(row: Any) -> tuple[str, Any, str]:
    return row.measure, row.subject, row.source


CLASSES = {
    "classes": [
        {"available": 1, "access_time": {"exponential": {"mean": 1.0}}},
        {"available": 1, "access_time": {"exponential": {"mean": 3.0}}},
    ]
}


def switched(service: Any) -> Scenario:
    """Classes of robots, one of each, switched by level and by the phase of the service."""
    slow = [[[0, 0], [1, -1]], [[1, 0], [1, -1]], [[-1, -1], [-1, -1]]]
    fast = [[[0, 0], [1, -1]], [[0, 0], [-1, -1]], [[1, -1], [-1, -1]]]
    return scenario_from(
        {
            "name": "switched",
            "robots": CLASSES,
            "activation": {"switching": {"choices": [slow, fast]}},
            "buffer": {"waiting_places": 1, "service": service},
            "run": {"horizon": 2000.0, "warmup": 100.0, "replications": 4},
        }
    )


def test_every_service_with_phases_has_phases_that_a_rule_may_look_at() -> None:
    """Written as hyperexponential, as a mixture and as phases: one system, one path, one answer."""
    hyper = {"hyperexponential": {"probabilities": [0.3, 0.7], "rates": [0.4, 2.0]}}
    parts = [{"exponential": {"rate": 0.4}}, {"erlang": {"shape": 1, "mean": 0.5}}]
    mixture = {"mixture": {"probabilities": [0.3, 0.7], "of": parts}}
    phases = {"phase-type": {"alpha": [0.3, 0.7], "T": [[-0.4, 0.0], [0.0, -2.0]]}}
    systems = [switched(service) for service in (phases, hyper, mixture)]
    values = [[row.value for row in predict(each)[0] if row.kind == "exact"] for each in systems]
    assert values[0]
    for each, system in zip(values, systems, strict=True):
        assert each == pytest.approx(values[0], rel=1e-12)
        runs = [sim.run(system, engine=engine) for engine in ("simpy", "compiled")]
        assert list(runs[0].estimates) == list(runs[1].estimates)
        assert list(runs[0].estimates) == list(sim.run(systems[0]).estimates)


def test_the_phases_of_a_mixture_stand_beside_each_other() -> None:
    law = queue(
        EXPONENTIAL,
        servers=1,
        service={
            "mixture": {
                "probabilities": [0.25, 0.75],
                "of": [{"erlang": {"shape": 2, "mean": 1.0}}, EXPONENTIAL],
            }
        },
    ).buffer.service  # type: ignore[union-attr]
    seen = seen_phases(law)
    assert seen is not None
    assert seen.alpha == (0.25, 0.0, 0.75)
    assert seen.T == ((-2.0, 2.0, 0.0), (0.0, -2.0, 0.0), (0.0, 0.0, -0.5))


@pytest.mark.parametrize("classes", [False, True])
def test_the_best_rule_by_the_phase_of_an_erlang_service_costs_what_it_says(classes: bool) -> None:
    """Where "write the erlang law as one" was all that was said."""
    robots = CLASSES if classes else {"available": 2, "access_time": {"exponential": {"mean": 1.0}}}
    scenario = scenario_from(
        {
            "name": "erlang",
            "robots": robots,
            "buffer": {"waiting_places": 2, "service": {"erlang": {"shape": 2, "mean": 0.5}}},
            "costs": {"loss": 1.0, "starvation": 1.4, "robots": 0.1},
        }
    )
    found = optimize(scenario, "switching")
    assert found.cost == pytest.approx(found.lower_bound, rel=1e-9)
    rows, _ = predict(scenario.with_(found.changes))
    costs = [row.value for row in rows if row.measure == "control_cost" and row.kind == "exact"]
    assert costs
    assert costs == pytest.approx([found.cost] * len(costs), rel=1e-9)
