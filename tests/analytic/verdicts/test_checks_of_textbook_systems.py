"""`check` of systems of textbooks, three of each kind: the simulation agrees with the formula."""

from __future__ import annotations

from typing import Any

import pytest

import crawlsim
from scenarios import Scenario, scenario_from

M = {"exponential": {"rate": 0.9}}
MAP = {"map": {"D0": [[-2.0, 0.5], [0.2, -0.7]], "D1": [[1.0, 0.5], [0.3, 0.2]]}}
CONSTANT = {"deterministic": {"value": 1.0}}
LOGNORMAL = {"lognormal": {"mean": 1.0, "sd": 1.0}}
UNIFORM = {"uniform": {"low": 0.2, "high": 1.8}}
PAIRS = {"modes": [{"bmap": {"D": [[[-0.6]], [[0.35]], [[0.25]]]}}]}
HYPER = {"hyperexponential": {"probabilities": [0.8, 0.2], "rates": [2.0, 1 / 3]}}


def system(gaps: Any, servers: int, places: int, **buffer: Any) -> Scenario:
    """One robot; by default exponential services of mean 1, first come first served."""
    robots = {"available": 1, "access_time": gaps}
    if "modes" in gaps:
        robots = {"available": 1, "deliveries": gaps}
    kept = {"service": {"exponential": {"rate": 1.0}}, "waiting_places": places}
    return scenario_from(
        {
            "name": "textbook",
            "robots": robots,
            "buffer": kept | {"servers": servers} | buffer,
            "run": {"horizon": 400_000.0, "warmup": 500.0, "replications": 40, "seed": 41},
        }
    )


QUANTILES = {"sojourn_quantiles": [0.5, 0.95]}
TIMED = {"obsolescence": {"exponential": {"mean": 3.0}}}
FORMULAS: dict[str, dict[str, Scenario]] = {
    "courtois1971 embedded chain, with timers": {
        "MAP/D/1/10": system(MAP, 1, 9, service=CONSTANT),
        "BMAP/G/1/6": system(PAIRS, 1, 5, service=LOGNORMAL),
        "M/U/1/5+M": system(M, 1, 4, service=UNIFORM, **TIMED),
    },
    "takacs1962 embedded at arrivals, with a capacity": {
        "D/M/3/10": system({"deterministic": {"value": 0.35}}, 3, 7, **QUANTILES),
        "U/M/3/6+M": system({"uniform": {"low": 0.1, "high": 0.6}}, 3, 3, **TIMED),
        "G/PH/2/5": system({"lognormal": {"mean": 0.6, "sd": 0.5}}, 2, 3, service=HYPER),
    },
    "brandt1999 timers of any law": {
        "M/M/1/5+D": system(M, 1, 4, obsolescence={"deterministic": {"value": 3.0}}),
        "M/M/3/8+U": system({"exponential": {"rate": 2.7}}, 3, 5, obsolescence=UNIFORM),
        "M/M/2/6+G": system({"exponential": {"rate": 1.8}}, 2, 4, obsolescence=LOGNORMAL),
    },
    "kleinrock1975 section 3.5, Erlang B": {
        "M/D/5/5": system({"exponential": {"rate": 4.0}}, 5, 0, service=CONSTANT),
        "M/G/3/3": system({"exponential": {"rate": 2.0}}, 3, 0, service=LOGNORMAL, **QUANTILES),
        "M/U/2/2": system({"exponential": {"rate": 1.8}}, 2, 0, service=UNIFORM, **QUANTILES),
    },
    "pipeline pages out of order": {
        "LIFO": system(M, 1, 5, discipline="lifo", **QUANTILES),
        "push-out": system(M, 1, 5, when_full="push-out", **QUANTILES),
        "both, timers": system(
            MAP, 1, 4, discipline="lifo", when_full="push-out", **TIMED, **QUANTILES
        ),
    },
    "pipeline one robot, queue": {
        "D/M/1/6": system({"deterministic": {"value": 1.1}}, 1, 5, **QUANTILES),
        "U/M/1/4": system(UNIFORM, 1, 3, **QUANTILES),
        "D/PH/1/5": system({"deterministic": {"value": 1.1}}, 1, 4, service=HYPER, **QUANTILES),
    },
}
NAMES = [(source, name) for source, systems in FORMULAS.items() for name in systems]


@pytest.mark.nightly
@pytest.mark.statistical
@pytest.mark.parametrize(("source", "name"), NAMES, ids=[name for _, name in NAMES])
def test_check_agrees(source: str, name: str) -> None:
    """Each family has a false-alarm probability of 1e-3; the seed is the file's."""
    scenario = FORMULAS[source][name]
    found = crawlsim.check(scenario)
    assert found.verdict == "agrees"
    rows = [row for row in found.comparisons if row.source == source]
    assert {row.verdict for row in rows} == {"agrees"}
    measures = {row.measure for row in rows}
    assert scenario.buffer is not None
    assert ("sojourn_quantile" in measures) == bool(scenario.buffer.sojourn_quantiles)
    assert len(rows) > 3


@pytest.mark.nightly
@pytest.mark.statistical
@pytest.mark.parametrize(
    "scenario",
    [
        system(M, 1, 5),
        system(MAP, 1, 9, **TIMED),
        system({"exponential": {"rate": 2.0}}, 3, 4, service=HYPER),
    ],
    ids=["M/M/1/6", "MAP/M/1/10+M", "M/PH/3/7"],
)
def test_a_short_window_from_empty_agrees(scenario: Scenario) -> None:
    """Where the long run is refuted: within 10 time units the queue has not filled."""
    short = scenario.with_({"run.horizon": 10.0, "run.warmup": 0.0, "run.replications": 8000})
    found = crawlsim.check(short.with_("judged", ["success_probability"]))
    assert found.verdict == "agrees"
    assert "disagrees" not in {row.verdict for row in found.comparisons}
    (row,) = (row for row in found.comparisons if row.measure == "mean_in_system")
    assert row.source == "courses queue, window"
    long_run = found.solution.find("mean_in_system")
    assert abs(row.estimated - long_run.value) > 10 * row.standard_error


@pytest.mark.thorough
@pytest.mark.statistical
def test_a_wrong_window_is_refuted() -> None:
    """A planted error: services that are a tenth faster, in the window from empty."""
    from analytic import check_scenario, predict

    short = system(M, 1, 5).with_(
        {"run.horizon": 20.0, "run.warmup": 0.0, "run.replications": 4000}
    )
    faster = short.with_("buffer.service.exponential.rate", 1.1)
    results = crawlsim.run(short)
    rows = check_scenario(faster, predict(faster)[0], results)
    assert {row.verdict for row in rows if row.source.startswith("courses")} >= {"disagrees"}
