"""A schedule from a log: which page is visited how often, what that promises, and what it paid."""

from __future__ import annotations

import fnmatch
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crawlsim.logs.fit.shared_prior import Estimates, Groups, groups_of
from crawlsim.logs.fit.with_signals import HostWorth
from crawlsim.logs.plan import allocation
from crawlsim.logs.plan.allocation import (
    DAY,
    Limits,
    leave_room,
    most_possible,
    refuse_what_cannot_be,
)
from crawlsim.logs.plan.byte_budget import ByteBudget, roughly_even_visits, sizes_of
from crawlsim.logs.plan.gone import RECHECK, Gone, recheck_rates
from crawlsim.logs.plan.hours import ActiveHours
from crawlsim.logs.plan.planning import (
    CAUTIOUS_SHARE,
    OBJECTIVES,
    Forecast,
    even_share_of,
    expected_bytes,
    expected_costs,
    forecast_of,
    left_fresh,
    planned,
    stale_of,
    stale_shares,
)
from crawlsim.logs.plan.quantities import bytes_in_words, day_of, in_words
from crawlsim.logs.plan.replay import (
    Changes,
    Trial,
    Verdict,
    Window,
    backtest,
    histories_of,
    verdict_of,
)
from crawlsim.logs.plan.signal_levels import LevelPlan
from crawlsim.logs.read.columns import DATE_FORM
from crawlsim.logs.read.doubt import Doubt, always_changed, doubt_of
from crawlsim.logs.read.gaps import YEAR, Gaps, gaps_of_changes, gaps_of_visits
from crawlsim.logs.read.log import ChangeLog, VisitLog
from crawlsim.logs.read.page_names import site_key
from crawlsim.logs.read.states import GONE_AFTER, PAGE, REDIRECT, no_page_in, states_of
from scenarios import ScenarioError
from scenarios.arrays import Array
from scenarios.base import listed, one_of
from scenarios.errors import MISSING
from scenarios.results import html_of
from scenarios.text import counted, quantity, shortened

if TYPE_CHECKING:
    import pandas as pd

MORE_BUDGET = 0.2
"""Share by which the budget is made larger, to see what that would be worth."""

_FEWEST_VISITS = 2
_RAREST = 1e-6
"""Of the mean, visits of a page that a rule would never visit; every interval is a number."""
_FEW_LATE = 0.001
_SHORTEST_SEEN = 60.0
"""Seconds between two visits of a page; a shorter time is a slip in the budget."""

_LONGEST_NAME = 80
_MOVED_SHARE = 0.1
_NEXT_TO_NOTHING = 1e-3

AnyLog = VisitLog | ChangeLog

RULES = ("freshness", *allocation.RULES_OF_OTHERS)
"""How a budget can be shared out: our plan, and rules of others with the same rates."""


@dataclass(frozen=True)
class LogRequest:
    """What a schedule is to keep to.

    Attributes
    ----------
    visits : float
        Visits per second, all pages together; where `bytes` is given how many of them there are
        follows, and this number is not looked at.
    shortest, longest : float
        Seconds between two visits of a page; 0 and infinity for no limit.
    host_spacing : float
        Seconds between two visits of a host.
    host_visits : mapping str -> float
        Visits per second of some hosts.
    host_delays : mapping str -> float
        Seconds between two visits of some hosts; of others `host_spacing`.
    weights : mapping str -> float, optional
        Importance of some URLs; others weigh 1, or the least of these if that is below 1. Default:
        all alike.
    until : float, optional
        Seconds since 1970 when the watch ended; what is later does not count.
    longest_by : str
        Who set `longest`, for a refusal.
    tiers : sequence of float
        Seconds between two visits that the crawler knows, where it knows only a few.
    rules_for : sequence of (str, float, float)
        Pattern of URLs, and seconds between two visits of such a page: least and most. The first
        that fits counts, in place of `shortest` and `longest`.
    classes : sequence of (str, str)
        Name of a class of pages, and the pattern of their URLs; the rest is "other".
    rule : str
        A key of `RULES`.
    objective : str
        What visits are to make best: one of `OBJECTIVES`.
    backtest : bool
        Whether plans of earlier years are replayed.
    even : float, optional
        Share of the budget that is spread evenly, 0 to 1; default by the length of the log.
    newborn : pair of float, optional
        Seconds since its first sight for which a page is new, and the longest time between two
        visits of it as long as it is.
    hours : ActiveHours, optional
        In which pages are visited; default always.
    gone_after : int
        Errors and redirects in a row after which a URL is gone.
    recheck : float
        Seconds between two visits of a URL that is gone; infinite for none.
    bytes : ByteBudget, optional
        The budget, where it is one of bytes.
    """

    visits: float
    shortest: float = 0.0
    longest: float = np.inf
    host_spacing: float = 0.0
    host_visits: Mapping[str, float] = field(default_factory=dict)
    host_delays: Mapping[str, float] = field(default_factory=dict)
    weights: Mapping[str, float] | None = None
    until: float | None = None
    longest_by: str = "--max"
    tiers: Sequence[float] = ()
    rules_for: Sequence[tuple[str, float, float]] = ()
    classes: Sequence[tuple[str, str]] = ()
    rule: str = "freshness"
    objective: str = "freshness"
    backtest: bool = False
    even: float | None = None
    newborn: tuple[float, float] | None = None
    hours: ActiveHours | None = None
    gone_after: int = GONE_AFTER
    recheck: float = RECHECK
    bytes: ByteBudget | None = None

    @property
    def budget(self) -> float:
        """Visits or bytes per second."""
        return self.visits if self.bytes is None else self.bytes.per_second

    @property
    def least_cost(self) -> float:
        """What a visit takes of the budget at least."""
        return 1.0 if self.bytes is None else self.bytes.unchanged

    def in_words(self, budget: float) -> str:
        """A part of the budget, per second, as what it is a day."""
        if self.bytes is None:
            return quantity(f"{budget * DAY:.6g}", "visit")
        return bytes_in_words(budget * DAY)

    def __post_init__(self) -> None:
        """Refuse what does not go together.

        Raises
        ------
        ScenarioError
            Naming the option.
        """
        if self.shortest > self.longest:
            allowed = f"must be at most {self.longest_by}, {in_words(self.longest)}"
            raise ScenarioError("--min", in_words(self.shortest), allowed)
        if self.tiers:
            others = {
                "--min": self.shortest > 0,
                "--max": np.isfinite(self.longest),
                "--host-spacing": self.host_spacing > 0,
                "--host-visits": bool(self.host_visits),
                "--robots": bool(self.host_delays),
                "--rule-for": bool(self.rules_for),
                "--newborn": self.newborn is not None,
            }
            for option, is_given in others.items():
                if is_given:
                    tiers = listed([in_words(each) for each in self.tiers])
                    raise ScenarioError("--tiers", tiers, f"does not go with {option}")
        if self.newborn is not None and self.newborn[1] < self.shortest:
            allowed = f"must be at least --min, {in_words(self.shortest)}"
            raise ScenarioError("--newborn", in_words(self.newborn[1]), allowed)
        if self.hours is not None and self.backtest:
            allowed = "does not go with --active: it replays visits at all hours"
            raise ScenarioError("--backtest", MISSING, allowed)
        if self.rule not in RULES:
            raise ScenarioError("--rule", self.rule, f"must be {one_of(self.rule, RULES)}")
        if self.objective not in OBJECTIVES:
            allowed = f"must be {one_of(self.objective, OBJECTIVES)}"
            raise ScenarioError("--objective", self.objective, allowed)
        if self.objective != "freshness" and self.rule != "freshness":
            allowed = "does not go with --rule, which is for freshness"
            raise ScenarioError("--objective", self.objective, allowed)
        self._refuse_beside_bytes()

    def _refuse_beside_bytes(self) -> None:
        """Refuse what does not go with a budget of bytes."""
        if self.bytes is None:
            return
        asked = f"{self.in_words(self.bytes.per_second)}/day"
        if self.objective != "freshness":
            allowed = f"does not go with --objective {self.objective}, which counts visits"
            raise ScenarioError("--budget", asked, allowed)
        if self.hours is not None:
            allowed = "does not go with --active: what changes by night is not counted"
            raise ScenarioError("--budget", asked, allowed)


