"""Plans by signals replayed in earlier years, and what they know of pages and limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from crawlsim.logs.fit.signal_worth import Beside, Draws, signals_beside
from crawlsim.logs.plan import by_signals
from crawlsim.logs.plan.allocation import Limits
from crawlsim.logs.plan.by_signals import imputed_beside, schedule_of_signals, with_signals
from crawlsim.logs.plan.replay import Changes, Window
from crawlsim.logs.plan.schedule import LogRequest, Schedule, schedule_of
from crawlsim.logs.plan.signal_levels import Due, LevelPlan, Rates, cycles, level_plan, replayed
from crawlsim.logs.read.gaps import YEAR, gaps_of_visits
from crawlsim.logs.read.log import VisitLog
from crawlsim.logs.read.signals import Heard, SignalLog
from experiments.signal_logs import DAY, START, Site, made_site
from scenarios.arrays import Array

LATE = 2
"""A page that was first visited after the first of the cuts."""
ONCE = 3
"""A page that was visited once before it."""
VISITS = 0.4 / DAY
IMPORTANCE = np.array([1.0, 2.0, 0.5, 3.0, 1.0])


@pytest.fixture(name="site", scope="module")
def site_of_three_years() -> Site:
    """Of three years and some days, two pages of which were hardly known at first."""
    site = made_site(5, 38, 1.0, 0.7, 0.6, np.random.default_rng(6))
    pages, number = site.log.page, np.arange(len(site.log.page)) % 38
    late = site.log.time > site.log.time.max() - 1.5 * YEAR
    kept = ~np.isin(pages, [LATE, ONCE]) | late | (pages == ONCE) & (number == 0)
    return site._replace(log=site.log.where(kept))


def true_draws(site: Site) -> dict[str, tuple[float, float, float]]:
    """Precision, silent changes and signals of each page, as they are."""
    heard = site.rates.true + site.rates.false
    rows = zip(site.rates.true / heard, site.rates.silent, heard, strict=True)
    return dict(zip(site.log.urls.tolist(), rows, strict=True))


class Told:
    """Stands for the posterior: the rates as they are, and what they were asked from."""

    def __init__(self, site: Site) -> None:
        self.rates = true_draws(site)
        self.asked: list[tuple[Beside, list[str]]] = []

    def __call__(self, beside: Beside, names: np.ndarray) -> Draws:
        self.asked.append((beside, names.tolist()))
        of_pages = np.array([self.rates[name] for name in names.tolist()])
        return Draws(*of_pages.T[:, :, None])


@pytest.fixture(name="plan_alone", scope="module")
def plan_without_signals(site: Site) -> Schedule:
    return replace(schedule_of(site.log, LogRequest(VISITS, even=0.5)), importance=IMPORTANCE)


def replayed_by(
    plan: Schedule, site: Site, signals: SignalLog, monkeypatch: pytest.MonkeyPatch
) -> tuple[Schedule, Told]:
    """The plan with its back-test, for which the changes are those that happened."""
    told = Told(site)
    monkeypatch.setattr(by_signals, "drawn", told)
    monkeypatch.setattr(
        by_signals, "imputed_beside", lambda *_: Changes(site.change_page, site.change_time)
    )
    return with_signals(plan, signals, backtest=True), told


def only_until(log: VisitLog, cut: float, pages: list[int]) -> VisitLog:
    kept = (log.time <= cut) & np.isin(log.page, pages)
    number = np.searchsorted(pages, log.page[kept]).astype(np.int32)
    return VisitLog(log.urls[pages], number, log.time[kept], log.changed[kept])


def signals_of(log: SignalLog, pages: list[int], begin: float, end: float) -> Heard:
    kept = (log.time <= end) & np.isin(log.page, pages)
    return Heard(np.searchsorted(pages, log.page[kept]), log.time[kept], begin, end)


def paid_by_hand(site: Site, window: Window, pages: list[int], limits: Limits) -> tuple[float, ...]:
    """Promised and paid, for pages numbered among themselves."""
    importance = IMPORTANCE[pages]
    rates = [true_draws(site)[name] for name in site.log.urls[pages].tolist()]
    draws = Draws(*np.array(rates).T[:, :, None])
    plan = level_plan(draws, importance, limits, 0.5)
    rows = Rates(*(each[pages] for each in site.rates))
    visits = np.full(len(pages), limits.budget / len(pages))

    def stale(due: Due) -> Array:
        length, fresh = cycles(rows, due)
        return importance @ (1 - fresh / length)

    evenly = Due(1 / visits, np.zeros(len(pages)), 0.0)
    heard = signals_of(site.signals, pages, site.log.time.min(), np.inf)
    kept = np.isin(site.change_page, pages)
    changes = (np.searchsorted(pages, site.change_page[kept]), site.change_time[kept])
    year = (window.cut, window.cut + YEAR)
    paid = replayed(changes, heard, plan, *year)
    as_many = np.full(len(pages), paid.visits.sum() / len(pages) / YEAR)
    even = LevelPlan(Due(1 / as_many, np.zeros(len(pages)), 0.0), as_many, None)
    cost = importance @ replayed(changes, heard, even, *year).stale
    return 1 - stale(plan.due) / stale(evenly), 1 - importance @ paid.stale / cost


def test_a_backtest_plans_from_what_was_known_and_pays_what_came(
    site: Site, plan_alone: Schedule, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each year by itself, from a log that ends at its cut, without the page that was not there."""
    plan, told = replayed_by(plan_alone, site, site.signals, monkeypatch)
    end = float(site.log.time.max())
    assert plan.windows is not None
    assert [each.cut for each in plan.windows] == pytest.approx([end - 2 * YEAR, end - YEAR])
    known = [[0, 1, 3, 4], [0, 1, 2, 3, 4]]
    assert len(told.asked) == 3
    for window, pages, (beside, names) in zip(plan.windows, known, told.asked[1:], strict=True):
        assert window.pages == len(pages)
        assert names == site.log.urls[pages].tolist()
        gaps = gaps_of_visits(only_until(site.log, window.cut, pages))
        heard = signals_of(site.signals, pages, plan.gaps.begin, window.cut)
        expected = signals_beside(replace(gaps, end=window.cut), heard)
        for found, right in zip(beside[1:], expected[1:], strict=True):
            np.testing.assert_array_equal(found, right)
        np.testing.assert_array_equal(beside.gaps.start, expected.gaps.start)
        limits = replace(
            plan.limits, budget=len(pages) * VISITS / 5, host=np.zeros(len(pages), np.int64)
        )
        promised, paid = paid_by_hand(site, window, pages, limits)
        assert window.promised == pytest.approx(promised, rel=1e-6)
        assert window.paid == pytest.approx(paid, rel=1e-6)


