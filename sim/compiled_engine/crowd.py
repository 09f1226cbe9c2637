"""Who of very many robots delivers next.

A tournament of a hundred thousand asks memory for dozens of numbers at each delivery, and memory
takes its time. Here only those who deliver soon compete, a few thousand, whose times a processor
keeps at hand; what else their deliveries need is fetched for all of them together, so that one
fetch does not wait for the other. When all of them are through, the clocks of all robots are looked
at in a row for those who come next.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sim.compiled_engine.alarms import Alarms, compete, new_alarms, set_alarm
from sim.compiled_engine.jit import at, inner
from sim.compiled_engine.prepared import VERY_MANY
from sim.compiled_engine.service import take
from sim.compiled_engine.world import Times, record

_PART = 16
"""The tournament has places for one robot in so many, the next greater power of two."""

_FULL = 0.75
"""Share of the places that is to be taken; more may not come than there are."""

_LEAST_STEP = 2.0**-52


class Crowd(NamedTuple):
    """The robots, and those of them that deliver next.

    Attributes
    ----------
    time : ndarray of float, shape (robots,)
        When each robot delivers, inf for those among the next.
    next : Alarms
        When those deliver that do so until the time `until`, in the order of their numbers.
    robot, rank : ndarray of int, shape (places,)
        Which robot has a place there, and its place in the order of activation.
    access : ndarray of float, shape (places,)
        The time of the access that begins with its delivery.
    state : record
        Whether somebody `waits` outside the tournament, `until`, and the `width` of the interval
        that is looked at next.
    """

    time: Any
    next: Alarms
    robot: Any
    rank: Any
    access: Any
    state: Any


def new_crowd(robots: int) -> Crowd | None:
    """All robots before their first access; None where there are not very many."""
    if robots < VERY_MANY:
        return None
    places = 1 << (robots // _PART).bit_length()
    return Crowd(
        np.full(robots, np.inf),
        new_alarms(places),
        np.zeros(places + 1, dtype=np.int64),
        np.zeros(places, dtype=np.int64),
        np.zeros(places),
        record(waits=True, until=-np.inf, width=np.inf),
    )


@inner
def somebody_waits(crowd: Crowd | None) -> bool:
    """Whether more robots will deliver than those that compete."""
    return False if crowd is None else crowd.state.waits


@inner
def next_access(crowd: Crowd, place: int) -> float:
    """How long the access takes that the robot at a place begins when it delivers."""
    return crowd.access[at(place)]


@inner
def access_again(crowd: Crowd, access: Times, place: int, time: float) -> None:
    """The robot at a place has delivered and begun its next access, which ends at a time."""
    robot = at(crowd.robot[at(place)])
    if time <= crowd.state.until:
        set_alarm(crowd.next, place, time)
        crowd.access[at(place)] = take(access, robot)
    else:
        set_alarm(crowd.next, place, np.inf)
        crowd.time[robot] = time


@inner
def call_next(crowd: Crowd | None, access: Times, robots: Any) -> None:
    """Those that deliver next take the places, all of which are free.

    Of more than have places at one and the same time, those of the lowest numbers.
    """
    if crowd is None:
        return
    places = len(crowd.rank)
    first = crowd.time[0]
    for robot in range(len(crowd.time)):
        first = min(first, crowd.time[robot])
    crowd.state.waits = first < np.inf
    width = min(crowd.state.width, first)
    until = first + width
    count = gather(crowd, until)
    if count > places and gather(crowd, first) > places:
        until = first
        count = places
    else:
        while count > places:
            width /= 2.0
            until = first + width
            count = gather(crowd, until)
        # Never so narrow that it could not grow again.
        crowd.state.width = max(width * min(_FULL * places / count, 8.0), first * _LEAST_STEP)
    crowd.state.until = until
    for place in range(count):
        robot = at(crowd.robot[place])
        crowd.next.time[place] = crowd.time[robot]
        crowd.time[robot] = np.inf
        crowd.rank[place] = robots[robot].place
        crowd.access[place] = take(access, robot)
    compete(crowd.next)


@inner
def gather(crowd: Crowd, until: float) -> int:
    """Write down the robots that deliver until a time; how many, or one more than have places."""
    places = len(crowd.rank)
    count = 0
    for robot in range(len(crowd.time)):
        crowd.robot[at(count)] = robot
        count += crowd.time[robot] <= until
        if count > places:
            break
    return count