@dataclass(frozen=True)
class Share:
    """An expected share of time out of date, or another cost, with a 95 % interval over draws."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, repr=False)
class Schedule:
    """How often each page is to be visited, and what is known of it.

    Attributes
    ----------
    urls : ndarray of str, shape (pages,)
    intervals : ndarray, shape (pages,)
        Seconds between two visits.
    estimates : Estimates
        Change rates per second over the whole log.
    visits, changes : ndarray of int, shape (pages,)
        Observations of each page, the first included, and those that found another state; of a log
        of changes the visits that are imagined to see them, and all changes.
    even_share : float
        Of the budget, spread evenly.
    expected : mapping str -> Share, optional
        Stale share of the plan ("plan") and of other rules at the same budget; None where the log
        cannot be believed.
    is_new : ndarray of bool, shape (pages,)
        Pages that were first seen not long before the end of the log, if that was asked for.
    of_changes : bool
        Whether the log has exact times of changes.
    no_promise : str
        Why there is none, in a sentence.
    with_more : float, optional
        Stale share of the plan for a budget larger by `MORE_BUDGET`; None where nothing is
        promised or the limits leave no room.
    windows : list of Window, optional
        Of the back-test; None where it was not asked for.
    forecast : Forecast
    asked : LogRequest
    limits : Limits
    importance : ndarray, shape (pages,)
    gaps : Gaps
    gone : Gone
        The URLs that are not planned.
    by_signals : LevelPlan, optional
        When pages are due by their signals; `intervals` are then those in the mean.
    hosts : sequence of HostWorth
        What the signals of hosts are worth.
    notes : tuple of str
    """

    urls: NDArray[np.object_]
    intervals: Array
    estimates: Estimates
    visits: NDArray[np.int64]
    changes: NDArray[np.int64]
    even_share: float
    expected: Mapping[str, Share] | None
    windows: list[Window] | None
    forecast: Forecast
    asked: LogRequest
    limits: Limits
    importance: Array
    gaps: Gaps
    gone: Gone
    is_new: NDArray[np.bool_]
    of_changes: bool = False
    no_promise: str = ""
    with_more: float | None = None
    by_signals: LevelPlan | None = None
    hosts: Sequence[HostWorth] = ()
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<Schedule of {self._headline()}>"

    def _repr_html_(self) -> str:
        return html_of(self.to_frame(), f"Schedule of {self._headline()}")

    def _headline(self) -> str:
        """How many pages and visits, and what that promises."""
        pages = counted(len(self.urls), "page")
        visits = quantity(f"{self.spent * DAY:.4g}", "visit")
        if self.asked.bytes is not None:
            visits = self.asked.in_words(self.asked.budget)
        plan = None if self.expected is None else self.expected["plan"]
        stale = "no promise" if plan is None else f"{plan.mean:.1%} of the time out of date"
        return f"{pages}: {visits} a day, {stale}"

    def to_frame(self) -> pd.DataFrame:
        """The pages, one row each: days between two visits, and what the log has of them."""
        import pandas as pd

        days = self.intervals / DAY
        seen = {"visits": self.visits, "changes": self.changes}
        return pd.DataFrame({"url": self.urls, "days": days, **seen})

    @property
    def verdict(self) -> Verdict | None:
        """Whether it pays, by the back-test."""
        return None if self.windows is None else verdict_of(self.windows)

    @property
    def why(self) -> list[str]:
        """Where each interval comes from, in a few words."""
        watched = np.maximum(self.gaps.end - self.gaps.first, 0.0).tolist()
        seen = zip(self.visits.tolist(), self.changes.tolist(), watched, strict=True)
        if self.of_changes:
            why = [reason_of_changes(changes, each) for _, changes, each in seen]
        else:
            why = [reason(visits, changes) for visits, changes, _ in seen]
        if self.by_signals is not None:
            due = zip(self.by_signals.due.levels, self.by_signals.due.worths, strict=True)
            why = [
                f"{each}; {due_in_words(level, worth)}"
                for each, (level, worth) in zip(why, due, strict=True)
            ]
        for page in np.flatnonzero(self.is_new).tolist():
            why[page] = f"newborn: first seen {in_words(watched[page])} before the end; {why[page]}"
        return why

    @property
    def newborn(self) -> dict[str, Any] | None:
        """How many pages are new and what they take, for JSON; None if it was not asked for."""
        if self.asked.newborn is None:
            return None
        visits = float((1 / self.intervals[self.is_new]).sum()) * DAY
        return {"pages": int(self.is_new.sum()), "visits_per_day": visits}

    @property
    def spent(self) -> float:
        """Visits per second of all URLs, those that are gone included."""
        return float((1 / self.intervals).sum()) + self.gone.visits_per_second

    @property
    def bytes_of_pages(self) -> Array | None:
        """Bytes per second that each page is expected to take; None where visits are counted."""
        fetched = self.forecast.fetched
        return None if fetched is None else fetched.bytes(1 / self.intervals)

    def bytes(self) -> Share:
        """Bytes per second that the plan is expected to fetch, where the budget is one of them."""
        pages = share_of(expected_bytes(self.forecast, 1 / self.intervals))
        gone = self.gone.visits_per_second * self.asked.least_cost
        return Share(pages.mean + gone, pages.low + gone, pages.high + gone)

    def cost(self, objective: str) -> Share:
        """What the plan is expected to cost by an objective, as `expected_costs` has it."""
        return share_of(
            expected_costs(self.forecast, 1 / self.intervals, self.importance, objective)
        )

    @property
    def last_seen(self) -> Array:
        """When each page was last visited; the end of the log where it never was."""
        seen = np.where(np.isfinite(self.gaps.first), self.gaps.first, self.gaps.end)
        seen[self.gaps.page] = self.gaps.start + self.gaps.length  # the last gap of a page stays
        return seen

    @property
    def of_classes(self) -> list[dict[str, Any]]:
        """Number, visits and stale share of the pages of each class, the first that fits each."""
        left = np.ones(len(self.urls), bool)
        found = []
        visits = 1 / self.intervals
        for name, pattern in (*self.asked.classes, ("other", "*")):
            some = left & fitting(pattern, self.urls)
            left &= ~some
            found.append((name, some))
        return [
            {
                "class": name,
                "pages": int(some.sum()),
                "visits_per_day": float(visits[some].sum()) * DAY,
                "stale": None
                if self.expected is None or not some.any()
                else self._stale_of(visits, some),
            }
            for name, some in _joined(found)
        ]

    def _stale_of(self, visits: Array, some: NDArray[np.bool_]) -> float:
        """Expected share of time for which some of the pages are out of date."""
        if self.by_signals is None:
            return stale_of(self.forecast, visits, self.importance, some)
        stale = self.by_signals.stale()[some].mean(axis=1)
        return float(np.average(stale, weights=self.importance[some]))

    def saving(self, over: str) -> float | None:
        """Share of the expected stale time of another rule that the plan saves."""
        assert self.expected is not None
        other = self.expected[over].mean
        return 1 - self.expected["plan"].mean / other if other > 0 else None

    @property
    def advised_even(self) -> float | None:
        """Even share that the back-test speaks for, where that is more than the plan has."""
        verdict = self.verdict
        if verdict is None or verdict == "pays":
            return None
        advised = CAUTIOUS_SHARE if verdict == "unknown" else 1.0
        return advised if advised > self.even_share else None

    def _bytes_record(self) -> dict[str, float]:
        """What is fetched in a day, in bytes."""
        share = self.bytes()
        return {"expected": share.mean * DAY, "low": share.low * DAY, "high": share.high * DAY}

    def record(self) -> dict[str, Any]:
        """The entries for JSON."""
        expected = None
        savings = None
        if self.expected is not None:
            plan = self.expected["plan"]
            expected = {"stale": plan.mean, "low": plan.low, "high": plan.high}
            expected |= {name: each.mean for name, each in self.expected.items() if name != "plan"}
            for objective in () if self.by_signals else ("delay", "harmonic"):
                cost = self.cost(objective)
                expected |= {
                    objective: cost.mean,
                    f"{objective}_low": cost.low,
                    f"{objective}_high": cost.high,
                }
            savings = {name: self.saving(name) for name in self.expected if name != "plan"}
        tested = None
        if self.windows is not None:
            windows = [
                {
                    "promised": each.promised,
                    "paid": each.paid,
                    "cut": day_of(each.cut),
                    "pages": each.pages,
                    **({} if each.bytes is None else {"bytes_per_day": each.bytes * DAY}),
                }
                for each in self.windows
            ]
            tested = {
                "windows": windows,
                "verdict": self.verdict,
                "advised_even": self.advised_even,
            }
        more = None
        if self.with_more is not None:
            more = {"share": MORE_BUDGET, "stale": self.with_more}
        return {
            "pages": len(self.urls),
            "gone": self.gone.record(),
            "budget_per_day": self.asked.budget * DAY,
            "budget_of": "visits" if self.asked.bytes is None else "bytes",
            "bytes_per_day": None if self.asked.bytes is None else self._bytes_record(),
            "visits_per_day": self.spent * DAY,
            "objective": self.asked.objective,
            "even_share": self.even_share,
            "expected": expected,
            "expected_reason": self.no_promise or None,
            "savings": savings,
            "more_budget": more,
            "newborn": self.newborn,
            "classes": self.of_classes if self.asked.classes else None,
            "backtest": tested,
            "signals": [each.record() for each in self.hosts] if self.by_signals else None,
            "notes": list(self.notes),
        }


def _joined(
    classes: Sequence[tuple[str, NDArray[np.bool_]]],
) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """The pages of each class, of which several patterns may have a part."""
    for name in dict.fromkeys(name for name, _ in classes):
        yield name, np.logical_or.reduce([some for own, some in classes if own == name])


IN_WORDS = {
    "plan": "this plan",
    "by_visits": "planned by visits, whatever their bytes",
    "without_signals": "this plan without signals",
    "uniform": "uniform",
    "proportional": "in proportion to the rate",
    "half_and_half": "half uniform, half in proportion",
    "lambdacrawl": "LambdaCrawl",
    "azar": "Azar et al.",
}
"""What `Schedule.expected` compares, as tables call it."""


COST_IN_WORDS = {"freshness": "stale time", "delay": "delay", "harmonic": "LambdaCrawl's cost"}
"""What visits are to make small, by the objective that is asked for."""


def reason(visits: int, changes: int) -> str:
    """Where the interval of a page comes from; has the word "prior" below two visits."""
    if visits == 0:
        return "prior: no observation"
    if visits < _FEWEST_VISITS:
        return "prior: seen once"
    times = counted(visits - 1, "visit")
    if not changes:
        return f"no change at {times}"
    at_least = "at least: " if always_changed(visits, changes) else ""
    return f"{at_least}changed at {changes} of {times}"


def due_in_words(level: float, worth: float) -> str:
    """When a page is due, in seconds since its last visit and by what a signal counts for."""
    due = f"due after {in_words(level)}"
    if worth < _NEXT_TO_NOTHING * level:
        return f"{due}; a signal counts for nothing"
    number = math.ceil(level / worth * (1 - _NEXT_TO_NOTHING))
    at_once = "the first" if number == 1 else str(number)
    return f"{due}; each signal counts for {in_words(worth)}; at once with {at_once}"


def reason_of_changes(changes: int, watched: float) -> str:
    """The same of a page whose changes are known, from how long it was watched."""
    if not watched:
        return "prior: not watched"
    return f"{counted(changes, 'change') if changes else 'no change'} in {in_words(watched)}"


def schedule_of(log: AnyLog, asked: LogRequest) -> Schedule:
    """The schedule for the pages of a log.

    Raises
    ------
    ScenarioError
        If the log has no dates or shows no page twice, or the limits cannot be kept.
    """
    if not log.dated:
        raise log.refused(
            "holds times that are numbers, and visits are planned by dates: write "
            f"{DATE_FORM} or Unix seconds; fit takes numbers as they are"
        )
    all_urls = log.urls
    if asked.until is not None and len(log.time) and asked.until < log.time.min():
        begin = day_of(float(log.time.min()))
        raise ScenarioError("--until", day_of(asked.until), f"is before the log begins, on {begin}")
    late = 0
    if asked.until is not None:
        log, late = log.up_to(asked.until)
    log, gone, limits, host_names, is_new = _planned_pages(log, asked)
    pages = len(log.urls)
    costs, of_sizes = _costs(log, asked)
    visits_in_all = limits.budget
    if costs is not None:
        visits_in_all = roughly_even_visits(limits.budget, *costs, _rough_rate(log))
    interval = pages / visits_in_all
    gaps = _gaps(log, interval, asked.until)
    by = _who_set_longest(asked, is_new)
    if costs is None:
        refuse_what_cannot_be(limits, host_names, by)
    importance = _importance(log.urls, asked.weights)
    groups = groups_of(log.urls)
    forecast = forecast_of(gaps, groups, 1 / interval, costs=costs)
    forecast = replace(forecast, hours=asked.hours)
    if forecast.fetched is not None:
        limits = replace(limits, takes=forecast.fetched.bytes)
        refuse_what_cannot_be(limits, host_names, by)
        interval = pages / float(allocation.evenly(limits).sum())
    windows = None
    even_share = even_share_of(gaps) if asked.even is None else asked.even
    if asked.backtest:
        of_pages = interval_limits(asked, log.urls)
        limits_then = _limits(
            limits.budget, of_pages, limits.host, limits.host_budgets, asked.least_cost
        )
        tried = _Tried(limits_then, groups, 1 / interval, costs, importance, asked)
        histories = histories_of(gaps, forecast.estimates.rates)
        if isinstance(log, ChangeLog):
            later = np.diff(log.page, prepend=-1) == 0  # the first row only opens the watch
            histories = [Changes(log.page[later].astype(np.int64), log.time[later])]
        windows = backtest(gaps, histories, tried.at, asked.objective)
    visits = _visits(forecast, importance, limits, asked, even_share)
    doubt = _doubt(log, gaps, interval)
    return Schedule(
        urls=log.urls,
        intervals=np.clip(1 / visits, *interval_limits(asked, log.urls, is_new)),
        estimates=forecast.estimates,
        visits=gaps.visits,
        changes=_changes(log, gaps),
        even_share=even_share,
        expected=None
        if doubt.reason
        else expected_of(forecast, visits, importance, limits, asked, gaps, even_share),
        with_more=None
        if doubt.reason
        else _with_more(forecast, importance, limits, asked, even_share),
        windows=windows,
        forecast=forecast,
        asked=asked,
        limits=limits,
        importance=importance,
        gaps=gaps,
        gone=gone,
        is_new=is_new,
        of_changes=isinstance(log, ChangeLog),
        no_promise=doubt.reason,
        notes=(
            *log.notes,
            *doubt.notes,
            *of_sizes,
            *_later_rows(late),
            *_doubts(gaps),
            *_of_gone(gone, pages, asked),
            *_other_spellings(gone, log.urls),
            *_of_newborn(is_new, visits, asked),
            *_too_often(visits),
            *_unheard(log, gaps.visits, visits),
            *_unmatched(all_urls, host_names, asked),
        ),
    )


class _Tried(NamedTuple):
    """Plans of earlier years.

    Attributes
    ----------
    limits : Limits
    groups : Groups
    visits_of_a_page : float
    costs : (ndarray, float), optional
        As those of `forecast_of`, of all pages.
    importance : ndarray, shape (pages,)
    asked : LogRequest
    """

    limits: Limits
    groups: Groups
    visits_of_a_page: float
    costs: tuple[Array, float] | None
    importance: Array
    asked: LogRequest

    def at(self, known: Gaps, some: NDArray[np.int64]) -> Trial:
        """Plan and even visits of some pages, from the gaps that were known."""
        costs = None if self.costs is None else (self.costs[0][some], self.costs[1])
        past = forecast_of(known, self.groups.of(some), self.visits_of_a_page, costs=costs)
        limits = replace(self.limits, takes=None if past.fetched is None else past.fetched.bytes)
        own = _limits_of_some(limits, some, len(self.importance))
        importance = self.importance[some]
        share = even_share_of(known) if self.asked.even is None else self.asked.even
        visits = _visits(past, importance, own, self.asked, share)
        even = allocation.evenly(own)
        expected = [
            expected_costs(past, each, importance, self.asked.objective).mean()
            for each in (visits, even)
        ]
        return Trial(some, visits, even, importance, float(1 - expected[0] / expected[1]), costs)


def even_schedule(log: AnyLog, asked: LogRequest, no_promise: str) -> Schedule:
    """The schedule of pages of which nothing is known: all are visited alike.

    Parameters
    ----------
    log : VisitLog or ChangeLog
        Whose times do not count.
    asked : LogRequest
    no_promise : str
        Why nothing is known.

    Raises
    ------
    ScenarioError
        If the limits cannot be kept.
    """
    if not len(log.time):
        raise log.refused("holds no page")
    log, gone, limits, host_names, is_new = _planned_pages(log, asked)
    refuse_what_cannot_be(limits, host_names, asked.longest_by)
    pages = len(log.urls)
    nothing = np.empty(0)
    end = float(log.time.max())
    unknown = np.full(pages, np.nan)
    estimates = Estimates(unknown, unknown, unknown)
    draws = np.zeros((pages, 1), np.uint8)
    worth = allocation.Worth(np.zeros(1), np.zeros((pages, 1), np.float32))
    return Schedule(
        urls=log.urls,
        intervals=1 / allocation.evenly(limits),
        estimates=estimates,
        visits=np.zeros(pages, np.int64),
        changes=np.zeros(pages, np.int64),
        even_share=1.0,
        expected=None,
        windows=None,
        forecast=Forecast(np.ones(1), draws, np.arange(pages), draws, worth, estimates),
        asked=asked,
        limits=limits,
        importance=_importance(log.urls, asked.weights),
        gaps=Gaps(
            page=np.empty(0, np.int32),
            start=nothing,
            length=nothing,
            changed=np.empty(0, bool),
            first=np.full(pages, np.inf),
            visits=np.zeros(pages, np.int64),
            begin=end,
            end=end,
            interval=np.inf,
        ),
        gone=gone,
        is_new=is_new,
        no_promise=no_promise,
    )


def _planned_pages(
    log: AnyLog, asked: LogRequest
) -> tuple[AnyLog, Gone, Limits, NDArray[np.object_], NDArray[np.bool_]]:
    """The log of the pages to be planned, the other URLs, what limits leave to the pages, which
    hosts there are, and which pages are new.

    Raises
    ------
    ScenarioError
        If there is no page.
    """
    hosts, host_names = _hosts(log.urls)
    states = np.zeros(len(log.urls), np.int8)
    visits = np.bincount(log.page, minlength=len(log.urls))
    changes = np.maximum(visits - 1, 0)  # of times of changes the first one opens the watch
    if isinstance(log, VisitLog):
        states = states_of(log, asked.gone_after)
        changes = np.bincount(log.page[log.changed], minlength=len(log.urls))
    if allowed := no_page_in(states):
        raise log.refused(allowed)
    is_planned = states == PAGE
    if asked.weights is not None:
        unwanted = {url for url, weight in asked.weights.items() if weight == 0}
        is_planned &= [url not in unwanted for url in log.urls.tolist()]
        if not is_planned.any():
            raise ScenarioError("--weights", 0, "no page of the log has a weight above 0")
    others = np.flatnonzero(~is_planned)
    budgets = _host_budgets(asked, host_names)
    rates = np.zeros(len(others))
    is_gone = states[others] != PAGE
    every = max(asked.tiers) if asked.tiers and np.isfinite(asked.recheck) else asked.recheck
    rates[is_gone] = recheck_rates(
        hosts[others[is_gone]], budgets, every, asked.budget / asked.least_cost
    )
    if asked.tiers:
        rates[rates < 1 / every] = 0.0  # the crawler cannot wait any longer
    with np.errstate(divide="ignore"):
        intervals = np.where(rates == 1 / every, every, 1 / rates)
    gone = Gone(log.urls[others], states[others], visits[others], changes[others], intervals)
    kept = np.flatnonzero(is_planned)
    budgets = budgets - np.bincount(hosts[others], rates, len(budgets))
    log = log.of_pages(kept)
    is_new = _are_new(log, asked)
    of_pages = interval_limits(asked, log.urls, is_new)
    left = asked.budget - gone.visits_per_second * asked.least_cost
    limits = _limits(left, of_pages, hosts[kept], budgets, asked.least_cost)
    return log, gone, limits, host_names, is_new


def _are_new(log: AnyLog, asked: LogRequest) -> NDArray[np.bool_]:
    """Which pages were first seen within the time for which they are new.

    Raises
    ------
    ScenarioError
        If the log covers no more than that.
    """
    is_new = np.zeros(len(log.urls), bool)
    if asked.newborn is None or not len(log.time):
        return is_new
    age = asked.newborn[0]
    end = float(log.time.max()) if asked.until is None else asked.until
    covered = end - float(log.time.min())
    if covered <= age:
        allowed = f"the log covers {in_words(covered)}, in which no page can be told to be new"
        raise ScenarioError("--newborn", in_words(age), allowed)
    opening = np.flatnonzero(np.diff(log.page, prepend=-1))
    is_new[log.page[opening]] = log.time[opening] > end - age
    return is_new


def _of_newborn(is_new: NDArray[np.bool_], visits: Array, asked: LogRequest) -> Iterator[str]:
    """What pages take that are new."""
    if asked.newborn is None:
        return
    age, every = map(in_words, asked.newborn)
    number = int(is_new.sum())
    are = "is" if number == 1 else "are"
    note = f"{counted(number, 'page')} {are} new, first seen within {age} of the end"
    if number:
        takes = f"{float(visits[is_new].sum()) * DAY:.3g}"
        of_all = f"of {asked.in_words(asked.visits)}" if asked.bytes is None else "visits"
        note += f": a visit every {every} or more, paid first, takes {takes} {of_all} a day"
    if asked.backtest:
        note += "; the back-test leaves them to the plan"
    yield f"{note}."


def _too_often(visits: Array) -> Iterator[str]:
    """That there is more budget than pages can use; no site bears such a plan."""
    often = int((visits * _SHORTEST_SEEN > 1.0).sum())
    if often:
        are = "page is" if often == 1 else "pages are"
        yield (
            f"{often:,} {are} visited more often than once a minute: the budget is more than these "
            "pages can use; a smaller one, or --min T, leaves hardly more of them stale."
        )


def _later_rows(late: int) -> Iterator[str]:
    if late:
        yield f"Left out, since later than --until: {counted(late, 'row')}."


def _of_gone(gone: Gone, pages: int, asked: LogRequest) -> Iterator[str]:
    """What became of URLs that are not pages, and what they would have cost."""
    numbers = {name: number for name, number in gone.numbers().items() if number}
    total = sum(numbers.values())
    if not total:
        return
    which = ", ".join(f"{number} {name}" for name, number in numbers.items())
    looks = gone.visits_per_second
    spent = "They get no visit"
    if looks:
        is_gone = gone.states != PAGE
        longest = float(gone.intervals[is_gone & np.isfinite(gone.intervals)].max())
        takes = f"{looks * DAY:.3g}"
        if asked.bytes is not None:
            takes = f"{asked.in_words(looks * asked.bytes.unchanged)}, as much as a 304 each,"
        spent = (
            f"A look at each every {in_words(longest)} takes {takes} of "
            f"{asked.in_words(asked.budget)} a day"
        )
        if longest > asked.recheck * (1 + 1e-9):
            spent += f" (a tenth at most: not every {in_words(asked.recheck)})"
    are = "is no longer a page" if total == 1 else "are no longer pages"
    note = f"{counted(total, 'URL')} {are}: {which}. {spent}, and no promise rests on them"
    if asked.bytes is None:
        even = asked.visits * DAY * total / (total + pages)
        note += f"; spread evenly they would have taken {even:.3g}"
    yield f"{note}."


def _other_spellings(gone: Gone, urls: NDArray[np.object_]) -> Iterator[str]:
    """Whether many redirects are spellings of pages of the plan, as after a move to https."""
    redirects = gone.urls[gone.states == REDIRECT].tolist()
    if len(redirects) < max(_MOVED_SHARE * len(urls), 1):
        return
    keys = set(map(site_key, urls.tolist()))
    moved = sum(site_key(url) in keys for url in redirects)
    if moved >= max(_MOVED_SHARE * len(urls), 1):
        are = "is a redirect and a spelling" if moved == 1 else "are redirects and spellings"
        yield (
            f"{counted(moved, 'URL')} {are} of pages that are planned (http and https, www.): with "
            "--pages site-key what was seen of them counts too."
        )


def _doubt(log: AnyLog, gaps: Gaps, interval: float) -> Doubt:
    """What speaks against a promise where a page is visited once in an interval."""
    doubt = doubt_of(log, gaps)
    watched = gaps.end - gaps.begin
    if watched >= interval:
        return doubt
    short = (
        f"The log covers {in_words(watched)}, less than the {in_words(interval)} in which the "
        "budget visits each page once: what happens between two visits was never watched."
    )
    return Doubt(f"{doubt.reason} {short}".strip(), (*doubt.notes, short))


def _doubts(gaps: Gaps) -> Iterator[str]:
    """Whether one wrong date at the end leaves the last years empty, by which a plan is made."""
    late = int((gaps.start + gaps.length > gaps.end - YEAR).sum())
    if late < _FEW_LATE * len(gaps.length) and gaps.end - gaps.begin > 2 * YEAR:
        yield (
            f"Of {len(gaps.length)} second and later visits {late} are in the last year of the "
            f"log, which ends on {day_of(gaps.end)}; if that date is wrong, --until leaves it out."
        )


def _unheard(log: AnyLog, seen: NDArray[np.int64], visits: Array) -> Iterator[str]:
    """How many pages have the prior's rate, and what those cost of which nothing is known."""
    once = int((seen < _FEWEST_VISITS).sum())
    if once:
        have = "was" if once == 1 else "were"
        how = "seen less than twice: see why, prior"
        if isinstance(log, ChangeLog):
            how = "watched for less than the time between two visits: their rates are the prior's"
        yield f"{once} of {counted(len(log.urls), 'page')} {have} {how}."
    silent = seen == 0
    if silent.any():
        budget = quantity(f"{float(visits[silent].sum()) * DAY:.3g}", "visit")
        go = "goes" if budget.startswith("1 ") else "go"
        pages = counted(int(silent.sum()), "page")
        yield f"Of {pages} there is no observation; {budget} a day {go} to them."


