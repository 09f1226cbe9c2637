"""Pages that fall due and wait for a robot: `sim.frontier` and `DueRobots`, as compiled code."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sim import rules
from sim.compiled_engine.alarms import Alarms, compete, first_alarm, new_alarms, set_alarm, soonest
from sim.compiled_engine.host_spacing import LAST, NOT_WAITING, Hosts, release, start
from sim.compiled_engine.jit import inner
from sim.compiled_engine.kept_times import KeptTimes, has_room, keep_time, new_kept_times
from sim.compiled_engine.records import record, record_type, records
from sim.engine_inputs import DueRules
from sim.tally import FrontierTally

_PAGE = record_type(
    [
        ("interval", np.float64),
        ("priority", np.float64),
        ("due", np.float64),
        ("pause", np.float64),
        ("began", np.float64),
        ("rests", np.bool_),
    ]
)

_FOLLOWED = record_type([("started", np.int64), ("delay", np.float64)])


class Frontier(NamedTuple):
    """The pages that are due, and when the others will be.

    Attributes
    ----------
    fixed : DueRules
        As a record.
    state : record
        Pages `waiting`, robots `busy`, and what is counted as in `sim.tally.FrontierTally`.
    calendar : Alarms
        When each page falls due that neither waits nor is accessed.
    page : record array, shape (pages,)
        Of each its `interval` and `priority`, since when it is `due`, its back-off (`pause`), when
        its access `began`, and whether it `rests`: it neither waits nor is accessed.
    followed : record array, shape (pages,)
        What is counted of each; no entries where pages are many.
    delays : KeptTimes
        Of the last accesses.
    line : ndarray of int, shape (pages,)
        The first `waiting` of them wait, in the order in which they fell due; no entries where the
        first is always taken: they then stand in the lines of their hosts.
    timed_out : ndarray of bool, shape (robots,)
        Whether the access of each robot ends without a delivery.
    """

    fixed: Any
    state: Any
    calendar: Alarms
    page: Any
    followed: Any
    delays: KeptTimes
    line: Any
    timed_out: Any


def new_frontier(
    given: DueRules,
    intervals: Any,
    priorities: Any,
    followed: int,
    robots: int,
    keeps_delays: bool,
) -> Frontier:
    """Before any page is due."""
    page = records(len(intervals), _PAGE)
    page.interval = intervals
    page.priority = priorities
    page.rests = True
    return Frontier(
        fixed=record(**given._asdict()),
        state=record(
            waiting=0,
            busy=0,
            since=0.0,
            fell_due=0,
            started=0,
            waiting_at_start=0,
            delay=0.0,
            catch_up=np.inf,
            waiting_time=0.0,
            busy_time=0.0,
        ),
        calendar=new_alarms(len(intervals)),
        page=page,
        followed=records(followed, _FOLLOWED),
        delays=new_kept_times(keeps_delays, robots, followed > 0),
        line=np.zeros(len(intervals) * (given.order != rules.FIRST_DUE), dtype=np.int64),
        timed_out=np.zeros(robots, dtype=np.bool_),
    )


def frontier_tally(frontier: Frontier) -> FrontierTally:
    """What was counted, once the integrals are closed."""
    state, followed = frontier.state, frontier.followed
    return FrontierTally(
        fell_due=int(state.fell_due),
        started=int(state.started),
        waiting_at_start=int(state.waiting_at_start),
        waiting_at_end=int(state.waiting),
        delay=float(state.delay),
        caught_up=int(state.catch_up < np.inf),
        catch_up=float(state.catch_up) if state.catch_up < np.inf else 0.0,
        waiting_time=float(state.waiting_time),
        busy_time=float(state.busy_time),
        page_started=np.array(followed.started),
        page_delay=np.array(followed.delay),
    )


@inner
def has_room_for_delays(frontier: Frontier | None) -> bool:
    """Whether there is room for the delays of the accesses that begin at any event."""
    return frontier is None or has_room(frontier.delays)


@inner
def begin_frontier(frontier: Frontier) -> None:
    """The first page to fall due is found, once all times are known."""
    compete(frontier.calendar)


@inner
def earlier_of_frontier(
    frontier: Frontier | None, hosts: Hosts, now: float, rank: int
) -> tuple[float, int]:
    """When the next page falls due, or a host becomes free, where that is before an event."""
    if frontier is None:
        return now, rank
    time = min(first_alarm(frontier.calendar)[0], hosts.busy.time[soonest(hosts.busy)])
    if time < now:
        now = time
        rank = rules.FALLS_DUE
    return now, rank


@inner
def fall_due(frontier: Frontier, hosts: Hosts, now: float) -> None:
    """A page falls due now, or nothing does and a host becomes free."""
    release(hosts, now)
    time, page = first_alarm(frontier.calendar)
    if time > now:
        return
    set_alarm(frontier.calendar, page, np.inf)
    count_frontier(frontier, now)
    state = frontier.state
    frontier.page[page].due = now
    frontier.page[page].rests = False
    if len(frontier.line) > 0:
        frontier.line[state.waiting] = page
    else:
        stand_in_line(hosts, page)
    state.waiting += 1
    state.fell_due += 1


@inner
def take_due(frontier: Frontier, hosts: Hosts, now: float) -> int:
    """The page of the access that begins now; -1 where no page may be accessed."""
    state = frontier.state
    if state.waiting == 0:
        return -1
    release(hosts, now)
    page = most_urgent(frontier, hosts, now) if len(frontier.line) > 0 else first_in_line(hosts)
    if page < 0:
        return -1
    count_frontier(frontier, now)
    delay = now - frontier.page[page].due
    state.waiting -= 1
    state.busy += 1
    state.started += 1
    state.delay += delay
    if len(frontier.followed) > 0:
        frontier.followed[page].started += 1
        frontier.followed[page].delay += delay
    keep_time(frontier.delays, page, delay)
    start(hosts, now, page)
    return page


@inner
def stand_in_line(hosts: Hosts, page: int) -> None:
    """A due page goes to the end of the line for its host."""
    host = hosts.host[page]
    hosts.put_off[page] = hosts.counts[1]
    hosts.counts[1] += 1
    hosts.following[page] = LAST
    if hosts.first[host] == LAST:
        hosts.first[host] = page
        if hosts.busy.time[host] == np.inf:
            set_alarm(hosts.ready, host, float(hosts.put_off[page]))
    else:
        hosts.following[hosts.last[host]] = page
    hosts.last[host] = page


@inner
def first_in_line(hosts: Hosts) -> int:
    """The page that fell due first, of free hosts; it leaves its line. -1: there is none."""
    host = soonest(hosts.ready)
    if hosts.ready.time[host] == np.inf:
        return -1
    page = hosts.first[host]
    following = hosts.following[page]
    hosts.first[host] = following
    hosts.following[page] = NOT_WAITING
    goes_on = following != LAST and hosts.spacing[host] == 0.0
    set_alarm(hosts.ready, host, float(hosts.put_off[following]) if goes_on else np.inf)
    return page


@inner
def most_urgent(frontier: Frontier, hosts: Hosts, now: float) -> int:
    """The most urgent page whose host is free; it leaves the line. -1: there is none."""
    best = -1
    highest = -np.inf
    for place in range(frontier.state.waiting):
        page = frontier.line[place]
        if hosts.busy.time[hosts.host[page]] < np.inf:
            continue
        its = frontier.page[page]
        urgency = rules.urgency(frontier.fixed.order, now - its.due, its.interval, its.priority)
        if urgency > highest:
            best = place
            highest = urgency
    if best < 0:
        return -1
    page = frontier.line[best]
    for place in range(best + 1, frontier.state.waiting):
        frontier.line[place - 1] = frontier.line[place]
    return page


@inner
def end_of_due_access(frontier: Frontier, now: float, page: int, failed: bool) -> None:
    """An access ends; its page is due again some time."""
    count_frontier(frontier, now)
    frontier.state.busy -= 1
    its, fixed = frontier.page[page], frontier.fixed
    its.pause = (
        rules.next_pause(its.pause, fixed.first, fixed.factor, fixed.most) if failed else 0.0
    )
    again = rules.next_due(now, its.began, its.interval, its.pause, fixed.from_start)
    its.rests = True
    set_alarm(frontier.calendar, page, again)


@inner
def count_frontier(frontier: Frontier, now: float) -> None:
    """Close the integrals of waiting pages and busy robots."""
    state, fixed = frontier.state, frontier.fixed
    lasted = now - state.since
    after = rules.caught_up_after(state.since, now, state.waiting, fixed.ended, fixed.caught_up)
    state.catch_up = min(state.catch_up, after)
    state.waiting_time += state.waiting * lasted
    state.busy_time += state.busy * lasted
    state.since = now


@inner
def end_warmup_of_frontier(frontier: Frontier | None, now: float) -> None:
    """Forget what was counted so far: the warm-up is over."""
    if frontier is None:
        return
    state = frontier.state
    state.since = now
    frontier.delays.state.counts = True
    state.waiting_at_start = state.waiting
    state.fell_due = state.started = 0
    state.delay = state.waiting_time = state.busy_time = 0.0
    for page in range(len(frontier.followed)):
        frontier.followed[page].started = 0
        frontier.followed[page].delay = 0.0


@inner
def finish_frontier(frontier: Frontier | None, now: float) -> None:
    """Close the integrals at the horizon."""
    if frontier is not None:
        count_frontier(frontier, now)
