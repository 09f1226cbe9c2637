"""Which of the waiting pages becomes obsolete first."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sim.compiled_engine.alarms import Alarms, new_alarms, set_alarm, soonest
from sim.compiled_engine.jit import inner

_FEW = 64
"""Up to so many places a list with its first entry marked beats a tournament (measured)."""


class Deadlines(NamedTuple):
    """Deadlines of the pages in numbered slots; at equal times the earlier place goes first.

    Attributes
    ----------
    count, first : ndarray of int, shape (1,)
        Entries of the list, and the one that comes first.
    time : ndarray of float, slot, place : ndarray of int, shape (slots,)
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
    place: Any
    entry: Any
    many: Alarms


def new_deadlines(slots: int) -> Deadlines:
    """No deadlines, for so many slots."""
    few = slots if slots <= _FEW else 0
    whole = [np.zeros(size, dtype=np.int64) for size in (1, 1, few, few, few)]
    count, first, slot, place, entry = whole
    many = new_alarms(0 if few == slots else slots)
    return Deadlines(count, first, np.full(max(few, 1), np.inf), slot, place, entry, many)


@inner
def add(deadlines: Deadlines, slot: int, place: int, time: float) -> None:
    """A slot gets a deadline."""
    if len(deadlines.slot) == 0:
        deadlines.many.order[slot] = place
        set_alarm(deadlines.many, slot, time)
        return
    last = deadlines.count[0]
    first = deadlines.first[0]
    deadlines.time[last] = time
    deadlines.slot[last] = slot
    deadlines.place[last] = place
    deadlines.entry[slot] = last
    deadlines.count[0] = last + 1
    if last == 0 or comes_before(deadlines, last, first):
        deadlines.first[0] = last


@inner
def comes_before(deadlines: Deadlines, one: int, other: int) -> bool:
    """Whether one entry of the list comes before another."""
    if deadlines.time[one] == deadlines.time[other]:
        return deadlines.place[one] < deadlines.place[other]
    return deadlines.time[one] < deadlines.time[other]


@inner
def drop(deadlines: Deadlines, slot: int) -> None:
    """A slot has no deadline any more."""
    if len(deadlines.slot) == 0:
        set_alarm(deadlines.many, slot, np.inf)
        return
    entry = deadlines.entry[slot]
    last = deadlines.count[0] - 1
    deadlines.time[entry] = deadlines.time[last]
    deadlines.slot[entry] = deadlines.slot[last]
    deadlines.place[entry] = deadlines.place[last]
    deadlines.entry[deadlines.slot[entry]] = entry
    deadlines.time[last] = np.inf
    deadlines.count[0] = last
    if deadlines.first[0] == entry:
        deadlines.first[0] = first_entry(deadlines)
    elif deadlines.first[0] == last:
        deadlines.first[0] = entry


@inner
def first_entry(deadlines: Deadlines) -> int:
    """The entry that comes first, among all; ties are looked at only where there are some."""
    first = 0
    time = deadlines.time[0]
    ties = 0
    for entry in range(1, deadlines.count[0]):
        its_time = deadlines.time[entry]
        ties += its_time == time
        first = entry if its_time < time else first
        time = its_time if its_time < time else time
    if ties > 0:
        for entry in range(deadlines.count[0]):
            if comes_before(deadlines, entry, first):
                first = entry
    return first


@inner
def first_deadline(deadlines: Deadlines) -> tuple[float, int]:
    """The first deadline and its slot; inf where there is none."""
    if len(deadlines.slot) == 0:
        slot = soonest(deadlines.many)
        return deadlines.many.time[slot], slot
    first = deadlines.first[0]
    if deadlines.count[0] == 0:
        return np.inf, -1
    return deadlines.time[first], deadlines.slot[first]
