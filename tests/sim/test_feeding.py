"""How compiled kernels are fed: numbers drawn ahead, pauses, and streams given back."""

from __future__ import annotations

import gc
import itertools
import math
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from profiles import examples
from systems import queue

from scenarios import Scenario, load, scenario_from
from scenarios.laws import Exponential
from scenarios.processes import Mmpp
from sim import compiled_engine
from sim.compiled_engine import probes, random_numbers, replication
from sim.compiled_engine.jit import PAUSE, kernel
from sim.compiled_engine.random_numbers import rows_of_robots
from sim.compiled_engine.seeding import Streams
from sim.compiled_engine.service import take
from sim.draws import sampler
from sim.streams import stream

BURSTY = Mmpp.model_validate({"Q": [[-0.4, 0.4], [0.2, -0.2]], "rates": [0.0, 2.0]})


def new_numbers(process: Any, needs: list[int]) -> random_numbers.RandomNumbers:
    rows = rows_of_robots(process, Streams(1, 0), "access", range(len(needs)))
    return random_numbers.RandomNumbers(rows, np.array(needs))


@kernel
def take_one(times: Any, row: int) -> float:
    return take(times, row)


@pytest.mark.by_day("mmpp")
@pytest.mark.parametrize("process", [Exponential(mean=2.0), BURSTY], ids=["exponential", "mmpp"])
@settings(max_examples=examples(30))
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 300), st.integers(0, 39)), max_size=12))
def test_blocks_give_the_numbers_of_each_stream_in_order(
    process: Any, used: list[tuple[int, int, int]]
) -> None:
    """However unevenly the rows are used, whenever they are filled up.

    An event may take fewer numbers than it can.
    """
    needs = [1, 3, 40]
    fed = new_numbers(process, needs)
    plain = [sampler(process, stream(1, 0, "access", row)) for row in range(3)]
    fed.refill()
    times = fed.times
    for row, events, spared in used:
        for _ in range(events):
            if times.used_up[0]:
                fed.refill()
                times = fed.times
            for _ in range(max(needs[row] - spared, 1)):
                assert take_one(times, row) == plain[row]()


