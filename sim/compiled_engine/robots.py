"""The fleets as compiled code: the events of `sim.robots`, on arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from sim import rules
from sim.compiled_engine.alarms import first_alarm, set_alarm, soonest
from sim.compiled_engine.buffer import deliver
from sim.compiled_engine.frontier import Frontier, end_of_due_access, fall_due, take_due
from sim.compiled_engine.host_spacing import next_release, page_of_free_host
from sim.compiled_engine.jit import inner, loop
from sim.compiled_engine.pages import deliver_copy, index_copy, is_unchanged, next_page
from sim.compiled_engine.service import current_phase
from sim.compiled_engine.signals import begin_age, end_access_beside, page_by_signals
from sim.compiled_engine.speeds import end_of_access, state_of_environment
from sim.compiled_engine.times import take
from sim.compiled_engine.world import (
    FREE,
    NONE,
    POLITE,
    STARTED,
    SWITCHED,
    Robots,
    Thresholds,
    World,
)


@inner
def access_end(world: World, now: float, robot: int) -> float:
    """When the access of a robot that starts now ends, of the page that it carries."""
    length = take(world.access, robot)
    same = world.robots.same
    if len(same) > 0:
        if world.robots.state.drawn_at_start:
            same[robot] = draw_failure(world, robot)
        else:
            same[robot] = is_unchanged(world.pages, now, world.robots.robot[robot].carried)
        length = rules.length_of_access(length, world.robots.state.share_of_time, same[robot])
    return end_of_access(world.course, now, length)


@inner
def page_to_access(world: World, now: float) -> int:
    """The page of the access that starts now."""
    page = page_by_signals(world.signals, now)
    return page if page >= 0 else next_page(world.pages)


@inner
def begin_access(world: World, now: float, robot: int) -> None:
    """An access starts."""
    world.robots.robot[robot].carried = page_to_access(world, now)
    set_alarm(world.robots.ends, robot, access_end(world, now, robot))


@inner
def draw_failure(world: World, robot: int) -> bool:
    """Whether an access fails, drawn."""
    robots = world.robots
    uniform = take(world.access, len(robots.robot) + robot)
    return rules.fails(robots.state.failure_probability, uniform)


@inner
def access_fails(world: World, now: float, robot: int, heard: bool) -> bool:
    """Whether an access fails; its robot then carries the page that it accesses next."""
    robots = world.robots
    state = robots.state
    if not state.failing:
        return False
    failed = robots.same[robot] if state.drawn_at_start else draw_failure(world, robot)
    if not failed:
        return False
    state.failed += heard
    robots.robot[robot].failures += 1
    if rules.gives_up(robots.robot[robot].failures, state.retries):
        robots.robot[robot].failures = 0
        end_access_beside(world.signals, robots.robot[robot].carried, now)
        robots.robot[robot].carried = page_to_access(world, now)
    return True


@inner
def hand_over(world: World, service: Any, now: float, pages: int) -> None:
    """What was delivered goes into the buffer, or without one straight into the index."""
    if world.buffer.fixed.exists:
        deliver(world, service, now, pages)
    else:
        for number in range(pages):
            index_copy(world.pages, now, world.buffer.load[number])


@inner
def arrive(
    world: World,
    frontier: Frontier | None,
    change: Any,
    delivery: Any,
    service: Any,
    now: float,
) -> None:
    """A robot's access ends, or the phase of the joint deliveries changes."""
    if frontier is not None:
        arrive_from_frontier(world, frontier, change, service, now)
        return
    robots = world.robots
    if robots.state.kind == FREE:
        robot = soonest(robots.ends)
        active = number_of_active(robots, world.buffer.state.level)
        heard = rules.is_heard(robots.robot[robot].place, active)
        failed = access_fails(world, now, robot, heard)
        if not failed and heard:
            deliver_copy(
                world, change, now, robot, robots.robot[robot].carried, world.buffer.load[0]
            )
            hand_over(world, service, now, 1)
            robots.robot[robot].carried = page_to_access(world, now)
            robots.robot[robot].failures = 0
            follow_phases(world, now)
        set_alarm(robots.ends, robot, access_end(world, now, robot))
    elif robots.state.kind == SWITCHED:
        arrive_and_rest(world, change, service, now)
    elif robots.state.kind == POLITE:
        arrive_politely(world, change, service, now)
    elif robots.state.kind == STARTED:
        arrive_and_go_on(world, robots.thresholds, change, service, now)
    else:
        change_phase(world, change, delivery, service, now)


@inner
def arrive_and_rest(world: World, change: Any, service: Any, now: float) -> None:
    """An access ends: its robot is switched off, unless it failed and goes on."""
    robots = world.robots
    robot = soonest(robots.ends)
    if access_fails(world, now, robot, True):
        set_alarm(robots.ends, robot, access_end(world, now, robot))
        return
    set_alarm(robots.ends, robot, np.inf)
    set_alarm(robots.idle, robot, float(robot))
    count_active(robots, now, -1)
    count_class(robots, robot, -1)
    deliver_copy(world, change, now, robot, robots.robot[robot].carried, world.buffer.load[0])
    hand_over(world, service, now, 1)
    robots.robot[robot].failures = 0
    reconsider(world, service, now)


