"""Schedules: they pay on invented sites, keep their promises, and depend on the log alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulated_logs import DAY, START, YEAR, bursty_site, urls_of, visit_log

import crawlsim
from crawlsim.logs.plan import simulation
from crawlsim.logs.plan.allocation import Limits, by_delay, by_harmonic_cost
from crawlsim.logs.plan.replay import COSTS, Changes, stale_times
from crawlsim.logs.plan.schedule import Share, reason
from crawlsim.logs.plan.simulation import simulated_plan
from crawlsim.logs.plan.writing import limits_in, schedule_text, unspent, whole_intervals
from crawlsim.scheduling import ChangeLog, LogRequest, VisitLog, schedule_of
from scenarios import ScenarioError


def visited(log: ChangeLog, every: float, until: float) -> VisitLog:
    """A log of regular visits, and of what they would have found."""
    page, time, changed = [], [], []
    for index in range(len(log.urls)):
        own = log.time[log.page == index]
        if own[0] > until:
            continue
        at = np.arange(own[0], until, every)
        found = np.searchsorted(own, at, "right")
        page += [index] * len(at)
        time += at.tolist()
        changed += [False, *(np.diff(found) > 0).tolist()]
    known, number = np.unique(page, return_inverse=True)
    return VisitLog(log.urls[known], number.astype(np.int32), np.array(time), np.array(changed))


def paid(log: ChangeLog, plan: crawlsim.scheduling.Schedule, cut: float, every: float) -> float:
    """Share of the stale time of even visits that a plan saved in the year after a cut."""
    index = {url: page for page, url in enumerate(log.urls.tolist())}
    pages = np.array([index[url] for url in plan.urls.tolist()])
    changes = Changes(log.page.astype(np.int64), log.time)
    visits = np.full(len(log.urls), 1 / every)
    even = stale_times(changes, visits, cut, cut + YEAR)[pages].sum()
    visits[pages] = 1 / plan.intervals
    return float(1 - stale_times(changes, visits, cut, cut + YEAR)[pages].sum() / even)


@pytest.mark.thorough
def test_a_log_of_changes_tells_changes_and_how_long_pages_were_watched() -> None:
    urls = np.array(["a", "b", "c"], object)
    page = np.array([0, 0, 0, 0, 1, 2], np.int32)
    time = START + 86400.0 * np.array([0, 0.1, 0.2, 900, 100, 1900])
    log = ChangeLog(urls, page, time)
    plan = schedule_of(log, LogRequest(visits=1 / 86400))
    assert plan.why == ["3 changes in 5.2 years", "no change in 4.93 years", "prior: not watched"]
    assert plan.changes.tolist() == [3, 0, 0]
    early = schedule_of(log, LogRequest(visits=1 / 86400, until=START + 800 * 86400.0))
    assert early.why == ["2 changes in 2.19 years", "no change in 700 days", "prior: not watched"]


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["visits", "changes"])
@pytest.mark.statistical
def test_a_plan_pays_in_the_years_that_follow(kind: str) -> None:
    """Two sites of 250 pages, two years each.

    A proportional plan would save less than a tenth, plans that mix up their pages lose.
    """
    savings = []
    for seed in range(2):
        log = bursty_site(250, 8.0, seed)
        for back in (1, 3):
            cut = float(log.time.max()) - back * YEAR
            seen = visited(log, 30 * DAY, cut)
            if kind == "changes":
                known = log.time <= cut
                page, number = np.unique(log.page[known], return_inverse=True)
                changes = ChangeLog(log.urls[page], number.astype(np.int32), log.time[known])
                plan = schedule_of(changes, LogRequest(len(page) / (30 * DAY), until=cut))
            else:
                plan = schedule_of(seen, LogRequest(len(seen.urls) / (30 * DAY)))
            savings.append(paid(log, plan, cut, 30 * DAY))
    print(savings)
    assert min(savings) > 0.1
    assert np.mean(savings) > 0.2


def poisson_log(pages: int = 300) -> tuple[VisitLog, np.ndarray]:
    rng = np.random.default_rng(11)
    rates = rng.gamma(0.5, 2.0, pages) / (40 * DAY)
    return visit_log(rates, rng.exponential(20 * DAY, (pages, 30)) + DAY), rates


@pytest.mark.statistical
def test_the_promise_is_kept_where_the_model_holds() -> None:
    """Poisson pages: the stale share at the true rates is within the interval of the promise."""
    log, rates = poisson_log()
    plan = schedule_of(log, LogRequest(300 / (20 * DAY)))
    ratio = rates * plan.intervals
    true = float((1 + np.expm1(-ratio) / ratio).mean())
    promised = plan.expected["plan"]
    assert promised.low < true < promised.high
    assert promised.mean == pytest.approx(true, rel=0.1)
    saving = plan.saving("uniform")
    assert saving is not None
    assert saving > 0.08


@pytest.mark.statistical
def test_a_simulated_robot_keeps_the_promise() -> None:
    log, _ = poisson_log(60)
    found = simulated_plan(schedule_of(log, LogRequest(60 / (20 * DAY))))
    assert found.keeps
    assert found.simulated == pytest.approx(found.expected, rel=0.05)


@pytest.mark.statistical
def test_a_robot_that_visits_at_random_breaks_the_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    log, _ = poisson_log(60)
    monkeypatch.setattr(simulation, "_POLICY", "randomized")
    found = simulated_plan(schedule_of(log, LogRequest(60 / (20 * DAY))))
    assert not found.keeps
    assert found.simulated > 1.3 * found.expected


def test_a_promise_of_another_plan_is_not_kept() -> None:
    """Errors planted in the plan, and in the promise."""
    log, _ = poisson_log(120)
    plan = schedule_of(log, LogRequest(120 / (5 * DAY)))
    assert simulated_plan(plan).keeps
    assert not simulated_plan(replace(plan, intervals=3 * plan.intervals)).keeps
    promised = plan.expected["plan"]
    part = Share(promised.mean / 3, promised.low / 3, promised.high / 3)
    assert not simulated_plan(replace(plan, expected={**plan.expected, "plan": part})).keeps


def test_the_back_test_replays_four_of_five_years() -> None:
    log = bursty_site(200, 8.0, 5)
    end = float(log.time.max())
    recent = visited(log, 30 * DAY, end)
    kept = recent.time >= end - 5.02 * YEAR
    page, number = np.unique(recent.page[kept], return_inverse=True)
    some = VisitLog(
        recent.urls[page], number.astype(np.int32), recent.time[kept], recent.changed[kept]
    )
    plan = schedule_of(some, LogRequest(len(page) / (30 * DAY), backtest=True))
    record = plan.record()["backtest"]
    assert len(record["windows"]) == 4
    assert record["verdict"] == "pays"
    assert plan.even_share == pytest.approx(0.25)
    for window in record["windows"]:
        assert 0.0 < window["paid"] < 0.6
        assert window["promised"] == pytest.approx(window["paid"], abs=0.25)


def test_a_log_of_eight_months_is_unknown_and_half_of_it_is_even() -> None:
    log = visit_log(np.full(40, 0.02) / DAY, np.full((40, 8), 30 * DAY))
    plan = schedule_of(log, LogRequest(40 / (30 * DAY), backtest=True))
    assert plan.verdict == "unknown"
    tested = {"windows": [], "verdict": "unknown", "advised_even": None}
    assert plan.record()["backtest"] == tested
    assert plan.even_share == 0.5
    untested = schedule_of(log, LogRequest(40 / (30 * DAY), even=0.25))
    assert (untested.verdict, untested.advised_even) == (None, None)
    less = schedule_of(log, LogRequest(40 / (30 * DAY), backtest=True, even=0.25))
    assert less.advised_even == 0.5


@pytest.mark.thorough
def test_weights_draw_visits() -> None:
    log, _ = poisson_log(100)
    budget = 100 / (20 * DAY)
    plain = schedule_of(log, LogRequest(budget))
    url = str(log.urls[17])
    heavy = schedule_of(log, LogRequest(budget, weights={url: 50.0, str(log.urls[3]): 1.0}))
    assert heavy.intervals[17] < 0.5 * plain.intervals[17]
    assert (1 / heavy.intervals).sum() == pytest.approx(budget, rel=1e-6)


def test_hosts_and_pages_keep_to_their_limits() -> None:
    log, _ = poisson_log(140)
    asked = LogRequest(
        140 / (20 * DAY),
        shortest=5 * DAY,
        longest=60 * DAY,
        host_spacing=0.9 * DAY,
        host_visits={"HOST3.example": 0.8 / DAY},
    )
    plan = schedule_of(log, asked)
    assert plan.intervals.min() >= 5 * DAY
    assert plan.intervals.max() <= 60 * DAY
    hosts = np.array([url.split("/")[2] for url in plan.urls])
    for host in np.unique(hosts):
        visits = (1 / plan.intervals[hosts == host]).sum() * DAY
        assert visits <= (0.8 if host == "host3.example" else 1 / 0.9) * (1 + 1e-9)
    assert (1 / plan.intervals).sum() == pytest.approx(asked.visits, rel=1e-6)


@pytest.mark.thorough
def test_other_rules_can_be_asked_for() -> None:
    log, _ = poisson_log(100)
    budget = 100 / (20 * DAY)
    rates = schedule_of(log, LogRequest(budget)).estimates.rates
    visits = {
        rule: 1 / schedule_of(log, LogRequest(budget, rule=rule)).intervals
        for rule in ("lambdacrawl", "azar", "proportional", "uniform")
    }
    assert all(np.isfinite(1 / each).all() for each in visits.values())
    np.testing.assert_allclose(visits["uniform"], budget / 100)
    np.testing.assert_allclose(visits["proportional"], rates * budget / rates.sum())
    # f (f + r) = r / price: the price is the same for all pages.
    harmonic = visits["lambdacrawl"]
    prices = rates / (harmonic * (harmonic + rates))
    np.testing.assert_allclose(prices, prices[0], rtol=1e-8)


def test_tiers_are_kept() -> None:
    log, _ = poisson_log(100)
    plan = schedule_of(log, LogRequest(100 / (20 * DAY), tiers=(5 * DAY, 20 * DAY, 60 * DAY)))
    assert {round(each / DAY) for each in plan.intervals} <= {5, 20, 60}
    assert (1 / plan.intervals).sum() == pytest.approx(100 / (20 * DAY), rel=0.03)
    with pytest.raises(ScenarioError, match="does not go with --max"):
        LogRequest(1.0, tiers=(1.0, 2.0), longest=5.0)


def test_a_page_that_was_hardly_seen_says_so() -> None:
    urls = urls_of(6)
    page = np.array([0, 0, 0, 1, 1, 2, 4, 4], np.int32)
    time = START + DAY * np.array([0, 9, 20, 0, 9, 3, 1, 8.0])
    changed = np.array([0, 1, 0, 0, 0, 0, 0, 1], bool)
    plan = schedule_of(VisitLog(urls, page, time, changed), LogRequest(6 / DAY))
    assert plan.visits.tolist() == [3, 2, 1, 0, 2, 0]
    assert plan.changes.tolist() == [1, 0, 0, 0, 1, 0]
    assert ["prior" in why for why in plan.why] == [False, False, True, True, False, True]
    assert np.isfinite(plan.intervals).all()
    assert (plan.estimates.rates > 0).all()
    assert reason(2, 0) == "no change at 1 visit"


@pytest.mark.parametrize("form", ["nutch", "stormcrawler"])
@pytest.mark.parametrize("interval", [0.004, 0.1, 20.0])
def test_whole_intervals_spend_the_budget(form: str, interval: float) -> None:
    """From five minutes to twenty days between two visits of a page."""
    log, _ = poisson_log(140)
    budget = f"{140 / interval}/day"
    plan = crawlsim.schedule(log, budget, out_format=form, host_spacing=f"{interval / 25}d")
    text = schedule_text(plan, form)
    unit = 1.0 if form == "nutch" else 60.0
    intervals = np.array([int(line.rpartition("=")[2]) for line in text.splitlines()]) * unit
    assert (1 / intervals).sum() == pytest.approx(140 / (interval * DAY), rel=1e-3)
    hosts = np.array([url.split("/")[2] for url in plan.urls])
    for host in np.unique(hosts):
        assert (1 / intervals[hosts == host]).sum() <= 25 / (interval * DAY) * (1 + 1e-9)


@pytest.mark.thorough
def test_nutch_gets_no_interval_that_it_overrules() -> None:
    log, _ = poisson_log(100)
    plan = crawlsim.schedule(log, f"{100 / 85}/day", out_format="nutch")
    assert plan.intervals.max() <= 90 * DAY
    longer = crawlsim.schedule(log, f"{100 / 200}/day", out_format="nutch", longest="400d")
    assert longer.intervals.max() > 90 * DAY
    with pytest.raises(ScenarioError, match="need at least"):
        crawlsim.schedule(log, f"{100 / 200}/day", out_format="nutch")


def test_what_is_asked_for_is_checked() -> None:
    log, _ = poisson_log(10)
    for visits in ("0/day", "-3/day", "nan/day", "5", "5/month", "inf/day", "/day", "5/"):
        with pytest.raises(ScenarioError, match="visits"):
            crawlsim.schedule(log, visits)
    for option in ("shortest", "longest", "host_spacing"):
        for text in ("0h", "-1d", "5", "h", "1y", "nand", ""):
            with pytest.raises(ScenarioError, match="must be a positive number and a unit"):
                crawlsim.schedule(log, "5/day", **{option: text})
    with pytest.raises(ScenarioError, match="must be at most longest"):
        crawlsim.schedule(log, "5/day", shortest="3d", longest="2d")
    with pytest.raises(ScenarioError, match="must be a date"):
        crawlsim.schedule(log, "5/day", until="tomorrow")


def test_a_log_without_two_visits_of_a_page_says_nothing() -> None:
    log = VisitLog(
        urls_of(4), np.arange(4, dtype=np.int32), START + np.arange(4.0), np.zeros(4, bool)
    )
    with pytest.raises(ScenarioError, match="no page that was visited twice"):
        schedule_of(log, LogRequest(4 / DAY))


@pytest.mark.thorough
def test_a_limit_that_does_not_bind_changes_nothing() -> None:
    log, _ = poisson_log(100)
    budget = 100 / (20 * DAY)
    free = schedule_of(log, LogRequest(budget)).intervals
    loose = schedule_of(
        log, LogRequest(budget, shortest=0.99 * free.min(), longest=1.01 * free.max())
    )
    np.testing.assert_allclose(loose.intervals, free, rtol=1e-9)
    tight = schedule_of(log, LogRequest(budget, shortest=1.5 * free.min()))
    assert tight.intervals.min() == pytest.approx(1.5 * free.min(), rel=1e-9)


def test_tiers_are_whole_units_of_a_format() -> None:
    log, _ = poisson_log(100)
    for form, unit in (("nutch", 1), ("stormcrawler", 60)):
        plan = crawlsim.schedule(log, "5/day", out_format=form, tiers=["5d", "20d", "200d"])
        lines = schedule_text(plan, form).splitlines()
        found = {int(line.rpartition("=")[2]) * unit / DAY for line in lines}
        assert found <= {5.0, 20.0, 200.0}
    with pytest.raises(ScenarioError, match="whole minutes"):
        crawlsim.schedule(log, "5/day", out_format="stormcrawler", tiers=["90s", "20d"])


def test_a_budget_that_whole_minutes_cannot_spend_is_said() -> None:
    log = visit_log(np.full(1, 0.02) / DAY, np.full((1, 12), 20 * DAY))
    plan = crawlsim.schedule(log, "40/hour", out_format="stormcrawler")
    assert unspent(plan, "stormcrawler") == (
        "Whole intervals for stormcrawler spend 720 of 960 visits a day."
    )
    assert unspent(plan, "csv") == ""


@pytest.mark.parametrize("objective", ["delay", "harmonic"])
def test_an_objective_is_reached_at_the_true_rates(objective: str) -> None:
    """Rich logs: within 5 % of the rule at the true rates, which nothing else reaches."""
    rates = np.random.default_rng(12).gamma(0.5, 2.0, 200) / (40 * DAY)
    log = visit_log(rates, np.full((200, 120), 5 * DAY))
    budget = 200 / (60 * DAY)
    plan = schedule_of(log, LogRequest(budget, objective=objective, even=0.0))
    fresh = schedule_of(log, LogRequest(budget, even=0.0))
    weights = np.ones(200)
    cost, rule = {
        "delay": (lambda r, f, w: (w * r / (2 * f)).sum() / (w * r).sum(), by_delay),
        "harmonic": (lambda r, f, w: w @ np.log1p(r / f) / w.sum(), by_harmonic_cost),
    }[objective]
    best = cost(rates, rule(rates, weights, plan.limits), weights)
    reached, of_fresh = (cost(rates, 1 / each.intervals, weights) for each in (plan, fresh))
    assert best <= reached <= 1.05 * best
    assert of_fresh > 1.01 * reached
    even = cost(rates, np.full(200, budget / 200), weights)
    assert even > reached
    if objective == "delay":
        assert even == pytest.approx(200 / budget / 2)
    record = plan.record()
    assert record["objective"] == objective
    expected = record["expected"]
    assert expected[objective] == pytest.approx(reached, rel=0.1)
    assert expected[f"{objective}_low"] < reached < expected[f"{objective}_high"]


@pytest.mark.by_day("delay")
@pytest.mark.parametrize("objective", ["delay", "harmonic"])
def test_an_objective_is_back_tested_by_its_own_cost(objective: str) -> None:
    """Steady pages, three years of weekly visits: promised and paid are what the plan saves."""
    rates = np.random.default_rng(13).gamma(0.5, 2.0, 300) / (60 * DAY)
    log = visit_log(rates, np.full((300, 157), 7 * DAY))
    plan = schedule_of(
        log, LogRequest(300 / (30 * DAY), objective=objective, even=0.0, backtest=True)
    )
    assert plan.windows is not None
    assert len(plan.windows) == 2
    visits = 1 / plan.intervals
    even = np.full(300, visits.mean())
    cost = {"delay": lambda f: (rates / f).sum(), "harmonic": lambda f: np.log1p(rates / f).sum()}
    saved = 1 - cost[objective](visits) / cost[objective](even)
    for window in plan.windows:
        assert window.promised == pytest.approx(saved, abs=0.06)
        assert window.paid == pytest.approx(saved, abs=0.06)
    assert plan.verdict in ("pays", "unknown")


def test_costs_of_a_window_by_hand() -> None:
    """Changes at 1, 4 and 12 of a window from 2 to 12: one of page 0, visited every 3."""
    changes = Changes(np.array([0, 0, 0, 1]), np.array([1.0, 4.0, 12.0, 5.0]))
    visits = np.array([1 / 3, 1 / 5, 1.0])
    found = {name: COSTS[name](changes, visits, 2.0, 12.0).tolist() for name in COSTS}
    assert found["delay"] == pytest.approx([1.5 / 10, 2.5 / 10, 0.0])
    assert found["harmonic"] == pytest.approx([np.log(1.3), np.log(1.5), 0.0])


def test_objectives_that_do_not_go_with_others() -> None:
    for changes, words in (
        ({"objective": "speed"}, "must be freshness, delay or harmonic"),
        ({"objective": "delay", "rule": "azar"}, "does not go with --rule"),
    ):
        with pytest.raises(ScenarioError, match=words):
            LogRequest(1.0, **changes)  # type: ignore[arg-type]


def test_names_that_match_nothing_are_noted() -> None:
    log, _ = poisson_log(20)
    url = str(log.urls[0])
    weights = {url: 0.0, str(log.urls[1]): 2.0, "https://other.example/": 3.0}
    plan = schedule_of(
        log, LogRequest(1 / DAY, host_visits={"nosuch.example": 1.0}, weights=weights)
    )
    assert "--host-visits: no page of the log is on 'nosuch.example'." in plan.notes
    assert "--weights: 1 of its URLs are not in the log." in plan.notes
    assert url not in plan.urls.tolist()
    assert plan.gone.urls.tolist() == [url]
    np.testing.assert_allclose(plan.importance[1:], plan.importance[0] / 2)


@given(seed=st.integers(0, 10_000), mean=st.floats(1.5, 500.0), hosts=st.integers(1, 5))
def test_whole_intervals_keep_to_hosts_that_have_nothing_left(
    seed: int, mean: float, hosts: int
) -> None:
    rng = np.random.default_rng(seed)
    intervals = 1 + rng.exponential(mean, 40)
    host = rng.integers(0, hosts, 40)
    spent = np.bincount(host, 1 / intervals, hosts)
    full = rng.random(hosts) < 0.5
    limits = Limits(1.0, 0.0, np.inf, host, np.where(full, spent, np.inf))
    whole = whole_intervals(intervals, 1, 10**6, limits, 1.0)
    assert (whole >= 1).all()
    visits = np.bincount(host, 1 / whole, hosts)
    assert (visits[full] <= spent[full] * (1 + 1e-12)).all()
    assert (1 / whole).sum() <= (1 / intervals).sum() * (1 + 1e-12)


@pytest.mark.parametrize("budget", [31 / 60, 59 / 60])
def test_whole_minutes_near_one_spend_the_budget(budget: float) -> None:
    """Sums of halves and thirds, which the arithmetic knows only nearly."""
    rates = np.random.default_rng(4).gamma(0.5, 2.0, 60) / (20 * DAY)
    log = visit_log(rates, np.full((60, 12), 20 * DAY))
    shortest, longest = limits_in("stormcrawler", 0.0, None)
    plan = schedule_of(log, LogRequest(budget, shortest=shortest, longest=longest))
    assert spent(schedule_text(plan, "stormcrawler")) == pytest.approx(budget, rel=1e-3)


def test_what_the_rounding_of_one_heavy_page_saves_is_spent() -> None:
    log = visit_log(np.full(60, 0.02) / DAY, np.full((60, 12), 20 * DAY))
    shortest, longest = limits_in("stormcrawler", 0.0, None)
    weights = dict.fromkeys(log.urls.tolist(), 1e-300) | {str(log.urls[7]): 1.0}
    budget = 7.3 / DAY
    asked = LogRequest(budget, shortest, longest, weights=weights, rule="lambdacrawl")
    plan = schedule_of(log, asked)
    assert spent(schedule_text(plan, "stormcrawler")) == pytest.approx(budget, rel=1e-3)


def spent(text: str) -> float:
    """Visits per second of seeds for StormCrawler."""
    minutes = [float(line.rpartition("=")[2]) for line in text.splitlines()]
    return float((1 / (60 * np.array(minutes))).sum())


def test_weights_may_be_as_large_as_numbers_go() -> None:
    log = visit_log(np.full(6, 0.02) / DAY, np.full((6, 12), 20 * DAY))
    weights = dict.fromkeys(log.urls[:3].tolist(), 1e308)
    plan = schedule_of(log, LogRequest(6 / DAY, weights=weights))
    assert (1 / plan.intervals).sum() == pytest.approx(6 / DAY)
    assert plan.intervals[:3].max() < plan.intervals[3:].min()


@pytest.mark.thorough
def test_a_date_that_leaves_the_last_years_empty_is_named() -> None:
    log = visit_log(np.full(60, 0.02) / DAY, np.full((60, 40), 20 * DAY))
    assert schedule_of(log, LogRequest(6 / DAY)).notes == ()
    time = log.time.copy()
    time[-1] = 253370764800.0
    wrong = VisitLog(log.urls, log.page, time, log.changed)
    (note,) = schedule_of(wrong, LogRequest(6 / DAY)).notes
    assert "9999-01-01" in note
    assert "--until" in note
