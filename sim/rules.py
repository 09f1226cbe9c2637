"""The decisions of the model as pure functions on numbers; both engines call these.

Rule 1: whatever decides what happens at an event lives here: who goes first at equal times, how
many pages of a batch enter, how many robots work, which value a draw gives.
Rule 2: this file knows no engine and no clock; it imports `math` only, so that it compiles.

Draws take the Generator of their source and use it in a fixed order, so that two engines that
call them on the same stream see the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

# Ranks of events at the same time; within a rank the index decides (robot, place in the queue).
SERVICE, OBSOLESCENCE, DELIVERY, UPDATE, QUERY, WARMUP, HORIZON = range(7)
INDICES = 2**52

# Admission of a batch that does not fit.
PARTIAL, REJECT, COMPLETE = range(3)

# Fates of a page that entered.
SERVED, OBSOLETE, PUSHED_OUT, REPLACED = range(4)

# Where distributions are counted by fate, busy cycles come after the fates.
CYCLE = 4


# Turns of the accessing policy that a robot looks at before it waits for a host.
LOOKAHEAD = 1024


def is_free(now: float, busy_until: float) -> bool:
    """Whether an access may start at a host that is to be left alone until a time."""
    return busy_until <= now


def tie_order(rank: int, index: int) -> int:
    """Place of an event among those of the same time: by rank, then by index."""
    return rank * INDICES + index


def admitted(pages: int, level: int, capacity: int, admission: int) -> int:
    """Number of pages of a batch that enter.

    Parameters
    ----------
    pages : int
        Size of the batch.
    level, capacity : int
        Pages in the system, and the most that may be there (under `COMPLETE`: before the batch).
    admission : int
        `PARTIAL`: as many as fit; `REJECT`: all or none; `COMPLETE`: all if there is any room.

    Notes
    -----
    avrachenkov2011, section 2; docs/derivations.md, "Admission".
    """
    room = capacity - level
    if room <= 0:
        return 0
    if admission == PARTIAL:
        return pages if pages <= room else room
    if admission == REJECT:
        return pages if pages <= room else 0
    return pages


def threshold_robots(level: int, robots: Sequence[int], at: Sequence[int]) -> int:
    """Active robots at a level: ``robots[t]`` while the level is at most ``at[t]``.

    avrachenkov2011, section 2 (multi-threshold control).
    """
    for mode in range(len(at)):
        if level <= at[mode]:
            return robots[mode]
    return robots[len(at)]


def switches_on(active: int, target: int) -> bool:
    """Whether one robot more is switched on, both numbers taken after the event (talim2001)."""
    return active < target


def time_of_robots(level_time: Sequence[float], active_at: Sequence[int]) -> float:
    """Time integral of the active robots where their number depends on the level alone."""
    total = 0.0
    for level in range(len(level_time)):
        total += active_at[level] * level_time[level]
    return total


def turns_away(busy: bool, preemptive: bool) -> bool:
    """Whether a server without a buffer loses the packet that comes, not the one in service.

    altman2000, section 2.
    """
    return busy and not preemptive


def pick(cumulative: Sequence[float], uniform: float) -> int:
    """Index of the first cumulative probability above `uniform`; the last must be 1 or more."""
    index = 0
    while cumulative[index] <= uniform:
        index += 1
    return index


def pick_of_many(cumulative: Sequence[float], uniform: float) -> int:
    """The same as `pick`, by bisection."""
    low = 0
    high = len(cumulative) - 1
    while low < high:
        middle = (low + high) // 2
        if cumulative[middle] <= uniform:
            low = middle + 1
        else:
            high = middle
    return low


def draw_constant(stream: Any, value: float) -> float:  # noqa: ARG001  # same call as its siblings
    """Always the same time; nothing is drawn."""
    return value


def draw_exponential(stream: Any, mean: float) -> float:
    """An exponential time."""
    return stream.standard_exponential() * mean  # type: ignore[no-any-return]  # a Generator of either engine


def draw_uniform(stream: Any, low: float, width: float) -> float:
    """A uniform time in [low, low + width)."""
    return low + width * stream.random()  # type: ignore[no-any-return]  # as above


def draw_gamma(stream: Any, shape: float, scale: float) -> float:
    """A gamma time.

    Below shape 1 the draw is ``G(shape + 1) · U ** (1 / shape)``: numpy's own draw for such
    shapes is not the same to the last bit in compiled code.
    """
    if shape >= 1.0:
        return stream.standard_gamma(shape) * scale  # type: ignore[no-any-return]  # as above
    larger = stream.standard_gamma(shape + 1.0)
    return larger * math.pow(stream.random(), 1.0 / shape) * scale  # type: ignore[no-any-return]  # as above


def draw_hyperexponential(
    stream: Any, cumulative: Sequence[float], means: Sequence[float]
) -> float:
    """An exponential time whose mean is drawn first."""
    mean = means[pick(cumulative, stream.random())]
    return stream.standard_exponential() * mean  # type: ignore[no-any-return]  # as above


def draw_phase_type(
    stream: Any,
    start: Sequence[float],
    means: Sequence[float],
    jumps: Sequence[Sequence[float]],
) -> float:
    """A phase-type time, phase by phase.

    Parameters
    ----------
    stream : Generator
    start : sequence of float
        Cumulative start probabilities.
    means : sequence of float
        Mean time in each phase.
    jumps : sequence of sequence of float
        Cumulative probabilities of the next phase; one entry more than phases, the last being
        absorption.
    """
    phases = len(means)
    phase = pick(start, stream.random())
    total = 0.0
    while phase < phases:
        total += stream.standard_exponential() * means[phase]
        phase = pick(jumps[phase], stream.random())
    return total


def draw_empirical(stream: Any, values: Sequence[float]) -> float:
    """One of the observations, each with the same probability."""
    index = int(stream.random() * len(values))
    return values[min(index, len(values) - 1)]


def draw_map_gap(
    stream: Any, phase: int, means: Sequence[float], following: Sequence[Sequence[float]]
) -> tuple[float, int]:
    """The time to the next arrival of a Markovian process, and the phase just after it.

    Each step takes one exponential (the time in the phase) and one uniform (what comes next).

    Parameters
    ----------
    stream : Generator
    phase : int
        The phase now.
    means : sequence of float
        Mean time in each phase.
    following : sequence of sequence of float
        Cumulative probabilities of what comes next: first the phases without an arrival, then the
        phases with one.
    """
    order = len(means)
    total = 0.0
    while True:
        total += draw_exponential(stream, means[phase])
        chosen = pick(following[phase], stream.random())
        phase = chosen % order
        if chosen >= order:
            return total, phase
