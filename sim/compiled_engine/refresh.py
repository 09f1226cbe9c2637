"""The commonest world of pages, compiled apart: one robot whose copies go straight to the index.

Nothing but the robot's own deliveries happens between two queries, so a short loop runs over them.
Without a buffer the copy in the index is always the one that was delivered last: a page's next
change is when its copy goes out of date, and one number stands for both.

Whether a page has changed nobody can predict, a processor as little as a robot; so the loop has no
branch there, and the times between changes come from a block. Of `a if changed else b` the compiler
makes a branch all the same as soon as one of the two takes a division, as under interventions; the
loop then takes half as long again. There what depends on a change is written with products and
minima, which in turn take a tenth longer where nothing is divided
(`benchmarks/bench_interventions.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scenarios.in_place import in_place
from sim import rules, speeds
from sim.compiled_engine.course import change_limit, observe
from sim.compiled_engine.events import answer, begin_queries, end_warmup, finish, first_of_others
from sim.compiled_engine.jit import PAUSE, at, inner, kernel, loop
from sim.compiled_engine.pages import change_after, next_page
from sim.compiled_engine.speeds import end_of_access, end_of_work
from sim.compiled_engine.times import take
from sim.compiled_engine.world import Course, World
from sim.speeds import Speed


@kernel
def begin_refreshed(world: World, change: Any, query: Any) -> None:
    """Time 0: the first change of every page, and the first query."""
    world = in_place(world)
    first_changes(world, change)
    begin_queries(world, query)


@loop
def first_changes(world: World, change: Any) -> None:
    """The first change of every page, from which on its copy is out of date."""
    for index in range(len(world.pages.page)):
        page = world.pages.page[index]
        page.stale_from = change_after(world.course, change, 0.0, page.mean_change)


@kernel
def refresh(world: World, query: Any) -> bool:
    """Go on until the horizon (True), or until a block may be used up or for a pause (False).

    The first time the robot's first access begins; at the horizon the integrals are closed.
    """
    world = in_place(world)
    if not world.run.begun:
        world.run.begun = True
        begin_access(world)
    if not go_on(world, query):
        return False
    finish(world)
    return True


@inner
def begin_access(world: World) -> None:
    """The robot's first access begins."""
    world.robots.robot[0].carried = next_page(world.pages)
    world.robots.ends.time[0] = end_of_access(world.course, 0.0, take(world.access, 0))


@loop
def go_on(world: World, query: Any) -> bool:
    """The loop of `refresh`."""
    for _ in range(PAUSE):
        until, rank = first_of_others(world, np.inf, rules.HORIZON)
        if not deliver_until(world, world.course, until):
            return False
        if rank == rules.QUERY:
            answer(world, query, until)
        elif rank == rules.WARMUP:
            end_warmup(world, until)
        elif rank == rules.OBSERVATION:
            observe(world, world.course, until)
        elif rank == rules.CHANGE:
            change_limit(world, world.course, query, until)
        else:
            return True
    return False


@inner
def deliver_until(world: World, course: Course | None, until: float) -> bool:
    """All deliveries up to a time, that time included; False if a block of numbers is used up.

    Where speeds change, the outer loop goes from one change to the next.
    """
    if is_unheard(world, course):
        return run_unheard(world, until)
    pages = world.pages
    robots = world.robots
    access = world.access
    change = world.indexing
    # Read once: what is written in the loop might lie where a place says that these are.
    every_page, sequence, fetched = pages.page, pages.sequence, pages.fetched
    times, gaps = access.drawn, change.drawn
    window_start = pages.state.window_start
    used = pages.state.used
    taken = access.rows[0].first
    changes = change.rows[0].first
    carried = robots.robot[0].carried
    now = robots.ends.time[0]
    left = min(access.rows[0].end - taken, change.rows[0].end - changes)
    accesses = min(len(sequence) - used, left)
    speed = factor = 1.0
    speed_until = factor_until = last_start = until
    while now <= until and accesses > 0:
        if course is not None:
            speed, speed_until = speed_now(course.access, now)
            factor, factor_until = speed_now(course.change, now)
            change_of_speed = min(end_of_piece(course.access), end_of_piece(course.change))
            # What starts at the very moment of a change has the new speed already.
            last_start = min(until, np.nextafter(change_of_speed, 0.0))
        while now <= last_start and accesses > 0:
            page = every_page[at(carried)]
            page.deliveries += 1
            stale_from = page.stale_from
            changed = stale_from <= now
            gap = gaps[at(changes)] * page.mean_change
            next_change = now + gap
            if course is not None:
                # A page that never changes has an infinite gap, and that times 0 is not a number.
                gap = gap if gap < speeds.NEVER else speeds.NEVER
                next_change = now + gap / factor
                if next_change * changed > factor_until:
                    next_change = end_of_work(course.change, now, gap)
            refreshed = changed & (next_change > now)
            counted_from = stale_from if stale_from > window_start else window_start
            if course is None:
                stale_time = now - counted_from
                page.stale_time += stale_time if refreshed else 0.0
                page.stale_from = next_change if refreshed else stale_from
            else:
                counted_from = counted_from if counted_from < now else now
                page.stale_time += (now - counted_from) * refreshed
                next_stale = next_change * refreshed
                page.stale_from = next_stale if next_stale > stale_from else stale_from
            page.refreshes += refreshed
            count_twice(fetched, carried, changed != refreshed)
            changes += changed
            carried = sequence[at(used)]
            time = times[at(taken)]
            end = now + time
            if course is not None:
                end = now + time / speed
                if end > speed_until:
                    end = end_of_work(course.access, now, time)
            now = end
            used += 1
            taken += 1
            accesses -= 1
    pages.state.used = used
    access.rows[0].first = taken
    change.rows[0].first = changes
    robots.robot[0].carried = carried
    robots.ends.time[0] = now
    return now > until


@inner
def count_twice(fetched: Any, index: int, twice: bool) -> None:
    """A page that changed again as it was accessed is as stale as before, but was found changed."""
    if twice and len(fetched) > 0:
        fetched[at(index)].found += 1


@inner
def speed_now(speed: Speed, now: float) -> tuple[float, float]:
    """The speed of what starts now, and how long it holds; 1 up to the past where it is 0."""
    piece = speeds.piece_at(speed, now)
    if speed.values[piece] > 0.0:
        return speed.values[piece], speed.ends[piece]
    return 1.0, -np.inf


@inner
def end_of_piece(speed: Speed) -> float:
    """Until when the speed of the last start holds."""
    return speed.ends[speed.at[0]]


@inner
def is_unheard(world: World, course: Course | None) -> bool:
    """Whether the robot is switched off by a limit."""
    if course is None:
        return False
    return not rules.is_heard(world.robots.robot[0].place, world.robots.active_at[0])


@inner
def run_unheard(world: World, until: float) -> bool:
    """All accesses up to a time, while the robot is switched off and keeps its page."""
    access = world.access
    ends = world.robots.ends
    while ends.time[0] <= until and access.rows[0].first < access.rows[0].end:
        taken = access.rows[0].first
        ends.time[0] = end_of_access(world.course, ends.time[0], access.drawn[taken])
        access.rows[0].first = taken + 1
    return ends.time[0] > until
