"""Files that a crawler loads: CSV, seeds of Nutch, seeds of StormCrawler."""

from __future__ import annotations

import csv
import heapq
import io
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crawlsim.logs.plan.allocation import DAY, Limits
from crawlsim.logs.plan.quantities import duration, in_words
from crawlsim.logs.plan.schedule import Schedule, interval_limits
from crawlsim.logs.plan.signal_levels import LevelPlan
from crawlsim.logs.read.states import GONE, NEVER_ANSWERED, PAGE, REDIRECT, STATES
from scenarios import ScenarioError
from scenarios.arrays import Array, but_for_rounding

_NEXT_TO_NOTHING = 1e-3
_AT_ONCE = 10_000

HEADER = (
    "url",
    "interval_seconds",
    "rate_per_day",
    "low",
    "high",
    "visits",
    "changes",
    "why",
    "state",
)

_HEADER_OF_SIGNALS = ("level_seconds", "signal_worth_seconds")
_HEADER_OF_BYTES = ("page_bytes", "bytes_per_day")

WITH_SIGNALS = ("csv", "stormcrawler")
"""Formats that can say what a signal counts for."""

_WHY_GONE = {
    GONE: "no longer answers with a content",
    REDIRECT: "leads elsewhere",
    NEVER_ANSWERED: "never answered with a content",
}

_UNSPENT = 1e-5
_NOTHING = 1e-12


@dataclass(frozen=True)
class Format:
    """A format of schedules.

    Attributes
    ----------
    unit : float
        Seconds that intervals are multiples of; 0 where they may be any.
    longest : float
        Seconds between two visits that the crawler keeps to as it is installed.
    largest : int
        Largest number of units that it can read.
    text : callable
        The file, from a schedule and its intervals in units.
    """

    unit: float
    longest: float
    largest: int
    text: Callable[[Schedule, NDArray[Any]], str]


