"""Which page is worth most to access, of pages of which signals are heard.

Of a page that was accessed last a time ago, and of which signals have been heard since, the hazard
h says what they tell together: its copy is fresh with probability e^-h. Hazards grow as time goes
by, and jump with every signal. The crawl value of a page is ``(w/D) v(h)``, w its weight, D its
change rate, and v a function of precision and recall alone (docs/theory/signals.md); here it comes
from tables, to a thousandth.

Which of very many moving numbers is the greatest is asked at every access. A few pages are listed
whose value is above a limit, and looked at one by one; of each other page the time is known at
which its value reaches the limit, unless a signal comes first. Where the list runs empty, or long,
a new limit is set.

Both engines call this code, since a hundred thousand pages would take plain Python too long; its
test looks at all pages at each access.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scenarios import Scenario
from scenarios.arrays import Array
from scenarios.compiling import Function, compiled
from scenarios.model import present
from scenarios.page_data import PageData
from scenarios.signals import SignalRates
from sim import rules
from sim.compiled_engine.alarms import Alarms, compete, first_alarm, new_alarms, set_alarm
from sim.compiled_engine.jit import inner, loop
from sim.compiled_engine.records import record
from sim.engine_inputs import mean_delay_of_signals, mean_gap, worth_of_signals

NODES = 32
"""Intervals of a table, of the same length in 1 - e^(-h/2)."""

_STEP, _SHORTEST_STEP = 0.02, 0.001
"""Of the hazard, where tables are made."""

_SMALLEST_WORTH = 0.002
"""Signals that add less to the hazard are taken for silent changes: v changes by less than that."""

_HALVINGS = 8
"""Of an interval of the table, where a value is looked for."""

FEW, MANY = 128, 512
"""Pages on the list after a new limit, and those that it may hold before there is another one."""

NOT_LISTED = -1


def _compiled(function: Function) -> Function:
    """Compiled in no time, and kept: nothing is said of it."""
    return compiled(function, None)


class CrawlValues(NamedTuple):
    """What is known of pages that are chosen by their crawl values.

    Attributes
    ----------
    silent, change, worth, value : ndarray of float, shape (pages,)
        Rates of the changes without a signal and of all, the hazard that one signal adds, and w/D;
        0 of a page that never changes.
    kind : ndarray of int, shape (pages,)
        Its row of the tables.
    table, slope : ndarray of float, shape (kinds, NODES + 1)
        Of v, and its slopes in the units of a table's intervals.
    delay : float
        How long a signal takes in the mean: one that is heard less than that after an access is
        taken to tell of a change before it.
    since, jump : ndarray of float, shape (pages,)
        When the last access of each ended, and what the signals since then have added.
    taken : ndarray of bool, shape (pages,)
        Whether a robot is at it.
    reach : Alarms
        When the value of each page reaches the limit; not set of those that are taken or listed.
    place : ndarray of int, shape (pages,)
        Where it stands on the list.
    listed : ndarray of int, shape (pages,)
        The pages on the list.
    state : record
        `listed`: how many they are; `limit`: all others are worth at most that.
    worths : ndarray of float, shape (FEW,)
        Of the pages on the list, while a new limit is found.
    """

    silent: Any
    change: Any
    worth: Any
    value: Any
    kind: Any
    table: Any
    slope: Any
    delay: float
    since: Any
    jump: Any
    taken: Any
    reach: Alarms
    place: Any
    listed: Any
    state: Any
    worths: Any


def kinds_of(rates: SignalRates) -> tuple[Array, NDArray[np.int64]]:
    """The kinds of pages by what their signals are worth, and which is whose.

    Returns
    -------
    kinds : ndarray of float, shape (kinds, 3)
        Per change: silent ones, signals, and the hazard that each signal adds.
    kind : ndarray of int, shape (pages,)
    """
    change = rates.silent + rates.true
    changes = change > 0
    silent, heard = (
        np.divide(each, change, out=np.zeros_like(change), where=changes).round(12)
        for each in (rates.silent, rates.heard)
    )
    rows = np.column_stack([silent, heard, worth_of_signals(rates).round(12)])
    kinds, kind = np.unique(rows, axis=0, return_inverse=True)
    return kinds, kind.reshape(-1).astype(np.int64)


@lru_cache(maxsize=1)
def _tables(pages: PageData) -> tuple[Array, Array, NDArray[np.int64]]:
    """Tables and slopes of all kinds of pages, and the kind of each page."""
    kinds, kind = kinds_of(pages.signals)
    table, slope = np.zeros((2, len(kinds), NODES + 1))
    _fill_tables(kinds, table, slope)
    return table, slope, kind


def crawl_values_of(scenario: Scenario) -> CrawlValues:
    """Before the first access: as if all pages had been accessed in turn."""
    pages = present(scenario.model.pages)
    delay = mean_delay_of_signals(pages)
    return _crawl_values(pages.signals, pages.weights, _tables(pages), delay, mean_gap(scenario))


def no_crawl_values() -> CrawlValues:
    """Of no pages."""
    none = np.zeros(0)
    tables = np.zeros((0, NODES + 1)), np.zeros((0, NODES + 1)), np.zeros(0, dtype=np.int64)
    return _crawl_values(SignalRates(none, none, none), none, tables, 0.0, 0.0)


def _crawl_values(
    rates: SignalRates,
    weights: Array,
    tables: tuple[Array, Array, NDArray[np.int64]],
    delay: float,
    gap: float,
) -> CrawlValues:
    """Pages that were accessed in turn, one in each gap."""
    pages = len(weights)
    change = rates.silent + rates.true
    table, slope, kind = tables
    return CrawlValues(
        silent=np.array(rates.silent),
        change=change,
        worth=worth_of_signals(rates),
        value=np.divide(weights, change, out=np.zeros(pages), where=change > 0),
        kind=kind,
        table=table,
        slope=slope,
        delay=delay,
        since=(np.arange(pages) - pages) * gap,
        jump=np.zeros(pages),
        taken=np.zeros(pages, dtype=np.bool_),
        reach=new_alarms(pages),
        place=np.full(pages, NOT_LISTED),
        listed=np.zeros(pages, dtype=np.int64),
        state=record(listed=0, limit=np.inf),
        worths=np.zeros(FEW),
    )


@_compiled
def _fill_table(silent: float, heard: float, worth: float, table: Any, slope: Any) -> None:
    """Write v of one kind of pages into rows of the tables.

    ``v = F - e^-h T``, T the mean time until the hazard reaches h, F how much of it the copy is
    fresh; times are those between changes. Both follow an equation with a lag,
    ``silent dT/dh = 1 - heard (T(h) - T(h - worth))`` and
    ``silent dF/dh = 1 - (silent + heard) F(h) + heard e^-worth F(h - worth)``, and ``dv/dh = e^-h
    T``.

    Parameters
    ----------
    silent, heard, worth : float
        As in `kinds_of`.
    table, slope : ndarray of float, shape (NODES + 1,)
    """
    table[NODES] = 1.0
    slope[NODES] = 0.0
    if worth < _SMALLEST_WORTH:
        silent = 1.0
        heard = 0.0
    if silent <= 0.0:
        _fill_by_number(worth, table, slope)
        return
    rate = heard / silent
    has_lag = heard > 0.0 and worth < math.inf
    step = max(min(_STEP, 0.25 / rate), _SHORTEST_STEP) if rate > 0.0 else _STEP
    lag = math.ceil(worth / step) if has_lag else -1
    step = worth / lag if has_lag else step
    back = rate * math.exp(-worth)
    length = int(2.0 * math.log(NODES) / step) + 2
    times, fresh = np.zeros(length), np.zeros(length)
    node = 0
    for number in range(length):
        hazard = number * step
        early, late = _lagging(times, number, lag)
        was_early, was_late = _lagging(fresh, number, lag)
        while node < NODES and -2.0 * math.log(1.0 - node / NODES) < hazard + step:
            there = -2.0 * math.log(1.0 - node / NODES)
            part = (there - hazard) / step
            on = early + part * (late - early)
            was_on = was_early + part * (was_late - was_early)
            time = _after(times[number], early, on, 1.0 / silent, rate, rate, part * step)
            known = _after(
                fresh[number], was_early, was_on, 1.0 / silent, 1.0 + rate, back, part * step
            )
            table[node] = known - math.exp(-there) * time
            slope[node] = 2.0 * math.exp(-there / 2.0) * time / NODES
            node += 1
        if number + 1 < length:
            times[number + 1] = _after(times[number], early, late, 1.0 / silent, rate, rate, step)
            fresh[number + 1] = _after(
                fresh[number], was_early, was_late, 1.0 / silent, 1.0 + rate, back, step
            )


@_compiled
def _lagging(values: Any, number: int, lag: int) -> tuple[float, float]:
    """The values a lag before both ends of the step that begins at a number; 0 before the first."""
    if lag < 0 or number < lag:
        return 0.0, 0.0
    return values[number - lag], values[number - lag + 1]


@_compiled
def _after(
    value: float, early: float, late: float, source: float, loss: float, gain: float, step: float
) -> float:
    """What follows ``y' = source - loss y + gain x`` after a step in which x goes straight."""
    lost = loss * step
    if lost < 1e-6:
        return value + step * (source - loss * value + gain * (early + late) / 2.0)
    kept = -math.expm1(-lost) / loss
    bend = (step - kept) / lost * (late - early)
    return value - loss * kept * value + kept * (source + gain * early) + gain * bend


