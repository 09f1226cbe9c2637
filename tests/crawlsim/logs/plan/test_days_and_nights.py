"""New pages and hours of the day, beside visits that are carried out one by one."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import numpy as np
import pytest
from simulated_logs import DAY, YEAR, urls_of, visit_log

import crawlsim
from crawlsim.logs.plan.hours import ActiveHours, active_hours
from crawlsim.logs.plan.writing import schedule_text
from crawlsim.scheduling import Asked, Schedule, VisitLog, schedule_of
from scenarios import ScenarioError
from scenarios.arrays import Array

HOUR = 3600.0


def carried_out(hours: ActiveHours, visits: float, start: float, until: float) -> Array:
    """Times of visits, one by one, each some seconds of active time after the one before."""
    spacing = hours.length / DAY / visits
    times = [hours.after(start, 0.0)]
    while times[-1] < until:
        times.append(hours.after(times[-1], spacing))
    return np.array(times)


def found(times: Array, rate: float, rng: np.random.Generator) -> tuple[float, float]:
    """Share of time out of date between the first and the last visit, and mean delay."""
    span = times[-1] - times[0]
    changes = times[0] + np.sort(rng.random(rng.poisson(rate * span))) * span
    finds = times[np.searchsorted(times, changes)]
    first = np.unique(finds, return_index=True)[1]  # of several before a visit the first counts
    return float((finds - changes)[first].sum() / span), float((finds - changes).mean())


@pytest.mark.by_day(besides=("7200.0-22-06", "7200.0-9:30-10:30", "7200.0-08-20"))
@pytest.mark.parametrize("text", ["08-20", "22-06", "9:30-10:30"])
@pytest.mark.parametrize("every", [2 * HOUR, 7 * HOUR, 30 * HOUR, 9.3 * DAY])
def test_what_is_stale_with_nights_is_what_single_visits_leave_stale(
    text: str, every: float
) -> None:
    hours = active_hours(text)
    rng = np.random.default_rng(5)
    for rate in (1 / (5 * HOUR), 1 / (4 * DAY)):
        pairs = []
        for start in rng.random(12) * DAY:
            until = start + max(20_000 / rate / 12, 60 * every)
            pairs.append(found(carried_out(hours, 1 / every, start, until), rate, rng))
        stale, delay = np.mean(pairs, axis=0)
        sure = 4 * np.std(pairs, axis=0) / np.sqrt(len(pairs)) + 1e-3 * np.array([1.0, HOUR])
        at = np.array(rate), np.array(1 / every)
        assert abs(stale - hours.stale_share(*at)) < sure[0]
        assert abs(delay - hours.delayed(*at) / rate) < sure[1]


def test_hours_without_nights_are_all_hours() -> None:
    nearly = ActiveHours(0.0, DAY - 1e-3)
    rates, visits = np.array([1e-6, 1e-4]), np.array([2e-5, 3e-6])
    ratio = rates / visits
    np.testing.assert_allclose(
        nearly.stale_share(rates, visits), 1 + np.expm1(-ratio) / ratio, rtol=1e-6
    )


def plan_of(**asked: object) -> tuple[Schedule, Array]:
    """A plan for forty pages of a year's log, one visit of each a day, and their true rates."""
    rng = np.random.default_rng(2)
    rates = rng.gamma(0.8, 1 / (3 * DAY), 40)
    log = visit_log(rates, np.full((40, 180), 2 * DAY))
    return schedule_of(log, Asked(40 / DAY, **asked)), rates  # type: ignore[arg-type]


def test_the_promise_knows_of_the_nights() -> None:
    hours = active_hours("08-12")
    plan, rates = plan_of(hours=hours)
    always, _ = plan_of()
    assert plan.expected is not None
    assert always.expected is not None
    np.testing.assert_array_equal(plan.intervals, always.intervals)  # calendar means
    rng = np.random.default_rng(7)
    stale = [
        found(carried_out(hours, 1 / every, start, start + 4 * YEAR), rate, rng)[0]
        for every, rate, start in zip(plan.intervals, rates, rng.random(40) * DAY, strict=True)
    ]
    promised = plan.expected["plan"]
    assert promised.low < np.mean(stale) < promised.high
    assert promised.mean > always.expected["plan"].mean + 0.01
    assert plan.with_more is not None
    assert plan.with_more < promised.mean


