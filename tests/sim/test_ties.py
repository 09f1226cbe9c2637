"""The two engines give the same path where everything happens at once.

Continuous times never tie, so a `<` in place of a `<=` would show nowhere. Here every stream gives
coarse numbers: most times are multiples of a quarter, and events coincide all the time. Compiled
code wants true streams; the same loops run as plain Python with numba's compilation switched off.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from profiles import systems
from random_systems import changing_search_engines, page_sets, search_engines, server_farms
from systems import EVERY_KIND
from test_engines_agree import (
    PIPELINE,
    PIPELINES,
    REFRESHED,
    WITHOUT_BUFFER,
    assert_same_path,
    valid,
)

from scenarios import Scenario, scenario_from
from sim.compiled_engine import random_numbers, states
from sim.streams import stream

interpreted = os.environ.get("NUMBA_DISABLE_JIT") == "1"

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(not interpreted, reason="runs with make test-interpreted"),
    pytest.mark.filterwarnings("ignore:invalid value"),  # a draw of 0 times a mean of inf, not used
]

TAKES_STREAMS = (
    "sim.page_set",
    "sim.search_engine",
    "sim.servers",
    "sim.probes",
    "sim.streams",  # of which the compiled engine asks where it is interpreted
)

randomly = settings(
    max_examples=systems(150),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


class Coarse:
    """A stream whose numbers are multiples of 1/2 (times) or 1/32 (the others)."""

    def __init__(self, fine: np.random.Generator) -> None:
        self._fine = fine
        self.bit_generator = fine.bit_generator

    def standard_exponential(self) -> float:
        return float(np.floor(2 * self._fine.standard_exponential())) / 2

    def standard_gamma(self, shape: float) -> float:
        return float(np.floor(2 * self._fine.standard_gamma(shape))) / 2

    def standard_normal(self) -> float:
        return float(np.floor(2 * self._fine.standard_normal())) / 2

    def poisson(self, mean: float) -> int:
        return int(self._fine.poisson(mean))

    def random(self, size: int | None = None) -> Any:
        numbers = np.floor(32 * self._fine.random(size)) / 32
        return float(numbers) if size is None else numbers


def coarse_stream(seed: int, replication: int, source: str, robot: int = 0) -> Coarse:
    return Coarse(stream(seed, replication, source, robot))


def coarse_hand() -> tuple[Coarse, Any]:
    """What draws for many streams in the compiled engine."""
    fine = states.hand()
    return Coarse(fine.stream), fine.words


@pytest.fixture(autouse=True, scope="module")
def _coarse_everywhere() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        for name in TAKES_STREAMS:
            patch.setattr(importlib.import_module(name), "stream", coarse_stream)
        patch.setattr(random_numbers, "hand", coarse_hand)
        yield


ON_THE_LATTICE = {
    "pages.change_rates": [0.5, 0.25, 0.0, 1.0, 2.0],
    "robots.access_time.erlang.mean": 2.0,
    "clients.query_rate": 2.0,
}


def assert_same_paths(scenario: Scenario) -> None:
    for seed in range(4):
        assert_same_path(scenario, seed)


@pytest.mark.parametrize("changes", PIPELINES.values(), ids=PIPELINES)
def test_every_kind_of_pipeline(changes: dict[str, Any]) -> None:
    lattice = scenario_from(PIPELINE).with_(
        ON_THE_LATTICE | {"buffer.service.exponential.mean": 1.0}
    )
    assert_same_paths(lattice.with_(changes) if changes else lattice)


@pytest.mark.parametrize("changes", REFRESHED.values(), ids=REFRESHED)
def test_pages_without_a_buffer(changes: dict[str, Any]) -> None:
    lattice = scenario_from(WITHOUT_BUFFER).with_(ON_THE_LATTICE)
    assert_same_paths(lattice.with_(changes) if changes else lattice)


@pytest.mark.parametrize("name", EVERY_KIND)
def test_every_kind_of_queue(name: str) -> None:
    assert_same_paths(EVERY_KIND[name].with_({"run.horizon": 100.0, "run.warmup": 20.0}))


def test_a_phase_of_a_service_that_takes_no_time_is_never_seen() -> None:
    """Whoever looks at the moment at which it begins and ends sees the next one."""
    tables = {
        "name": "phases",
        "robots": {"available": 1, "deliveries": {"modes": [{"poisson": {"rate": 0.7}}]}},
        "buffer": {"waiting_places": 0, "service": {"erlang": {"shape": 3, "mean": 0.5}}},
        "activation": {"free": [[[1]], [[1, 0, 1]]]},
        "run": {"horizon": 60.0, "warmup": 7.0, "replications": 2},
    }
    assert_same_path(scenario_from(tables))


@randomly
@given(search_engines())
def test_search_engines(tables: dict[str, Any]) -> None:
    assert_same_path(valid(tables))


@randomly
@given(changing_search_engines())
def test_search_engines_that_change(tables: dict[str, Any]) -> None:
    assert_same_path(valid(tables))


@randomly
@given(server_farms())
def test_server_farms(tables: dict[str, Any]) -> None:
    assert_same_path(valid(tables))


@randomly
@given(page_sets())
def test_page_sets(tables: dict[str, Any]) -> None:
    assert_same_path(valid(tables))


rates = st.lists(st.sampled_from([0.0, 0.5, 1.0, 4.0]), min_size=2, max_size=2).map(
    lambda values: {"breaks": [0.0, 0.5], "values": [values[0], values[1] or 1.0], "period": 1.5}
)
probe_times = st.sets(st.integers(1, 23), max_size=8).map(
    lambda quarters: [each / 4 for each in sorted(quarters)] + [6.0]
)


@randomly
@given(rates, rates, probe_times)
def test_probed_sources(updates: Any, importance: Any, times: list[float]) -> None:
    source = {"updates": updates, "importance": importance}
    probing = {"horizon": 6.0, "policy": {"times": times}}
    assert_same_path(valid({"name": "ties", "source": source, "probing": probing}))


def test_a_page_that_changes_twice_at_once_is_found_changed() -> None:
    """It is as stale as before, so that it is not refreshed, but its visit has found a change."""
    for warmup in (0.0, 7.0):
        tables = {
            "name": "twice",
            "robots": {
                "available": 1,
                "access_time": {"exponential": {"mean": 0.25}},
                "accessing": {"policy": "cyclic", "template": [0]},
                "unchanged": {"bytes": 1.0},
            },
            "pages": {"change_rates": [0.05], "weights": "uniform", "sizes": [0.0]},
            "run": {"horizon": 60.0, "warmup": warmup, "replications": 2},
        }
        assert_same_paths(scenario_from(tables))
