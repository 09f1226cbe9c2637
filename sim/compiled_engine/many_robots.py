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
from sim.compiled_engine.records import record
from sim.compiled_engine.times import Times, take

_PART = 16
"""The tournament has a seat for one robot in 16, the next greater power of two (measured)."""

_FULL = 0.75
"""Share of the seats that is to be taken; more may not come than there are."""

_LEAST_STEP = 2.0**-52
"""Relative; what is added to a time must not be lost in its last digit."""


class ManyRobots(NamedTuple):
    """The robots, and those of them that deliver next.

    Attributes
    ----------
    time : ndarray of float, shape (robots,)
        When each robot delivers, inf for those that have a seat.
    next : Alarms
        When those deliver that do so until the time `until`; the seats go by robots' numbers.
    robot, place : ndarray of int, shape (seats,)
        Which robot has a seat (one entry more, for `gather`), and its place in the order of
        activation.
    access : ndarray of float, shape (seats,)
        The time of the access that begins with its delivery.
    state : record
        Whether somebody `waits` for a seat, `until`, and the `width` of the interval that is looked
        at next.
    """

    time: Any
    next: Alarms
    robot: Any
    place: Any
    access: Any
    state: Any


def new_many_robots(robots: int) -> ManyRobots | None:
    """All robots before their first access; None where there are not very many."""
    if robots < VERY_MANY:
        return None
    seats = 1 << (robots // _PART).bit_length()
    return ManyRobots(
        time=np.full(robots, np.inf),
        next=new_alarms(seats),
        robot=np.zeros(seats + 1, dtype=np.int64),
        place=np.zeros(seats, dtype=np.int64),
        access=np.zeros(seats),
        state=record(waits=True, until=-np.inf, width=np.inf),
    )


@inner
def somebody_waits(many_robots: ManyRobots | None) -> bool:
    """Whether more robots will deliver than those that have a seat."""
    return False if many_robots is None else many_robots.state.waits


@inner
def access_again(many_robots: ManyRobots, access: Times, seat: int, time: float) -> None:
    """The robot of a seat has delivered and begun its next access, which ends at a time."""
    robot = at(many_robots.robot[at(seat)])
    if time <= many_robots.state.until:
        set_alarm(many_robots.next, seat, time)
        many_robots.access[at(seat)] = take(access, robot)
    else:
        set_alarm(many_robots.next, seat, np.inf)
        many_robots.time[robot] = time


@inner
def call_next(many_robots: ManyRobots | None, access: Times, robots: Any) -> None:
    """Those that deliver next take the seats, all of which are free.

    Of more than have a seat at one and the same time, those of the lowest numbers.
    """
    if many_robots is None:
        return
    times = many_robots.time
    first = times[0]
    for robot in range(len(times)):
        first = min(first, times[robot])
    many_robots.state.waits = first < np.inf
    count = choose_until(many_robots, first)
    chosen, places, following = many_robots.robot, many_robots.place, many_robots.access
    soon = many_robots.next.time
    for seat in range(count):
        robot = at(chosen[seat])
        soon[seat] = times[robot]
        times[robot] = np.inf
        places[seat] = robots[robot].place
        following[seat] = take(access, robot)
    compete(many_robots.next)


@inner
def choose_until(many_robots: ManyRobots, first: float) -> int:
    """Choose a time until which not more robots deliver than there are seats; how many do."""
    seats = len(many_robots.place)
    width = min(many_robots.state.width, first)
    many_robots.state.until = first + width
    count = gather(many_robots)
    if count > seats:
        many_robots.state.until = first
        if gather(many_robots) > seats:
            return seats
    while count > seats:
        width /= 2.0
        many_robots.state.until = first + width
        count = gather(many_robots)
    many_robots.state.width = max(width * min(_FULL * seats / count, 8.0), first * _LEAST_STEP)
    return count


@inner
def gather(many_robots: ManyRobots) -> int:
    """Write down the robots that deliver in time; how many, or one more than there are seats."""
    seats = len(many_robots.place)
    until = many_robots.state.until
    times, chosen = many_robots.time, many_robots.robot
    count = 0
    for robot in range(len(times)):
        chosen[at(count)] = robot
        count += times[robot] <= until
        if count > seats:
            break
    return count
