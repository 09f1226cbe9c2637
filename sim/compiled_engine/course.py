"""Limits of the robots and the observation of the course, as compiled code: `sim.course`."""

from __future__ import annotations

from typing import Any

import numpy as np

from sim import rules
from sim.compiled_engine.buffer import change_level
from sim.compiled_engine.frontier import Frontier
from sim.compiled_engine.jit import inner
from sim.compiled_engine.pages import is_stale
from sim.compiled_engine.robots import dispatch, follow_level, follow_phases
from sim.compiled_engine.service import limit_indexers
from sim.compiled_engine.world import JOINT, SWITCHED, Course, World


@inner
def earlier_of_course(course: Course | None, now: float, rank: int) -> tuple[float, int]:
    """The next observation or change of limits, where it comes before an event."""
    if course is None:
        return now, rank
    if course.state.next < now:
        now = course.state.next
        rank = rules.OBSERVATION if course.state.observe <= now else rules.CHANGE
    return now, rank


@inner
def observe(world: World, course: Course | None, now: float) -> None:
    """Note the state of the system, and what was counted since the last time."""
    if course is None:
        return
    count_interval(world, course)
    state = course.state
    index = state.observed
    level = world.buffer.state.level
    course.level[index] = level
    if world.robots.state.kind == SWITCHED or world.robots.state.is_kept:
        course.active[index] = world.robots.state.active
    else:
        course.active[index] = course.robots_at[state.row, level]
    note_frontier(course, world.frontier, index)
    followed = course.stale.shape[1]
    weight = 0.0
    for page in range(len(world.pages.page)):
        if is_stale(world.pages, page, now):
            weight += course.weights[page]
            if followed > 0:
                course.stale[index, page] = True
    course.stale_weight[index] = weight
    state.observed = index + 1
    state.observe = course.times[index + 1] if index + 1 < len(course.times) else np.inf
    state.next = min(state.observe, state.change)


@inner
def note_frontier(course: Course, frontier: Frontier | None, index: int) -> None:
    """Note how many pages are due, and how many robots have an access."""
    if frontier is not None:
        course.waiting[index] = frontier.state.waiting
        course.busy[index] = frontier.state.busy


@inner
def count_interval(world: World, course: Course | None) -> None:
    """Count what has happened since this was last called."""
    if course is None:
        return
    buffer = world.buffer
    count_one(course, rules.DELIVERED, buffer.state.delivered)
    count_one(course, rules.LOST, buffer.state.refused + buffer.ended[rules.PUSHED_OUT])
    count_one(course, rules.INDEXED, buffer.ended[rules.SERVED])
    count_one(course, rules.DROPPED, buffer.ended[rules.OBSOLETE])
    count_one(course, rules.REPLACEMENTS, buffer.ended[rules.REPLACED])
    count_one(course, rules.QUERIES, world.clients.state.queries)
    count_one(course, rules.STALE_ANSWERS, world.clients.state.stale)
    index = course.state.observed
    for page in range(len(course.seen_deliveries)):
        deliveries = world.pages.page[page].deliveries
        if index < len(course.times):
            course.deliveries[index, page] += deliveries - course.seen_deliveries[page]
        course.seen_deliveries[page] = deliveries


@inner
def count_one(course: Course, which: int, total: int) -> None:
    """Count what has been added to a total."""
    index = course.state.observed
    if index < len(course.times):
        course.counts[index, which] += total - course.seen[which]
    course.seen[which] = total


@inner
def end_warmup_of_course(world: World, course: Course | None, now: float) -> None:
    """All counts are about to be set back to 0."""
    if course is None:
        return
    count_interval(world, course)
    course.seen[:] = 0
    course.seen_deliveries[:] = 0
    course.level_time[:] = 0.0
    course.state.robots_time = 0.0
    course.state.since = now


@inner
def count_robots(world: World, course: Course | None, now: float) -> None:
    """Close the integral of the active robots under the present limit."""
    if course is None or world.robots.state.kind == SWITCHED or world.robots.state.is_kept:
        return
    level_time = world.buffer.level_time
    if world.buffer.fixed.exists:
        change_level(world.buffer, now, 0)
    else:
        level_time[0] = now - course.state.since
    for level in range(len(level_time)):
        course.level_time[level] = level_time[level] - course.level_time[level]
    time = rules.time_of_robots(course.level_time, course.robots_at[course.state.row])
    course.state.robots_time += time
    copy_into(course.level_time, level_time)


@inner
def copy_into(array: Any, values: Any) -> None:
    """Overwrite an array; compiled code allocates nothing, as a slice would."""
    for index in range(len(array)):
        array[index] = values[index]


@inner
def change_limit(world: World, course: Course | None, delivery: Any, now: float) -> None:
    """From now on other robots are active at each level, or other indexers work.

    Joint deliveries go on in another mode.
    """
    if set_limit(world, course, now):
        follow_limit(world, course, world.frontier, delivery, now)
    if course is None:
        return
    limit_indexers(world, course, course.indexings, now)


@inner
def follow_limit(
    world: World, course: Course | None, frontier: Frontier | None, delivery: Any, now: float
) -> None:
    """The robots hear that others are active."""
    if frontier is not None:
        dispatch(world, frontier, now)
        return
    if course is not None and world.robots.state.kind == JOINT:
        follow_level(world, delivery, now)
    elif course is not None:
        follow_phases(world, now)


@inner
def set_limit(world: World, course: Course | None, now: float) -> bool:
    """The next limit begins; whether other robots are active at each level from now on."""
    if course is None:
        return False
    state = course.state
    state.changed += 1
    more = state.changed + 1 < len(course.begins)
    state.change = course.begins[state.changed + 1] if more else np.inf
    state.next = min(state.observe, state.change)
    row = course.row[state.changed]
    if row == state.row:
        return False
    count_robots(world, course, now)
    state.row = row
    copy_into(world.robots.active_at, course.active_at[row])
    return True
