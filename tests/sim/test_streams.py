"""Streams that are set up together are those that are set up one by one."""

from __future__ import annotations

import gc

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sim.compiled_engine.states import states_of, words_of
from sim.streams import SOURCES, first_states, stream

LARGE = st.integers(0, 2**160)  # of up to five words of 32 bits
ROBOTS = st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=5)


@given(LARGE, LARGE, st.sampled_from(sorted(SOURCES)), ROBOTS)
def test_many_streams_start_where_numpy_starts_each(
    seed: int, replication: int, source: str, robots: list[int]
) -> None:
    states = first_states(seed, replication, source, robots)
    for row, robot in zip(states.tolist(), robots, strict=True):
        own = stream(seed, replication, source, robot).bit_generator.state["state"]
        assert own == {"state": (row[0] << 64) + row[1], "inc": (row[2] << 64) + row[3]}


def test_a_generator_draws_on_from_the_words_that_it_is_given() -> None:
    robots = range(20)
    one = stream(0, 0, "access", 0)
    words = words_of(one)
    for robot, state in zip(robots, states_of(5, 3, "access", robots), strict=True):
        words[:] = state
        assert one.random(4).tolist() == stream(5, 3, "access", robot).random(4).tolist()


def test_the_words_of_a_generator_keep_it_alive() -> None:
    words = words_of(stream(1, 0, "access", 0))
    before = words.copy()
    gc.collect()
    others = [stream(1, 0, "access", robot) for robot in range(1000)]
    assert (words == before).all()
    assert not np.array_equal(words_of(others[-1]), before)
