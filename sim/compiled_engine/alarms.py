"""Which of many alarms goes off first, and which of the waiting pages becomes obsolete first.

Who comes first nobody can predict, a processor as little as we can. So there are no branches here
that depend on it, and what one comparison has to wait for is short: from 0 on, times are in the
order of their bits, so that one comparison of whole numbers settles ties, too (measured: 1,000
robots in 96 instead of 148 ns a page, where three comparisons of floating point did that).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sim.compiled_engine.jit import at, inner

_VERY_FEW = 8
"""Up to this many alarms, to look at all of them each time is no slower than a tournament
(measured: of four in 75 instead of 96 ns a page; of eight they are even)."""

_FEW = 64
"""Up to this many timers, to look at all of them when the first one stops beats a tournament
(measured: 65 against 111 ns a page)."""


class Alarms(NamedTuple):
    """Times of numbered alarms, inf where one is not set: a knock-out tournament.

    At equal times the lower number goes first.

    Attributes
    ----------
    time : ndarray of float, shape (size,)
        A power of two of them.
    winner : ndarray of int, shape (2 * size,)
        Node n of a binary tree holds the first of its two children's alarms; node 1 is the root,
        and the leaves are the alarms themselves. No entries where there are very few alarms.
    """

    time: Any
    winner: Any


def new_alarms(count: int) -> Alarms:
    """So many alarms, none of them set."""
    size = 1 << max(count - 1, 0).bit_length()
    return Alarms(np.full(size, np.inf), _first_winners(0 if size <= _VERY_FEW else size))


def alarms_at(times: Any) -> Alarms:
    """Alarms for these times, an array of float; inf: not set."""
    alarms = new_alarms(len(times))
    alarms.time[: len(times)] = times
    first = np.arange(len(alarms.time))
    while len(alarms.winner) and len(first) > 1:
        left, right = first[0::2], first[1::2]
        first = np.where(alarms.time[right] < alarms.time[left], right, left)
        alarms.winner[len(first) : 2 * len(first)] = first
    return alarms


def _first_winners(size: int) -> Any:
    """The first of each pair wins where none has a time."""
    winner = np.zeros(2 * size, dtype=np.int64)
    nodes = size
    while nodes > 0:
        winner[nodes : 2 * nodes] = np.arange(0, size, size // nodes)
        nodes //= 2
    return winner


@inner
def set_alarm(alarms: Alarms, index: int, time: float) -> None:
    """Set an alarm, or switch it off with inf."""
    times, winner = alarms.time, alarms.winner
    times[at(index)] = time
    if len(winner) == 0:
        return
    bits = times.view(np.int64)
    first = at(index)
    least = bits[first]
    node = first + at(len(times))
    while node > at(1):
        other = at(winner[node ^ at(1)])
        its = bits[other]
        # A right child, whose number is odd, loses against the left one at equal times.
        wins = its - np.int64(node & at(1)) < least
        first = other if wins else first
        least = its if wins else least
        node >>= at(1)
        winner[node] = first


@inner
def compete(alarms: Alarms) -> None:
    """All rounds of the tournament, after many times were changed."""
    winner = alarms.winner
    bits = alarms.time.view(np.int64)
    for node in range(len(winner) // 2 - 1, 0, -1):
        left, right = winner[2 * node], winner[2 * node + 1]
        winner[node] = right if bits[at(right)] < bits[at(left)] else left


@inner
def soonest(alarms: Alarms) -> int:
    """The alarm that goes off first; its time is inf where none is set."""
    return first_alarm(alarms)[1]


@inner
def first_alarm(alarms: Alarms) -> tuple[float, int]:
    """When the first alarm goes off, inf where none is set, and which it is."""
    times, winner = alarms.time, alarms.winner
    if len(winner) > 0:
        first = winner[1]
        return times[at(first)], first
    first = 0
    time = times[0]
    for other in range(1, len(times)):
        first, time = sooner(first, time, other, times[other])
    return time, first


@inner
def sooner(one: int, time: float, other: int, its_time: float) -> tuple[int, float]:
    """The sooner of two, the first at equal times, and its time."""
    is_other = its_time < time
    return (other if is_other else one), (its_time if is_other else time)


class Timers(NamedTuple):
    """Obsolescence timers of the pages in numbered slots.

    At equal times the one of the lower sequence number goes first.

    Attributes
    ----------
    time : ndarray of float, shape (slots,)
        When each runs out, inf where none runs.
    number : ndarray of int, shape (slots,)
        The sequence numbers.
    first : ndarray of int, shape (1,)
        The slot whose timer runs out first; kept where there are few slots.
    winner : ndarray of int
        As in `Alarms`; no entries where there are few slots.
    """

    time: Any
    number: Any
    first: Any
    winner: Any


def new_timers(slots: int) -> Timers:
    """No timer runs, in any slot."""
    size = 1 << max(slots - 1, 0).bit_length()
    if slots <= _FEW:
        size = -(-slots // 4) * 4
    winner = _first_winners(0 if slots <= _FEW else size)
    number, first = np.zeros(size, dtype=np.int64), np.zeros(1, dtype=np.int64)
    return Timers(np.full(size, np.inf), number, first, winner)


@inner
def add_timer(timers: Timers, slot: int, number: int, time: float) -> tuple[float, int]:
    """The timer of the page in a slot starts; returns what `first_timer` then does."""
    first = at(timers.first[0])
    its_time = timers.time[first]
    timers.time[at(slot)] = time
    timers.number[at(slot)] = number
    if len(timers.winner) > 0:
        compete_again(timers, slot)
        return first_timer(timers)
    if time < its_time or (time == its_time and number < timers.number[first]):
        timers.first[0] = slot
        return time, at(slot)
    return its_time, first


@inner
def drop_timer(timers: Timers, slot: int) -> tuple[float, int]:
    """The timer of a slot stops; returns what `first_timer` then does."""
    timers.time[at(slot)] = np.inf
    if len(timers.winner) > 0:
        compete_again(timers, slot)
    elif at(timers.first[0]) == at(slot):
        timers.first[0] = first_running(timers)
    return first_timer(timers)


@inner
def first_timer(timers: Timers) -> tuple[float, int]:
    """When the first timer runs out, and its slot; inf where none runs."""
    first = at(timers.winner[1]) if len(timers.winner) > 0 else at(timers.first[0])
    return timers.time[first], first


@inner
def compete_again(timers: Timers, slot: int) -> None:
    """All rounds of the tournament that a slot takes part in.

    Slots are in no order, so that ties go by sequence numbers, unlike in `set_alarm`.
    """
    bits, numbers, winner = timers.time.view(np.int64), timers.number, timers.winner
    first = at(slot)
    least, number = bits[first], numbers[first]
    node = first + at(len(bits))
    while node > at(1):
        other = at(winner[node ^ at(1)])
        its, its_number = bits[other], numbers[other]
        wins = (its < least) | ((its == least) & (its_number < number))
        first = other if wins else first
        least = its if wins else least
        number = its_number if wins else number
        node >>= at(1)
        winner[node] = first


@inner
def first_running(timers: Timers) -> int:
    """The slot whose timer comes first; ties are looked at only where there are some.

    Four searches side by side: each comparison of a single one would wait for the one before.
    """
    times = timers.time
    slot0, slot1, slot2, slot3 = 0, 1, 2, 3
    time0, time1, time2, time3 = times[0], times[1], times[2], times[3]
    for row in range(1, len(times) // 4):
        slot = 4 * row
        slot0, time0 = sooner(slot0, time0, slot, times[slot])
        slot1, time1 = sooner(slot1, time1, slot + 1, times[slot + 1])
        slot2, time2 = sooner(slot2, time2, slot + 2, times[slot + 2])
        slot3, time3 = sooner(slot3, time3, slot + 3, times[slot + 3])
    slot0, time0 = sooner(slot0, time0, slot1, time1)
    slot2, time2 = sooner(slot2, time2, slot3, time3)
    first, least = sooner(slot0, time0, slot2, time2)
    ties = 0
    for slot in range(len(times)):
        ties += times[slot] == least
    if ties > 1:
        for slot in range(len(times)):
            is_lower = timers.number[slot] < timers.number[first]
            if times[slot] == least and is_lower:
                first = slot
    return first