def _unmatched(
    urls: NDArray[np.object_], host_names: NDArray[np.object_], asked: LogRequest
) -> Iterator[str]:
    """Hosts and URLs of tables that no page of the log has."""
    hosts = set(host_names.tolist())
    for name in asked.host_visits:
        if name.lower() not in hosts:
            yield f"--host-visits: no page of the log is on {shortened(name, _LONGEST_NAME)!r}."
    if asked.weights is not None:
        known = len(asked.weights.keys() & set(urls.tolist()))
        if known < len(asked.weights):
            yield f"--weights: {len(asked.weights) - known} of its URLs are not in the log."


def _gaps(log: AnyLog, interval: float, until: float | None) -> Gaps:
    """The gaps of a log up to a time.

    Raises
    ------
    ScenarioError
        If nothing is left of it.
    """
    if not len(log.time):
        raise log.refused("holds no visit that found a page")
    if isinstance(log, ChangeLog):
        gaps = gaps_of_changes(log, interval, until)
    else:
        gaps = gaps_of_visits(log)
        gaps = gaps if until is None else gaps.before(until)
    if not len(gaps.page):
        seen = "watched for two intervals" if isinstance(log, ChangeLog) else "visited twice"
        allowed = f"show no page that was {seen}, which is the least that says how often it changes"
        raise log.refused(allowed)
    return gaps


