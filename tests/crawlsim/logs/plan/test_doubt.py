"""What cannot be true is said, and carries no promise."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from log_files import write
from simulated_logs import DAY, YEAR, urls_of, visit_log

from crawlsim.logs.plan import schedule
from crawlsim.logs.plan.simulation import simulated_plan
from crawlsim.report.schedule_report import schedule_page
from crawlsim.scheduling import LogRequest, VisitLog, read_logs, schedule_of
from scenarios import ScenarioError

WEEK = 7 * DAY


def collapsed(pages: int, changed_every: int) -> VisitLog:
    """Six weekly visits of pages, all of which found a change but at some pages."""
    log = visit_log(np.full(pages, 1e9), np.full((pages, 6), WEEK))
    odd = log.page % changed_every == 0
    return replace(log, changed=log.changed & ~odd)


@pytest.mark.thorough
def test_an_index_without_repetitions_promises_nothing() -> None:
    plan = schedule_of(collapsed(40, 40), LogRequest(40 / WEEK))
    assert plan.expected is None
    assert plan.no_promise.startswith(
        "Of 40 pages seen three times or more 39 had changed at every"
    )
    record = plan.record()
    assert (record["expected"], record["savings"]) == (None, None)
    assert record["expected_reason"] == plan.no_promise
    assert plan.no_promise in plan.notes
    page = schedule_page(plan, None)
    assert "Nothing is promised. Of 40 pages" in page
    assert "Rules at equal budget" not in page
    with pytest.raises(ScenarioError, match="no promise to keep: Of 40 pages"):
        simulated_plan(plan)


def test_a_tenth_of_the_pages_without_a_change_and_it_may_be_true() -> None:
    plan = schedule_of(collapsed(40, 10), LogRequest(40 / WEEK))
    assert plan.expected is not None


def test_a_page_that_changed_at_every_visit_may_be_stale_all_the_time() -> None:
    log = visit_log(np.full(20, 0.02) / DAY, np.full((20, 10), WEEK))
    quiet = replace(log, changed=log.changed & (log.page > 0))
    lively = replace(
        log, changed=log.changed | ((log.page == 0) & (np.diff(log.page, prepend=-1) == 0))
    )
    plans = [schedule_of(each, LogRequest(20 / WEEK)) for each in (quiet, lively)]
    assert plans[1].why[0] == "at least: changed at 10 of 10 visits"
    assert "at least" not in plans[0].why[0]
    shares = [each.expected["plan"] for each in plans if each.expected is not None]
    rate = plans[1].estimates.rates[0]
    ratio = rate * plans[1].intervals[0]
    fresh = -np.expm1(-ratio) / ratio / 20
    assert shares[1].high - shares[1].mean > 0.8 * fresh + 0.5 * (shares[0].high - shares[0].mean)


@pytest.mark.parametrize(("wrong", "promised"), [(1, True), (8, False)])
def test_digests_and_signs_that_contradict_one_another(
    wrong: int, promised: bool, tmp_path: Path
) -> None:
    """200 gaps; one of them is noted, eight are too many."""
    rows = ["url,time,digest,changed"]
    for page in range(20):
        for week in range(11):
            changed = int(week > 0 and week % 5 == 0)
            shown = 1 - changed if week == 3 and page < wrong else changed
            time = 1_750_000_000 + week * 604_800
            rows.append(f"https://e.org/{page:02},{time},d{week // 5},{shown}")
    (path,) = write(tmp_path, "\n".join([*rows, ""]))
    log = read_logs([path])
    assert isinstance(log, VisitLog)
    assert (log.contradicted, log.compared) == (wrong, 200)
    plan = schedule_of(log, LogRequest(20 / WEEK))
    assert (plan.expected is not None) is promised
    assert any(f"contradict one another at {wrong} of 200 visits" in note for note in plan.notes)


def test_rows_after_until_are_counted() -> None:
    log = visit_log(np.full(5, 0.1) / DAY, np.full((5, 6), WEEK))
    until = float(log.time.min()) + 4.5 * WEEK
    plan = schedule_of(log, LogRequest(5 / WEEK, until=until))
    assert "Left out, since later than --until: 10 rows." in plan.notes
    assert plan.visits.tolist() == [5] * 5


def test_a_log_shorter_than_a_round_promises_nothing() -> None:
    log = visit_log(np.full(50, 0.1) / DAY, np.full((50, 5), DAY))
    assert schedule_of(log, LogRequest(50 / (4 * DAY))).expected is not None
    plan = schedule_of(log, LogRequest(50 / (6 * DAY)))
    assert plan.expected is None
    assert plan.no_promise.startswith("The log covers 5 days, less than the 6 days in which")


def test_what_more_budget_is_worth_is_what_it_would_promise() -> None:
    log = visit_log(np.linspace(0.001, 0.2, 50) / DAY, np.full((50, 20), WEEK))
    plan = schedule_of(log, LogRequest(50 / WEEK))
    more = schedule_of(log, LogRequest(60 / WEEK))
    assert plan.expected is not None
    assert more.expected is not None
    assert plan.with_more == pytest.approx(more.expected["plan"].mean, rel=0.01)
    assert plan.with_more < plan.expected["plan"].mean
    assert plan.record()["more_budget"] == {"share": 0.2, "stale": plan.with_more}
    full = schedule_of(log, LogRequest(50 / WEEK, shortest=0.9 * WEEK))
    assert full.with_more is None
    assert full.record()["more_budget"] is None


@pytest.mark.thorough
def test_a_back_test_changes_nothing_and_says_what_would_be_safer() -> None:
    """Pages that were busy for years and then asleep, while the others wake."""
    rng = np.random.default_rng(1)
    pages, years = 60, 5
    weeks = 52 * years
    time = np.tile(np.arange(weeks) * WEEK, pages) + 1.5e9
    page = np.repeat(np.arange(pages, dtype=np.int32), weeks)
    year = np.arange(weeks) // 52
    lively = (np.arange(pages)[:, None] + year) % 2 == 0  # each year the other half
    changed = rng.random((pages, weeks)) < np.where(lively, 0.3, 0.005)
    changed[:, 0] = False
    log = VisitLog(urls_of(pages), page, time, changed.ravel())
    plain = schedule_of(log, LogRequest(pages / WEEK))
    tested = schedule_of(log, LogRequest(pages / WEEK, backtest=True))
    assert tested.intervals.tolist() == plain.intervals.tolist()
    assert tested.verdict == "does not pay"
    assert tested.advised_even == 1.0
    even = schedule_of(log, LogRequest(pages / WEEK, even=1.0))
    assert np.ptp(even.intervals) == pytest.approx(0.0, abs=1e-6 * even.intervals[0])


@pytest.mark.parametrize(("late", "doubted"), [(0, True), (1, True), (2, False), (5, False)])
def test_a_last_year_with_less_than_a_thousandth_of_the_visits_may_be_a_wrong_date(
    late: int, doubted: bool
) -> None:
    """Of 2000 gaps in three years; none of a log of two years is doubted."""
    start = np.where(np.arange(2000) < late, 2.5 * YEAR, 1.0 * YEAR)
    gaps: Any = SimpleNamespace(start=start, length=np.full(2000, DAY), begin=0.0, end=3 * YEAR)
    notes = list(schedule._doubts(gaps))
    assert len(notes) == doubted
    assert all(f"Of 2000 second and later visits {late} are in the last" in note for note in notes)
    gaps.begin = YEAR
    assert list(schedule._doubts(gaps)) == []
