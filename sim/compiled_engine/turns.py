"""Polite turns as compiled code: `sim.turns`, on arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sim import rules
from sim.compiled_engine.alarms import Alarms, new_alarms, set_alarm, soonest
from sim.compiled_engine.jit import inner

NOT_WAITING = -2
LAST = -1


class Turns(NamedTuple):
    """Hosts that are to be left alone, and the pages that wait for them.

    Attributes
    ----------
    counts : ndarray of int, shape (2,)
        Hosts that are free, and pages put off so far.
    host : ndarray of int, shape (pages,)
        No entries where hosts want no spacing.
    spacing : ndarray of float, shape (hosts,)
    busy : Alarms
        Until when each host is to be left alone; not set for a host that is free.
    ready : Alarms
        For each free host where pages wait, when its first one was put off: how many were before.
    first, last : ndarray of int, shape (hosts,)
        The pages that wait for each host, in a chain; LAST where there are none.
    following : ndarray of int, shape (pages,)
        The next page of the chain, or LAST; NOT_WAITING for pages that do not wait.
    put_off : ndarray of int, shape (pages,)
    """

    counts: Any
    host: Any
    spacing: Any
    busy: Alarms
    ready: Alarms
    first: Any
    last: Any
    following: Any
    put_off: Any


def new_turns(host: Any, spacing: Any) -> Turns:
    """All hosts free, nobody waiting."""
    pages = len(host)
    hosts = len(spacing)
    return Turns(
        counts=np.array([hosts, 0]),
        host=np.asarray(host, dtype=np.int64),
        spacing=np.asarray(spacing, dtype=np.float64),
        busy=new_alarms(hosts),
        ready=new_alarms(hosts),
        first=np.full(hosts, LAST),
        last=np.full(hosts, LAST),
        following=np.full(pages, NOT_WAITING),
        put_off=np.zeros(pages, dtype=np.int64),
    )


@inner
def take_turn(turns: Turns, pages: Any, now: float) -> int:
    """The page of the access that starts now, or -1 if there is none to start with."""
    release(turns, now)
    host = soonest(turns.ready)
    if turns.ready.time[host] < np.inf:
        return start(turns, now, leave(turns, host))
    if turns.counts[0] == 0:
        return -1
    for _ in range(rules.LOOKAHEAD):
        page = pages.sequence[pages.state.asked]
        pages.state.asked += 1
        if turns.following[page] != NOT_WAITING:
            continue
        if turns.busy.time[turns.host[page]] == np.inf:
            return start(turns, now, page)
        wait(turns, page)
    return -1


@inner
def next_release(turns: Turns) -> float:
    """When the next host becomes free."""
    return turns.busy.time[soonest(turns.busy)]


@inner
def start(turns: Turns, now: float, page: int) -> int:
    """An access starts."""
    host = turns.host[page]
    if turns.spacing[host] > 0:
        turns.counts[0] -= 1
        set_alarm(turns.busy, host, now + turns.spacing[host])
    return page


@inner
def wait(turns: Turns, page: int) -> None:
    """A page is put off."""
    host = turns.host[page]
    if turns.first[host] == LAST:
        turns.first[host] = page
    else:
        turns.following[turns.last[host]] = page
    turns.last[host] = page
    turns.following[page] = LAST
    turns.put_off[page] = turns.counts[1]
    turns.counts[1] += 1


@inner
def leave(turns: Turns, host: int) -> int:
    """The first page that waits for a host, which is busy from now on."""
    page = turns.first[host]
    turns.first[host] = turns.following[page]
    turns.following[page] = NOT_WAITING
    set_alarm(turns.ready, host, np.inf)
    return page


@inner
def release(turns: Turns, now: float) -> None:
    """Hosts whose time is over are free."""
    host = soonest(turns.busy)
    while rules.is_free(now, turns.busy.time[host]):
        set_alarm(turns.busy, host, np.inf)
        turns.counts[0] += 1
        if turns.first[host] != LAST:
            set_alarm(turns.ready, host, float(turns.put_off[turns.first[host]]))
        host = soonest(turns.busy)
