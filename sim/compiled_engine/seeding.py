"""The streams of one replication, seeded by compiled code.

numpy makes each of them in eleven microseconds, starting from the seed every time. Here what a
SeedSequence makes of the seed and the replication is worked out once; what it makes of the source
and the robot, and the first steps of PCG64, is compiled (O'Neill, 2014, and the description in
numpy's manual).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.random.bit_generator import ISeedSequence

from sim import streams
from sim.compiled_engine.jit import IS_COMPILED, inner, kernel
from sim.compiled_engine.many_times import product_and_sum
from sim.compiled_engine.states import places_of_words, words_of
from sim.streams import PCG64_FACTOR, SOURCES

_WORD = np.uint64
_HIGH, _LOW, _INCREMENT_HIGH, _INCREMENT_LOW = places_of_words()
_ONE = _WORD(0), _WORD(1)
_FACTOR = _WORD(PCG64_FACTOR >> 64), _WORD(PCG64_FACTOR % 2**64)

_POOL = 4  # words of 32 bits that a SeedSequence keeps
_SEED = 4  # words of 64 bits that PCG64 is seeded with
_HALF = _WORD(2**32 - 1)
_FIRST, _NEXT = 0x43B0D7E5, 0x931E8875  # of the factors that words are hashed with
_FIRST_OF_OUTPUT, _NEXT_OF_OUTPUT = _WORD(0x8B51F9DD), _WORD(0x58F38DED)
_MIX = _WORD(0xCA01F9DD), _WORD(0x4973F715)


class _Zero(ISeedSequence):
    """A seed for what gets its state afterwards; to make another one takes longer than the rest."""

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> Any:
        """Nothing but zeros."""
        return np.zeros(n_words, dtype=dtype)


_ZERO: Any = _Zero()


class Streams:
    """Those of one replication, the same as of `sim.streams.stream`.

    Parameters
    ----------
    seed, replication : int
    """

    def __init__(self, seed: int, replication: int) -> None:
        self._run = seed, replication
        shared = np.random.SeedSequence(seed, spawn_key=(replication,))
        self._pool = shared.pool.astype(np.uint64)
        hashed = _POOL * (max(_POOL, _words_in(seed)) + _words_in(replication))
        self._next_factor = _WORD(_FIRST * pow(_NEXT, hashed, 2**32) % 2**32)

    def stream(self, source: str, robot: int = 0) -> np.random.Generator:
        """The stream of a source.

        Parameters
        ----------
        source : str
            A key of `sim.streams.SOURCES`.
        robot : int
            Index of the robot (or server), below 2**32; 0 for sources without.
        """
        if not IS_COMPILED:
            return streams.stream(*self._run, source, robot)
        made = np.random.Generator(np.random.PCG64(_ZERO))
        words_of(made)[:] = self.states(source, [robot])[0]
        return made

    def states(self, source: str, robots: Sequence[int]) -> Any:
        """The first states of the streams of many robots (or servers), as a Generator keeps them.

        Parameters
        ----------
        source : str
        robots : sequence of int

        Returns
        -------
        ndarray of uint64, shape (robots, 4)
        """
        if not IS_COMPILED:
            own = [words_of(streams.stream(*self._run, source, robot)) for robot in robots]
            return np.array(own, dtype=np.uint64).reshape(-1, _SEED)
        states = np.empty((len(robots), _SEED), dtype=np.uint64)
        given = _WORD(SOURCES[source]), np.array(robots, dtype=np.uint64)
        first_states(self._pool, self._next_factor, *given, np.empty_like(self._pool), states)
        return states


def _words_in(number: int) -> int:
    """Words of 32 bits that a whole number takes."""
    return max(1, -(-int(number).bit_length() // 32))


@kernel
def first_states(pool: Any, factor: Any, source: Any, robots: Any, mixed: Any, states: Any) -> None:
    """The states in which the streams of some robots start, as a Generator keeps them."""
    for row in range(len(robots)):
        words = states[row]
        seed_one(pool, factor, source, robots[row], mixed, words)
        seed = words[0], words[1]
        # The increment is twice the second number of the seed plus 1.
        high = (words[2] << _WORD(1)) | (words[3] >> _WORD(63))
        low = (words[3] << _WORD(1)) | _WORD(1)
        begun = product_and_sum(seed, _ONE, (high, low))
        words[_HIGH], words[_LOW] = product_and_sum(begun, _FACTOR, (high, low))
        words[_INCREMENT_HIGH], words[_INCREMENT_LOW] = high, low


@inner
def seed_one(pool: Any, factor: Any, source: Any, robot: Any, mixed: Any, made: Any) -> None:
    """Mix source and robot into the pool of seed and replication; the seed of PCG64 from that."""
    for place in range(_POOL):
        mixed[place] = pool[place]
    for entropy in (source, robot):
        for place in range(_POOL):
            following = factor * _WORD(_NEXT) & _HALF
            hashed = scrambled((entropy ^ factor) * following)
            mixed[place] = scrambled(_MIX[0] * mixed[place] - _MIX[1] * hashed)
            factor = following
    factor = _FIRST_OF_OUTPUT
    for place in range(2 * _SEED):
        following = factor * _NEXT_OF_OUTPUT & _HALF
        half = scrambled((mixed[place % _POOL] ^ factor) * following)
        factor = following
        if place % 2 == 0:
            made[place // 2] = half
        else:
            made[place // 2] |= half << _WORD(32)


@inner
def scrambled(word: Any) -> Any:
    """The lower half of a word, its upper part folded into its lower one."""
    lower = word & _HALF
    return lower ^ (lower >> _WORD(16))
