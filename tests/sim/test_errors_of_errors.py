"""Errors that no number shows: standard errors of the wrong size, streams that are shared, a start
in the wrong phase. Each is planted here, and each must be caught.

Every test asks the same question of the program as it is and with the error planted; seeds are
fixed. Unless stated otherwise a correct program fails with probability below 1e-5.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import product
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtri, stdtr
from scipy.stats import binom, chi2
from systems import queue

import sim
import sim.compiled_engine.replication
import sim.draws
import sim.estimates.jackknife
import sim.search_engine
from analytic import compare, compare_laws, exact_laws, overall, points_of, predict
from scenarios import Results, Scenario
from scenarios.processes import Mmpp
from sim import simpy_engine
from sim.compiled_engine import simulate
from sim.compiled_engine.states import words_of
from sim.draws import sampler
from sim.estimates import results_from
from sim.streams import SOURCES, stream
from sim.tally import Tally

SMALL = queue({"activation": {"static": 1}, "run": {"horizon": 250.0, "warmup": 50.0}})
"""One robot, Poisson deliveries at rate 0.7, services of mean 1, three waiting places, timers."""

RARE = 1e-6

Patch = pytest.MonkeyPatch


# --- standard errors ----------------------------------------------------------------------------


def tallies_of(scenario: Scenario, count: int, seed: int = 1) -> list[Tally]:
    return [simulate(scenario, replication, seed) for replication in range(count)]


def student_scores(scenario: Scenario, tallies: list[Tally], size: int) -> np.ndarray:
    """Of runs of `size` replications, (estimate - exact) / standard error of the mean level."""
    exact = next(p.value for p in predict(scenario)[0] if p.measure == "mean_in_system")
    scores = []
    for first in range(0, len(tallies), size):
        found = results_from(tallies[first : first + size], scenario, "compiled", 1)
        row = found.find("mean_in_system")
        assert row is not None
        scores.append((row.estimate - exact) / row.standard_error)
    return np.array(scores)


def has_right_spread(scores: np.ndarray, size: int) -> bool:
    """Whether Student's scores, turned into normal ones, have variance 1 (chi-square, 1e-6)."""
    normal = ndtri(np.clip(stdtr(size - 1, scores), 1e-12, 1 - 1e-12))
    low, high = chi2.ppf([RARE / 2, 1 - RARE / 2], len(scores))
    return bool(low < (normal**2).sum() < high)


def scale_errors(patch: Patch, factor: float) -> None:
    true = sim.estimates.jackknife.jackknife_error
    patch.setattr(
        sim.estimates.jackknife, "jackknife_error", lambda without: factor * true(without)
    )


@pytest.fixture(scope="module")
def replications() -> list[Tally]:
    return tallies_of(SMALL, 1000)


@pytest.mark.by_day(besides=("0.7-False", "1.5-False"))
@pytest.mark.statistical
@pytest.mark.parametrize(("factor", "passes"), [(0.7, False), (1.0, True), (1.5, False)])
def test_standard_errors_have_the_right_size(
    factor: float, passes: bool, replications: list[Tally], monkeypatch: Patch
) -> None:
    """200 runs of 5 replications: factors below 0.8 and above 1.3 are caught (seed 1)."""
    scale_errors(monkeypatch, factor)
    assert has_right_spread(student_scores(SMALL, replications, 5), 5) is passes


@pytest.fixture(scope="module")
def many_replications() -> list[Tally]:
    return tallies_of(SMALL, 20_000, seed=2)


@pytest.mark.nightly
@pytest.mark.statistical
@pytest.mark.parametrize("size", [5, 40])
@pytest.mark.parametrize(("factor", "passes"), [(0.7, False), (1.0, True), (1.5, False)])
def test_standard_errors_have_the_right_tails(
    factor: float, passes: bool, size: int, many_replications: list[Tally], monkeypatch: Patch
) -> None:
    """The share of the scores beyond the 95 % quantile, of 20,000 replications (seed 2).

    4000 runs of 5 and 500 of 40, two-sided 1e-6. With the factor 0.7 the share is 0.12 to 0.17,
    with 1.5 it is 0.004 to 0.014.
    """
    scale_errors(monkeypatch, factor)
    scores = student_scores(SMALL, many_replications, size)
    beyond = int((2 * stdtr(size - 1, -np.abs(scores)) < 0.05).sum())
    low, high = binom.ppf([RARE / 2, 1 - RARE / 2], len(scores), 0.05)
    assert bool(low <= beyond <= high) is passes