def test_a_row_can_always_serve_an_event_that_takes_more_than_a_block(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As with batches of thousands of pages, each with a clock."""
    monkeypatch.setattr(random_numbers.RandomNumbers, "_LARGEST", 64)
    monkeypatch.setattr(random_numbers.RandomNumbers, "_IN_ALL", 64)
    most = 50
    plain = sampler(Exponential(mean=2.0), stream(1, 0, "access", 0))
    fed = new_numbers(Exponential(mean=2.0), [most])
    for taken in [50, 1, 1, 50, 7, 30, 50, 50, 11, 50, 1, 50]:
        fed.refill()
        times = fed.times
        assert times.rows.end[0] - times.rows.first[0] >= most
        for _ in range(taken):
            assert take_one(times, 0) == plain()


def test_a_block_that_takes_long_does_not_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with gaps of thousands of phase changes each: an interrupt is heard all the same."""
    monkeypatch.setattr(random_numbers.RandomNumbers, "_LONG", 0.0)  # everything takes long
    fed = new_numbers(Exponential(mean=1.0), [1])
    at_first = fed.used
    for _ in range(12):
        fed.refill()
        fed.times.rows.first[0] = fed.times.rows.end[0]
    assert fed.used == at_first


@pytest.mark.thorough
@pytest.mark.parametrize("robots", [1000, 40_000])
def test_a_row_that_is_not_used_is_drawn_once(monkeypatch: pytest.MonkeyPatch, robots: int) -> None:
    """The room is for the one that is used, however many the others are."""
    monkeypatch.setattr(
        random_numbers.RandomNumbers, "_LONG", math.inf
    )  # nothing takes long, however busy it is
    (rows,) = rows_of_robots(Exponential(mean=1.0), Streams(1, 0), "access", range(robots))
    fed = random_numbers.RandomNumbers([rows], np.ones(robots, dtype=np.int64))
    fed.refill()
    drawn_once = rows.states.copy()
    taken = 0
    refills = 0
    while taken < 200_000:
        times = fed.times
        while not times.used_up[0]:
            take_one(times, 7)
            taken += 1
        fed.refill()
        refills += 1
    assert np.flatnonzero((rows.states != drawn_once).any(axis=1)).tolist() == [7]
    assert refills < 30  # it grows from 16 to 262144 numbers
    assert fed.used < 4 * 2**18 + 16 * robots


def test_what_a_stream_gives_outside_its_row_is_not_given_again() -> None:
    """As with the first changes of pages, which are drawn before the robot starts."""
    shared = stream(1, 0, "change", 0)
    plain = sampler(Exponential(mean=1.0), stream(1, 0, "change", 0))
    fed = random_numbers.RandomNumbers(
        [random_numbers.rows_of(Exponential(mean=1.0), shared)], np.ones(1, dtype=np.int64)
    )
    assert [shared.standard_exponential() for _ in range(3)] == [plain() for _ in range(3)]
    fed.refill()
    assert [take_one(fed.times, 0) for _ in range(5)] == [plain() for _ in range(5)]


QUERIES: dict[str, Any] = {
    "name": "queries",
    "pages": {"change_rates": [1.0]},
    "robots": {
        "available": 1,
        "access_time": {"exponential": {"mean": 1.0}},
        "accessing": {"policy": "round-robin"},
    },
    "activation": {"static": 0},
    "clients": {"query_rate": 1e6},
    "run": {"horizon": 3.0, "warmup": 0.0, "replications": 2},
}
PHASES: dict[str, Any] = {
    "name": "phases",
    "robots": {
        "available": 1,
        "deliveries": {"modes": [{"mmpp": {"Q": [[-1e6, 1e6], [1e6, -1e6]], "rates": [1.0, 0.0]}}]},
    },
    "buffer": {"waiting_places": 1, "service": {"exponential": {"mean": 1.0}}},
    "run": {"horizon": 3.0, "warmup": 0.0, "replications": 2},
}
REFRESHED: dict[str, Any] = QUERIES | {"activation": {"static": 1}}
UPDATES: dict[str, Any] = {
    "name": "updates",
    "source": {
        "updates": {"breaks": [0.0], "values": [1e6], "period": 1.0},
        "importance": {"breaks": [0.0], "values": [1.0], "period": 1.0},
    },
    "probing": {"horizon": 3.0, "probes": 1, "policy": "uniform"},
}


@pytest.mark.parametrize(
    ("tables", "where", "name"),
    [
        (QUERIES, replication, "advance"),
        (PHASES, replication, "advance"),
        (REFRESHED, replication, "refresh"),
        (UPDATES, probes, "probe"),
    ],
    ids=["queries", "phases", "refreshed", "updates"],
)
@pytest.mark.large
def test_no_kernel_runs_for_long(
    tables: dict[str, Any], where: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interrupt is heard between two calls of a kernel only, whatever takes its numbers."""
    calls = []
    honest = getattr(where, name)

    def counted(*arguments: Any) -> bool:
        calls.append(name)
        return bool(honest(*arguments))

    monkeypatch.setattr(where, name, counted)
    compiled_engine.simulate(scenario_from(tables), 0, 1)
    assert len(calls) >= 3e6 // PAUSE


@pytest.mark.thorough
@pytest.mark.parametrize(
    "scenario",
    [
        queue({"run.horizon": 100.0, "run.warmup": 0.0}),
        load("client-queries").with_({"run.horizon": 100.0, "run.warmup": 0.0}),
        load("routing-at-random").with_({"run.horizon": 100.0, "run.warmup": 0.0}),
        load("dbworld-uniform"),
    ],
    ids=lambda scenario: scenario.name,
)
def test_nothing_keeps_a_stream_after_its_replication(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []

    def noted(streams: Streams, *source: Any) -> np.random.Generator:
        made.append(honest(streams, *source))
        return made[-1]

    import analytic

    honest = Streams.stream
    monkeypatch.setattr(Streams, "stream", noted)
    compiled_engine.simulate(analytic.resolve(scenario), 0, 1)
    gc.collect()
    assert made
    made.append(np.random.default_rng(0))
    counts = [sys.getrefcount(each) for each in made]
    assert counts == [counts[-1]] * len(made)


class Counted(np.ndarray):
    """Pages that count how often somebody asks how many they are."""

    asked = 0

    def __len__(self) -> int:
        Counted.asked += 1
        return super().__len__()


@pytest.mark.parametrize("length", [1, 4, 1000])
def test_short_blocks_of_a_policy_are_looked_at_once(length: int) -> None:
    """Not once for every block that follows: that never ended with blocks of four pages."""
    block = np.arange(length).view(Counted)
    ahead = 2**14
    Counted.asked = 0
    pages, asked = random_numbers.PagesAhead(itertools.repeat(block), ahead).after(
        np.zeros(0, dtype=np.int64), 0
    )
    assert ahead <= pages.size < ahead + length
    assert (pages == np.arange(pages.size) % length).all()
    assert asked == 0
    assert Counted.asked <= ahead // length + 1


def test_pages_that_are_enough_are_not_copied() -> None:
    pages = np.arange(1000)
    sequence = random_numbers.PagesAhead(iter(()), 300)
    assert sequence.after(pages, 700) == (pages, 700)
    assert sequence.after(pages, 0)[0] is pages


def test_more_pages_are_given_each_time_up_to_a_limit() -> None:
    """A short run asks for few, a long one seldom."""
    sequence = random_numbers.PagesAhead((np.arange(100) for _ in itertools.count()), 2)
    lengths = []
    pages = np.zeros(0, dtype=np.int64)
    for _ in range(8):
        pages, used = sequence.after(pages, len(pages))
        assert used == 0
        lengths.append(len(pages))
    assert lengths == [300, 1100, 4100, 16400, 65600, 65600, 65600, 65600]


@pytest.mark.parametrize("length", [1, 7, 2**16, 2**16 + 3])
@pytest.mark.parametrize("longest", [0, 2**20], ids=["in-pieces", "written-out"])
def test_a_list_of_pages_begins_again_where_it_ends(
    length: int, longest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = np.arange(length) // 2
    assert all(map(len, itertools.islice(random_numbers._pieces_of(order), 3)))
    monkeypatch.setattr(random_numbers, "_LONGEST_REPEATED", longest)
    monkeypatch.setattr(random_numbers, "access_cycle", lambda *_: order)
    scenario = load("cyclic-constant")
    repeated = random_numbers.repeated_pages(scenario, 5)
    assert (repeated is None) == (longest == 0)
    source = repeated or random_numbers.pages_ahead(scenario, None, 5)
    pages = np.zeros(0, dtype=np.int64)
    used = 0
    shown: list[int] = []
    while len(shown) < 2 * length + 9:
        pages, begin = source.after(pages, used)
        used = begin + max(5, (len(pages) - begin) // 2)
        shown += pages[begin:used].tolist()
    assert shown == np.resize(order, len(shown)).tolist()
