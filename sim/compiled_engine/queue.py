"""The commonest world with a buffer, compiled apart: pages without identity before one server.

Robots that never rest deliver, the page that came first is served first, and one that finds no room
is lost; nothing else happens but obsolescence, whatever the speed of robots and server. Where that
is all, a short loop keeps the level, the clocks and the ends of the queue in registers, while
`sim.compiled_engine.events` asks at every event what else there may be. What remains are the
branches that nobody can predict.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from scenarios.in_place import in_place
from sim import rules
from sim.compiled_engine.alarms import add_timer, drop_timer, first_alarm, first_timer, set_alarm
from sim.compiled_engine.buffer import (
    change_level,
    count_arrivals,
    count_cycle,
    end,
    total_age,
)
from sim.compiled_engine.chain import Chain, chain_of, keep_chain, with_newest, without
from sim.compiled_engine.course import count_robots, observe, set_limit
from sim.compiled_engine.events import end_warmup, first_of_others
from sim.compiled_engine.jit import at, inner, kernel, loop
from sim.compiled_engine.many_robots import ManyRobots, access_again, call_next, somebody_waits
from sim.compiled_engine.service import SERVICE, TIMER
from sim.compiled_engine.speeds import end_of_access, end_of_service
from sim.compiled_engine.times import take
from sim.compiled_engine.world import World

_ONE = at(1)


class Line(NamedTuple):
    """The queue between two events; each event makes a new one.

    Attributes
    ----------
    level : int
        Pages in the system.
    since : float
        When it had another level last.
    entered : int
        Number of pages that did.
    service_end : float
        inf where nobody is served.
    timer : float
        When the first timer runs out, inf where none runs.
    obsolete : uint
        The slot with that timer.
    chain : Chain
        The waiting pages.
    service, patience : uint
        Where the next service and the next timer lie among the numbers drawn.
    """

    level: int
    since: float
    entered: int
    service_end: float
    timer: float
    obsolete: Any
    chain: Chain
    service: Any
    patience: Any


@inner
def begin_accesses(world: World, many_robots: ManyRobots | None) -> None:
    """The first access of every robot."""
    for robot in range(len(world.robots.robot)):
        # Not the time itself, which may be -0.0: its bits are not the least.
        time = end_of_access(world.course, 0.0, take(world.access, robot))
        if many_robots is None:
            set_alarm(world.robots.ends, robot, time)
        else:
            many_robots.time[robot] = time


@kernel
def advance_queue(world: World, many_robots: ManyRobots | None) -> bool:
    """Go on until the horizon (True), or until a block of numbers is used up (False).

    The first time it begins all accesses; at the horizon it closes the integrals.
    """
    return go_on(in_place(world), in_place(many_robots))


@loop
def go_on(world: World, many_robots: ManyRobots | None) -> bool:
    """The loop of `advance_queue`."""
    if not world.run.begun:
        world.run.begun = True
        begin_accesses(world, many_robots)
    while True:
        until, rank = first_of_others(world, np.inf, rules.HORIZON)
        if not run_until(world, many_robots, until):
            return False
        if rank == rules.WARMUP:
            end_warmup(world, until)
        elif rank == rules.OBSERVATION:
            observe(world, world.course, until)
        elif rank == rules.CHANGE:
            set_limit(world, world.course, until)
        else:
            count_robots(world, world.course, until)
            change_level(world.buffer, until, 0)
            world.run.age_at_end = total_age(world.buffer, world.service, until)
            return True


@inner
def run_until(world: World, many_robots: ManyRobots | None, until: float) -> bool:
    """All events up to a time, that time included; False if a block of numbers is used up."""
    line = load(world)
    last_service = last_place(world.indexing.rows[SERVICE])
    last_patience = last_place(world.indexing.rows[TIMER])
    ends = world.robots.ends if many_robots is None else many_robots.next
    access_end, robot = first_alarm(ends)
    now = 0.0
    while not world.access.used_up[0]:
        if line.service > last_service or line.patience > last_patience:
            break
        following = line.timer if line.timer <= access_end else access_end
        if access_end == np.inf and somebody_waits(many_robots):
            call_next(many_robots, world.access, world.robots.robot)
            access_end, robot = first_alarm(ends)
        elif line.service_end <= following:
            now = line.service_end
            if now > until:
                break
            line = serve(world, line, now)
        elif line.timer <= access_end:
            now = line.timer
            if now > until:
                break
            line = drop_obsolete(world, line, now)
        else:
            now = access_end
            if now > until:
                break
            if is_heard(world, many_robots, robot, line.level):
                line = deliver(world, line, now)
            begin_access(world, many_robots, robot, now)
            access_end, robot = first_alarm(ends)
    store(world, line)
    return now > until


@inner
def is_heard(world: World, many_robots: ManyRobots | None, robot: int, level: int) -> bool:
    """Whether a robot, given in a many_robots by its seat, is active at a level."""
    active = world.robots.active_at[at(level)]
    if many_robots is None:
        return rules.is_heard(world.robots.robot[at(robot)].place, active)
    return rules.is_heard(many_robots.place[at(robot)], active)


@inner
def begin_access(world: World, many_robots: ManyRobots | None, robot: int, now: float) -> None:
    """A robot that delivers now, given in a many_robots by its seat, begins its next access."""
    if many_robots is None:
        time = take(world.access, at(robot))
        set_alarm(world.robots.ends, robot, end_of_access(world.course, now, time))
    else:
        time = many_robots.access[at(robot)]
        access_again(many_robots, world.access, robot, end_of_access(world.course, now, time))


@inner
def serve(world: World, line: Line, now: float) -> Line:
    """A page is indexed, and the service of the one that has waited longest begins."""
    buffer = world.buffer
    in_service = buffer.items[at(len(buffer.items) - 1)]
    end(buffer, rules.SERVED, now - in_service.entered)
    buffer.level_time[at(line.level)] += now - line.since
    level = line.level - 1
    service_end = np.inf
    timer, obsolete = line.timer, line.obsolete
    chain = line.chain
    service = line.service
    if level > 0:
        slot = chain.oldest
        in_service.entered = buffer.items[slot].entered
        if buffer.fixed.timers:
            timer, obsolete = drop_timer(buffer.due, slot)
        chain = without(buffer.items, chain, slot)
        service_end = end_of_service(world.course, now, world.indexing.drawn[service])
        service += _ONE
    return Line(
        level=level,
        since=now,
        entered=line.entered,
        service_end=service_end,
        timer=timer,
        obsolete=obsolete,
        chain=chain,
        service=service,
        patience=line.patience,
    )


@inner
def drop_obsolete(world: World, line: Line, now: float) -> Line:
    """The waiting page whose timer has run out is dropped."""
    buffer = world.buffer
    slot = line.obsolete
    end(buffer, rules.OBSOLETE, now - buffer.items[slot].entered)
    buffer.level_time[at(line.level)] += now - line.since
    timer, obsolete = drop_timer(buffer.due, slot)
    return Line(
        level=line.level - 1,
        since=now,
        entered=line.entered,
        service_end=line.service_end,
        timer=timer,
        obsolete=obsolete,
        chain=without(buffer.items, line.chain, slot),
        service=line.service,
        patience=line.patience,
    )


@inner
def deliver(world: World, line: Line, now: float) -> Line:
    """A page comes: it is served at once, or it waits, or it is lost."""
    buffer = world.buffer
    level = line.level
    buffer.state.delivered += 1
    entering = rules.admitted(1, level, buffer.fixed.capacity, buffer.fixed.admission)
    count_arrivals(buffer.laws, level, 1, entering)
    if entering == 0:
        buffer.state.refused += 1
        return line
    buffer.level_time[at(level)] += now - line.since
    service_end = line.service_end
    timer, obsolete = line.timer, line.obsolete
    chain = line.chain
    service = line.service
    patience = line.patience
    if level == 0:
        count_cycle(buffer.laws, now)
        buffer.items[at(len(buffer.items) - 1)].entered = now
        service_end = end_of_service(world.course, now, world.indexing.drawn[service])
        service += _ONE
    else:
        slot = chain.free
        chain = with_newest(buffer.items, chain)
        buffer.items[slot].entered = now
        if buffer.fixed.timers:
            time = now + world.indexing.drawn[patience]
            timer, obsolete = add_timer(buffer.due, slot, line.entered, time)
            patience += _ONE
    return Line(
        level=level + 1,
        since=now,
        entered=line.entered + 1,
        service_end=service_end,
        timer=timer,
        obsolete=obsolete,
        chain=chain,
        service=service,
        patience=patience,
    )


@inner
def last_place(row: Any) -> Any:
    """The last place among the numbers of a row from where an event can take as many as it may."""
    return at(row.end - row.needs)


@inner
def load(world: World) -> Line:
    """The queue as it lies in memory."""
    state = world.buffer.state
    timer, obsolete = first_timer(world.buffer.due)
    rows = world.indexing.rows
    return Line(
        level=state.level,
        since=state.since,
        entered=state.entered,
        service_end=world.service.ends.time[0],
        timer=timer,
        obsolete=obsolete,
        chain=chain_of(state),
        service=at(rows[SERVICE].first),
        patience=at(rows[TIMER].first),
    )


@inner
def store(world: World, line: Line) -> None:
    """Write the queue into memory, where all other code finds it."""
    state = world.buffer.state
    state.level = line.level
    state.since = line.since
    state.entered = line.entered
    keep_chain(state, line.chain)
    world.service.ends.time[0] = line.service_end
    world.indexing.rows[SERVICE].first = line.service
    world.indexing.rows[TIMER].first = line.patience