# --- streams ------------------------------------------------------------------------------------


def use_streams(patch: Patch, changed: Callable[..., Any]) -> None:
    """Every stream of both engines comes from another function."""

    class Changed:
        def __init__(self, seed: int, replication: int) -> None:
            self.stream = partial(changed, seed, replication)

        def states(self, source: str, robots: list[int]) -> Any:
            return np.stack([words_of(self.stream(source, robot)) for robot in robots])

    patch.setattr(sim.search_engine, "stream", changed)
    patch.setattr(sim.compiled_engine.replication, "Streams", Changed)


def sharing_replications(seed: int, replication: int, *source: Any) -> Any:
    return stream(seed, replication % 20, *source)


def sharing_timers(seed: int, replication: int, source: str, robot: int = 0) -> Any:
    return stream(seed, replication, "access" if source == "obsolescence" else source, robot)


def test_no_two_streams_have_a_key_or_a_number_in_common() -> None:
    """All sources of 40 replications and 8 robots: 3200 streams, the first four numbers of each."""
    keys = set()
    numbers = set()
    every = list(product(range(40), SOURCES, range(8)))
    for replication, source, robot in every:
        bits = stream(1, replication, source, robot).bit_generator
        keys.add(bits.seed_seq.spawn_key)
        numbers.update(bits.random_raw(4).tolist())
    assert len(keys) == len(every)
    assert len(numbers) == 4 * len(every)


def test_the_streams_of_another_seed_are_others() -> None:
    first = [stream(seed, 0, "access").bit_generator.random_raw() for seed in range(1000)]
    assert len(set(first)) == 1000


@pytest.mark.parametrize(("shared", "passes"), [(False, True), (True, False)])
def test_no_two_replications_are_the_same(shared: bool, passes: bool, monkeypatch: Patch) -> None:
    if shared:
        use_streams(monkeypatch, sharing_replications)
    paths = {found.buffer.level_time for found in tallies_of(SMALL, 60) if found.buffer}
    assert (len(paths) == 60) is passes


@pytest.mark.nightly
@pytest.mark.statistical
@pytest.mark.parametrize(("shared", "passes"), [(False, True), (True, False)])
def test_runs_of_many_replications_cover(shared: bool, passes: bool, monkeypatch: Patch) -> None:
    """200 runs of 60 replications, each of its own seed.

    With 20 streams the errors are 0.58 times the true ones.
    """
    if shared:
        use_streams(monkeypatch, sharing_replications)
    tallies = [found for seed in range(200) for found in tallies_of(SMALL, 60, seed)]
    assert has_right_spread(student_scores(SMALL, tallies, 60), 60) is passes


@pytest.mark.parametrize(("shared", "passes"), [(False, True), (True, False)])
@pytest.mark.parametrize("engine", [sim.compiled_engine, simpy_engine], ids=["compiled", "simpy"])
def test_a_replication_uses_no_stream_twice(
    engine: ModuleType, shared: bool, passes: bool, monkeypatch: Patch
) -> None:
    """Three robots, their timers and services: what an engine asks for, by its keys."""
    keys = []

    def noted(*which: Any) -> Any:
        found = (sharing_timers if shared else stream)(*which)
        keys.append(found.bit_generator.seed_seq.spawn_key)
        return found

    use_streams(monkeypatch, noted)
    engine.simulate(queue(), 0, 1)
    assert len(keys) >= 5
    assert (len(set(keys)) == len(keys)) is passes


ALL_WAIT = queue(
    {
        "robots.access_time.exponential.rate": 1.0,
        "activation": {"static": 1},
        "buffer.waiting_places": 12,
        "buffer.service.exponential.rate": 1e-7,
        "buffer.obsolescence.exponential.mean": 2.0,
        "run": {"horizon": 1050.0, "warmup": 50.0},
    }
)
"""The first page is served for ever and all others draw a timer: the timer of each is two times the
gap after it, if both come from one stream. Mean values hide it, by Little's law."""


