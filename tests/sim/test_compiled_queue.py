"""The compiled engine's short loop for a queue to which nothing else happens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from profiles import examples
from random_systems import single_laws
from systems import queue
from test_engines_agree import assert_same_path

from scenarios import Scenario
from scenarios.laws import Distribution, Exponential, PhaseType
from sim.compiled_engine import many_robots, replication
from sim.compiled_engine.many_times import filling_of, jumps
from sim.compiled_engine.random_numbers import RandomNumbers, rows_of
from sim.draws import how_to_draw
from sim.laws import exponential, phase_type

needs_compiler = pytest.mark.skipif(
    numba.config.DISABLE_JIT, reason="interpreted, times are drawn one by one"
)
TIED: dict[str, Any] = {"deterministic": {"value": 1.0}}


CHANGES: list[dict[str, Any]] = [
    {"at": 7.0, "until": 21.0, "robot_speed": 0.5},
    {"at": 14.0, "until": 20.0, "service_speed": 0.0},
    {"at": 25.0, "until": 40.0, "robots": 1},
    {"at": 30.0, "until": 36.0, "robot_speed": 0.0},
]


def plain_queue(**changes: Any) -> Scenario:
    """Robots, a buffer, and nothing else."""
    return queue({"run.horizon": 60.0, "run.warmup": 7.0} | changes)


@st.composite
def plain_queues(draw: Any) -> Scenario:
    """Laws with ties and without, lists of timers and tournaments, one robot and many."""
    robots = draw(st.integers(1, 40))
    places = draw(st.sampled_from([0, 1, 4, 70]))
    levels = [draw(st.integers(0, robots)) for _ in range(places + 2)]
    obsolescence = draw(st.one_of(st.just("never"), single_laws))
    return plain_queue(
        **{
            "robots.available": robots,
            "robots.access_time": draw(single_laws),
            "activation": draw(st.sampled_from([{"static": robots}, {"levels": levels}])),
            "buffer.waiting_places": places,
            "buffer.service": draw(single_laws),
            "buffer.obsolescence": obsolescence,
            "run.warmup": draw(st.sampled_from([0.0, 7.0])),
            "interventions": draw(st.sampled_from([[], CHANGES])),
            **draw(st.sampled_from([{}, {"run.observe": 5.0}])),
        }
    )


@pytest.fixture
def loops_taken(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The name of the loop of each replication from here on."""
    taken = []

    class Watched(replication.Replication):
        def _run(self, kernel: Callable[..., bool], *others: Any) -> None:
            taken.append(kernel.__module__.rpartition(".")[-1])
            super()._run(kernel, *others)

    monkeypatch.setattr(replication, "Replication", Watched)
    return taken


@pytest.mark.thorough
@given(plain_queues())
@settings(max_examples=examples(60))
def test_a_plain_queue_takes_the_path_of_the_simpy_engine(scenario: Scenario) -> None:
    assert_same_path(scenario)


@given(plain_queues(), st.sampled_from([1, 4, 16]))
@settings(max_examples=examples(60))
def test_a_crowd_takes_the_path_of_the_simpy_engine(scenario: Scenario, part: int) -> None:
    """With ties, more robots than there are places may deliver at the same time."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(many_robots, "VERY_MANY", 1)
        patched.setattr(many_robots, "_PART", part)
        assert_same_path(scenario)


def test_robots_that_deliver_all_at_once_are_called_in_the_order_of_their_numbers() -> None:
    """A place for each, for some, or for one of them; some of them go on ahead of the others."""
    values = {"empirical": {"values": [1.0, 1.0, 1.0, 1e-9]}}
    for law in (TIED, values):
        scenario = plain_queue(**{"robots.available": 50, "robots.access_time": law})
        for part in (1, 10, 50):
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(many_robots, "VERY_MANY", 1)
                patched.setattr(many_robots, "_PART", part)
                assert_same_path(scenario)


@pytest.mark.parametrize("part", [None, 16])
def test_a_first_access_of_minus_zero_begins_at_zero(part: int | None) -> None:
    """Times are compared by their bits, and those of -0.0 come first of all."""
    changes = {
        "robots.available": 50,
        "robots.access_time": {"empirical": {"values": [-0.0, 0.0, 1.0]}},
        "activation": {"levels": [50, 20, 3, 1, 0]},
        "run.horizon": 20.0,
    }
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(many_robots, "_PART", part or many_robots._PART)
        patched.setattr(many_robots, "VERY_MANY", 1 if part else many_robots.VERY_MANY)
        assert_same_path(plain_queue(**changes), replications=5)


@pytest.mark.parametrize(
    ("changes", "loop"),
    [
        ({}, "queue"),
        ({"activation": {"static": 3}}, "queue"),
        ({"buffer.admission": "reject"}, "queue"),
        ({"buffer.servers": 2}, "events"),
        ({"buffer.discipline": "lifo"}, "events"),
        ({"buffer.when_full": "push-out"}, "events"),
        ({"robots.failure": {"probability": 0.2}}, "events"),
        ({"run.observe": 10.0}, "queue"),
        ({"interventions": [{"at": 20.0, "until": 30.0, "service_speed": 0.0}]}, "queue"),
        ({"activation": {"switching": {"targets": [3, 3, 2, 1, 0]}}}, "events"),
        ({"robots.deliveries.independent": [{"poisson": {"rate": 0.5}}] * 3}, "events"),
    ],
)
def test_only_what_is_nothing_but_a_queue_takes_the_short_loop(
    changes: dict[str, Any], loop: str, loops_taken: list[str]
) -> None:
    assert_same_path(plain_queue(**changes), replications=1)
    assert loops_taken == [loop]


def test_two_robots_that_begin_in_each_others_place_are_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Planted: the short loop is not compared with itself."""
    assert_same_path(plain_queue())
    advance = replication.advance_queue

    def wrongly(world: Any, robots: Any) -> bool:
        if not world.run.begun:
            drawn = world.access.drawn
            first, second = world.access.rows.first[:2]
            drawn[first], drawn[second] = drawn[second], drawn[first]
        return bool(advance(world, robots))

    monkeypatch.setattr(replication, "advance_queue", wrongly)
    with pytest.raises(AssertionError):
        assert_same_path(plain_queue())


