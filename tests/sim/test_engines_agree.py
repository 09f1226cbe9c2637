"""The two engines give the same path: every field of the tally, to the last bit."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from profiles import systems
from random_systems import (
    changing_search_engines,
    frontiers,
    hysteretic,
    listening_search_engines,
    page_sets,
    prioritised,
    probed_sources,
    resting,
    search_engines,
    server_farms,
)
from systems import EVERY_KIND, queue

import analytic
import sim
from scenarios import Scenario, ScenarioError, library_names, load, scenario_from
from sim import compiled_engine, simpy_engine
from sim.replicate import engine_for

ROOT = Path(__file__).parents[2]
DRAWN = ROOT / "tests/crawlsim/drawn"
SIMULATE = {"compiled": compiled_engine.simulate, "simpy": simpy_engine.simulate}

PIPELINE: dict[str, Any] = {
    "name": "pipeline",
    "pages": {"change_rates": [0.4, 0.02, 0.0, 0.1, 1.5], "weights": "uniform"},
    "robots": {
        "available": 3,
        "access_time": {"erlang": {"shape": 2, "mean": 2.0}},
        "accessing": {"policy": "cyclic", "template": [0, 1, 0, 3, 4]},
    },
    "activation": {"threshold": {"robots": [3, 1], "at": [2]}},
    "buffer": {"waiting_places": 3, "service": {"exponential": {"mean": 0.9}}},
    "clients": {"query_rate": 3.0},
    "run": {"horizon": 400.0, "warmup": 50.0, "replications": 2},
}

BY_SIZE: dict[str, Any] = {
    "pages.sizes": [7.0, 0.0, 2.0, 11.0, 1.0],
    "buffer.service.page-size": {"time_per_unit": 0.3, "constant": 0.1},
}

PIPELINES: dict[str, dict[str, Any]] = {
    "plain": {},
    "page-change": {"buffer.obsolescence": "page-change"},
    "commits": {"index.commit_interval": 7.0, "pages.refresh_quantiles": [0.5, 0.9]},
    "replaced": {"buffer.replace_older_copy": True, "buffer.obsolescence.exponential.mean": 3.0},
    "replaced-lifo": {
        "buffer.replace_older_copy": True,
        "buffer.obsolescence": "page-change",
        "buffer.discipline": "lifo",
    },
    "pushed-out": {"buffer.when_full": "push-out", "buffer.obsolescence": "page-change"},
    "by-level": {"activation.levels": [1, 3, 0, 2, 1]},
    "by-phase": {
        "activation.free": [[[1]], [[3, 2]], [[0, 3]], [[2, 1]], [[3, 1]]],
        "robots.access_time": {"exponential": {"mean": 2.0}},
        "buffer.service.phase-type": {"alpha": [0.6, 0.4], "T": [[-6.0, 2.0], [0.0, -1.6]]},
        "buffer.obsolescence.exponential.mean": 2.0,
    },
    "joint-by-both-phases": {
        "activation.free": [
            [[1], [3]],
            *[[[3, 1], [2, 1]], [[1, 2], [1, 3]], [[2, 0], [0, 1]], [[3, 3], [1, 2]]],
        ],
        "buffer.service.hyperexponential": {"probabilities": [0.7, 0.3], "rates": [2.0, 0.4]},
        "robots.deliveries.modes": [
            {"map": {"D0": [[-1.0, 0.2], [0.1, -0.5]], "D1": [[0.8, 0.0], [0.0, 0.4]]}},
            {"map": {"D0": [[-3.0, 0.5], [2.0, -2.5]], "D1": [[2.5, 0.0], [0.0, 0.5]]}},
            {"mmpp": {"Q": [[-0.3, 0.3], [0.9, -0.9]], "rates": [2.0, 0.1]}},
        ],
    },
    "switched": {"activation.switching.targets": [3, 3, 2, 1, 0]},
    "switched-by-phase": {
        "activation.switching.targets": [[1, 2, 2, 1, 0], [3, 3, 1, 1, 1]],
        "buffer.service.phase-type": {"alpha": [0.6, 0.4], "T": [[-6.0, 2.0], [0.0, -1.6]]},
    },
    "joint": {
        "robots.deliveries.modes": [
            {"poisson": {"rate": 0.4}},
            {"poisson": {"rate": 0.9}},
            {"bmap": {"D": [[[-1.5]], [[1.0]], [[0.5]]]}},
        ],
        "buffer.replace_older_copy": True,
    },
    "joint-by-phase": {
        "robots.deliveries.modes": [
            {"map": {"D0": [[-1.0, 0.2], [0.1, -0.5]], "D1": [[0.8, 0.0], [0.0, 0.4]]}},
            {"map": {"D0": [[-3.0, 0.5], [2.0, -2.5]], "D1": [[2.5, 0.0], [0.0, 0.5]]}},
            {"mmpp": {"Q": [[-0.3, 0.3], [0.9, -0.9]], "rates": [2.0, 0.1]}},
        ],
    },
    "two-copies-go-stale-at-once": {
        "robots.accessing.template": [0, 4, 0, 0, 1, 4],
        "buffer.obsolescence": "page-change",
        "buffer.waiting_places": 8,
        "buffer.service.exponential.mean": 3.0,
        "activation.threshold.at": [6],
    },
    "failing": {"robots.failure": {"probability": 0.3, "retries": 1}},
    "failing-switched": {
        "robots.failure": {"probability": 0.6},
        "activation.switching.targets": [3, 3, 2, 1, 0],
    },
    "several-servers": {
        "buffer.servers": 3,
        "buffer.waiting_places": 2,
        "buffer.service.exponential.mean": 4.0,
        "buffer.obsolescence.exponential.mean": 3.0,
    },
    "several-servers-that-overtake": {
        "buffer.servers": 3,
        "robots.accessing.template": [0, 0, 4, 4, 1],
        "buffer.service": {"hyperexponential": {"probabilities": [0.5, 0.5], "rates": [0.1, 4.0]}},
        "buffer.replace_older_copy": True,
        "buffer.obsolescence": "page-change",
        "buffer.discipline": "lifo",
    },
    "several-servers-that-tie": {
        "buffer.servers": 2,
        "robots.access_time": {"deterministic": {"value": 1.0}},
        "buffer.service": {"empirical": {"values": [2.0, 3.0]}},
        "buffer.obsolescence": {"deterministic": {"value": 2.0}},
        "buffer.when_full": "push-out",
        "activation.static": 3,
    },
    "several-servers-switched": {
        "buffer.servers": 2,
        "activation.switching.targets": [3, 3, 3, 2, 1, 0],
    },
    "several-servers-batches": {
        "buffer.servers": 2,
        "buffer.admission": "complete",
        "robots.deliveries.modes": [
            {"poisson": {"rate": 0.4}},
            {"poisson": {"rate": 0.9}},
            {"bmap": {"D": [[[-1.5]], [[1.0]], [[0.0]], [[0.5]]]}},
        ],
    },
    "classes": {
        "robots.classes": [
            {"name": "slow", "available": 2, "access_time": {"erlang": {"shape": 2, "mean": 4.0}}},
            {"name": "fast", "available": 2, "access_time": {"exponential": {"mean": 1.0}}},
        ],
        "activation.threshold.robots": [{"slow": 2, "fast": 1}, {"slow": 0, "fast": 1}],
        "robots.failure": {"probability": 0.2},
    },
    "classes-switched": {
        "robots.classes": [
            {"available": 1, "access_time": {"uniform": {"low": 0.5, "high": 1.0}}},
            {"available": 2, "access_time": {"exponential": {"mean": 1.0}}},
        ],
        "activation.switching.targets": [3, 3, 2, 1, 0],
    },
    "many-places": {
        "buffer.waiting_places": 100,
        "buffer.service.exponential.mean": 4.0,
        "activation.static": 3,
        "buffer.obsolescence": "page-change",
    },
    "hysteresis": {
        "activation.threshold": {"robots": [3, 2, 0], "at": [2, 3], "back": [0, 1]},
        "buffer.obsolescence.exponential.mean": 2.0,
    },
    "hysteresis-joint": {
        "activation.threshold.back": [1],
        "robots.deliveries.modes": [
            {"map": {"D0": [[-1.0, 0.2], [0.1, -0.5]], "D1": [[0.8, 0.0], [0.0, 0.4]]}},
            {"map": {"D0": [[-3.0, 0.5], [2.0, -2.5]], "D1": [[2.5, 0.0], [0.0, 0.5]]}},
            {"mmpp": {"Q": [[-0.3, 0.3], [0.9, -0.9]], "rates": [2.0, 0.1]}},
        ],
    },
    "switches-priced": {"costs.switch": 1.0},
    "start-up": {
        "activation.threshold.back": [0],
        "activation.start_up.uniform": {"low": 0.0, "high": 2.0},
        "robots.failure": {"probability": 0.3, "retries": 1},
    },
    **{
        f"by-size{name}": BY_SIZE | changes
        for name, changes in {
            "": {},
            "-replaced-lifo": {"buffer.replace_older_copy": True, "buffer.discipline": "lifo"},
            "-pushed-out": {"buffer.when_full": "push-out", "buffer.obsolescence": "page-change"},
            "-switched": {"activation.switching.targets": [3, 3, 2, 1, 0]},
            "-spread": {"pages.sizes": {"zipf": {"exponent": 1.2, "mean": 3.0}}},
        }.items()
    },
    "many-places-with-clocks": {
        "buffer.waiting_places": 100,
        "buffer.service.exponential.mean": 4.0,
        "activation.static": 3,
        "buffer.obsolescence.deterministic.value": 80.0,
        "buffer.discipline": "lifo",
    },
}

WITHOUT_BUFFER: dict[str, Any] = {
    key: value for key, value in PIPELINE.items() if key not in ("buffer", "activation")
}

REFRESHED: dict[str, dict[str, Any]] = {
    "one-robot": {"robots.available": 1},
    "one-robot-randomized": {"robots.available": 1, "robots.accessing.policy": "randomized"},
    "one-robot-that-ties": {
        "robots.available": 1,
        "robots.access_time.deterministic.value": 2.5,
    },
    "a-rate-of-minus-zero": {
        "robots.available": 1,
        "pages.change_rates": [-0.0, 1.0, 0.0, 0.5, 0.1],
    },
    "three-robots": {},
    "one-of-three": {"activation.static": 1},
    "nobody": {"activation.static": 0},
    "one-robot-that-fails": {
        "robots.available": 1,
        "robots.failure": {"probability": 0.3, "retries": 2},
    },
}


def differences(one: Any, other: Any, name: str = "tally") -> list[str]:
    """Names of all fields that are not the same to the last bit, or not of the same type."""
    if is_dataclass(one) and type(one) is type(other):
        return [
            each
            for field in fields(one)
            for each in differences(
                getattr(one, field.name), getattr(other, field.name), f"{name}.{field.name}"
            )
        ]
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        same = (
            type(one) is type(other)
            and one.dtype == other.dtype
            and one.tobytes() == other.tobytes()
        )
        return [] if same else [name]
    types = [type(one), type(other)]
    if isinstance(one, tuple):
        types += [[type(each) for each in one], [type(each) for each in other]]
    return [] if types[0] is types[1] and types[2:3] == types[3:] and one == other else [name]


def assert_same_path(scenario: Scenario, seed: int = 3, replications: int = 2) -> None:
    for replication in range(replications):
        tallies = [simulate(scenario, replication, seed) for simulate in SIMULATE.values()]
        assert differences(*tallies) == []


def shortened(scenario: Scenario) -> Scenario:
    """At most 3000 time units, and 500 of warm-up."""
    if scenario.probing is not None:
        return scenario
    run = scenario.run
    return scenario.with_(
        {"run.horizon": min(run.horizon, 3000.0), "run.warmup": min(run.warmup, 500.0)}
    )


@pytest.mark.parametrize("name", EVERY_KIND)
def test_every_kind_of_queue(name: str) -> None:
    assert_same_path(EVERY_KIND[name])


@pytest.mark.by_day(
    "client-queries",
    "failing-fetches",
    "micronet-optimal",
    "one-fast-three-slow",
    "optimal-thresholds-variable-patience",
    "pipeline-one-page",
    "polite-mirrors",
    "robots-in-step",
    "routing-waiting-places",
    "smooth-day",
    "talim-static-k5",
    "what-the-index-costs",
)
@pytest.mark.parametrize("name", library_names())
def test_every_scenario_of_the_library(name: str) -> None:
    assert_same_path(shortened(analytic.resolve(load(name))))


BY_ARRIVAL_PHASE: dict[str, Any] = {
    "activation.free": [[[1], [3]], [[3], [2]], [[1], [2]], [[2], [0]], [[3], [1]]],
    "buffer.service": {"exponential": {"rate": 1.1}},
    "robots.deliveries.modes": [
        {"map": {"D0": [[-1.0, 0.2], [0.1, -0.5]], "D1": [[0.8, 0.0], [0.0, 0.4]]}},
        {"map": {"D0": [[-3.0, 0.5], [2.0, -2.5]], "D1": [[2.5, 0.0], [0.0, 0.5]]}},
        {"mmpp": {"Q": [[-0.3, 0.3], [0.9, -0.9]], "rates": [2.0, 0.1]}},
    ],
}


def test_a_rule_by_the_phase_of_the_deliveries_alone() -> None:
    """With exponential services it has one column, which is read at every level."""
    assert_same_path(scenario_from(PIPELINE).with_(BY_ARRIVAL_PHASE))


@pytest.mark.by_day(every=3, besides=("hysteresis", "start-up"))
@pytest.mark.parametrize("changes", PIPELINES.values(), ids=PIPELINES)
def test_every_kind_of_pipeline(changes: dict[str, Any]) -> None:
    pipeline = scenario_from(PIPELINE)
    assert_same_path(pipeline.with_(changes) if changes else pipeline, replications=8)


plainly = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") != "1",
    reason="as plain Python only: compiled, each system would take half a minute",
)


SPEEDS = [
    {"at": 8.0, "until": 30.0, "robot_speed": 0.7, "change_factor": 1.5},
    {"at": 30.0, "until": 41.0, "robot_speed": 1.6},
    {"at": 33.0, "until": 37.0, "change_factor": 0.0},
    {"at": 44.0, "until": 47.0, "robot_speed": 0.0},
]
INTERVENTIONS = {
    "speeds": SPEEDS,
    "switched-off": [{"at": 10.0, "until": 25.0, "robots": 0}],
    "both": [*SPEEDS, {"at": 28.0, "until": 45.5, "robots": 0}],
}
RUNS: dict[str, dict[str, Any]] = {
    "alone": {},
    "observed": {"run.observe": 13.0},
    "changing": {"interventions": [*SPEEDS, {"at": 12.0, "until": 50.0, "service_speed": 1.3}]},
}


@plainly
@pytest.mark.as_python
@pytest.mark.parametrize("changes", PIPELINES.values(), ids=PIPELINES)
@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_every_kind_of_pipeline_for_a_while(changes: dict[str, Any], run: dict[str, Any]) -> None:
    short = {"run.horizon": 60.0, "run.warmup": 5.0, **run}
    assert_same_path(scenario_from(PIPELINE).with_(changes | short))


@plainly
@pytest.mark.as_python
@pytest.mark.parametrize("file", sorted(DRAWN.glob("*.jsonl")), ids=lambda file: file.stem)
def test_systems_that_were_drawn(file: Path) -> None:
    for row in file.read_text("utf-8").splitlines()[::2]:
        assert_same_path(scenario_from(json.loads(row)), replications=1)


@plainly
@pytest.mark.as_python
@pytest.mark.parametrize("interventions", INTERVENTIONS.values(), ids=INTERVENTIONS)
@pytest.mark.parametrize("changes", REFRESHED.values(), ids=REFRESHED)
def test_pages_without_a_buffer_under_interventions(
    changes: dict[str, Any], interventions: list[dict[str, Any]]
) -> None:
    short = {"run.horizon": 60.0, "run.warmup": 5.0, "interventions": interventions}
    assert_same_path(scenario_from(WITHOUT_BUFFER).with_(changes | short))


@pytest.mark.parametrize("changes", REFRESHED.values(), ids=REFRESHED)
def test_pages_without_a_buffer(changes: dict[str, Any]) -> None:
    pages = scenario_from(WITHOUT_BUFFER)
    assert_same_path(pages.with_(changes) if changes else pages)


def valid(tables: dict[str, Any]) -> Scenario:
    try:
        return scenario_from(tables)
    except ScenarioError:
        assume(False)
        raise


randomly = settings(
    max_examples=systems(150),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


@randomly
@given(search_engines())
def test_random_search_engines(tables: dict[str, Any]) -> None:
    assert_same_path(valid(tables))


@pytest.mark.as_python
@pytest.mark.thorough
@randomly
@given(hysteretic(search_engines() | changing_search_engines() | listening_search_engines()))
def test_random_hysteresis(tables: dict[str, Any]) -> None:
    assert_same_path(valid(tables))


@pytest.mark.as_python
@pytest.mark.thorough
@randomly
@given(hysteretic(frontiers()))
def test_random_frontiers_with_hysteresis(tables: dict[str, Any]) -> None:
    assert_same_path(valid(tables))


@pytest.mark.as_python
@randomly
@given(changing_search_engines())
def test_random_search_engines_that_change(tables: dict[str, Any]) -> None:
    assert_same_path(valid(tables))


@pytest.mark.as_python
@randomly
@given(
    changing_search_engines(indexers_stop=True)
    | prioritised(changing_search_engines(indexers_stop=True))
)
def test_random_indexers_that_stop(tables: dict[str, Any]) -> None:
    indexers = tables.get("buffer", {}).get("servers", 1)
    given = [each.get("indexers", indexers) for each in tables["interventions"]]
    assume(any(0 < number < indexers for number in given))
    assert_same_path(valid(tables))


@pytest.mark.as_python
@randomly
@given(search_engines(in_batches=True))
def test_random_servers_that_take_batches(tables: dict[str, Any]) -> None:
    assert_same_path(valid(tables))


@pytest.mark.as_python
@randomly
@given(prioritised(search_engines()))
def test_random_classes_of_pages(tables: dict[str, Any]) -> None:
    assert_same_path(valid(tables))


@pytest.mark.as_python
@pytest.mark.thorough
@randomly
@given(
    prioritised(
        search_engines(in_batches=True) | changing_search_engines() | hysteretic(search_engines())
    )
)
def test_random_classes_of_pages_in_other_systems(tables: dict[str, Any]) -> None:
    assert_same_path(valid(tables))


@pytest.mark.as_python
@pytest.mark.thorough
@randomly
@given(prioritised(frontiers() | listening_search_engines() | frontiers(in_batches=True)))
def test_random_classes_of_pages_that_robots_choose(tables: dict[str, Any]) -> None:
    assert_same_path(valid(tables))


@pytest.mark.as_python
@randomly
@given(resting(search_engines(), besides=False))
def test_random_indexers_that_rest_and_pages_that_come_back(tables: dict[str, Any]) -> None:
    assert_same_path(valid(tables))


@pytest.mark.as_python
@pytest.mark.thorough
@randomly
@given(
    resting(
        search_engines()
        | changing_search_engines()
        | hysteretic(search_engines())
        | prioritised(search_engines())
    )
)
def test_random_rests_in_other_systems(tables: dict[str, Any]) -> None:
    assert_same_path(valid(tables))


@pytest.mark.as_python
@pytest.mark.thorough
@randomly
@given(resting(frontiers() | listening_search_engines()))
def test_random_rests_of_pages_that_robots_choose(tables: dict[str, Any]) -> None:
    assert_same_path(valid(tables))


@pytest.mark.as_python
@pytest.mark.thorough
@randomly
@given(changing_search_engines(in_batches=True))
def test_random_servers_that_take_batches_while_things_change(tables: dict[str, Any]) -> None:
    assert_same_path(valid(tables))


@pytest.mark.as_python
@pytest.mark.thorough
@randomly
@given(frontiers(in_batches=True))
def test_random_frontiers_before_servers_that_take_batches(tables: dict[str, Any]) -> None:
    assert_same_path(valid(tables))


@pytest.mark.as_python
@randomly
@given(listening_search_engines())
def test_random_robots_that_hear_signals(tables: dict[str, Any]) -> None:
    assert_same_path(valid(tables))


@pytest.mark.as_python
@randomly
@given(frontiers())
def test_random_frontiers(tables: dict[str, Any]) -> None:
    assert_same_path(valid(tables))


FRONTIER: dict[str, Any] = {
    "name": "frontier",
    "pages": {"change_rates": [0.5, 0.3, 0.2, 1.0, 0.1], "weights": "uniform"},
    "robots": {
        "available": 2,
        "access_time": {"exponential": {"mean": 1.0}},
        "accessing": {"policy": "due", "intervals": [1.0, 2.0, 3.0, 1.5, 4.0]},
    },
    "run": {"horizon": 200.0, "warmup": 20.0, "replications": 2, "observe": 7.0},
}

_HOSTS = {"pages.hosts": [0, 0, 1, 1, 0], "robots.host_spacing": [1.5, 0.0]}

FRONTIERS: dict[str, dict[str, Any]] = {
    "plain": {},
    "a-robot-for-each-page": {"robots.available": 5},
    "from-the-start": {"robots.accessing.from": "start"},
    "at-once": {"robots.accessing.first": "at-once", "robots.access_time.deterministic.value": 1.0},
    "some-never-due": {"robots.accessing.intervals": [1.0, float("inf"), 2.0, 0.0, 3.0]},
    "most-overdue": {"robots.accessing.order": "most-overdue", "robots.available": 1},
    "priority": {
        "robots.accessing.order": "priority",
        "pages.priority": [3, 1, 1, 0, 2.5],
        "robots.available": 1,
    },
    "back-off": {
        "robots.failure": {
            "probability": 0.4,
            "backoff": {"first": 0.2, "factor": 3.0, "most": 5.0},
        }
    },
    "timeout": {"robots.failure": {"probability": 0.2, "timeout": 1.0}},
    "hosts": _HOSTS,
    "hosts-most-overdue": _HOSTS
    | {
        "robots.accessing.order": "most-overdue",
        "robots.failure": {"probability": 0.4, "backoff": {"first": 0.2}},
    },
    "buffer": {
        "buffer": {"waiting_places": 3, "service": {"exponential": {"mean": 0.7}}},
        "buffer.obsolescence": "page-change",
        "buffer.replace_older_copy": True,
        "robots.available": 4,
        "activation.threshold": {"robots": [4, 1], "at": [1]},
    },
    "outage": {
        "interventions": [
            {"at": 50.0, "until": 70.0, "robots": 0},
            {"at": 90.0, "until": 99.0, "robot_speed": 0.0, "change_factor": 2.0},
        ],
        "robots.accessing.caught_up": 1.5,
        "robots.failure": {"probability": 0.1, "timeout": 2.5},
    },
    "classes": {
        "robots.classes": [
            {"name": "slow", "available": 1, "access_time": {"erlang": {"shape": 2, "mean": 2.0}}},
            {"name": "fast", "available": 2, "access_time": {"exponential": {"mean": 1.0}}},
        ],
        "activation.static": {"fast": 2, "slow": 0},
    },
    # More accesses than lie ready at once, and one row for all pages.
    "quantiles": {"robots.accessing.delay_quantiles": [0.5], "run.horizon": 15_000.0},
    "quantiles-of-sums": {"robots.accessing.delay_quantiles": [0.5], "run.page_rows": 0},
}


@pytest.mark.by_day(every=2, besides=("quantiles",))
@pytest.mark.parametrize("changes", FRONTIERS.values(), ids=FRONTIERS)
def test_every_kind_of_frontier(changes: dict[str, Any]) -> None:
    frontier = scenario_from(FRONTIER)
    assert_same_path(frontier.with_(changes) if changes else frontier)


@randomly
@given(server_farms())
def test_random_server_farms(tables: dict[str, Any]) -> None:
    assert_same_path(valid(tables))


@randomly
@given(probed_sources())
def test_random_probed_sources(tables: dict[str, Any]) -> None:
    assert_same_path(valid(tables))


@randomly
@given(page_sets())
def test_random_page_sets(tables: dict[str, Any]) -> None:
    assert_same_path(valid(tables))


def test_a_page_set_that_outgrows_its_room() -> None:
    """Lists, the heap of unknown pages and the ring of new ones are made longer many times."""
    tables = {
        "name": "many",
        "page_set": {
            "birth_rate": 5.0,
            "lifetime": {"exponential": {"mean": 40.0}},
            "change_rate": 0.1,
            "discovery": {"exponential": {"mean": 30.0}},
        },
        "robots": {
            "available": 2,
            "access_time": {"exponential": {"mean": 1.0}},
            "accessing": {"policy": "round-robin"},
        },
        "run": {"horizon": 2000.0, "warmup": 100.0},
    }
    for changes in (
        {"page_set.first_access": "in-turn"},
        {"page_set.first_access": "at-once"},
        {"robots.accessing.policy": "randomized"},
        {"robots.accessing.policy": "randomized", "page_set.first_access": "at-once"},
    ):
        assert_same_path(scenario_from(tables).with_(changes), replications=1)


def test_more_periods_than_whole_numbers_of_64_bits() -> None:
    rate = {"breaks": [0.0], "values": [1.0], "period": 1.0}
    for tiny in (1e-18, 1e-19, 1e-20):
        source = {"updates": rate, "importance": rate | {"period": tiny}}
        tables = {"name": "tiny", "source": source}
        probing = {"horizon": 10.0, "probes": 10, "policy": "uniform"}
        assert_same_path(scenario_from(tables | {"probing": probing}))


@pytest.mark.thorough
@pytest.mark.large
def test_more_numbers_than_one_block_holds() -> None:
    """Blocks of drawn times and of pages run dry and are filled again, thousands of times."""
    long = scenario_from(PIPELINE).with_(
        {"run.horizon": 30_000.0, "robots.accessing.policy": "randomized"}
    )
    assert_same_path(long)
    assert_same_path(queue({"run.horizon": 60_000.0}))
    alone = scenario_from(WITHOUT_BUFFER).with_(
        {"run.horizon": 150_000.0, "robots.available": 1, "robots.accessing.policy": "randomized"}
    )
    assert_same_path(alone)


@pytest.mark.thorough
@pytest.mark.large
def test_a_short_template_is_repeated_for_long() -> None:
    """More accesses than are written out ahead, one by one and in batches."""
    pages = scenario_from(WITHOUT_BUFFER)
    assert_same_path(pages.with_({"run.horizon": 180_000.0, "robots.available": 1}), replications=1)
    batches = {
        "robots.deliveries.modes": 3 * [{"bmap": {"D": [[[-1.0]], [[0.5]], [[0.0]], [[0.5]]]}}]
    }
    joint = scenario_from(PIPELINE).with_(batches | {"run.horizon": 40_000.0})
    assert_same_path(joint, replications=1)


@pytest.mark.nightly
@pytest.mark.large
def test_batches_of_thousands_of_pages() -> None:
    batches = [[[-2.1]], [[2.0]], *(24_998 * [[[0.0]]]), [[0.1]]]
    law = {"deliveries": {"modes": [{"bmap": {"D": batches}}]}, "available": 1}
    tables = {
        "name": "batches",
        "robots": law,
        "buffer": {
            "waiting_places": 60_000,
            "service": {"exponential": {"mean": 0.0004}},
            "obsolescence": {"exponential": {"mean": 5.0}},
        },
        "run": {"horizon": 100.0, "warmup": 5.0, "replications": 2},
    }
    assert_same_path(scenario_from(tables), replications=1)


@pytest.mark.parametrize("field", ["delivered", "age_at_start", "level_time", "sojourn_square"])
def test_a_difference_in_the_last_bit_is_noticed(field: str) -> None:
    from dataclasses import replace

    tally = SIMULATE["simpy"](queue(), 0, 3)
    value = getattr(tally.buffer, field)
    if isinstance(value, tuple):
        value = (*value[:-1], float(np.nextafter(value[-1], 1e9)))
    else:
        value = value + 1 if isinstance(value, int) else float(np.nextafter(value, 1e9))
    other = replace(tally, buffer=replace(tally.buffer, **{field: value}))
    assert differences(tally, other) == [f"tally.buffer.{field}"]


@pytest.mark.parametrize(
    "mutant",
    [
        ("draw_exponential", lambda stream, mean: (stream.standard_exponential() + 1e-15) * mean),
        ("admitted", lambda _pages, level, capacity, _admission: min(1, capacity - level)),
        ("switches_on", lambda active, target: active <= target),
        ("gives_up", lambda failures, retries: failures >= retries),
    ],
    ids=lambda mutant: mutant[0],
)
def test_a_rule_that_only_one_engine_follows_is_noticed(
    mutant: tuple[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from sim import rules

    scenarios = [EVERY_KIND[name] for name in ("threshold", "thinned", "switching")]
    scenarios.append(scenario_from(PIPELINE).with_(PIPELINES["failing"]))
    honest = [compiled_engine.simulate(scenario, 0, 3) for scenario in scenarios]
    monkeypatch.setattr(rules, *mutant)
    mutated = [simpy_engine.simulate(scenario, 0, 3) for scenario in scenarios]
    assert any(differences(*pair) for pair in zip(honest, mutated, strict=True))


def test_the_compiled_engine_is_the_default_and_leaves_the_log_to_the_other() -> None:
    assert engine_for(queue()) == "compiled"
    assert engine_for(queue(), logged=True) == "simpy"
    with pytest.raises(ScenarioError, match="writes no event log"):
        engine_for(queue(), "compiled", logged=True)
    with pytest.raises(ScenarioError, match="still to be resolved"):
        engine_for(load("dbworld-threshold"), "compiled")
    undecided = queue({"activation.optimal": "static", "costs.loss": 1.0})
    with pytest.raises(ScenarioError, match=r"(?s)activation\.optimal.*\(analytic\.resolve\)"):
        engine_for(undecided)


def test_results_differ_in_nothing_but_the_name_of_the_engine() -> None:
    scenario = scenario_from(PIPELINE)
    compiled, simpy = (sim.run(scenario, engine=name) for name in ("compiled", "simpy"))
    assert list(compiled.estimates) == list(simpy.estimates)
    assert dict(compiled.replications) == dict(simpy.replications)


def test_threads_give_the_same_results() -> None:
    scenario = queue({"run.replications": 12})
    with ThreadPoolExecutor(3) as executor:
        assert sim.run(scenario, executor=executor) == sim.run(scenario)


COST = """
from scenarios import load
import analytic
from sim.compiled_engine import simulate
print(simulate(analytic.resolve(load("dbworld-uniform")), 0, 1).probing.cost)
"""


def test_what_is_rarely_compiled_agrees_as_plain_python() -> None:
    """What is marked `as_python`, wherever it stands; other rings run it compiled."""
    if os.environ.keys() & {"NUMBA_DISABLE_JIT", "NUMBA_BOUNDSCHECK"}:
        pytest.skip("runs by itself in this ring")
    inherited = {key: value for key, value in os.environ.items() if "PYTEST" not in key}
    marked = (
        "-m",
        "as_python and not thorough",
        "--hypothesis-profile",
        "brief",
        "-p",
        "no:cacheprovider",
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *marked, "tests/sim"],
        cwd=ROOT,
        env=inherited | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:]


@pytest.mark.thorough
def test_a_cache_of_compiled_code_is_kept_and_never_stale(tmp_path: Path) -> None:
    """The rule changes, not the kernel that calls it: numba alone would not notice.

    Nor would it notice that indices are to be checked; damaged files are compiled anew.
    """
    for package in ("scenarios", "sim", "analytic"):
        skipped = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / package, tmp_path / package, ignore=skipped)
    environment = {key: value for key, value in os.environ.items() if key != "NUMBA_CACHE_DIR"}

    def cost(**changes: str) -> float:
        done = subprocess.run(
            [sys.executable, "-c", COST],
            cwd=tmp_path,
            env=environment | {"PYTHONPATH": str(tmp_path)} | changes,
            capture_output=True,
            text=True,
            check=True,
        )
        return float(done.stdout)

    def compiled_files() -> set[Path]:
        return set(tmp_path.rglob("*.nbc"))

    first = cost()
    kept = compiled_files()
    assert cost() == first
    assert compiled_files() == kept
    rules = tmp_path / "sim/rules.py"
    honest = rules.read_text()
    rules.write_text(honest.replace("return stream.standard_exponential() * mean", "return mean"))
    assert cost() != first
    rules.write_text(honest)
    assert cost() == first
    if os.environ.get("NUMBA_DISABLE_JIT") == "1":
        return
    of_rules = [path for path in kept if not path.name.startswith("seeding.")]
    assert len(compiled_files() - kept) == len(of_rules) > 0
    for length in (100, 0):
        for path in [*compiled_files(), *tmp_path.rglob("*.nbi")]:
            path.write_bytes(path.read_bytes()[:length])
        assert cost() == first
    checks = os.environ.get("NUMBA_BOUNDSCHECK", "0")
    assert cost(NUMBA_BOUNDSCHECK="0" if checks == "1" else "1") == first
    assert len(compiled_files()) == 2 * len(kept) + len(of_rules)