@pytest.mark.statistical
@pytest.mark.parametrize(("shared", "passes"), [(False, True), (True, False)])
def test_timers_are_independent_of_the_robots(
    shared: bool, passes: bool, monkeypatch: Patch
) -> None:
    """Levels 1 to 8 of 20 replications, false alarms 1e-3 (seed 1); sharing gives z up to 28."""
    if shared:
        use_streams(monkeypatch, sharing_timers)
    levels = [p for p in predict(ALL_WAIT)[0] if p.measure == "level_probability"]
    seen = [p for p in levels if p.subject in range(1, 9)]
    found = results_from(tallies_of(ALL_WAIT, 20), ALL_WAIT, "compiled", 1)
    assert (overall(compare(seen, found)) != "disagrees") is passes


# --- the first phase ----------------------------------------------------------------------------

SLOW = {"Q": [[-0.001, 0.001], [0.003, -0.003]], "rates": [0.2, 3.0]}
"""Phases that outlast the run: 3/4 of the time at rate 0.2, 1/4 at rate 3; mean 0.9."""


def start_in_phase_0(patch: Patch) -> None:
    def zero(_law: Any, _stream: Any) -> int:
        return 0

    patch.setattr(sim.draws, "drawn_phase", zero)
    patch.setattr(sim.compiled_engine.replication, "drawn_phase", zero)


@pytest.mark.statistical
@pytest.mark.by_day("True-False")
@pytest.mark.parametrize(("planted", "passes"), [(False, True), (True, False)])
def test_joint_deliveries_start_in_their_stationary_phase(
    planted: bool, passes: bool, monkeypatch: Patch
) -> None:
    """Pages of the first 10 time units, 400 replications (seed 1); z above 5 has 1e-6."""
    if planted:
        start_in_phase_0(monkeypatch)
    scenario = queue(
        {
            "robots": {"available": 1, "deliveries": {"modes": [{"mmpp": SLOW}]}},
            "activation": {"static": 1},
            "run": {"horizon": 10.0, "warmup": 0.0},
        }
    )
    pages = [found.buffer.delivered for found in tallies_of(scenario, 400) if found.buffer]
    z = (np.mean(pages) - 9.0) / (np.std(pages, ddof=1) / 20)
    assert bool(abs(z) < 5) is passes


@pytest.mark.statistical
@pytest.mark.by_day("True-False")
@pytest.mark.parametrize(("planted", "passes"), [(False, True), (True, False)])
def test_the_first_gap_of_a_robot_is_that_after_an_arrival(
    planted: bool, passes: bool, monkeypatch: Patch
) -> None:
    """Its mean is 1 / 0.9; 2000 streams of seed 1; z above 5 has 1e-6."""
    if planted:
        start_in_phase_0(monkeypatch)
    process = Mmpp(**SLOW)
    own = partial(stream, 1, source="access")
    gaps = [sampler(process, own(replication))() for replication in range(2000)]
    z = (np.mean(gaps) - 1 / 0.9) / (np.std(gaps, ddof=1) / np.sqrt(2000))
    assert bool(abs(z) < 5) is passes


# --- distributions ------------------------------------------------------------------------------

BUSY = queue(
    {
        "robots": {"available": 1, "access_time": {"exponential": {"rate": 0.95}}},
        "activation": {"static": 1},
        "buffer": {"waiting_places": 15, "service": {"exponential": {"mean": 1.0}}},
        "run": {"horizon": 1000.0, "warmup": 300.0, "replications": 2000, "seed": 1},
    }
)
"""Levels that are remembered for long: their errors are many times those of independent pages."""


@pytest.fixture(scope="module")
def counted_levels() -> tuple[list[Any], Results]:
    laws = [law for law in exact_laws(BUSY) if law.law.measure == "level_at_arrival"]
    return laws, sim.run(BUSY, points=points_of(exact_laws(BUSY)))


@pytest.mark.thorough
@pytest.mark.statistical
@pytest.mark.parametrize(("factor", "passes"), [(0.7, False), (1.0, True), (1.5, False)])
def test_errors_of_distributions_have_the_right_size(
    factor: float, passes: bool, counted_levels: tuple[list[Any], Results]
) -> None:
    """The middle level, 200 runs of 10 replications (seed 1); two-sided 1e-6."""
    laws, whole = counted_levels
    scores = []
    for first in range(0, whole.count, 10):
        some = {key: counts[first : first + 10] for key, counts in whole.law_counts.items()}
        (row,) = compare_laws(laws, replace(whole, count=10, law_counts=some))
        scores.append(row.points[len(row.points) // 2].t / factor)
    assert has_right_spread(np.array(scores), 10) is passes