def _csv(schedule: Schedule, intervals: NDArray[Any]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    due = () if schedule.by_signals is None else schedule.by_signals.due[:2]
    added = _HEADER_OF_SIGNALS if due else ()
    fetched = schedule.forecast.fetched
    if fetched is not None:
        due = (np.rint(fetched.sizes), fetched.bytes(1 / intervals) * DAY)
        added = _HEADER_OF_BYTES
    writer.writerow((*HEADER[:2], *added, *HEADER[2:]))
    rates = schedule.estimates
    pages = zip(
        _values(schedule.urls),
        _values(intervals),
        *map(_values, due),
        *(_known(each * DAY) for each in (rates.rates, rates.low, rates.high)),
        repeat("") if schedule.of_changes else _values(schedule.visits),  # imagined ones else
        _values(schedule.changes),
        schedule.why,
        repeat(STATES[PAGE]),
    )
    writer.writerows(heapq.merge(pages, _rows_of_gone(schedule)))
    return stream.getvalue()


def _values(column: NDArray[Any]) -> Iterator[Any]:
    """One after the other as Python has them; all at once those of a million pages fill memory."""
    for first in range(0, len(column), _AT_ONCE):
        yield from column[first : first + _AT_ONCE].tolist()


def _known(column: Array) -> Iterator[Any]:
    """The same, nothing for what is unknown."""
    return ("" if math.isnan(each) else each for each in _values(column))


def _rows_of_gone(schedule: Schedule) -> Iterator[tuple[Any, ...]]:
    """The URLs that are not planned: no rate is claimed of them, and never is an empty interval."""
    gone = schedule.gone
    for url, seconds, visits, changes, state in zip(
        gone.urls.tolist(),
        gone.intervals.tolist(),
        [""] * len(gone.urls) if schedule.of_changes else gone.visits.tolist(),
        gone.changes.tolist(),
        gone.states.tolist(),
        strict=True,
    ):
        why = "weight 0: not visited" if state == PAGE else _WHY_GONE[state]
        interval = seconds if math.isfinite(seconds) else ""
        due: tuple[Any, ...] = () if schedule.by_signals is None else (interval, 0.0)
        if schedule.asked.bytes is not None:
            due = ("", DAY / seconds * schedule.asked.bytes.unchanged)
        yield url, interval, *due, "", "", "", visits, changes, why, STATES[state]


def _nutch(schedule: Schedule, intervals: NDArray[Any]) -> str:
    return "".join(
        f"{_in_a_field(url)}\tnutch.fetchInterval.fixed={seconds:.0f}\n"
        for url, seconds in _seeds(schedule, intervals, "nutch")
    )


def _stormcrawler(schedule: Schedule, intervals: NDArray[Any]) -> str:
    if schedule.by_signals is not None:
        return _stormcrawler_with_signals(schedule, schedule.by_signals)
    return "".join(
        f"{_in_a_field(url)}\tscheduler.delay.mins={minutes:.0f}\tfetchInterval={minutes:.0f}\n"
        for url, minutes in _seeds(schedule, intervals, "stormcrawler")
    )


def _stormcrawler_with_signals(schedule: Schedule, plan: LevelPlan) -> str:
    """Levels as intervals: a page is due then if no signal comes; signals bring it forward.

    No level is rounded to 0 minutes.
    """
    unit = FORMATS["stormcrawler"].unit
    levels = np.maximum(np.rint(plan.due.levels / unit), 1.0)
    worths = dict(zip(schedule.urls.tolist(), np.rint(plan.due.worths / unit), strict=True))
    return "".join(
        f"{_in_a_field(url)}\tscheduler.delay.mins={minutes:.0f}\tfetchInterval={minutes:.0f}"
        f"\tsignalWorthMinutes={worths.get(url, 0.0):.0f}\n"
        for url, minutes in _seeds(schedule, levels, "stormcrawler")
    )


def _scrapy(schedule: Schedule, intervals: NDArray[Any]) -> str:
    """One object on each line; no visit is due before the log ends."""
    due = dict(zip(schedule.urls.tolist(), schedule.last_seen.tolist(), strict=True))
    end = schedule.gaps.end
    lines = []
    hours = schedule.asked.hours
    for url, seconds in _seeds(schedule, intervals, "scrapy"):
        seen = due.get(url, end)
        next_at = max(seen + seconds, end)
        if hours is not None:  # an interval is a calendar mean of active time
            next_at = hours.after(max(hours.after(seen, seconds * hours.length / DAY), end), 0.0)
        moment = datetime.fromtimestamp(next_at, UTC)
        row = {"url": url, "next": moment.isoformat(timespec="seconds"), "interval": int(seconds)}
        lines.append(json.dumps(row, ensure_ascii=False) + "\n")
    return "".join(lines)


def _seeds(schedule: Schedule, intervals: NDArray[Any], form: str) -> Iterator[tuple[str, float]]:
    """All URLs that are to be visited, by name, with their intervals in units of a format."""
    chosen = FORMATS[form]
    pages = zip(schedule.urls.tolist(), intervals.tolist(), strict=True)
    visited = np.isfinite(schedule.gone.intervals)
    units = np.ceil(schedule.gone.intervals[visited] / chosen.unit)
    whole = np.minimum(units, chosen.largest).tolist()
    gone = zip(schedule.gone.urls[visited].tolist(), whole, strict=True)
    return heapq.merge(pages, gone)


def _in_a_field(url: str) -> str:
    """A URL without white space, which would end the field or the line."""
    return re.sub(r"\s", lambda blank: "".join(f"%{byte:02X}" for byte in blank[0].encode()), url)


FORMATS: Mapping[str, Format] = {
    "csv": Format(0.0, np.inf, 0, _csv),
    "nutch": Format(1.0, 90 * DAY, 2**31 - 1, _nutch),
    "stormcrawler": Format(60.0, np.inf, 2**31 - 1, _stormcrawler),
    "scrapy": Format(1.0, np.inf, 2**31 - 1, _scrapy),
}


def intervals_in(schedule: Schedule, form: str) -> NDArray[Any]:
    """The intervals of a schedule as a format can say them, in its units; seconds for CSV.

    Parameters
    ----------
    schedule : Schedule
    form : str
        A key of `FORMATS`.
    """
    unit = FORMATS[form].unit
    if not unit:
        return schedule.intervals
    if schedule.asked.tiers:
        return schedule.intervals / unit
    shortest, longest = interval_limits(schedule.asked, schedule.urls, schedule.is_new)
    return whole_intervals(
        schedule.intervals / unit,
        np.rint(np.asarray(shortest) / unit),
        np.rint(np.asarray(longest) / unit),
        schedule.limits,
        unit,
    )


def schedule_text(schedule: Schedule, form: str) -> str:
    """The file of a schedule.

    Parameters
    ----------
    schedule : Schedule
    form : str
        A key of `FORMATS`.
    """
    return FORMATS[form].text(schedule, intervals_in(schedule, form))


def unspent(schedule: Schedule, form: str) -> str:
    """What a format cannot spend of the budget, in a sentence; empty if it is next to nothing."""
    if schedule.by_signals is not None:
        return ""
    seconds = intervals_in(schedule, form) * (FORMATS[form].unit or 1.0)
    asked = schedule.asked
    of_gone = schedule.gone.visits_per_second * asked.least_cost
    spent = float(schedule.limits.spent(1 / seconds).sum()) + of_gone
    if abs(spent / asked.budget - 1) <= _NEXT_TO_NOTHING:
        return ""
    why = "The tiers spend" if asked.tiers else f"Whole intervals for {form} spend"
    planned = float(schedule.limits.spent(1 / schedule.intervals).sum()) + of_gone
    if not asked.tiers and planned < asked.budget * (1 - _NEXT_TO_NOTHING):
        why = "Within the limits of the hosts, where cheap pages come first, the plan spends"
    return f"{why} {schedule.limits.a_day(spent)} of {asked.in_words(asked.budget)} a day."


def limits_in(form: str, shortest: float, longest: float | None) -> tuple[float, float]:
    """The shortest and the longest interval, in seconds, that a format can say within two others.

    Parameters
    ----------
    form : str
        A key of `FORMATS`.
    shortest : float
    longest : float or None
        None for what the crawler keeps to as it is installed.
    """
    chosen = FORMATS[form]
    longest = chosen.longest if longest is None else longest
    if not chosen.unit:
        return shortest, longest
    least = max(math.ceil(shortest / chosen.unit), 1)
    most = math.floor(min(longest / chosen.unit, chosen.largest))
    return least * chosen.unit, most * chosen.unit


def newborn_for(text: str, form: str) -> tuple[float, float]:
    """For how long a page is new and the longest time between its visits, from ``AGE:EVERY``.

    Raises
    ------
    ScenarioError
        If it is not that.
    """
    age, colon, every = text.partition(":")
    if not colon:
        allowed = "must be two times, how long a page is new and how often it is visited: 7d:1d"
        raise ScenarioError("--newborn", text, allowed)
    seconds = [duration(each, "--newborn") for each in (age, every)]
    least, most = limits_in(form, 0.0, seconds[1])
    if seconds[0] < seconds[1] or most < least or not most:
        allowed = "must have the longer time first, and a time between visits that the format knows"
        raise ScenarioError("--newborn", text, allowed)
    return seconds[0], most


def rule_for(text: str, form: str) -> tuple[str, float, float]:
    """A pattern of URLs and the limits of their intervals in seconds, from ``PATTERN=min:max``.

    Raises
    ------
    ScenarioError
        If it is not that.
    """
    pattern, _, ends = text.rpartition("=")
    least, colon, most = ends.partition(":")
    if not pattern or not colon:
        allowed = "must be a pattern and two times, the shortest and the longest: */feed=1h:1d"
        raise ScenarioError("--rule-for", text, allowed)
    limits = [duration(each, "--rule-for") for each in (least, most)]
    limits = list(limits_in(form, *limits))
    if limits[0] > limits[1]:
        raise ScenarioError("--rule-for", text, "must have the shorter time first")
    return pattern, limits[0], limits[1]


def refuse_parts_of(form: str, tiers: Sequence[float]) -> None:
    """Refuse tiers, in seconds, that are not whole numbers of the units of a format.

    Raises
    ------
    ScenarioError
        Naming the first of them.
    """
    unit = FORMATS[form].unit
    for seconds in tiers:
        if unit and seconds % unit:
            allowed = f"must be whole {'minutes' if unit == 60 else 'seconds'} for {form}"
            raise ScenarioError("--tiers", in_words(seconds), allowed)


def whole_intervals(
    intervals: Array, least: float | Array, most: float | Array, limits: Limits, unit: float
) -> NDArray[np.int64]:
    """Whole intervals that spend as much as the given ones, and keep to the limits of the hosts.

    Parameters
    ----------
    intervals : ndarray, shape (pages,)
        In units.
    least, most : float or ndarray, shape (pages,)
        Of the whole intervals: whole numbers.
    limits : Limits
        Whose budget is spent, and whose host limits are kept.
    unit : float
        In seconds.

    Notes
    -----
    Each interval is rounded up, or down where what was saved so far pays for it, in visits or bytes
    over all pages and in visits on the host; the shortest intervals, of which rounding costs most,
    come first.
    """
    up = np.clip(np.ceil(intervals), least, most).astype(np.int64)
    down = np.clip(np.floor(intervals), least, most).astype(np.int64)
    exact = 1 / intervals
    saved = exact - 1 / up
    cost = 1 / down - exact
    earned, paid, price = saved, cost, np.ones(len(intervals))
    if (takes := limits.takes) is not None:
        now = takes(exact / unit)
        earned = now - takes(1 / (up * unit))
        paid = takes(1 / (down * unit)) - now
        price = now / exact  # of a visit: none more of the page costs as much
    spent = np.bincount(limits.host, exact, len(limits.host_budgets))
    of_host = np.asarray(limits.host_budgets * unit - spent).tolist()
    hosts = limits.host.tolist()
    fewest = np.broadcast_to(least, len(intervals)).tolist()
    in_hand = 0.0
    in_all = float((price * exact).sum())
    nothing = _NOTHING * in_all
    result = up.copy()
    ordered = but_for_rounding(intervals)
    for page in np.argsort(ordered, kind="stable").tolist():
        host = hosts[page]
        if paid[page] <= in_hand + nothing and cost[page] <= of_host[host]:
            result[page] = down[page]
            in_hand -= paid[page]
            of_host[host] -= cost[page]
        else:
            in_hand += earned[page]
            of_host[host] += saved[page]
    for page in np.argsort(-ordered, kind="stable").tolist():
        if in_hand <= _UNSPENT * in_all:
            break
        host = hosts[page]
        before = int(result[page])
        most_visits = 1 / before + min((in_hand + nothing) / price[page], of_host[host])
        result[page] = min(max(math.ceil(1 / most_visits), fewest[page]), before)
        more = 1 / int(result[page]) - 1 / before
        in_hand -= price[page] * more
        of_host[host] -= more
    return result
