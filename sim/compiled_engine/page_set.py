"""Pages that come and go as compiled code: the events of `sim.page_set`, on arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from scenarios import Scenario
from scenarios.laws import Exponential
from scenarios.model import present
from sim import rules
from sim.compiled_engine.alarms import Alarms, new_alarms, set_alarm, soonest
from sim.compiled_engine.jit import PAUSE, inner, kernel, loop
from sim.compiled_engine.random_numbers import RandomNumbers, Rows, rows_of, rows_of_robots
from sim.compiled_engine.records import record, record_type, records
from sim.compiled_engine.seeding import Streams
from sim.compiled_engine.times import Times, take
from sim.engine_inputs import laws_of_robots, places_of_robots
from sim.event_rate import require_a_short_list
from sim.page_set import NEVER_FETCHED, births_of, mean_at_start
from sim.tally import PageSetTally, Tally

BIRTH, LIFETIME, DISCOVERY, ACCESS = range(4)
"""Rows of the times that are drawn; from `ACCESS` on one per robot."""

NONE = -1

_UNIT = Exponential(mean=1.0)
_FEWEST = 64

_PAGE = record_type(
    [
        ("number", np.int64),
        ("death", np.float64),
        ("next_change", np.float64),
        ("place", np.int64),
    ]
)
_ENTRY = record_type([("slot", np.int64), ("number", np.int64)])
_UNKNOWN = record_type([("discovery", np.float64), ("number", np.int64), ("death", np.float64)])

_COUNTED = tuple(PageSetTally.__dataclass_fields__)


class PageSet(NamedTuple):
    """Everything about one replication.

    Attributes
    ----------
    state : record
        `birth`: time of the next one; `pages` that have been born; `to_begin`: pages of time 0
        that are still to be made; `warmup`, `horizon`, `mean_change`; whether pages are `drawn`,
        there is a `delay` until they are known, and they are then fetched `at_once`; lengths of
        `listed`, `new`, `unknown`, `first` and `free` (`count`, `news`, `hidden`, `waiting`,
        `free`); the `next` place of the template, and the `head` of the ring `first`.
    counted : record
        The fields of the tally.
    page : record array, shape (slots,)
        Of a known page: its `number` (NONE: the slot is free), `death`, `next_change`, and its
        `place` on the list that pages are drawn from.
    free : ndarray of int, shape (slots,)
        Slots without a page, the first `state.free` of it.
    listed : record array, shape (slots,)
        Slots and numbers of the listed pages, or of the template. An entry whose slot has another
        number is of a page that was removed.
    new : record array, shape (room,)
        Likewise of those that wait for the next template.
    first : record array, shape (room,)
        A ring of the pages that wait for their first access, where that comes at once.
    unknown : record array, shape (room,)
        Pages that are still to be discovered, the first one on top of a heap.
    carried : record array, shape (robots,)
        The page of each robot's access.
    ends : Alarms
        When each robot's access ends.
    times : Times
    """

    state: Any
    counted: Any
    page: Any
    free: Any
    listed: Any
    new: Any
    first: Any
    unknown: Any
    carried: Any
    ends: Alarms
    times: Times


def simulate_page_set(scenario: Scenario, replication: int, seed: int) -> Tally:
    """One replication."""
    run = scenario.run
    own = Streams(seed, replication)
    births = own.stream("birth")
    assert scenario.page_set is not None
    at_start = int(births.poisson(mean_at_start(scenario.page_set)))
    rows = _rows(scenario, own, births)
    robots = sum(len(each.states) for each in rows) - ACCESS
    needs = np.ones(ACCESS + robots, dtype=np.int64)
    needs[DISCOVERY] = scenario.page_set.delay is not None
    random_numbers = RandomNumbers(rows, needs)
    pages = _new_page_set(scenario, robots, at_start, random_numbers)
    streams = own.stream("change"), own.stream("accessing")
    random_numbers.refill()
    while not advance_page_set(pages, *streams):
        if not pages.state.free:
            require_a_short_list(scenario, len(pages.page))
        random_numbers.refill()
        pages = _with_room(pages)
    window = run.window
    counted = PageSetTally(**{name: getattr(pages.counted, name).item() for name in _COUNTED})
    tally = Tally(
        window=window,
        robots_time=rules.time_of_robots([window], [robots]),
        page_set=counted,
    )
    tally.check(run.horizon, robots)
    return tally


def _rows(scenario: Scenario, own: Streams, births: Any) -> list[Rows]:
    section = present(scenario.page_set)
    rows = [
        rows_of(births_of(section), births),
        rows_of(section.lifetime, own.stream("lifetime")),
        rows_of(section.delay or _UNIT, own.stream("discovery")),
    ]
    for law, those in laws_of_robots(scenario, places_of_robots(scenario)):
        rows += rows_of_robots(law, own, "access", those)
    return rows


def _new_page_set(
    scenario: Scenario, robots: int, at_start: int, random_numbers: RandomNumbers
) -> PageSet:
    section, run = present(scenario.page_set), scenario.run
    room = max(_FEWEST, 2 * at_start)
    rate = section.change_rate
    zero = PageSetTally(0, 0, 0, 0, 0, 0, 0, 0.0, 0.0, 0.0, 0.0, 0.0)
    page = records(room, _PAGE)
    page.number = NONE
    carried = records(robots, _ENTRY)
    carried.fill((NONE, NONE))
    return PageSet(
        state=record(
            birth=0.0,
            pages=0,
            to_begin=at_start,
            begun=False,
            warmup=run.warmup,
            horizon=run.horizon,
            mean_change=1.0 / rate if rate else np.inf,
            drawn=present(scenario.model.accessing).policy == "randomized",
            delay=section.delay is not None,
            at_once=section.first_access == "at-once",
            waiting=0,
            head=0,
            count=0,
            news=0,
            hidden=0,
            free=room,
            next=0,
        ),
        counted=record(**{name: getattr(zero, name) for name in _COUNTED}),
        page=page,
        free=np.arange(room)[::-1].copy(),
        listed=records(room, _ENTRY),
        new=records(room, _ENTRY),
        first=records(_FEWEST, _ENTRY),
        unknown=records(_FEWEST, _UNKNOWN),
        carried=carried,
        ends=new_alarms(robots),
        times=random_numbers.times,
    )


def _with_room(pages: PageSet) -> PageSet:
    """The same, with twice as much room for whatever has none left."""
    state = pages.state
    if state.waiting == len(pages.first):
        first = _longer(pages.first)
        first[: state.waiting] = np.roll(pages.first, -state.head)
        state.head = 0
        pages = pages._replace(first=first)
    if state.news == len(pages.new):
        pages = pages._replace(new=_longer(pages.new))
    if state.hidden == len(pages.unknown):
        pages = pages._replace(unknown=_longer(pages.unknown))
    if state.free > 0:
        return pages
    slots = len(pages.page)
    free = np.zeros(2 * slots, dtype=np.int64)
    free[:slots] = np.arange(slots, 2 * slots)[::-1]
    state.free = slots
    page = _longer(pages.page)
    page.number[slots:] = NONE
    return pages._replace(page=page, free=free, listed=_longer(pages.listed))


def _longer(rows: Any) -> Any:
    longer = records(2 * len(rows), rows.dtype)
    longer[: len(rows)] = rows
    return longer


@kernel
def advance_page_set(pages: PageSet, change: Any, accessing: Any) -> bool:
    """Go on until the horizon (True), or until something may run out or for a pause (False)."""
    return go_on(pages, change, accessing)


@loop
def go_on(pages: PageSet, change: Any, accessing: Any) -> bool:
    """The loop of `advance_page_set`."""
    state = pages.state
    for _ in range(PAUSE):
        if pages.times.used_up[0] or is_full(pages):
            return False
        if state.to_begin > 0:
            begin_with_page(pages, change)
        elif not state.begun:
            begin_robots(pages, accessing)
        elif not happen(pages, change, accessing):
            finish(pages)
            return True
    return False


@inner
def is_full(pages: PageSet) -> bool:
    """Whether there may be no room for another page."""
    state = pages.state
    full = state.free == 0 or state.news == len(pages.new)
    return full or state.hidden == len(pages.unknown) or state.waiting == len(pages.first)


@inner
def happen(pages: PageSet, change: Any, accessing: Any) -> bool:
    """The next event; False where none is left up to the horizon."""
    state = pages.state
    robot = soonest(pages.ends)
    now = pages.ends.time[robot]
    discovery = pages.unknown[0].discovery if state.hidden > 0 else np.inf
    if min(now, discovery, state.birth) > state.horizon:
        return False
    if state.birth <= min(now, discovery):
        give_birth(pages, state.birth)
    elif discovery <= now:
        discover_first(pages)
    else:
        arrive(pages, change, accessing, robot, now)
    return True


@inner
def time_in_window(pages: PageSet, begin: float, end: float) -> float:
    """How much of a time lies in the window."""
    return rules.overlap(begin, end, pages.state.warmup, pages.state.horizon)


@inner
def next_number(pages: PageSet) -> int:
    """The number of the page that is born now."""
    pages.state.pages += 1
    return pages.state.pages - 1


@inner
def begin_with_page(pages: PageSet, change: Any) -> None:
    """One of the pages of time 0, known and with a copy that is current."""
    pages.state.to_begin -= 1
    number = next_number(pages)
    death = take(pages.times, LIFETIME)
    pages.counted.existing_time += time_in_window(pages, 0.0, death)
    slot = list_page(pages, 0.0, number, death)
    fetch(pages, change, 0.0, pages.page[slot])


@inner
def begin_robots(pages: PageSet, accessing: Any) -> None:
    """Wait for the first birth, and begin the first accesses."""
    pages.state.begun = True
    pages.state.birth = take(pages.times, BIRTH)
    for robot in range(len(pages.carried)):
        begin_access(pages, accessing, 0.0, robot)


@inner
def give_birth(pages: PageSet, now: float) -> None:
    """A page is born."""
    state = pages.state
    number = next_number(pages)
    death = now + take(pages.times, LIFETIME)
    pages.counted.born += now > state.warmup
    pages.counted.existing_time += time_in_window(pages, now, death)
    discovery = now + take(pages.times, DISCOVERY) if state.delay else now
    if rules.is_discovered(discovery, death):
        if state.delay:
            hide(pages, discovery, number, death)
        else:
            become_known(pages, now, number, death)
    state.birth = now + take(pages.times, BIRTH)


@inner
def comes_before(unknown: Any, one: int, other: int) -> bool:
    """Whether one page of the heap is discovered before another one."""
    if unknown[one].discovery == unknown[other].discovery:
        return unknown[one].number < unknown[other].number
    return unknown[one].discovery < unknown[other].discovery


@inner
def swap(unknown: Any, one: int, other: int) -> None:
    """Two pages of the heap change places."""
    discovery, number, death = (
        unknown[one].discovery,
        unknown[one].number,
        unknown[one].death,
    )
    unknown[one].discovery = unknown[other].discovery
    unknown[one].number = unknown[other].number
    unknown[one].death = unknown[other].death
    unknown[other].discovery = discovery
    unknown[other].number = number
    unknown[other].death = death


@inner
def hide(pages: PageSet, discovery: float, number: int, death: float) -> None:
    """A page that is still to be discovered goes onto the heap."""
    unknown = pages.unknown
    place = pages.state.hidden
    pages.state.hidden += 1
    unknown[place].discovery = discovery
    unknown[place].number = number
    unknown[place].death = death
    while place > 0 and comes_before(unknown, place, (place - 1) // 2):
        swap(unknown, place, (place - 1) // 2)
        place = (place - 1) // 2


@inner
def discover_first(pages: PageSet) -> None:
    """The page on top of the heap becomes known."""
    unknown = pages.unknown
    now = unknown[0].discovery
    number = unknown[0].number
    death = unknown[0].death
    last = pages.state.hidden - 1
    pages.state.hidden = last
    swap(unknown, 0, last)
    place = 0
    first = first_of_family(unknown, place, last)
    while first != place:
        swap(unknown, place, first)
        place = first
        first = first_of_family(unknown, place, last)
    become_known(pages, now, number, death)


@inner
def first_of_family(unknown: Any, place: int, count: int) -> int:
    """Which of a place of the heap and the two below it is discovered first."""
    first = place
    for child in range(2 * place + 1, min(2 * place + 3, count)):
        if comes_before(unknown, child, first):
            first = child
    return first


@inner
def become_known(pages: PageSet, now: float, number: int, death: float) -> None:
    """A page comes onto the list, and may wait for its first access."""
    state = pages.state
    slot = list_page(pages, now, number, death)
    if state.at_once:
        last = (state.head + state.waiting) % len(pages.first)
        write(pages.first[last], slot, number)
        state.waiting += 1


@inner
def list_page(pages: PageSet, now: float, number: int, death: float) -> int:
    """A page comes onto the list, in the slot that is returned."""
    state, counted = pages.state, pages.counted
    if now > state.warmup:
        counted.discovered += 1
    else:
        counted.listed_at_start += 1
    counted.listed_at_end += 1
    counted.known_time += time_in_window(pages, now, death)
    state.free -= 1
    slot = pages.free[state.free]
    page = pages.page[slot]
    page.number = number
    page.death = death
    page.next_change = NEVER_FETCHED
    if state.drawn:
        page.place = state.count
        write(pages.listed[state.count], slot, number)
        state.count += 1
    else:
        write(pages.new[state.news], slot, number)
        state.news += 1
    return slot


@inner
def write(entry: Any, slot: int, number: int) -> None:
    """Put a page into an entry."""
    entry.slot = slot
    entry.number = number


@inner
def is_listed(pages: PageSet, entry: Any) -> bool:
    """Whether the page of an entry is still on the list; NONE is not a page."""
    return entry.slot != NONE and pages.page[entry.slot].number == entry.number


@inner
def remove(pages: PageSet, slot: int) -> None:
    """A listed page was found gone; on the list that is drawn from the last takes its place."""
    state = pages.state
    page = pages.page[slot]
    if state.drawn:
        state.count -= 1
        last = pages.listed[state.count]
        write(pages.listed[page.place], last.slot, last.number)
        pages.page[last.slot].place = page.place
    page.number = NONE
    pages.free[state.free] = slot
    state.free += 1


@inner
def begin_access(pages: PageSet, accessing: Any, now: float, robot: int) -> None:
    """A robot takes its next page, and its access begins."""
    carried = pages.carried[robot]
    if not take_new(pages, carried):
        if pages.state.drawn:
            draw_page(pages, accessing, carried)
        else:
            take_next(pages, carried)
    set_alarm(pages.ends, robot, now + take(pages.times, ACCESS + robot))


@inner
def take_new(pages: PageSet, carried: Any) -> bool:
    """The first page that waits for its first access and is still listed; whether there is one."""
    state = pages.state
    while state.waiting > 0:
        entry = pages.first[state.head]
        state.head = (state.head + 1) % len(pages.first)
        state.waiting -= 1
        if is_listed(pages, entry):
            write(carried, entry.slot, entry.number)
            return True
    return False


@inner
def draw_page(pages: PageSet, accessing: Any, carried: Any) -> None:
    """One of the listed pages; NONE where there is none."""
    write(carried, NONE, NONE)
    count = pages.state.count
    if count > 0:
        chosen = pages.listed[rules.place_drawn(accessing.random(), count)]
        write(carried, chosen.slot, chosen.number)


@inner
def take_next(pages: PageSet, carried: Any) -> None:
    """The next page of the template, or of the next one; NONE where none is listed."""
    if not next_of_cycle(pages, carried):
        make_template(pages)
        next_of_cycle(pages, carried)


@inner
def next_of_cycle(pages: PageSet, carried: Any) -> bool:
    """The next page of the template that is still listed; whether there is one."""
    state = pages.state
    write(carried, NONE, NONE)
    while state.next < state.count:
        entry = pages.listed[state.next]
        state.next += 1
        if is_listed(pages, entry):
            write(carried, entry.slot, entry.number)
            return True
    return False


@inner
def make_template(pages: PageSet) -> None:
    """The pages still listed, and after them the new ones, are the next template."""
    state = pages.state
    kept = 0
    for place in range(state.count):
        entry = pages.listed[place]
        if is_listed(pages, entry):
            write(pages.listed[kept], entry.slot, entry.number)
            kept += 1
    for place in range(state.news):
        entry = pages.new[place]
        if is_listed(pages, entry):
            write(pages.listed[kept], entry.slot, entry.number)
            kept += 1
    state.count = kept
    state.news = 0
    state.next = 0


@inner
def arrive(pages: PageSet, change: Any, accessing: Any, robot: int, now: float) -> None:
    """An access ends: its page is fetched, or found gone."""
    carried = pages.carried[robot]
    counted = pages.counted
    if carried.number != NONE:
        counted.accesses += now > pages.state.warmup
        if not is_listed(pages, carried):  # another robot found it gone meanwhile
            counted.wasted += now > pages.state.warmup
        elif rules.is_gone(pages.page[carried.slot].death, now):
            counted.wasted += now > pages.state.warmup
            find_gone(pages, carried.slot, now)
        else:
            fetch(pages, change, now, pages.page[carried.slot])
    begin_access(pages, accessing, now, robot)


@inner
def find_gone(pages: PageSet, slot: int, now: float) -> None:
    """A listed page has vanished: it leaves the list."""
    counted = pages.counted
    if now > pages.state.warmup:
        counted.removed += 1
    else:
        counted.listed_at_start -= 1
    counted.listed_at_end -= 1
    counted.gone_time += time_in_window(pages, pages.page[slot].death, now)
    remove(pages, slot)


@inner
def fetch(pages: PageSet, change: Any, now: float, page: Any) -> None:
    """The copy holds the content at this moment."""
    if page.next_change > now:
        return
    if page.next_change == NEVER_FETCHED:
        pages.counted.indexed_time += time_in_window(pages, now, page.death)
    page.next_change = np.inf
    if pages.state.mean_change < np.inf:
        page.next_change = now + rules.draw_exponential(change, pages.state.mean_change)
    pages.counted.fresh_time += time_in_window(pages, now, min(page.next_change, page.death))


@inner
def finish(pages: PageSet) -> None:
    """Count the time since listed pages have vanished, in the order of the list."""
    for place in range(pages.state.count):
        count_gone(pages, pages.listed[place])
    for place in range(pages.state.news):
        count_gone(pages, pages.new[place])


@inner
def count_gone(pages: PageSet, entry: Any) -> None:
    """The same for the page of one entry."""
    if is_listed(pages, entry):
        death = pages.page[entry.slot].death
        pages.counted.gone_time += time_in_window(pages, death, pages.state.horizon)