def test_due_times_are_in_active_hours() -> None:
    hours = active_hours("22-06")
    plan, _ = plan_of(hours=hours)
    for line in schedule_text(plan, "scrapy").splitlines():
        due = datetime.fromisoformat(json.loads(line)["next"]).astimezone(UTC)
        assert due.hour >= 22 or due.hour < 6
        assert due.timestamp() >= plan.gaps.end


def with_newborn(pages: int, new: int) -> VisitLog:
    """Pages seen every day for a hundred days, and some only in the last three of them."""
    urls = np.array(sorted(urls_of(pages + new)), object)
    first = np.where(np.arange(pages + new) % (pages + new) < new, 97, 0)
    page = np.repeat(np.arange(pages + new), 101 - first)
    day = np.concatenate([np.arange(each, 101) for each in first])
    changed = (day % 20 == 0) & (day > 0)
    return VisitLog(urls, page.astype(np.int32), day * DAY + 1.8e9, changed)


def test_new_pages_are_paid_first() -> None:
    log = with_newborn(30, 4)
    plan = schedule_of(log, Asked(10 / DAY, newborn=(7 * DAY, DAY)))
    new = plan.is_new
    assert new.sum() == 4
    assert (plan.intervals[new] <= DAY * (1 + 1e-9)).all()
    assert plan.spent * DAY == pytest.approx(10.0)
    assert plan.record()["newborn"] == {
        "pages": 4,
        "visits_per_day": pytest.approx(float((DAY / plan.intervals[new]).sum())),
    }
    assert any("paid first, takes 4 of 10 visits a day" in note for note in plan.notes)
    why = [each for each, is_new in zip(plan.why, new, strict=True) if is_new]
    assert all(each.startswith("newborn: first seen 3 days before the end; ") for each in why)
    assert not any("newborn" in each for each, old in zip(plan.why, ~new, strict=True) if old)
    rng = np.random.default_rng(3)
    begin = rng.random(len(plan.urls)) * plan.intervals
    week = [
        np.arange(start, 7 * DAY, every) for start, every in zip(begin, plan.intervals, strict=True)
    ]
    assert min(len(visits) for visits in np.array(week, object)[new]) >= 6
    assert sum(map(len, week)) == pytest.approx(70, abs=len(plan.urls))
    without = schedule_of(log, Asked(10 / DAY))
    assert (without.intervals[new] > DAY).all()
    assert without.record()["newborn"] is None


def test_a_new_page_is_visited_more_often_where_that_pays() -> None:
    plan = schedule_of(with_newborn(30, 4), Asked(400 / DAY, newborn=(7 * DAY, DAY)))
    assert (plan.intervals[plan.is_new] < DAY / 2).all()


def test_the_back_test_leaves_new_pages_to_the_plan() -> None:
    rng = np.random.default_rng(1)
    rates = rng.gamma(0.5, 2 / (20 * DAY), 30)
    log = visit_log(rates, np.full((30, 15), 60 * DAY))
    plain = schedule_of(log, Asked(3 / DAY, backtest=True))
    new = schedule_of(log, Asked(3 / DAY, backtest=True, newborn=(7 * DAY, 40 * DAY)))
    assert new.windows == plain.windows
    assert any(note.endswith("the back-test leaves them to the plan.") for note in new.notes)


@pytest.mark.parametrize(
    ("asked", "key", "why"),
    [
        ({"newborn": "7d"}, "newborn", "must be two times"),
        ({"newborn": "1h:1d"}, "newborn", "must have the longer time first"),
        ({"newborn": "7d:soon"}, "newborn", "must be a positive number and a unit"),
        ({"newborn": "7d:1d", "tiers": ["1d", "7d"]}, "tiers", "does not go with newborn"),
        ({"newborn": "7d:1d", "shortest": "2d"}, "newborn", "must be at least shortest, 2 days"),
        ({"newborn": "900d:1d"}, "newborn", "in which no page can be told to be new"),
        ({"newborn": "7d:10m"}, "newborn", "visits a day, and visits allows 10/day"),
        ({"active": "8"}, "active", "must be two different hours of the day in UTC"),
        ({"active": "08-25"}, "active", "must be two different hours of the day in UTC"),
        ({"active": "08-08"}, "active", "must be two different hours of the day in UTC"),
        ({"active": "08-20", "backtest": True}, "backtest", "does not go with active"),
    ],
)
def test_what_is_refused(asked: dict[str, object], key: str, why: str) -> None:
    with pytest.raises(ScenarioError, match=why) as refused:
        crawlsim.schedule(with_newborn(30, 4), "10/day", **asked)  # type: ignore[arg-type]
    assert refused.value.key == key