def _who_set_longest(asked: LogRequest, is_new: NDArray[np.bool_]) -> str:
    """The option that a refusal of the longest time between two visits names."""
    by = asked.longest_by
    if asked.tiers or asked.rules_for:
        by = "--tiers" if asked.tiers else "--rule-for or --max"
    if is_new.any():
        by = "--newborn" if np.isinf(asked.longest) else f"--newborn or {by}"
    return by


def _costs(log: AnyLog, asked: LogRequest) -> tuple[tuple[Array, float] | None, list[str]]:
    """The bytes of each page and of an unchanged one, and what is assumed of them; None of visits.

    Raises
    ------
    ScenarioError
        If the budget is one of bytes, and nothing says the size of any page.
    """
    if asked.bytes is None:
        return None, []
    sizes, notes = sizes_of(asked.bytes, log)
    return (sizes, asked.bytes.unchanged), notes


def _rough_rate(log: AnyLog) -> float:
    """Changes per second of a page, all alike: those seen, over the time between visits."""
    watched = float(np.where(np.diff(log.page) == 0, np.diff(log.time), 0.0).sum())
    seen = int(log.changed.sum()) if isinstance(log, VisitLog) else len(log.page) - len(log.urls)
    return seen / watched if watched > 0 else 0.0


def _changes(log: AnyLog, gaps: Gaps) -> NDArray[np.int64]:
    """Changes of each page: all of them where they are known, else visits that found one."""
    if not isinstance(log, ChangeLog):
        return gaps.changes
    rows = log.page[log.time <= gaps.end]
    return np.maximum(np.bincount(rows, minlength=gaps.pages) - 1, 0)