def test_years_in_which_nobody_listened_are_not_replayed(
    site: Site, plan_alone: Schedule, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Heard from less than a gap before the last cut on, or after it; or for part of a year."""
    end = float(site.log.time.max())
    time = site.signals.time

    last = np.argmax(np.where(time < end - YEAR, time, 0.0))
    signals = replace(site.signals, time=np.where(time == time[last], end - YEAR - 20 * DAY, time))

    def cuts_with(heard: np.ndarray) -> list[int]:
        plan, _ = replayed_by(plan_alone, site, signals.where(heard), monkeypatch)
        assert plan.windows is not None
        return [round((end - each.cut) / YEAR) for each in plan.windows]

    assert cuts_with(time >= time[last]) == []
    assert cuts_with(time > end - YEAR) == []
    assert cuts_with(time < end - 0.6 * YEAR) == [2]


def test_a_year_is_replayed_after_one_in_which_nothing_was_heard(
    site: Site, plan_alone: Schedule, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One signal, of a page not visited then, says that somebody listened."""
    end = float(site.log.time.max())
    time, page = site.signals.time, site.signals.page
    first = np.flatnonzero((page == LATE) & (time > end - 1.9 * YEAR))[0]
    heard = (time > end - YEAR) | (np.arange(len(time)) == first)
    plan, told = replayed_by(plan_alone, site, site.signals.where(heard), monkeypatch)
    assert plan.windows is not None
    assert [each.cut for each in plan.windows] == pytest.approx([end - YEAR])
    beside, _ = told.asked[1]
    assert set(beside.signals.tolist()) == {-1, 0}


def test_signals_after_the_end_that_is_asked_for_are_not_heard(
    site: Site, plan_alone: Schedule, monkeypatch: pytest.MonkeyPatch
) -> None:
    until = float(site.log.time.max()) - 1.5 * YEAR
    told = Told(site)
    monkeypatch.setattr(by_signals, "drawn", told)
    with_signals(replace(plan_alone, asked=LogRequest(VISITS, until=until)), site.signals)
    ((beside, _),) = told.asked
    counted = (site.signals.time > plan_alone.gaps.first[site.signals.page]) & (
        site.signals.time <= until
    )
    expected = np.bincount(site.signals.page[counted], minlength=5)
    assert beside.heard.tolist() == expected.tolist()
    assert expected[LATE] == 0 < expected.sum()


def test_pages_that_never_change_save_nothing(
    site: Site, plan_alone: Schedule, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A year without a change costs nothing, whatever the plan."""
    monkeypatch.setattr(by_signals, "drawn", Told(site))
    never = Changes(np.empty(0, np.int64), np.empty(0))
    monkeypatch.setattr(by_signals, "imputed_beside", lambda *_: never)
    plan = with_signals(plan_alone, site.signals, backtest=True)
    assert plan.windows is not None
    assert [each.paid for each in plan.windows] == [None, None]


def test_a_log_without_a_change_has_none_to_draw() -> None:
    log = VisitLog(
        np.array(["a"], object), np.zeros(3, np.int32), np.arange(3.0) * DAY, np.zeros(3, bool)
    )
    gaps = gaps_of_visits(log)
    heard = Heard(np.zeros(1, np.int64), np.array([0.5 * DAY]), 0.0, 2 * DAY)
    one = np.ones((1, 1)) / DAY
    found = imputed_beside(
        signals_beside(gaps, heard), heard, Draws(0.5 * one, one, one), np.random.default_rng(1)
    )
    assert (found.page.dtype, found.page.tolist()) == (np.int64, [])
    assert (found.time.dtype, found.time.tolist()) == (np.float64, [])


@pytest.mark.parametrize(("most", "budget"), [(9.0, 6.0), (2.0, 4.0)])
def test_some_pages_have_their_part_of_the_budget_as_far_as_they_may(
    most: float, budget: float
) -> None:
    """Two of three pages, with 6 of 9 visits, or two for each."""
    of_all = Limits(
        9.0, np.array([0.1, 0.2, 0.3]), most, np.array([0, 1, 1]), np.array([np.inf, np.inf])
    )
    some = by_signals._of_some(of_all, np.array([0, 2]))
    assert some.budget == pytest.approx(budget)
    assert np.asarray(some.least).tolist() == [0.1, 0.3]
    assert np.asarray(some.most).tolist() == [most, most]
    assert some.host.tolist() == [0, 1]


def test_signals_alone_stop_at_the_end_that_is_asked_for() -> None:
    signals = SignalLog(
        np.array(["https://a.org/1", "https://a.org/2"], object),
        np.array([0, 0, 1, 1], np.int32),
        START + DAY * np.array([0.0, 5.0, 1.0, 2.0]),
    )
    plan = schedule_of_signals(signals, LogRequest(1 / DAY, until=START + 2.5 * DAY))
    assert plan.no_promise == by_signals.NO_TRUTH
    assert plan.gaps.end <= START + 2.5 * DAY
    np.testing.assert_allclose(plan.by_signals.due.levels, 2 * DAY)
