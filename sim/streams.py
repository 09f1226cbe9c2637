"""One seed, and from it a named, independent stream of random numbers for every source."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

SOURCES = {
    "change": 0,
    "access": 1,
    "delivery": 2,
    "accessing": 3,
    "service": 4,
    "obsolescence": 5,
    "query": 6,
    "update": 7,
    "arrival": 8,
    "routing": 9,
    "failure": 10,
    "further change": 11,
    "environment": 12,
    "birth": 13,
    "lifetime": 14,
    "discovery": 15,
}
"""Fixed numbers of the sources; never renumbered, since results depend on them."""

_POOL = 4  # words of 32 bits that a SeedSequence keeps
_WORD = 2**32
_HASH = (0x43B0D7E5, 0x931E8875)
_OUTPUT = (0x8B51F9DD, 0x58F38DED)
_MIX = (np.uint32(0xCA01F9DD), np.uint32(0x4973F715))

PCG64_FACTOR = 0x2360ED051FC65DA44385DF649FCCF645
"""What the state of PCG64 is multiplied with in each step."""


def stream(seed: int, replication: int, source: str, robot: int = 0) -> np.random.Generator:
    """The stream of one source in one replication.

    Stateless: the same whatever the engine, the number of workers or the order of the calls.

    Parameters
    ----------
    seed : int
        The seed of the run.
    replication : int
    source : str
        A key of `SOURCES`.
    robot : int
        Index of the robot (or server); 0 for sources without.
    """
    key = (replication, SOURCES[source], robot)
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))


def first_states(seed: int, replication: int, source: str, robots: Any) -> Any:
    """The states in which the streams of many robots (or servers) start, all at once.

    The same as of `stream` for each of them, a hundred times as fast: what a SeedSequence makes of
    the seed and the replication is computed once, and its last steps, and the first of PCG64, for
    all robots together (O'Neill, 2014, and the description in numpy's manual).

    Parameters
    ----------
    seed, replication : int
    source : str
        A key of `SOURCES`.
    robots : array_like of int, shape (robots,)
        Each below 2**32.

    Returns
    -------
    ndarray of uint64, shape (robots, 4)
        High and low word of the state, high and low word of the increment.
    """
    shared = np.random.SeedSequence(seed, spawn_key=(replication,))
    hashed = _POOL * (max(_POOL, _words(seed)) + _words(replication))
    numbers = np.asarray(robots, dtype=np.uint32)
    pool = np.broadcast_to(shared.pool, (len(numbers), _POOL))
    for word in (np.full(len(numbers), SOURCES[source], dtype=np.uint32), numbers):
        pool = _mixed(pool, _hashed(word[:, None], _powers(*_HASH, hashed, _POOL)))
        hashed += _POOL
    filled = _hashed(np.tile(pool, 2), _powers(*_OUTPUT, 0, 2 * _POOL))
    return _pcg64_states(filled.astype("<u4").view("<u8").astype(np.uint64))


def _words(number: int) -> int:
    """Words of 32 bits that a whole number takes."""
    return max(1, -(-int(number).bit_length() // 32))


@cache
def _powers(first: int, factor: int, begin: int, count: int) -> Any:
    """The factors that a SeedSequence goes through, from one to `count` further on."""
    steps = range(begin, begin + count + 1)
    powers = [first * pow(factor, step, _WORD) % _WORD for step in steps]
    return np.array(powers, dtype=np.uint32)


def _hashed(words: Any, factors: Any) -> Any:
    product = (words ^ factors[:-1]) * factors[1:]
    return product ^ (product >> np.uint32(16))


def _mixed(words: Any, others: Any) -> Any:
    left, right = _MIX
    sums = left * words - right * others
    return sums ^ (sums >> np.uint32(16))


def _pcg64_states(words: Any) -> Any:
    """PCG64's state and increment after seeding: state (increment + seed) * factor + increment."""
    seed_high, seed_low, high, low = words.T
    increment = (
        (high << np.uint64(1)) | (low >> np.uint64(63)),
        (low << np.uint64(1)) | np.uint64(1),
    )
    state = _sum(_product(_sum(increment, (seed_high, seed_low))), increment)
    return np.stack([*state, *increment], axis=1)


def _sum(one: Any, other: Any) -> tuple[Any, Any]:
    """The sum of numbers of 128 bits, each given by two words."""
    low = one[1] + other[1]
    return one[0] + other[0] + (low < one[1]), low


def _product(number: Any) -> tuple[Any, Any]:
    """A number of 128 bits times PCG64's factor."""
    half = np.uint64(32)
    below = np.uint64(_WORD - 1)
    factor_high, factor_low = (np.uint64(part) for part in divmod(PCG64_FACTOR, 2**64))
    ones, twos = (factor_low & below, factor_low >> half), (number[1] & below, number[1] >> half)
    middle = ones[1] * twos[0] + (ones[0] * twos[0] >> half)
    carried = ones[0] * twos[1] + (middle & below)
    high = ones[1] * twos[1] + (middle >> half) + (carried >> half)
    return high + number[0] * factor_low + number[1] * factor_high, number[1] * factor_low