def _visits(
    forecast: Forecast, importance: Array, limits: Limits, asked: LogRequest, even_share: float
) -> Array:
    """Visits per second of each page by the rule that is asked for."""
    if asked.rule in allocation.RULES_OF_OTHERS:
        rule = allocation.RULES_OF_OTHERS[asked.rule]
        visits = rule(forecast.estimates.rates, importance, limits)
    else:
        visits = planned(forecast, importance, limits, even_share, asked.objective)
    return _in_tiers(visits, asked, limits)


def _with_more(
    forecast: Forecast, importance: Array, limits: Limits, asked: LogRequest, even_share: float
) -> float | None:
    """Expected stale share with a larger budget; None where the limits leave no room for it."""
    limits = replace(limits, budget=(1 + MORE_BUDGET) * limits.budget)
    if not leave_room(limits):
        return None
    visits = _visits(forecast, importance, limits, asked, even_share)
    return float(stale_shares(forecast, visits, importance).mean())


def _in_tiers(visits: Array, asked: LogRequest, limits: Limits) -> Array:
    """The same visits in the tiers of the crawler, if it has some."""
    if not asked.tiers:
        return visits
    return allocation.in_tiers(visits, 1 / np.sort(asked.tiers)[::-1], limits)


def interval_limits(
    asked: LogRequest, urls: NDArray[np.object_], is_new: NDArray[np.bool_] | None = None
) -> tuple[float | Array, float | Array]:
    """The shortest and the longest interval that a page may have; of each, if they differ."""
    if asked.tiers:
        return min(asked.tiers), max(asked.tiers)
    newborn = asked.newborn if is_new is not None and is_new.any() else None
    if not asked.rules_for and newborn is None:
        return asked.shortest, asked.longest
    shortest = np.full(len(urls), asked.shortest)
    longest = np.full(len(urls), asked.longest)
    for pattern, least, most in reversed(asked.rules_for):
        some = fitting(pattern, urls)
        shortest[some] = least
        longest[some] = most
    if newborn is not None:
        assert is_new is not None
        longest[is_new] = np.minimum(longest[is_new], newborn[1])
        shortest[is_new] = np.minimum(shortest[is_new], newborn[1])
    return shortest, longest