phase_types = st.integers(1, 4).flatmap(
    lambda order: st.tuples(
        st.lists(st.floats(0.01, 1.0), min_size=order, max_size=order),
        st.lists(
            st.lists(st.floats(0.0, 1.0), min_size=order + 1, max_size=order + 1),
            min_size=order,
            max_size=order,
        ),
    )
)


def phase_type_law(start: list[float], moves: list[list[float]]) -> PhaseType:
    order = len(start)
    exits = np.array(moves) + 0.05
    hidden = exits[:, :order] * (1.0 - np.eye(order))
    hidden -= np.diag(hidden.sum(axis=1) + exits[:, order])
    return PhaseType(alpha=(np.array(start) / sum(start)).tolist(), T=hidden.tolist())


@pytest.mark.thorough
@needs_compiler
@given(phase_types, st.integers(0, 2**32))
@settings(max_examples=examples(40))
def test_phase_type_times_drawn_together_are_those_drawn_one_by_one(
    law: tuple[list[float], list[list[float]]], seed: int
) -> None:
    """Some of a thousand fail the first try of the ziggurat; the stream stands where it did."""
    assert_drawn_alike(phase_type_law(*law), phase_type.draw, seed, 400)


def assert_drawn_alike(law: Distribution, draw: Any, seed: int, needs: int) -> None:
    """The same times, and the stream stands where it did, after three refills of one row."""
    together = np.random.Generator(np.random.PCG64(seed))
    one_by_one = np.random.Generator(np.random.PCG64(seed))
    random_numbers = RandomNumbers([rows_of(law, together)], np.array([needs]))
    drawn, parameters = how_to_draw(law, one_by_one)
    assert drawn is draw
    assert filling_of(drawn) is not None
    for _ in range(3):
        random_numbers.refill()
        times = random_numbers.times
        first, end = int(times.rows[0].first), int(times.rows[0].end)
        expected = [drawn(one_by_one, *parameters) for _ in range(first, end)]
        assert times.drawn[first:end].tolist() == expected
        assert together.bit_generator.state == one_by_one.bit_generator.state
        times.rows.first[0] = end


@needs_compiler
@given(st.floats(0.001, 1000.0), st.integers(0, 2**32), st.integers(1, 60))
@settings(max_examples=examples(40))
def test_exponential_times_drawn_together_are_those_drawn_one_by_one(
    mean: float, seed: int, needs: int
) -> None:
    """For even and odd numbers of them; some of the second half of a pair fail the first try."""
    assert_drawn_alike(Exponential(mean=mean), exponential.draw, seed, needs)


@given(st.integers(1, 5), st.integers(0, 2**64))
def test_jumps_are_steps_of_numpys_generator(steps: int, seed: int) -> None:
    generator = np.random.PCG64(seed)
    before: Any = generator.state["state"]
    state, increment = (int(high) << 64 | int(low) for high, low in jumps(steps))
    generator.random_raw(steps)
    after: Any = generator.state["state"]
    assert after["state"] == (before["state"] * state + before["inc"] * increment) % 2**128


def test_thousands_of_robots_that_deliver_at_a_few_times() -> None:
    """The interval that is looked at shrinks to nothing where all come at once, and grows again."""
    scenario = plain_queue(
        **{
            "robots.available": 5000,
            "robots.access_time": {"empirical": {"values": [100.0, 101.0, 250.5, 313.25]}},
            "activation": {"static": 5000},
            "run.horizon": 700.0,
            "run.warmup": 0.0,
        }
    )
    assert many_robots.new_many_robots(5000) is not None
    assert_same_path(scenario, replications=1)