@_compiled
def _fill_tables(kinds: Any, table: Any, slope: Any) -> None:
    for kind in range(len(kinds)):
        _fill_table(kinds[kind, 0], kinds[kind, 1], kinds[kind, 2], table[kind], slope[kind])


@loop
def _fill_by_number(worth: float, table: Any, slope: Any) -> None:
    """The same where time alone tells nothing: v after n signals, at the hazard n times `worth`."""
    precision = 1.0 - math.exp(-worth)
    per_hazard = precision / worth if worth < math.inf else 0.0
    for node in range(NODES):
        hazard = -2.0 * math.log(1.0 - node / NODES)
        fresh = math.exp(-hazard)
        table[node] = 1.0 - fresh * (1.0 + per_hazard * hazard)
        steepness = fresh * (1.0 + per_hazard * hazard - per_hazard)
        slope[node] = 2.0 * math.exp(hazard / 2.0) * steepness / NODES


@inner
def hazard_of(values: CrawlValues, page: int, now: float) -> float:
    """What age and signals of a page tell together."""
    age = now - values.since[page]
    change, silent = values.change[page], values.silent[page]
    return rules.hazard_of_age(age, change, silent, values.delay) + values.jump[page]


@inner
def when_at(values: CrawlValues, page: int, hazard: float) -> float:
    """When the hazard of a page is so great, if no signal comes first; at least 0."""
    left = rules.hazard_left(hazard, values.jump[page])
    change, silent = values.change[page], values.silent[page]
    return max(values.since[page] + rules.age_at_hazard(left, change, silent, values.delay), 0.0)