@loop
def arrive_and_go_on(
    world: World, thresholds: Thresholds | None, change: Any, service: Any, now: float
) -> None:
    """A robot has started, or its access ends: it goes on unless it is switched off."""
    if thresholds is None:
        return
    robots = world.robots
    robot = soonest(robots.ends)
    if robots.robot[robot].starting:
        robots.robot[robot].starting = False
    elif access_fails(world, now, robot, True):
        set_alarm(robots.ends, robot, access_end(world, now, robot))
        return
    else:
        set_alarm(robots.ends, robot, np.inf)
        deliver_copy(world, change, now, robot, robots.robot[robot].carried, world.buffer.load[0])
        hand_over(world, service, now, 1)
        robots.robot[robot].failures = 0
        follow_phases(world, now)
    if rules.is_heard(robots.robot[robot].place, robots.state.active):
        begin_access(world, now, robot)


@loop
def start_and_stop(world: World, thresholds: Thresholds | None, now: float, before: int) -> None:
    """Where that takes a time, robots that were switched on start; others give up what they did."""
    if thresholds is None:
        return
    robots = world.robots
    if robots.state.kind != STARTED:
        return
    for robot in range(len(robots.robot)):
        one = robots.robot[robot]
        was_on = rules.is_heard(one.place, before)
        is_on = rules.is_heard(one.place, robots.state.active)
        if was_on and not is_on:
            if robots.ends.time[robot] < np.inf and not one.starting:
                end_access_beside(world.signals, one.carried, now)
            one.starting = False
            one.failures = 0
            set_alarm(robots.ends, robot, np.inf)
        elif is_on and not was_on:
            one.starting = True
            set_alarm(robots.ends, robot, now + take(world.access, thresholds.start_up + robot))


@inner
def arrive_politely(world: World, change: Any, service: Any, now: float) -> None:
    """An access ends, or the host for which a robot waits is free: the next access, if it may."""
    robots = world.robots
    robot = soonest(robots.ends)
    if robots.robot[robot].carried >= 0:
        deliver_copy(world, change, now, robot, robots.robot[robot].carried, world.buffer.load[0])
        hand_over(world, service, now, 1)
    page = page_of_free_host(world.hosts, world.pages, now)
    robots.robot[robot].carried = page
    time = access_end(world, now, robot) if page >= 0 else next_release(world.hosts)
    set_alarm(robots.ends, robot, time)


@inner
def arrive_from_frontier(
    world: World, frontier: Frontier, change: Any, service: Any, now: float
) -> None:
    """An access ends; its page is due again some time, and its robot takes another due page.

    A robot that was switched off meanwhile delivers all the same.
    """
    robots = world.robots
    robot = soonest(robots.ends)
    page = robots.robot[robot].carried
    failed = frontier.timed_out[robot]
    if robots.state.failing:
        uniform = take(world.access, len(robots.robot) + robot)
        failed = failed or rules.fails(robots.state.failure_probability, uniform)
    if not failed:
        deliver_copy(world, change, now, robot, page, world.buffer.load[0])
        hand_over(world, service, now, 1)
    end_of_due_access(frontier, now, page, failed)
    since = frontier.page[page].began if frontier.fixed.from_start else now
    begin_age(world.signals, page, since)
    set_alarm(robots.ends, robot, np.inf)
    rest(robots, robot)
    dispatch(world, frontier, now)


@inner
def rest(robots: Robots, robot: int) -> None:
    """A robot has nothing to do until a page is due."""
    set_alarm(robots.idle, robot, float(robots.robot[robot].place))


@inner
def find_due(world: World, frontier: Frontier | None, now: float) -> None:
    """A page falls due, or a host is free again: a robot that rests may take a page."""
    if frontier is not None:
        fall_due(frontier, world.hosts, now)
        dispatch(world, frontier, now)


@loop
def dispatch(world: World, frontier: Frontier | None, now: float) -> None:
    """Robots that rest take the due pages, while there are such robots and such pages."""
    if frontier is None:
        return
    robots = world.robots
    follow_phases(world, now)
    active = number_of_active(robots, world.buffer.state.level)
    place, robot = first_alarm(robots.idle)
    while rules.is_heard(place, active):
        page = take_due(frontier, world.hosts, now)
        if page < 0:
            return
        set_alarm(robots.idle, robot, np.inf)
        robots.robot[robot].carried = page
        frontier.page[page].began = now
        end = access_end(world, now, robot)
        latest = now + frontier.fixed.timeout
        frontier.timed_out[robot] = end > latest
        set_alarm(robots.ends, robot, min(end, latest))
        place, robot = first_alarm(robots.idle)


