"""The orbit of a retrial queue as arrays, as `sim.orbit`: who joins it and leaves it, and room."""

from __future__ import annotations

import numpy as np

from sim.compiled_engine.alarms import alarms_at, new_alarms, set_alarm, soonest
from sim.compiled_engine.jit import inner
from sim.compiled_engine.records import record, records
from sim.compiled_engine.world import NONE, Orbit

_AT_FIRST = 64
"""Pages in orbit that there is room for before it has to grow."""


def new_orbit(row: int, most: int | None, at_once: int, item: np.dtype) -> Orbit:
    """An empty orbit, with room for all pages that one event may bring."""
    limit = np.iinfo(np.int64).max if most is None else most
    slots = min(_AT_FIRST + at_once, limit)
    state = record(
        inside=0, time=0.0, since=0.0, joined=0, left=0, inside_at_start=0, free=NONE, used=0
    )
    return Orbit(row, int(limit), state, records(slots, item), new_alarms(slots))


def with_room(orbit: Orbit, pages: int) -> Orbit:
    """The same, if need be with twice as many slots, as far as there may be."""
    slots = len(orbit.items)
    more = min(slots, orbit.most - slots)
    if more == 0 or slots - orbit.state.inside >= pages:
        return orbit
    items = records(slots + more, orbit.items.dtype)
    items[:slots] = orbit.items
    times = np.append(orbit.alarms.time[:slots], np.full(more, np.inf))
    return orbit._replace(items=items, alarms=alarms_at(times))


@inner
def has_room_in_orbit(orbit: Orbit | None, pages: int) -> bool:
    """Whether there is a slot for all pages that one event may bring, of those that may join."""
    if orbit is None:
        return True
    slots = len(orbit.items)
    return slots >= orbit.most or slots - orbit.state.inside >= pages


@inner
def earlier_of_orbit(orbit: Orbit | None, now: float, rank: int, own: int) -> tuple[float, int]:
    """Time and rank of the next event, given that of all before."""
    if orbit is None:
        return now, rank
    time = orbit.alarms.time[soonest(orbit.alarms)]
    return (time, own) if time < now else (now, rank)


@inner
def take_slot(orbit: Orbit, now: float, again: float) -> int:
    """A slot for one page more, which tries again at a time."""
    state = orbit.state
    slot = state.free
    if slot == NONE:
        slot = state.used
        state.used += 1
    else:
        state.free = orbit.items[slot].newer
    change_orbit(orbit, now, 1)
    state.joined += 1
    set_alarm(orbit.alarms, slot, again)
    return slot


@inner
def free_slot(orbit: Orbit, now: float, slot: int) -> None:
    """The page of a slot has found room."""
    state = orbit.state
    orbit.items[slot].newer = state.free
    state.free = slot
    change_orbit(orbit, now, -1)
    state.left += 1
    set_alarm(orbit.alarms, slot, np.inf)


@inner
def change_orbit(orbit: Orbit | None, now: float, step: int) -> None:
    """Close the time with the present number of pages, then change it."""
    if orbit is None:
        return
    state = orbit.state
    state.time += state.inside * (now - state.since)
    state.since = now
    state.inside += step


@inner
def end_warmup_of_orbit(orbit: Orbit | None, now: float) -> None:
    """Forget what was counted so far: the warm-up is over."""
    if orbit is None:
        return
    state = orbit.state
    state.joined = 0
    state.left = 0
    state.time = 0.0
    state.since = now
    state.inside_at_start = state.inside
