"""The pages as compiled code: the events of `sim.pages`, on arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from sim import rules
from sim.compiled_engine.jit import at, inner
from sim.compiled_engine.kept_times import keep_time
from sim.compiled_engine.signals import end_access_beside, first_change
from sim.compiled_engine.speeds import next_change
from sim.compiled_engine.world import Course, Pages, World


@inner
def next_page(pages: Pages) -> int:
    """The page of the access that starts now."""
    state = pages.state
    if not state.known:
        return -1
    used = state.used
    state.used = used + 1
    return pages.sequence[at(used)]


@inner
def deliver_copy(world: World, change: Any, now: float, robot: int, index: int, load: Any) -> None:
    """Write the copy that a robot delivers into `load`: the content at this moment."""
    pages = world.pages
    if not pages.state.known:
        return
    page = pages.page[index]
    page.deliveries += 1
    if len(pages.fetched) > 0:
        same = world.robots.same
        unchanged = same[robot] if len(same) > 0 else is_unchanged(pages, now, index)
        pages.fetched[index].found += not unchanged
    if page.next_change <= now:
        page.next_change = change_after(world.course, change, now, page.mean_change)
    load.page = index
    load.number = pages.state.copies
    load.stale_from = first_change(world.signals, index, page.next_change)
    load.delivered = now
    if len(pages.fetched) > 0:
        pages.fetched[index].stale_from = load.stale_from
    pages.state.copies += 1
    end_access_beside(world.signals, index, now)


@inner
def is_unchanged(pages: Pages, now: float, index: int) -> bool:
    """Whether a page is as it was at its last delivery, at time 0 before the first."""
    return pages.fetched[index].stale_from > now


@inner
def change_after(course: Course | None, change: Any, now: float, mean: float) -> float:
    """The time of a page's next change."""
    if mean == np.inf:
        return np.inf
    return next_change(course, now, rules.draw_exponential(change, mean))


@inner
def index_copy(pages: Pages, now: float, copy: Any) -> None:
    """The indexing of a copy ends; an older copy never overwrites a newer one."""
    page = pages.page[copy.page]
    if copy.number < page.newest:
        return
    page.newest = copy.number
    if len(pages.uncommitted) == 0:
        make_searchable(pages, copy.page, now, copy.stale_from, copy.delivered)
    else:
        commit(pages, copy.page, now)
        waiting = pages.uncommitted[copy.page]
        commits = pages.commits
        waiting.until = rules.next_commit(now, commits.interval, commits.phase)
        waiting.stale_from = copy.stale_from
        waiting.delivered = copy.delivered


@inner
def commit(pages: Pages, index: int, now: float) -> None:
    """Make up for a commit that has been since a copy of the page was indexed."""
    if len(pages.uncommitted) == 0:
        return
    waiting = pages.uncommitted[index]
    if waiting.until <= now:
        make_searchable(pages, index, waiting.until, waiting.stale_from, waiting.delivered)
        waiting.until = np.inf


@inner
def make_searchable(
    pages: Pages, index: int, now: float, stale_from: float, delivered: float
) -> None:
    """A copy that is out of date by now leaves the page as stale as it was."""
    page = pages.page[index]
    if len(pages.age) > 0:
        grow_older(pages.age[index], now)
        pages.age[index].delivered = delivered
    unseen = pages.unseen[index]
    if rules.holds_change(stale_from, delivered, unseen.since):
        page.refreshes += 1
        keep_time(pages.refresh_times, index, now - unseen.since)
        start = pages.state.window_start
        if unseen.since < start:
            pages.waited[index] += start - unseen.since
            unseen.since = start
        unseen.time += now - unseen.since
        unseen.since = stale_from
    if stale_from > now:
        close(pages, page, now)
        page.stale_from = stale_from


@inner
def is_stale(pages: Pages, index: int, now: float) -> bool:
    """Whether the copy of a page in the index is out of date."""
    commit(pages, index, now)
    return pages.page[index].stale_from <= now


@inner
def grow_older(age: Any, now: float) -> None:
    """Count the ages of a copy in the index up to now; the first is as if delivered at 0."""
    age.time += (now - age.since) * ((now + age.since) / 2.0 - age.delivered)
    age.since = now


@inner
def close(pages: Pages, page: Any, now: float) -> None:
    """Count the time since the copy of a page went out of date."""
    if page.stale_from < now:
        page.stale_time += now - max(page.stale_from, pages.state.window_start)


@inner
def sum_waits(pages: Pages, index: int) -> None:
    """How long those changes of a page have waited that the index no longer misses."""
    page = pages.page[index]
    after_warmup = pages.unseen[index].time if len(pages.unseen) > 0 else page.stale_time
    pages.waited[index] = after_warmup + pages.waited[index] if page.refreshes > 0 else 0.0


@inner
def end_warmup_of_pages(pages: Pages, now: float) -> None:
    """Forget what was counted so far: the warm-up is over."""
    for index in range(len(pages.page)):
        commit(pages, index, now)
        pages.page[index].deliveries = 0
        pages.page[index].stale_time = 0.0
        pages.page[index].refreshes = 0
        pages.waited[index] = max(now - pages.page[index].stale_from, 0.0)
    for index in range(len(pages.unseen)):
        pages.waited[index] = 0.0
        pages.unseen[index].time = 0.0
    for index in range(len(pages.fetched)):
        pages.fetched[index].found = 0
    pages.state.window_start = now
    pages.refresh_times.state.counts = True
    for index in range(len(pages.age)):
        pages.age[index].since = now
        pages.age[index].time = 0.0
