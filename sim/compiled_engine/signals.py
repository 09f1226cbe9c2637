"""Signals of changes as compiled code: the state of `sim.signals`, and who listens to them.

When they are sent is in `sim.compiled_engine.events`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from scenarios import Scenario
from scenarios.arrays import Array
from scenarios.model import Listening, present
from sim import rules
from sim.compiled_engine.alarms import Alarms, alarms_at, first_alarm, new_alarms, set_alarm
from sim.compiled_engine.crawl_values import (
    CrawlValues,
    crawl_values_of,
    end_access,
    hear,
    most_valuable,
    no_crawl_values,
)
from sim.compiled_engine.frontier import Frontier
from sim.compiled_engine.jit import inner
from sim.compiled_engine.records import record, record_type, records
from sim.compiled_engine.times import Times
from sim.engine_inputs import begin_of_ages, levels_of, means_of_signals

GAPS, DELAYS = range(2)
"""Rows of the times that signals take."""

_UNDERWAY = 64
"""Signals at first that there is room for, of those that were sent and are not heard yet."""

_PAGE = record_type(
    [
        ("mean_change", np.float64),
        ("mean_false", np.float64),
        ("next_change", np.float64),
        ("next_false", np.float64),
    ]
)


class Ages(NamedTuple):
    """What is known of pages that fall due at levels.

    Attributes
    ----------
    hazard, worth, change, silent : ndarray of float, shape (pages,)
    delay : float
        As in `sim.engine_inputs.DueLevels`.
    since, jump : ndarray of float, shape (pages,)
        When the age of each began, and what the signals since then have added.
    """

    hazard: Any
    worth: Any
    change: Any
    silent: Any
    delay: float
    since: Any
    jump: Any


class Line(NamedTuple):
    """Pages of which a signal was heard, in the order of their signals.

    Attributes
    ----------
    place : Alarms
        Set, for each that waits, at the number of signals that were there before.
    taken : ndarray of bool, shape (pages,)
        Whether a robot is at it since it was first in the line.
    signals : ndarray of int, shape (1,)
    """

    place: Alarms
    taken: Any
    signals: Any


class Choice(NamedTuple):
    """What robots go by that choose pages by their signals: one of two, the other is of no pages.

    The code of both is compiled together, which takes half of the time.

    Attributes
    ----------
    by_value : bool
        By the values of the pages, not by their line.
    values : CrawlValues
    line : Line
    """

    by_value: bool
    values: CrawlValues
    line: Line


class Signals(NamedTuple):
    """When signals are sent and heard, and what the robots make of them.

    Attributes
    ----------
    times : Times
        Times of mean 1 between signals, and the delays of these.
    page : record array, shape (pages,)
        Of each when the next change comes that has a signal, and the next signal without a change.
    alarms : Alarms
        When each page sends its next signal; then, slot by slot, when those are heard that were
        sent.
    sender, free : ndarray of int, shape (slots,)
        The page of the signal in each slot, and the chain of free slots; no entries without delay.
    state : record
        The `first_free` slot, and how many are.
    choice : Choice or None
    ages : Ages or None
        One of these, by how robots listen.
    """

    times: Times
    page: Any
    alarms: Alarms
    sender: Any
    free: Any
    state: Any
    choice: Choice | None
    ages: Ages | None


def new_signals(
    scenario: Scenario, times: Times, first: tuple[Array, Array], first_due: Array | None
) -> Signals:
    """Before the first signal.

    Parameters
    ----------
    scenario : Scenario
        Whose robots listen.
    times : Times
    first : pair of ndarray of float, shape (pages,)
        Of each page the first change that has a signal, and the first signal without a change.
    first_due : ndarray of float, shape (pages,), or None
        When each page is due for the first time by its age.
    """
    hearing, section = present(scenario.model.hearing), present(scenario.model.pages)
    page = records(section.count, _PAGE)
    page.mean_change, page.mean_false = means_of_signals(section.signals)
    page.next_change, page.next_false = first
    signals = Signals(
        times=times,
        page=page,
        alarms=alarms_at(np.minimum(*first)),
        sender=np.zeros(0, dtype=np.int64),
        free=np.zeros(0, dtype=np.int64),
        state=record(first_free=0, free=0),
        choice=_new_choice(scenario, hearing.listening) if first_due is None else None,
        ages=_new_ages(scenario, first_due) if first_due is not None else None,
    )
    return grown(signals) if hearing.delay is not None else signals


def _new_choice(scenario: Scenario, listening: Listening) -> Choice:
    if listening is Listening.BY_VALUE:
        return Choice(True, crawl_values_of(scenario), _new_line(0))
    return Choice(False, no_crawl_values(), _new_line(present(scenario.model.pages).count))


def _new_line(pages: int) -> Line:
    return Line(new_alarms(pages), np.zeros(pages, dtype=np.bool_), np.zeros(1, dtype=np.int64))


def _new_ages(scenario: Scenario, first_due: Array) -> Ages:
    pages = present(scenario.model.pages)
    levels = levels_of(present(scenario.model.frontier).policy, pages)
    since = begin_of_ages(scenario, first_due)
    return Ages(**levels._asdict(), since=since, jump=np.zeros(pages.count))


def grown(signals: Signals) -> Signals:
    """The same with room for twice as many signals that are under way."""
    pages, slots = len(signals.page), len(signals.sender)
    more = max(slots, _UNDERWAY)
    times = np.append(signals.alarms.time[: pages + slots], np.full(more, np.inf))
    free = np.append(signals.free, np.arange(slots + 1, slots + more + 1))
    free[-1] = signals.state.first_free
    signals.state.first_free = slots
    signals.state.free += more
    sender = np.append(signals.sender, np.zeros(more, dtype=np.int64))
    return signals._replace(alarms=alarms_at(times), sender=sender, free=free)


@inner
def lacks_numbers(signals: Signals | None) -> bool:
    """Whether numbers, or room for a signal under way, may be used up."""
    if signals is None:
        return False
    is_full = len(signals.sender) > 0 and signals.state.free == 0
    return signals.times.used_up[0] or is_full


@inner
def earlier_of_signals(signals: Signals | None, now: float, rank: int) -> tuple[float, int]:
    """When the next signal is sent or heard, where that is before an event."""
    if signals is None:
        return now, rank
    time = first_alarm(signals.alarms)[0]
    if time < now:
        now = time
        rank = rules.SIGNAL
    return now, rank


@inner
def first_change(signals: Signals | None, page: int, silent: float) -> float:
    """When a page changes next, given its next change without a signal."""
    return silent if signals is None else min(silent, signals.page[page].next_change)


@inner
def send_on(signals: Signals, page: int, time: float) -> None:
    """A signal is under way, and will be heard at a time."""
    state = signals.state
    slot = state.first_free
    state.first_free = signals.free[slot]
    state.free -= 1
    signals.sender[slot] = page
    set_alarm(signals.alarms, len(signals.page) + slot, time)


@inner
def arrived(signals: Signals, slot: int) -> int:
    """A signal that was under way is heard: of this page."""
    set_alarm(signals.alarms, len(signals.page) + slot, np.inf)
    signals.free[slot] = signals.state.first_free
    signals.state.first_free = slot
    signals.state.free += 1
    return signals.sender[slot]


@inner
def listen(
    choice: Choice | None, ages: Ages | None, frontier: Frontier | None, page: int, now: float
) -> None:
    """A signal is heard of a page."""
    if choice is not None:
        if choice.by_value:
            hear(choice.values, page, now)
        else:
            stand_in_line(choice.line, page)
    if ages is not None and frontier is not None:
        hear_at_level(ages, frontier, page, now)


@inner
def stand_in_line(line: Line, page: int) -> None:
    """A page waits for its access, once, and not while it is accessed because of a signal."""
    if not line.taken[page] and line.place.time[page] == np.inf:
        set_alarm(line.place, page, float(line.signals[0]))
        line.signals[0] += 1


@inner
def hear_at_level(ages: Ages, frontier: Frontier, page: int, now: float) -> None:
    """A signal may bring a page to its level, or nearer to it."""
    if rules.is_news(now - ages.since[page], ages.delay):
        ages.jump[page] += ages.worth[page]
    if frontier.page[page].rests and frontier.page[page].pause == 0.0:
        left = rules.hazard_left(ages.hazard[page], ages.jump[page])
        age = rules.age_at_hazard(left, ages.change[page], ages.silent[page], ages.delay)
        set_alarm(frontier.calendar, page, max(ages.since[page] + age, now))


@inner
def page_by_signals(signals: Signals | None, now: float) -> int:
    """The page that signals ask for; -1: they ask for none."""
    return -1 if signals is None else _page_asked_for(signals.choice, now)


@inner
def _page_asked_for(choice: Choice | None, now: float) -> int:
    """The same, by those who listen."""
    if choice is None:
        return -1
    if choice.by_value:
        return most_valuable(choice.values, now)
    line = choice.line
    place, page = first_alarm(line.place)
    if place == np.inf:
        return -1
    set_alarm(line.place, page, np.inf)
    line.taken[page] = True
    return page


@inner
def end_access_beside(signals: Signals | None, page: int, now: float) -> None:
    """An access of a page ends, and what was heard of it is forgotten."""
    if signals is not None:
        forget(signals.choice, page, now)


@inner
def forget(choice: Choice | None, page: int, now: float) -> None:
    """What was heard of a page counts no longer."""
    if choice is None:
        return
    if choice.by_value:
        end_access(choice.values, page, now)
    else:
        choice.line.taken[page] = False
        set_alarm(choice.line.place, page, np.inf)


@inner
def begin_age(signals: Signals | None, page: int, since: float) -> None:
    """The age of a page begins that is due at a level."""
    if signals is not None:
        begin_age_of(signals.ages, page, since)


@inner
def begin_age_of(ages: Ages | None, page: int, since: float) -> None:
    """The same, of the ages."""
    if ages is not None:
        ages.since[page] = since
        ages.jump[page] = 0.0
