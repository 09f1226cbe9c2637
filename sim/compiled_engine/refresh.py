"""The commonest world of pages, compiled apart: one robot whose copies go straight to the index.

Nothing but the robot's own deliveries happens between two queries, so a short loop runs over them.
Without a buffer the copy in the index is always the one that was delivered last: a page's next
change is when its copy goes out of date, and one number stands for both.

Whether a page has changed nobody can predict, a processor as little as a robot; so the loop has no
branch there, and the times between changes come from a block.
"""

from __future__ import annotations

from typing import Any

from sim.compiled_engine.events import answer, end_warmup
from sim.compiled_engine.jit import PAUSE, inner, kernel, loop
from sim.compiled_engine.pages import next_page
from sim.compiled_engine.service import take
from sim.compiled_engine.world import World


@kernel
def begin_refresh(world: World) -> None:
    """Time 0: the robot's first access begins."""
    world.robots.carried[0] = next_page(world.pages)
    world.robots.ends.time[0] = take(world.access, 0)


@kernel
def refresh(world: World, query: Any) -> bool:
    """Go on until the horizon (True), or until a block may be exhausted or for a pause (False)."""
    return go_on(world, query)


@loop
def go_on(world: World, query: Any) -> bool:
    """The loop of `refresh`."""
    clients = world.clients.state
    run = world.run
    for _ in range(PAUSE):
        until = min(clients.next, run.warmup, run.horizon)
        if not deliver_until(world, until):
            return False
        if clients.next == until:
            answer(world, query, until)
        elif run.warmup == until:
            end_warmup(world, until)
        else:
            return True
    return False


@inner
def deliver_until(world: World, until: float) -> bool:
    """All deliveries up to a time, that time included; False if a block of numbers is exhausted."""
    pages = world.pages
    robots = world.robots
    access = world.access
    change = world.indexing
    sequence = pages.sequence
    window_start = pages.state.window_start
    used = pages.state.used
    taken = access.first[0]
    changes = change.first[0]
    carried = robots.carried[0]
    now = robots.ends.time[0]
    left = min(access.end[0] - taken, change.end[0] - changes)
    accesses = min(len(sequence) - used, left)
    while now <= until and accesses > 0:
        page = pages.page[carried]
        page.deliveries += 1
        stale_from = page.stale_from
        changed = stale_from <= now
        next_change = now + change.drawn[changes] * page.mean_change
        refreshed = changed & (next_change > now)
        counted_from = stale_from if stale_from > window_start else window_start
        stale_time = now - counted_from
        page.stale_time += stale_time if refreshed else 0.0
        page.stale_from = next_change if refreshed else stale_from
        changes += changed
        carried = sequence[used]
        now += access.drawn[taken]
        used += 1
        taken += 1
        accesses -= 1
    pages.state.used = used
    access.first[0] = taken
    change.first[0] = changes
    robots.carried[0] = carried
    robots.ends.time[0] = now
    return now > until
