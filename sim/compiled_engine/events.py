"""The loop over the events of one replication, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from scenarios.in_place import in_place
from sim import rules
from sim.compiled_engine.alarms import first_timer, set_alarm, soonest
from sim.compiled_engine.buffer import (
    change_busy,
    change_level,
    close_rest,
    comes_back,
    complete_service,
    end_warmup_of_buffer,
    expire,
    total_age,
)
from sim.compiled_engine.course import (
    change_limit,
    count_robots,
    earlier_of_course,
    end_warmup_of_course,
    observe,
)
from sim.compiled_engine.frontier import (
    Frontier,
    begin_frontier,
    earlier_of_frontier,
    end_warmup_of_frontier,
    finish_frontier,
    has_room_for_delays,
)
from sim.compiled_engine.jit import PAUSE, inner, kernel, loop
from sim.compiled_engine.kept_times import has_room
from sim.compiled_engine.orbit import change_orbit, earlier_of_orbit, has_room_in_orbit
from sim.compiled_engine.pages import (
    change_after,
    close,
    commit,
    end_warmup_of_pages,
    grow_older,
    is_stale,
    sum_waits,
)
from sim.compiled_engine.robots import (
    arrive,
    await_event,
    begin_access,
    count_active,
    dispatch,
    find_due,
    follow_level,
    follow_phases,
    reconsider,
    rest,
)
from sim.compiled_engine.service import current_phase, is_over
from sim.compiled_engine.signals import (
    DELAYS,
    GAPS,
    Signals,
    arrived,
    earlier_of_signals,
    first_change,
    lacks_numbers,
    listen,
    send_on,
)
from sim.compiled_engine.speeds import next_change, next_query
from sim.compiled_engine.times import take
from sim.compiled_engine.world import FREE, JOINT, POLITE, STARTED, SWITCHED, World


@kernel
def advance(world: World, change: Any, query: Any, delivery: Any, service: Any) -> bool:
    """Go on until the horizon (True), or until a block may be used up or for a pause (False).

    The first time it begins changes, queries and accesses; at the horizon it closes the integrals.
    """
    world = in_place(world)
    if not world.run.begun:
        world.run.begun = True
        begin_changes(world, change)
        begin_queries(world, query)
        begin_accesses(world, world.frontier, delivery)
    if not go_on(world, change, query, delivery, service):
        return False
    finish(world)
    return True


@inner
def begin_queries(world: World, query: Any) -> None:
    """The first query."""
    clients = world.clients.state
    if clients.mean_gap < np.inf:
        gap = rules.draw_exponential(query, clients.mean_gap)
        clients.next = next_query(world.course, 0.0, gap)


@loop
def begin_changes(world: World, change: Any) -> None:
    """The first change of every page."""
    for index in range(len(world.pages.page)):
        page = world.pages.page[index]
        page.next_change = change_after(world.course, change, 0.0, page.mean_change)
        page.stale_from = first_change(world.signals, index, page.next_change)
        world.pages.unseen[index].since = page.stale_from
    for index in range(len(world.pages.fetched)):
        world.pages.fetched[index].stale_from = world.pages.page[index].stale_from


@loop
def begin_accesses(world: World, frontier: Frontier | None, delivery: Any) -> None:
    """The first access of every robot, or the first event of joint deliveries.

    Where pages fall due all robots rest.
    """
    if frontier is not None:
        begin_frontier(frontier)
        for robot in range(len(world.robots.robot)):
            rest(world.robots, robot)
        return
    if world.robots.state.kind == JOINT:
        await_event(world, delivery, 0.0)
    started = world.robots.state.kind == STARTED
    for robot in range(len(world.robots.robot)):
        if world.robots.state.kind == POLITE:
            set_alarm(world.robots.ends, robot, 0.0)
        elif not started or world.robots.robot[robot].place < world.robots.state.active:
            begin_access(world, 0.0, robot)


@loop
def go_on(world: World, change: Any, query: Any, delivery: Any, service: Any) -> bool:
    """The loop of `advance`."""
    for _ in range(PAUSE):
        if not has_numbers(world):
            return False
        now, rank = next_event(world)
        if rank == rules.HORIZON:
            return True
        happen(world, change, query, delivery, service, now, rank)
    return False


@inner
def happen(
    world: World, change: Any, query: Any, delivery: Any, service: Any, now: float, rank: int
) -> None:
    """An event of this rank, which comes before the horizon."""
    if rank == rules.SERVICE:
        serve(world, delivery, service, now)
    elif rank == rules.OBSOLESCENCE:
        drop_obsolete(world, delivery, now)
    elif rank == rules.DELIVERY:
        arrive(world, world.frontier, change, delivery, service, now)
    elif rank == rules.RETRIAL:
        try_again(world, delivery, service, now)
    elif rank == rules.FALLS_DUE:
        find_due(world, world.frontier, now)
    elif rank == rules.SIGNAL:
        next_signal(world, world.signals, now)
    elif rank == rules.QUERY:
        answer(world, query, now)
    elif rank == rules.WARMUP:
        end_warmup(world, now)
    elif rank == rules.OBSERVATION:
        observe(world, world.course, now)
    else:
        change_limit(world, world.course, delivery, now)


@inner
def has_numbers(world: World) -> bool:
    """Whether the blocks of numbers can serve any event."""
    left = len(world.pages.sequence) - world.pages.state.used
    used_up = world.access.used_up[0] or world.indexing.used_up[0]
    polite = world.robots.state.kind == POLITE
    is_full = not (has_room(world.pages.refresh_times) and has_room_for_delays(world.frontier))
    lacks = used_up or is_full
    lacks = lacks or lacks_numbers(world.signals)
    lacks = lacks or not has_room_in_orbit(world.buffer.orbit, len(world.buffer.load))
    return not lacks and left >= (rules.LOOKAHEAD if polite else len(world.buffer.load))


@inner
def next_event(world: World) -> tuple[float, int]:
    """Time and rank of the next event; at equal times the lower rank goes first."""
    now = world.service.ends.time[soonest(world.service.ends)]
    rank = rules.SERVICE
    time = first_timer(world.buffer.due)[0]
    if time < now:
        now = time
        rank = rules.OBSOLESCENCE
    robots = world.robots
    time = robots.state.next_event
    if robots.state.kind != JOINT:
        time = robots.ends.time[soonest(robots.ends)]
    if time < now:
        now = time
        rank = rules.DELIVERY
    now, rank = earlier_of_orbit(world.buffer.orbit, now, rank, rules.RETRIAL)
    now, rank = earlier_of_frontier(world.frontier, world.hosts, now, rank)
    now, rank = earlier_of_signals(world.signals, now, rank)
    return first_of_others(world, now, rank)


@inner
def first_of_others(world: World, now: float, rank: int) -> tuple[float, int]:
    """Time and rank of the next event, given that of pages and robots."""
    if world.clients.state.next < now:
        now = world.clients.state.next
        rank = rules.QUERY
    if world.run.warmup < now:
        now = world.run.warmup
        rank = rules.WARMUP
    now, rank = earlier_of_course(world.course, now, rank)
    if world.run.horizon < now:
        now = world.run.horizon
        rank = rules.HORIZON
    return now, rank


@inner
def next_signal(world: World, signals: Signals | None, now: float) -> None:
    """A signal is sent, of a change or of none, or one that is under way is heard."""
    if signals is None:
        return
    index = soonest(signals.alarms)
    if index >= len(signals.page):
        index = arrived(signals, index - len(signals.page))
    else:
        send(world, signals, index, now)
        if len(signals.sender) > 0:
            send_on(signals, index, now + take(signals.times, DELAYS))
            return
    listen(signals.choice, signals.ages, world.frontier, index, now)


@inner
def send(world: World, signals: Signals, index: int, now: float) -> None:
    """A page changes and a signal is sent, or one is sent without a change."""
    page = signals.page[index]
    gap = take(signals.times, GAPS)
    if page.next_change <= now:
        page.next_change = next_change(world.course, now, gap * page.mean_change)
    else:
        page.next_false = now + gap * page.mean_false
    set_alarm(signals.alarms, index, min(page.next_change, page.next_false))


@inner
def try_again(world: World, delivery: Any, service: Any, now: float) -> None:
    """A page in orbit tries again; if it has entered the robots hear of the level."""
    if comes_back(world, world.buffer.orbit, service, now):
        follow_state(world, world.frontier, delivery, now)


@inner
def drop_obsolete(world: World, delivery: Any, now: float) -> None:
    """The waiting page whose timer has run out is dropped; the robots hear of the level."""
    expire(world, now, first_timer(world.buffer.due)[1])
    follow_state(world, world.frontier, delivery, now)


@inner
def serve(world: World, delivery: Any, service: Any, now: float) -> None:
    """A service ends, or a phase of it; the robots hear that a page was indexed."""
    if world.service.tracked and not is_over(world, service):
        current_phase(world, service, now)
        follow_state(world, world.frontier, delivery, now)
        return
    if not complete_service(world, world.buffer.batches, service, now):
        return
    go_on_after_service(world, world.frontier, delivery, service, now)


@inner
def go_on_after_service(
    world: World, frontier: Frontier | None, delivery: Any, service: Any, now: float
) -> None:
    """The robots hear that a page was indexed."""
    if frontier is not None:
        dispatch(world, frontier, now)
        return
    if world.robots.state.kind == SWITCHED:
        reconsider(world, service, now)
    else:
        follow_state(world, frontier, delivery, now)


@inner
def follow_state(world: World, frontier: Frontier | None, delivery: Any, now: float) -> None:
    """The level fell, or the phase of the service changed: other robots may be active."""
    if frontier is not None:
        dispatch(world, frontier, now)
        return
    if world.robots.state.kind == JOINT:
        follow_level(world, delivery, now)
    elif world.robots.state.kind == FREE or world.robots.state.kind == STARTED:
        follow_phases(world, now)


@inner
def answer(world: World, query: Any, now: float) -> None:
    """A client asks for a page."""
    clients = world.clients
    page = rules.pick_of_many(clients.cumulative, query.random())
    clients.state.queries += 1
    if is_stale(world.pages, page, now):
        clients.state.stale += 1
    gap = rules.draw_exponential(query, clients.state.mean_gap)
    clients.state.next = next_query(world.course, now, gap)


@inner
def end_warmup(world: World, now: float) -> None:
    """Forget what was counted so far: the warm-up is over."""
    world.run.warmup = np.inf
    end_warmup_of_course(world, world.course, now)
    robots = world.robots.state
    robots.active_since = now
    robots.robots_time = 0.0
    robots.switched_on = 0
    robots.failed = 0
    for each in range(len(world.robots.time_of)):
        world.robots.time_of[each] = 0.0
    if world.buffer.fixed.exists:
        end_warmup_of_buffer(world.buffer, world.service, now)
    if world.pages.state.known:
        end_warmup_of_pages(world.pages, now)
    end_warmup_of_frontier(world.frontier, now)
    world.clients.state.queries = 0
    world.clients.state.stale = 0


@loop
def finish(world: World) -> None:
    """Close all integrals at the horizon, and sum the ages of the pages in the system."""
    now = world.run.horizon
    count_active(world.robots, now, 0)
    count_robots(world, world.course, now)
    finish_frontier(world.frontier, now)
    for index in range(len(world.pages.page)):
        commit(world.pages, index, now)
        sum_waits(world.pages, index)
        close(world.pages, world.pages.page[index], now)
    for index in range(len(world.pages.age)):
        grow_older(world.pages.age[index], now)
    if world.buffer.fixed.exists:
        change_level(world.buffer, now, 0)
        change_busy(world.buffer.batches, now, 0)
        close_rest(world.buffer.batches, now)
        change_orbit(world.buffer.orbit, now, 0)
        world.run.age_at_end = total_age(world.buffer, world.service, now)
