"""A schedule for a crawler that hears signals of changes, and one from sitemaps alone."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crawlsim.logs.fit.clocks import further_events
from crawlsim.logs.fit.shared_prior import Estimates
from crawlsim.logs.fit.signal_worth import Beside, Draws, signals_beside
from crawlsim.logs.fit.with_signals import MOST_SAID, drawn, must_be_heard, worth_of_hosts
from crawlsim.logs.plan import allocation
from crawlsim.logs.plan.allocation import Limits, leave_room, most_possible
from crawlsim.logs.plan.planning import Forecast
from crawlsim.logs.plan.replay import Changes, Window, cuts
from crawlsim.logs.plan.schedule import (
    MORE_BUDGET,
    LogRequest,
    Schedule,
    even_schedule,
    expected_of,
    share_of,
)
from crawlsim.logs.plan.signal_levels import (
    EVEN_SHARE,
    LevelPlan,
    deaf,
    level_plan,
    replayed,
)
from crawlsim.logs.read.doubt import always_changed
from crawlsim.logs.read.gaps import YEAR, Gaps
from crawlsim.logs.read.log import ChangeLog
from crawlsim.logs.read.signals import Heard, SignalLog, heard_in
from scenarios import ScenarioError
from scenarios.arrays import Array
from scenarios.errors import MISSING

_IMPUTATIONS = 4
_SEED = 23
_MOST_CHANGES = 50.0


def refuse_beside_signals(asked: LogRequest) -> None:
    """Refuse what a plan by signals does not know.

    Raises
    ------
    ScenarioError
        Naming the option.
    """
    others = {
        "--tiers": bool(asked.tiers),
        "--active": asked.hours is not None,
        "--newborn": asked.newborn is not None,
        "--rule": asked.rule != "freshness",
        "--objective": asked.objective != "freshness",
        "--budget": asked.bytes is not None,
    }
    for option, is_given in others.items():
        if is_given:
            raise ScenarioError("--signals", MISSING, f"does not go with {option}")


def with_signals(schedule: Schedule, signals: SignalLog, *, backtest: bool = False) -> Schedule:
    """The schedule of the same pages for a crawler that hears signals.

    Parameters
    ----------
    schedule : Schedule
        Without them.
    signals : SignalLog
        Those after the end of its log tell how often pages signal.
    backtest : bool
        Whether plans of earlier years are replayed, with their signals.

    Raises
    ------
    ScenarioError
        If no page was visited twice while signals were heard.
    """
    asked = schedule.asked
    if asked.until is not None:
        signals, _ = signals.up_to(asked.until)
    gaps = schedule.gaps
    heard = heard_in(signals, schedule.urls, gaps.begin, gaps.end)
    beside = signals_beside(gaps, heard)
    must_be_heard(beside, heard)
    draws = drawn(beside, schedule.urls)
    even_share = EVEN_SHARE if asked.even is None else asked.even
    plan = level_plan(draws, schedule.importance, schedule.limits, even_share)
    hosts = worth_of_hosts(draws, beside, schedule.urls, is_believed=not schedule.no_promise)
    forecast = _forecast_by(draws, schedule.forecast)
    expected = None
    with_more = None
    if not schedule.no_promise:
        others = replace(asked, visits=schedule.limits.budget)
        before = 1 / schedule.intervals
        expected = expected_of(
            forecast,
            before,
            schedule.importance,
            schedule.limits,
            others,
            gaps,
            even_share,
        )
        of_plan = share_of(_stale(plan, schedule.importance))
        of_plan = replace(of_plan, high=of_plan.high + _left_fresh(schedule, plan))
        expected = {"plan": of_plan, "without_signals": expected.pop("plan"), **expected}
        with_more = _with_more(draws, schedule.importance, schedule.limits, even_share)
    windows = None
    if backtest:
        windows = _backtest(schedule, beside, heard, draws, even_share)
    return replace(
        schedule,
        intervals=1 / plan.visits,
        estimates=forecast.estimates,
        even_share=even_share,
        expected=expected,
        with_more=with_more,
        windows=windows,
        forecast=forecast,
        by_signals=plan,
        hosts=hosts,
        notes=(*schedule.notes, *heard.notes, *(each.sentence for each in hosts[:MOST_SAID])),
    )


def _stale(plan: LevelPlan, importance: Array) -> Array:
    """Share of time out of date of all pages, for each draw."""
    return np.asarray(importance @ plan.stale() / importance.sum())


def _left_fresh(schedule: Schedule, plan: LevelPlan) -> float:
    """What of all time pages are fresh that had changed at every visit: no rate is too high."""
    no_end = always_changed(schedule.gaps.visits, schedule.gaps.changes)
    fresh = 1.0 - plan.stale()[no_end].mean(axis=1) if no_end.any() else np.zeros(0)
    return float(schedule.importance[no_end] @ fresh / schedule.importance.sum())


def _with_more(draws: Draws, importance: Array, limits: Limits, even_share: float) -> float | None:
    """Expected stale share with a larger budget; None where the limits leave no room for it."""
    limits = replace(limits, budget=(1 + MORE_BUDGET) * limits.budget)
    if not leave_room(limits):
        return None
    plan = level_plan(draws, importance, limits, even_share)
    return float(_stale(plan, importance).mean())


def _forecast_by(draws: Draws, before: Forecast) -> Forecast:
    """The forecast with the rates that visits and signals together leave possible."""
    changes = draws.changes
    step = np.log(before.grid[1] / before.grid[0])
    nearest = np.rint(np.log(changes / before.grid[0]) / step)
    index = np.clip(nearest, 0, len(before.grid) - 1).astype(np.uint8)
    ends = np.quantile(changes, [0.025, 0.975], axis=1, method="weibull")
    return replace(
        before,
        draws=index,
        sampled=np.arange(len(index)),
        together=index,
        estimates=Estimates(changes.mean(axis=1), *ends),
    )


NO_TRUTH = (
    "Signals without visits say when pages may have changed, and nothing of whether they had: "
    "precision and recall are unknown, and the plan is even."
)


def schedule_of_signals(signals: SignalLog, asked: LogRequest) -> Schedule:
    """A schedule of pages that were never visited: even, since signals alone tell no truth.

    Parameters
    ----------
    signals : SignalLog
    asked : LogRequest

    Raises
    ------
    ScenarioError
        If the limits cannot be kept.
    """
    if asked.until is not None:
        signals, _ = signals.up_to(asked.until)
    log = ChangeLog.of(signals.urls.tolist(), signals.page, signals.time, dated=signals.dated)
    even = even_schedule(log, asked, NO_TRUTH)
    return replace(even, by_signals=deaf(1 / even.intervals), notes=signals.notes)


class _Known(NamedTuple):
    """What was known at a cut."""

    gaps: Gaps
    heard: Heard
    pages: NDArray[np.int64]


def _known_at(cut: float, gaps: Gaps, heard: Heard) -> _Known:
    known = gaps.before(cut)
    pages = np.flatnonzero(known.visits > 0)
    index = np.full(gaps.pages, -1, np.int64)
    index[pages] = np.arange(len(pages))
    kept = (index[heard.page] >= 0) & (heard.time <= cut)
    own = Heard(index[heard.page[kept]], heard.time[kept], heard.begin, min(heard.end, cut))
    return _Known(known.of(pages), own, pages)


def _backtest(
    schedule: Schedule, beside: Beside, heard: Heard, draws: Draws, even_share: float
) -> list[Window]:
    """Plans fitted before each yearly cut, replayed with the signals of the year after.

    Notes
    -----
    Beside stand even visits, as many as the plan has then spent; both are replayed over the same
    changes, drawn at random where the visits leave it open when they were.
    """
    gaps = schedule.gaps
    rng = np.random.default_rng(_SEED)
    histories = [imputed_beside(beside, heard, draws, rng) for _ in range(_IMPUTATIONS)]
    windows = []
    for cut in cuts(gaps):
        known = _known_at(cut, gaps, heard)
        then = signals_beside(known.gaps, known.heard)
        if cut < heard.begin or cut + YEAR > heard.end + _SLACK:
            continue
        if not (then.signals >= 0).any():
            continue
        names = schedule.urls[known.pages]
        limits = _of_some(schedule.limits, known.pages)
        importance = schedule.importance[known.pages]
        past = drawn(then, names)
        plan = level_plan(past, importance, limits, even_share)
        even = LevelPlan(deaf(allocation.evenly(limits)).due, allocation.evenly(limits), past)
        promised = 1 - _stale(plan, importance).mean() / _stale(even, importance).mean()
        index = np.full(gaps.pages, -1, np.int64)
        index[known.pages] = np.arange(len(known.pages))
        now = index[heard.page] >= 0
        own = replace(heard, page=index[heard.page[now]], time=heard.time[now])
        costs = np.zeros(2)
        for changes in histories:
            some = index[changes.page] >= 0
            events = (index[changes.page[some]], changes.time[some])
            paid = replayed(events, own, plan, cut, cut + YEAR)
            as_many = even.visits * paid.visits.sum() / (YEAR * even.visits.sum())
            fair = replayed(events, own, deaf(as_many), cut, cut + YEAR)
            costs += importance @ paid.stale, importance @ fair.stale
        saved = float(1 - costs[0] / costs[1]) if costs[1] > 0 else None
        windows.append(Window(cut, len(known.pages), float(promised), saved))
    return windows


_SLACK = 86400.0


def _of_some(limits: Limits, pages: NDArray[np.int64]) -> Limits:
    """The limits of some pages, with their part of the budget."""
    number = len(limits.host)
    least, most = (np.broadcast_to(each, number)[pages] for each in (limits.least, limits.most))
    own = replace(limits, least=least, most=most, host=limits.host[pages])
    budget = limits.budget * len(pages) / number
    return replace(own, budget=min(budget, most_possible(own)))


def imputed_beside(beside: Beside, heard: Heard, draws: Draws, rng: np.random.Generator) -> Changes:
    """Change times that would have left this log beside these signals, drawn given both.

    Parameters
    ----------
    beside : Beside
    heard : Heard
    draws : Draws
        Whose means count.
    rng : Generator

    Notes
    -----
    In a gap with a change at least one thing happened: a silent change, or a signal was true. With
    the probability that silent changes have of it there are some, and each signal is true by
    itself; else there is none, and the first true signal is drawn among all.
    """
    gaps = beside.gaps
    silent = draws.silent.mean(axis=1)
    true = draws.true.mean(axis=1) / draws.heard.mean(axis=1)
    pages: list[NDArray[np.int64]] = []
    times: list[Array] = []
    of_page = np.searchsorted(heard.page, np.arange(gaps.pages + 1))
    rows = np.flatnonzero(gaps.changed)
    expected = np.minimum(silent[gaps.page[rows]] * gaps.length[rows], _MOST_CHANGES)
    some = -np.expm1(-expected)
    any_change = 1 - np.exp(-expected) * (1 - true[gaps.page[rows]]) ** np.maximum(
        beside.signals[rows], 0
    )
    is_silent = rng.random(len(rows)) * any_change < some
    further = further_events(expected, rng)
    for place, row in enumerate(rows.tolist()):
        page = int(gaps.page[row])
        begin, end = gaps.start[row], gaps.start[row] + gaps.length[row]
        signals = heard.time[of_page[page] : of_page[page + 1]]
        first, last = np.searchsorted(signals, [begin, end], "right")
        own = signals[first:last]
        believed = rng.random(len(own)) < true[page]
        found = []
        if is_silent[place] or not len(own):
            found.append(begin + gaps.length[row] * rng.random(1 + int(further[place])))
        elif not believed.any():
            chances = (1 - true[page]) ** np.arange(len(own))
            believed = rng.random(len(own)) < true[page]
            first_true = int(rng.choice(len(own), p=chances / chances.sum()))
            believed[: first_true + 1] = np.arange(first_true + 1) == first_true
        found.append(own[believed])
        moments = np.sort(np.concatenate(found))
        times.append(moments)
        pages.append(np.full(len(moments), page))
    if not times:
        return Changes(np.empty(0, np.int64), np.empty(0))
    return Changes(np.concatenate(pages), np.concatenate(times))
