"""Which of many alarms goes off first, and which of the waiting pages becomes obsolete first."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sim.compiled_engine.jit import inner

_FEW = 64
"""Up to so many places a list with its first entry marked beats a tournament (measured)."""


class Alarms(NamedTuple):
    """Times of numbered alarms, inf where one is not set: a knock-out tournament.

    Attributes
    ----------
    time : ndarray of float, shape (size,)
        A power of two of them.
    order : ndarray of int, shape (size,)
        Who goes first at equal times.
    winner : ndarray of int, shape (2 * size,)
        Node n of a binary tree holds the first of its two children's alarms; node 1 is the root,
        and the leaves are the alarms themselves.
    """

    time: Any
    order: Any
    winner: Any


def new_alarms(count: int) -> Alarms:
    """So many alarms, none of them set; at equal times the lower number goes first."""
    size = 1 << max(count - 1, 0).bit_length()
    order = np.arange(size)
    winner = np.zeros(2 * size, dtype=np.int64)
    nodes = size
    while nodes > 0:
        winner[nodes : 2 * nodes] = order[:: size // nodes]
        nodes //= 2
    return Alarms(np.full(size, np.inf), order, winner)


@inner
def set_alarm(alarms: Alarms, index: int, time: float) -> None:
    """Set an alarm, or switch it off with inf.

    The comparisons are free of branches, which nobody could predict.
    """
    alarms.time[index] = time
    first = index
    order = alarms.order[index]
    node = index + len(alarms.time)
    while node > 1:
        other = alarms.winner[node ^ 1]
        its_time = alarms.time[other]
        its_order = alarms.order[other]
        wins = (its_time < time) | ((its_time == time) & (its_order < order))
        first = other if wins else first
        time = its_time if wins else time
        order = its_order if wins else order
        node >>= 1
        alarms.winner[node] = first


@inner
def soonest(alarms: Alarms) -> int:
    """The alarm that goes off first; its time is inf where none is set."""
    return alarms.winner[1]


class Timers(NamedTuple):
    """Obsolescence timers of the pages in numbered slots.

    At equal times the one of the lower sequence number goes first.

    Attributes
    ----------
    count, first : ndarray of int, shape (1,)
        Entries of the list, and the one that comes first.
    time : ndarray of float, slot, number : ndarray of int, shape (slots,)
        The list, in no order.
    entry : ndarray of int, shape (slots,)
        Where each slot stands in the list.
    many : Alarms
        Used instead of the list where there are many slots.
    """

    count: Any
    first: Any
    time: Any
    slot: Any
    number: Any
    entry: Any
    many: Alarms


def new_timers(slots: int) -> Timers:
    """No timer runs, for so many slots."""
    few = slots if slots <= _FEW else 0
    whole = [np.zeros(size, dtype=np.int64) for size in (1, 1, few, few, few)]
    count, first, slot, number, entry = whole
    many = new_alarms(0 if few == slots else slots)
    return Timers(count, first, np.full(max(few, 1), np.inf), slot, number, entry, many)


@inner
def add_timer(timers: Timers, slot: int, number: int, time: float) -> None:
    """The timer of the page in a slot starts."""
    if len(timers.slot) == 0:
        timers.many.order[slot] = number
        set_alarm(timers.many, slot, time)
        return
    last = timers.count[0]
    first = timers.first[0]
    timers.time[last] = time
    timers.slot[last] = slot
    timers.number[last] = number
    timers.entry[slot] = last
    timers.count[0] = last + 1
    if last == 0 or comes_before(timers, last, first):
        timers.first[0] = last


@inner
def comes_before(timers: Timers, one: int, other: int) -> bool:
    """Whether one entry of the list comes before another."""
    if timers.time[one] == timers.time[other]:
        return timers.number[one] < timers.number[other]
    return timers.time[one] < timers.time[other]


@inner
def drop_timer(timers: Timers, slot: int) -> None:
    """The timer of a slot stops."""
    if len(timers.slot) == 0:
        set_alarm(timers.many, slot, np.inf)
        return
    entry = timers.entry[slot]
    last = timers.count[0] - 1
    timers.time[entry] = timers.time[last]
    timers.slot[entry] = timers.slot[last]
    timers.number[entry] = timers.number[last]
    timers.entry[timers.slot[entry]] = entry
    timers.time[last] = np.inf
    timers.count[0] = last
    if timers.first[0] == entry:
        timers.first[0] = first_entry(timers)
    elif timers.first[0] == last:
        timers.first[0] = entry


@inner
def first_entry(timers: Timers) -> int:
    """The entry that comes first, among all; ties are looked at only where there are some."""
    first = 0
    time = timers.time[0]
    ties = 0
    for entry in range(1, timers.count[0]):
        its_time = timers.time[entry]
        ties += its_time == time
        first = entry if its_time < time else first
        time = its_time if its_time < time else time
    if ties > 0:
        for entry in range(timers.count[0]):
            if comes_before(timers, entry, first):
                first = entry
    return first


@inner
def first_timer(timers: Timers) -> tuple[float, int]:
    """When the first timer runs out, and its slot; inf where none runs."""
    if len(timers.slot) == 0:
        slot = soonest(timers.many)
        return timers.many.time[slot], slot
    first = timers.first[0]
    if timers.count[0] == 0:
        return np.inf, -1
    return timers.time[first], timers.slot[first]
