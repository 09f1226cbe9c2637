"""Streams that are set up together are those that are set up one by one."""

from __future__ import annotations

import gc

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sim.compiled_engine.seeding import Streams
from sim.compiled_engine.states import words_of
from sim.streams import SOURCES, stream

LARGE = st.integers(0, 2**160)  # of up to five words of 32 bits
ROBOTS = st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=5)


@given(LARGE, LARGE, st.sampled_from(sorted(SOURCES)), ROBOTS)
def test_streams_start_where_numpy_starts_each(
    seed: int, replication: int, source: str, robots: list[int]
) -> None:
    streams = Streams(seed, replication)
    states = streams.states(source, robots)
    for row, robot in zip(states, robots, strict=True):
        own = stream(seed, replication, source, robot)
        assert (row == words_of(own)).all()
        made = streams.stream(source, robot).bit_generator
        assert made.state == own.bit_generator.state


def test_a_generator_draws_on_from_the_words_that_it_is_given() -> None:
    robots = range(20)
    one = stream(0, 0, "access", 0)
    words = words_of(one)
    for robot, state in zip(robots, Streams(5, 3).states("access", robots), strict=True):
        words[:] = state
        assert one.random(4).tolist() == stream(5, 3, "access", robot).random(4).tolist()


def test_the_words_of_a_generator_keep_it_alive() -> None:
    words = words_of(stream(1, 0, "access", 0))
    before = words.copy()
    gc.collect()
    others = [stream(1, 0, "access", robot) for robot in range(1000)]
    assert (words == before).all()
    assert not np.array_equal(words_of(others[-1]), before)