@inner
def crawl_value(values: CrawlValues, page: int, now: float) -> float:
    """What an access of a page is worth now."""
    most = values.value[page]
    if not most > 0.0:
        return 0.0
    place = (1.0 - math.exp(-hazard_of(values, page, now) / 2.0)) * NODES
    node = int(place)
    if node >= NODES:
        return most
    return most * _between_nodes(values, values.kind[page], node, place - node)


@inner
def _between_nodes(values: CrawlValues, kind: int, node: int, part: float) -> float:
    """V at a part of an interval of its table: the cubic with the slopes at both ends."""
    first, last = values.table[kind, node], values.table[kind, node + 1]
    rises, ends = values.slope[kind, node], values.slope[kind, node + 1]
    rise = last - first
    bend = rises + ends - 2.0 * rise
    return first + part * (rises + part * (rise - rises - bend + part * bend))


@inner
def _hazard_at(values: CrawlValues, page: int, worth: float) -> float:
    """A hazard at which a page is worth at most that, and hardly less; inf: it never is."""
    most = values.value[page]
    if not most > 0.0 or worth >= most:
        return math.inf
    share = worth / most
    kind = values.kind[page]
    low = 0
    high = NODES
    while high - low > 1:
        middle = (low + high) // 2
        if values.table[kind, middle] <= share:
            low = middle
        else:
            high = middle
    begin = 0.0
    length = 1.0
    for _ in range(_HALVINGS):
        length /= 2.0
        if _between_nodes(values, kind, low, begin + length) <= share:
            begin += length
    return -2.0 * math.log(1.0 - (low + begin) / NODES)