def fitting(pattern: str, urls: NDArray[np.object_]) -> NDArray[np.bool_]:
    """Which URLs a pattern fits, in which ``*`` and ``?`` stand for anything."""
    fits = re.compile(fnmatch.translate(pattern)).match
    return np.fromiter((bool(fits(url)) for url in urls.tolist()), bool, len(urls))


def _hosts(urls: NDArray[np.object_]) -> tuple[NDArray[np.int64], NDArray[np.object_]]:
    """The host of each URL; names without one are on one host together."""
    import pandas as pd

    hosts = pd.Series(urls).str.extract(r"^[A-Za-z][\w+.-]*://(?:[^/?#@]*@)?([^/?#]*)")[0]
    index, names = pd.factorize(hosts.fillna("").str.lower().to_numpy(object))
    return index.astype(np.int64), np.asarray(names, object)


def _host_budgets(asked: LogRequest, names: NDArray[np.object_]) -> Array:
    """Visits per second that each host allows."""
    budgets = np.full(len(names), np.inf if asked.host_spacing == 0 else 1 / asked.host_spacing)
    places = {name: place for place, name in enumerate(names.tolist())}
    delays = ((name, 1 / delay) for name, delay in asked.host_delays.items())
    for name, most in (*asked.host_visits.items(), *delays):
        if name.lower() in places:
            place = places[name.lower()]
            budgets[place] = min(budgets[place], most)
    return budgets