@inner
def count_active(robots: Robots, now: float, step: int) -> None:
    """Close the integral of the active robots, then change their number."""
    state = robots.state
    lasted = now - state.active_since
    state.robots_time += state.active * lasted
    for each in range(len(robots.active_of)):
        robots.time_of[each] += robots.active_of[each] * lasted
    state.active_since = now
    state.active += step


@inner
def count_class(robots: Robots, robot: int, step: int) -> None:
    """Change the number of active robots of a robot's class, where there are classes."""
    if len(robots.active_of) > 0:
        robots.active_of[robots.robot[robot].group] += step


@inner
def reconsider(world: World, service: Any, now: float) -> None:
    """Under switching, a robot is switched on if the rule wants one."""
    robots = world.robots
    robot = next_robot(world, service, now)
    if robot >= 0:
        set_alarm(robots.idle, robot, np.inf)
        count_active(robots, now, 1)
        count_class(robots, robot, 1)
        begin_access(world, now, robot)


@inner
def next_robot(world: World, service: Any, now: float) -> int:
    """The lowest-numbered idle robot, of the class that the rule chooses; -1: nobody is wanted."""
    robots = world.robots
    level = world.buffer.state.level
    row = row_of_rule(world, service, now, level)
    if len(robots.choices) > 0:
        chosen = robots.choices[row, level, rules.place_of(robots.active_of, robots.steps)]
        return -1 if chosen < 0 else first_idle(robots, robots.first[chosen])
    robot = soonest(robots.idle)
    waits = robots.idle.time[robot] < np.inf
    if waits and rules.switches_on(robots.state.active, robots.targets[row, level]):
        return robot
    return -1


@inner
def row_of_rule(world: World, service: Any, now: float, level: int) -> int:
    """Which of several lists counts: by the state of the environment and the phase of the service.

    Of the phases the first at level 0, where nobody is served.
    """
    seen = world.robots.state
    state = state_of_environment(world.course, now) if seen.states_seen > 1 else 0
    phase = current_phase(world, service, now) if seen.phases_seen > 1 and level > 0 else 0
    return rules.row_of_tables(state, phase, seen.phases_seen)


@inner
def first_idle(robots: Robots, robot: int) -> int:
    """The first robot from this one on that is switched off; there is one."""
    while not robots.idle.time[robot] < np.inf:
        robot += 1
    return robot


@inner
def await_event(world: World, delivery: Any, now: float) -> None:
    """Draw the time of the next phase event of the joint deliveries."""
    state = world.robots.state
    mean = world.robots.means[state.mode, state.phase]
    if mean > 0:
        gap = rules.draw_exponential(delivery, mean)
        state.next_event = end_of_access(world.course, now, gap)
    else:
        state.next_event = np.inf


@inner
def change_phase(world: World, change: Any, delivery: Any, service: Any, now: float) -> None:
    """A phase event of the joint deliveries: the phase changes, and a batch may come."""
    robots = world.robots
    state = robots.state
    order = robots.means.shape[1]
    chosen = rules.pick(robots.following[state.mode, state.phase], delivery.random())
    batch = chosen // order
    state.phase = chosen % order
    if batch > 0:
        for number in range(batch):
            page = page_to_access(world, now)
            deliver_copy(world, change, now, NONE, page, world.buffer.load[number])
        hand_over(world, service, now, batch)
    state.mode = wanted_mode(world)
    follow_phases(world, now)
    await_event(world, delivery, now)


@inner
def wanted_mode(world: World) -> int:
    """The mode of joint deliveries for the present state."""
    robots = world.robots
    if robots.state.is_kept:
        return robots_in_state(world, robots.thresholds)
    return robots.active_at[world.buffer.state.level]


@inner
def robots_in_state(world: World, thresholds: Thresholds | None) -> int:
    """Robots that are to be active where the level alone does not say it."""
    robots = world.robots
    level = world.buffer.state.level
    if thresholds is not None:
        passed = rules.thresholds_passed(level, robots.state.passed, thresholds.at, thresholds.back)
        robots.state.passed = passed
        return robots.active_at[passed]
    row = 0
    if level > 0 and robots.table.shape[2] > 1:
        row = world.service.state.phase
    return robots.table[level, robots.state.phase, row]


@inner
def follow_phases(world: World, now: float) -> None:
    """Where the level alone does not say who is active, close the integral if that changes."""
    robots = world.robots
    if robots.state.is_kept:
        number = robots_in_state(world, robots.thresholds)
        change = number - robots.state.active
        if change != 0:
            robots.state.switched_on += max(change, 0)
            count_active(robots, now, change)
            start_and_stop(world, robots.thresholds, now, number - change)


@inner
def number_of_active(robots: Robots, level: int) -> int:
    """Robots that are heard now, of those with accesses of their own."""
    if robots.state.is_kept:
        return robots.state.active
    return robots.active_at[level]


@inner
def follow_level(world: World, delivery: Any, now: float) -> None:
    """The state changed: joint deliveries may go on in another mode, with a new time to wait."""
    state = world.robots.state
    mode = wanted_mode(world)
    if mode != state.mode:
        state.mode = mode
        follow_phases(world, now)
        await_event(world, delivery, now)