@loop
def hear(values: CrawlValues, page: int, now: float) -> None:
    """A signal is heard of a page."""
    if rules.is_news(now - values.since[page], values.delay):
        values.jump[page] += values.worth[page]
    if not values.taken[page] and values.place[page] == NOT_LISTED:
        set_alarm(values.reach, page, _reaches_limit(values, page, now))


@loop
def end_access(values: CrawlValues, page: int, now: float) -> None:
    """An access of a page ends; what was heard of it is forgotten."""
    values.since[page] = now
    values.jump[page] = 0.0
    values.taken[page] = False
    set_alarm(values.reach, page, _reaches_limit(values, page, now))


@loop
def _reaches_limit(values: CrawlValues, page: int, now: float) -> float:
    """When the value of a page is above the limit, or a little before that."""
    limit = values.state.limit
    if limit == np.inf:
        return np.inf
    if values.silent[page] == 0.0 and values.delay == 0.0:
        # Its age tells nothing: only signals change its value.
        return now if crawl_value(values, page, now) > limit else np.inf
    return when_at(values, page, _hazard_at(values, page, limit))


@loop
def most_valuable(values: CrawlValues, now: float) -> int:
    """The page that is worth most, which a robot takes now; at equal values the lower one."""
    _list_all_that_reached(values, now)
    best = _best_of_list(values, now)
    if best == NOT_LISTED or values.state.listed > MANY:
        _set_limit(values, now)
        best = _best_of_list(values, now)
    page = values.listed[best]
    _leave_list(values, page)
    values.taken[page] = True
    return page


@loop
def _list_all_that_reached(values: CrawlValues, now: float) -> None:
    """Put those on the list whose value has reached the limit."""
    time, page = first_alarm(values.reach)
    while time <= now:
        set_alarm(values.reach, page, np.inf)
        values.place[page] = values.state.listed
        values.listed[values.state.listed] = page
        values.state.listed += 1
        time, page = first_alarm(values.reach)


@inner
def _leave_list(values: CrawlValues, page: int) -> None:
    """The last page of the list takes the place of one that leaves it."""
    values.state.listed -= 1
    last = values.listed[values.state.listed]
    values.listed[values.place[page]] = last
    values.place[last] = values.place[page]
    values.place[page] = NOT_LISTED


@loop
def _best_of_list(values: CrawlValues, now: float) -> int:
    """Place of the page that is worth most; NOT_LISTED where none is worth more than the limit."""
    best = NOT_LISTED
    most = values.state.limit
    for place in range(values.state.listed):
        page = values.listed[place]
        worth = crawl_value(values, page, now)
        if worth > most or (worth == most and (best < 0 or page < values.listed[best])):
            best = place
            most = worth
    return best


@loop
def _set_limit(values: CrawlValues, now: float) -> None:
    """List the few that are worth most; the last of these is the limit."""
    state = values.state
    for place in range(state.listed):
        values.place[values.listed[place]] = NOT_LISTED
    state.listed = 0
    for page in range(len(values.value)):
        if not values.taken[page]:
            _list_if_among_the_best(values, page, crawl_value(values, page, now))
    state.limit = values.worths[state.listed - 1]
    for place in range(state.listed):
        values.place[values.listed[place]] = place
    for page in range(len(values.value)):
        free = not values.taken[page] and values.place[page] == NOT_LISTED
        values.reach.time[page] = _reaches_limit(values, page, now) if free else np.inf
    compete(values.reach)


@inner
def _list_if_among_the_best(values: CrawlValues, page: int, worth: float) -> None:
    """Put a page on the list in the order of values, of pages that come in their own order."""
    state = values.state
    place = state.listed
    if place == FEW:
        if worth <= values.worths[FEW - 1]:
            return
        place -= 1
    else:
        state.listed += 1
    while place > 0 and values.worths[place - 1] < worth:
        values.worths[place] = values.worths[place - 1]
        values.listed[place] = values.listed[place - 1]
        place -= 1
    values.worths[place] = worth
    values.listed[place] = page


@_compiled
def hear_signal(values: CrawlValues, page: int, now: float) -> None:
    """`hear`, for the engine in plain Python, as are the next two."""
    hear(values, page, now)


@_compiled
def end_access_of(values: CrawlValues, page: int, now: float) -> None:
    """`end_access`."""
    end_access(values, page, now)


@_compiled
def take_most_valuable(values: CrawlValues, now: float) -> int:
    """`most_valuable`."""
    return most_valuable(values, now)