def _limits(
    budget: float,
    intervals: tuple[float | Array, float | Array],
    hosts: NDArray[np.int64],
    host_budgets: Array,
    least_cost: float = 1.0,
) -> Limits:
    """The limits of pages with these shortest and longest intervals, on these hosts."""
    shortest, longest = map(np.asarray, intervals)
    rarest = _RAREST * budget / least_cost / len(hosts)
    with np.errstate(divide="ignore"):
        least = np.where(np.isinf(longest), rarest, 1 / longest)
        most = 1 / shortest
    return Limits(budget, least, most, hosts, host_budgets)


def _limits_of_some(limits: Limits, some: NDArray[np.int64], pages: int) -> Limits:
    """The limits of a part of the pages, with its part of the budget."""
    host = limits.host[some]
    least, most = (np.broadcast_to(each, pages)[some] for each in (limits.least, limits.most))
    own = replace(limits, least=least, most=most, host=host)
    return replace(own, budget=min(limits.budget * len(some) / pages, most_possible(own)))


def _importance(urls: NDArray[np.object_], weights: Mapping[str, float] | None) -> Array:
    if weights is None:
        return np.ones(len(urls))
    unnamed = min([1.0, *(weight for weight in weights.values() if weight > 0)])
    importance = np.array([weights.get(url, unnamed) for url in urls.tolist()])
    if not importance.any():
        raise ScenarioError("--weights", 0, "no URL of the log has a weight above 0")
    importance = importance / importance.max()  # so that no sum is infinite
    return importance / importance.mean()


def expected_of(
    forecast: Forecast,
    visits: Array,
    importance: Array,
    limits: Limits,
    asked: LogRequest,
    gaps: Gaps,
    even_share: float,
) -> dict[str, Share]:
    """Stale shares of the plan and of other rules that spend the same budget.

    The rate of a page that had changed at every visit has no upper end: at the upper end of each
    interval such pages are out of date all the time.
    """
    no_end = always_changed(gaps.visits, gaps.changes)
    plans = {
        name: rule(forecast.estimates.rates, importance, limits)
        for name, rule in allocation.RULES_OF_OTHERS.items()
    }
    half_and_half = (plans["uniform"] + plans["proportional"]) / 2
    plans |= {"half_and_half": half_and_half}
    if forecast.by_visits is not None:
        without_sizes = replace(forecast, worth=forecast.by_visits)
        plans |= {"by_visits": planned(without_sizes, importance, limits, even_share)}
    others = {name: _in_tiers(each, asked, limits) for name, each in plans.items()}
    plans = {"plan": visits} | others
    expected = {}
    for name, each in plans.items():
        share = share_of(stale_shares(forecast, each, importance))
        more = left_fresh(forecast, each, importance, no_end)
        expected[name] = replace(share, high=share.high + more)
    return expected


def share_of(draws: Array) -> Share:
    """Mean and 95 % interval of draws, which one more draw is in with that probability."""
    low, high = np.quantile(draws, [0.025, 0.975], method="weibull")
    return Share(float(draws.mean()), float(low), float(high))
