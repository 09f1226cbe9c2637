"""Parts of plans by themselves: what is said, what is refused, and how they are carried out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats
from simulated_logs import DAY, START, YEAR, urls_of, visit_log

from crawlsim.api import schedule
from crawlsim.cli.schedule import _backtest_table, _verdict_lines
from crawlsim.logs.plan import simulation
from crawlsim.logs.plan.byte_budget import UNCHANGED, ByteBudget
from crawlsim.logs.plan.gone import Gone
from crawlsim.logs.plan.hours import active_hours
from crawlsim.logs.plan.planning import (
    _LONG_HISTORY,
    _SHORT_HISTORY,
    CAUTIOUS_SHARE,
    EVEN_SHARE,
    Forecast,
    even_share_of,
    expected_costs,
    left_fresh,
    planned,
    stale_of,
    stale_shares,
)
from crawlsim.logs.plan.quantities import in_words
from crawlsim.logs.plan.replay import Window
from crawlsim.logs.plan.schedule import (
    LogRequest,
    Schedule,
    Share,
    _unheard,
    reason,
    reason_of_changes,
    schedule_of,
)
from crawlsim.logs.plan.simulation import SimulatedPlan, simulated_plan
from crawlsim.logs.plan.writing import _rows_of_gone
from crawlsim.logs.read.states import PAGE
from scenarios import ScenarioError

RATES = np.array([0.02, 0.1, 0.4, 0.05]) / DAY


@pytest.fixture(name="plan", scope="module")
def plan_of_four_pages() -> Schedule:
    return schedule_of(visit_log(RATES, np.full((4, 60), 10 * DAY)), LogRequest(1 / DAY))


def said_of(plan: Schedule, simulated: SimulatedPlan | None = None) -> list[str]:
    return list(_verdict_lines(plan, simulated))


# What is said


def test_a_plan_for_delays_says_how_long_changes_wait(plan: Schedule) -> None:
    """Half an interval each, as the pages change, in the mean over draws of the rates."""
    assert not any("From a change" in line for line in said_of(plan))
    (line, *_) = said_of(replace(plan, asked=LogRequest(1 / DAY, objective="delay")))
    delay = plan.cost("delay")
    assert line == (
        f"From a change to the visit that finds it: {in_words(delay.mean)} "
        f"({in_words(delay.low)} to {in_words(delay.high)})."
    )


@pytest.mark.parametrize(
    ("keeps", "words"), [(True, "the promise holds"), (False, "the promise does not hold")]
)
def test_a_simulation_says_whether_the_promise_holds(
    keeps: bool, words: str, plan: Schedule
) -> None:
    found = SimulatedPlan(1, 24, 0.2, 0.21, 0.19, 0.234, keeps)
    assert said_of(plan, found)[-1] == (
        f"Simulated with 1 page: stale share 21.0 % (19.0 % to 23.4 %), expected 20.0 %: {words}."
    )
    assert found.record() == {
        "pages": 1,
        "draws": 24,
        "expected": 0.2,
        "simulated": 0.21,
        "low": 0.19,
        "high": 0.234,
        "keeps": keeps,
    }


def test_a_back_test_of_bytes_says_what_was_compared(plan: Schedule) -> None:
    windows = [Window(START + YEAR, 4, 0.125, 0.25, 2000.0 / DAY), Window(START, 3, 0.5, None)]
    plain = _backtest_table(replace(plan, windows=windows[1:]))
    assert plain.title == "Stale time that plans of earlier years saved over uniform visits"
    assert [column.header for column in plain.columns] == ["year from", "pages", "promised", "paid"]
    assert [next(iter(column.cells)) for column in plain.columns][1:] == ["3", "50.0 %", "–"]
    assert plain.caption is None
    asked = LogRequest(0.0, objective="freshness", bytes=ByteBudget(1.0, {}, 100.0))
    table = _backtest_table(replace(plan, windows=windows[:1], asked=asked))
    assert table.caption == "Uniform visits, as many as fetch the same bytes in the year."
    assert [next(iter(column.cells)) for column in table.columns][2:] == [
        "12.5 %",
        "25.0 %",
        asked.in_words(2000.0 / DAY),
    ]


@pytest.mark.parametrize(("each", "go"), [(1.0, "1 visit a day goes"), (2.0, "2 visits a day go")])
def test_what_pages_cost_that_nobody_has_seen_is_told(each: float, go: str) -> None:
    log = visit_log(RATES, np.full((4, 3), DAY))
    visits = np.array([each, 5.0, 5.0, 5.0]) / DAY
    said = list(_unheard(log, np.array([0, 3, 1, 2]), visits))
    assert said == [
        "2 of 4 pages were seen less than twice: see why, prior.",
        f"Of 1 page there is no observation; {go} to them.",
    ]
    assert list(_unheard(log, np.array([2, 3, 4, 2]), visits)) == []


@pytest.mark.parametrize(
    ("visits", "changes", "words"),
    [
        (0, 0, "prior: no observation"),
        (1, 0, "prior: seen once"),
        (2, 0, "no change at 1 visit"),
        (5, 0, "no change at 4 visits"),
        (5, 2, "changed at 2 of 4 visits"),
    ],
)
def test_why_a_page_has_its_interval(visits: int, changes: int, words: str) -> None:
    assert reason(visits, changes) == words


def test_why_a_page_whose_changes_are_known_has_its_interval() -> None:
    assert reason_of_changes(0, 0.0) == "prior: not watched"
    assert reason_of_changes(0, 2 * DAY) == f"no change in {in_words(2 * DAY)}"
    assert reason_of_changes(1, 2 * DAY) == f"1 change in {in_words(2 * DAY)}"
    assert reason_of_changes(3, 2 * DAY) == f"3 changes in {in_words(2 * DAY)}"


def test_a_plan_in_a_line_counts_visits_or_bytes(plan: Schedule) -> None:
    stale = f"{plan.expected['plan'].mean:.1%} of the time out of date"  # type: ignore[index]
    assert repr(plan) == f"<Schedule of 4 pages: 1 visit a day, {stale}>"
    none = replace(plan, expected=None)
    assert repr(none) == "<Schedule of 4 pages: 1 visit a day, no promise>"
    bytes_ = LogRequest(0.0, bytes=ByteBudget(5e6 / DAY, {}, 100.0))
    assert repr(replace(none, asked=bytes_)) == (
        f"<Schedule of 4 pages: {bytes_.in_words(5e6 / DAY)} a day, no promise>"
    )


def test_urls_that_are_gone_are_rows_without_a_rate(plan: Schedule) -> None:
    gone = Gone(
        urls=np.array(["x", "y"], object),
        states=np.array([PAGE, PAGE]),
        intervals=np.array([np.inf, 4 * DAY]),
        visits=np.array([3, 2]),
        changes=np.array([1, 0]),
    )
    rows = list(_rows_of_gone(replace(plan, gone=gone)))
    why = "weight 0: not visited"
    assert [row[:-1] for row in rows] == [
        ("x", "", "", "", "", 3, 1, why),
        ("y", 4 * DAY, "", "", "", 2, 0, why),
    ]
    asked = LogRequest(0.0, bytes=ByteBudget(1.0, {}, 300.0))
    rows = list(_rows_of_gone(replace(plan, gone=gone, asked=asked, of_changes=True)))
    assert [row[:-1] for row in rows] == [
        ("x", "", "", 0.0, "", "", "", "", 1, why),
        ("y", 4 * DAY, "", 75.0, "", "", "", "", 0, why),
    ]


# What is refused


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (
            {"objective": "delay"},
            "does not go with --objective delay, which counts visits",
        ),
        (
            {"hours": active_hours("08-20")},
            "does not go with --active: what changes by night is not counted",
        ),
    ],
)
def test_what_does_not_go_with_a_budget_of_bytes(how: Mapping[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError) as error:
        LogRequest(0.0, bytes=ByteBudget(5e6 / DAY, {}, 100.0), **how)
    assert (error.value.key, error.value.allowed) == ("--budget", message)
    assert str(error.value.value).endswith("/day")


@pytest.mark.parametrize(
    ("how", "key", "allowed"),
    [
        ({}, "--visits", "a budget is needed: --visits 5000/day, or --budget 40GB/day in bytes"),
        (
            {"visits": "1/day", "sizes": {"a": 1.0}},
            "--sizes",
            "goes with --budget, in bytes; a budget of visits asks for no sizes",
        ),
        (
            {"visits": "1/day", "unchanged_bytes": 5.0},
            "--unchanged-bytes",
            "goes with --budget, in bytes; a budget of visits asks for no sizes",
        ),
        (
            {"visits": "1/day", "budget": "1MB/day"},
            "--budget",
            "does not go with --visits: a plan has one budget",
        ),
        (
            {"budget": "1MB/day", "unchanged_bytes": 0.0},
            "--unchanged-bytes",
            "must be a number above 0",
        ),
        (
            {"budget": "1MB/day", "unchanged_bytes": np.inf},
            "--unchanged-bytes",
            "must be a number above 0",
        ),
    ],
)
def test_a_plan_has_one_budget(how: dict[str, Any], key: str, allowed: str) -> None:
    with pytest.raises(ScenarioError) as error:
        schedule([], **how)
    assert (error.value.key, error.value.allowed) == (
        key[2:].replace("-", "_"),
        allowed.replace("--", ""),
    )


def test_sizes_under_other_spellings_are_those_of_the_pages() -> None:
    log = visit_log(RATES, np.full((4, 30), 10 * DAY))
    other = {url.replace("https://", "http://www."): 1000.0 + n for n, url in enumerate(log.urls)}
    plan = schedule(log, budget="1MB/day", sizes=other, pages="site-key", unchanged_bytes=1.0)
    assert plan.forecast.fetched is not None
    assert plan.forecast.fetched.sizes.tolist() == [1000.0, 1001.0, 1002.0, 1003.0]
    assert urls_of(4).tolist() == log.urls.tolist()
    assert plan.asked.bytes == ByteBudget(1e6 / DAY, plan.asked.bytes.sizes, 1.0)  # type: ignore[union-attr]
    usual = schedule(log, budget="1MB/day", sizes=other, pages="site-key")
    assert usual.asked.bytes is not None
    assert usual.asked.bytes.unchanged == UNCHANGED


def test_urls_that_are_gone_may_never_be_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[LogRequest] = []
    monkeypatch.setattr("crawlsim.logs.plan.schedule_of", lambda _, request: asked.append(request))
    log = visit_log(RATES, np.full((4, 3), 10 * DAY))
    for recheck in ("never", "3d", None):
        schedule(log, "1/day", recheck=recheck)
    assert [each.recheck for each in asked][:2] == [np.inf, 3 * DAY]
    assert asked[2].recheck == LogRequest(1.0).recheck


# A plan that is carried out


def test_only_a_promise_can_be_kept(plan: Schedule) -> None:
    none = replace(plan, expected=None, no_promise="Too few visits.")
    by_day = replace(plan, asked=replace(plan.asked, hours=active_hours("08-20")))
    for each, allowed in (
        (none, "there is no promise to keep: Too few visits."),
        (by_day, "does not go with --active: its robot has no nights"),
    ):
        with pytest.raises(ScenarioError) as error:
            simulated_plan(each)
        assert (error.value.key, error.value.allowed) == ("--simulate", allowed)


@pytest.mark.parametrize("shift", [0.0, 0.05, -0.05])
def test_a_simulated_plan_is_compared_with_the_same_draws(
    shift: float, plan: Schedule, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two pages of four, each draw a run of its own, off by the shift and a little to each side."""
    runs: list[tuple[Any, int]] = []

    def run(scenario: Any, seed: int) -> Any:
        runs.append((scenario, seed))
        off = shift + 0.01 * (-1) ** len(runs)
        rates, weights = np.array(scenario.pages.change_rates), np.array(scenario.pages.weights)
        shares = np.array(scenario.robots.accessing.frequencies)
        stale = float(weights @ (1 + np.expm1(-rates / (2 * shares)) / (rates / (2 * shares))))
        rows = [SimpleNamespace(measure="other", estimate=9.0)]
        rows.append(SimpleNamespace(measure="weighted_obsolescence", estimate=stale + off))
        return SimpleNamespace(estimates=rows)

    monkeypatch.setattr(simulation, "sim", SimpleNamespace(run=run))
    monkeypatch.setattr(simulation, "_MOST_PAGES", 2)
    weighed = replace(plan, importance=np.array([1.0, 5.0, 5.0, 3.0]))
    found = simulated_plan(weighed, seed=3)
    assert (found.pages, found.draws, len(runs)) == (2, 24, 24)
    draws = plan.forecast.draws.shape[1]
    chosen = np.linspace(0, draws - 1, 24).astype(int)
    assert [seed for _, seed in runs] == (3 + chosen).tolist()
    visits = 1 / plan.intervals[[0, 3]]
    for (scenario, _), draw in zip(runs, chosen, strict=True):
        rates = plan.forecast.grid[plan.forecast.draws[[0, 3], draw]]
        assert scenario.pages.weights == pytest.approx((0.25, 0.75))
        assert scenario.pages.change_rates == pytest.approx(rates * 2 / visits.sum())
        assert scenario.robots.accessing.frequencies == pytest.approx(visits / visits.sum())
        assert scenario.robots.access_time.value == 0.5
        assert (scenario.run.warmup, scenario.run.horizon) == (10.0, 70.0)
    error = 0.01 * np.sqrt(24 / 23) / np.sqrt(24)
    half = stats.t.ppf(0.975, 23) * error
    assert found.simulated - found.expected == pytest.approx(shift)
    assert found.high - found.simulated == pytest.approx(half)
    assert found.simulated - found.low == pytest.approx(half)
    of_all = stale_shares(plan.forecast, 1 / plan.intervals, weighed.importance).mean() + shift
    for low, high, keeps in (
        (of_all - 1e-6, of_all + 1e-6, True),
        (of_all - 1e-6, of_all - 1e-7, False),
        (of_all + 1e-7, of_all + 1e-6, False),
    ):
        promised = replace(weighed, expected={"plan": Share(of_all, low, high)})
        assert simulated_plan(promised).keeps is keeps


# What is expected


def forecast_by_hand(plan: Schedule, sampled: list[int]) -> Forecast:
    """Rates of four pages in three draws, and others of those that are drawn together."""
    grid = np.array([1.0, 2.0, 3.0, 5.0]) / DAY
    draws = np.array([[0, 1, 2], [3, 3, 0], [1, 2, 2], [0, 0, 1]], np.uint8)
    together = np.array([[0, 3], [2, 1], [1, 1], [3, 0]], np.uint8)[sampled]
    return replace(
        plan.forecast,
        grid=grid,
        draws=draws if len(sampled) < 4 else together,
        sampled=np.array(sampled),
        together=together,
    )


@pytest.mark.parametrize("sampled", [[0, 1, 2, 3], [1, 3]])
@pytest.mark.parametrize("objective", ["freshness", "delay", "harmonic"])
def test_of_many_pages_some_are_drawn_together_and_scaled_to_all(
    sampled: list[int], objective: str, plan: Schedule
) -> None:
    """Counted out, page by page; a delay is that of a change, the others of a page."""
    forecast = forecast_by_hand(plan, sampled)
    visits = np.array([1.0, 0.5, 2.0, 4.0]) / DAY
    importance = np.array([1.0, 2.0, 3.0, 4.0])
    costs = {
        "freshness": lambda r, f: 1 - f / r * (1 - np.exp(-r / f)),
        "delay": lambda r, f: r / (2 * f),
        "harmonic": lambda r, f: np.log(1 + r / f),
        "changes": lambda r, _: r,
    }

    def mean(cost: str, pages: list[int], draws: np.ndarray) -> np.ndarray:
        rows = [
            importance[page] * costs[cost](forecast.grid[own], visits[page])
            for page, own in zip(pages, draws, strict=True)
        ]
        return np.sum(rows, axis=0) / importance[pages].sum()

    def of_all(cost: str) -> np.ndarray:
        together = mean(cost, sampled, forecast.together)
        if len(sampled) == 4:
            return together
        alone = mean(cost, sampled, forecast.draws[sampled])
        return together * mean(cost, [0, 1, 2, 3], forecast.draws).mean() / alone.mean()

    expected = of_all(objective)
    if objective == "delay":
        expected = expected / of_all("changes")
    found = expected_costs(forecast, visits, importance, objective)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    some = np.array([False, True, True, False])
    stale = mean("freshness", [1, 2], forecast.draws[some])[: forecast.draws.shape[1]].mean()
    assert stale_of(forecast, visits, importance, some) == pytest.approx(stale)
    assert left_fresh(forecast, visits, importance, some) == pytest.approx((1 - stale) * 5 / 10)
    assert left_fresh(forecast, visits, importance, ~some & some) == 0.0


@pytest.mark.parametrize(
    ("years", "share"), [(0.01, CAUTIOUS_SHARE), (40.0, EVEN_SHARE), (None, None)]
)
def test_more_is_spread_evenly_where_the_log_is_short(
    years: float | None, share: float | None, plan: Schedule
) -> None:
    """In a line from a short history to a long one."""

    def of(years: float) -> float:
        return even_share_of(replace(plan.gaps, begin=0.0, end=years * YEAR))

    if years is not None:
        assert of(years) == pytest.approx(share)
        return
    middle = (_SHORT_HISTORY + _LONG_HISTORY) / 2
    assert of(middle) == pytest.approx((CAUTIOUS_SHARE + EVEN_SHARE) / 2)
    assert of(_SHORT_HISTORY) == CAUTIOUS_SHARE != EVEN_SHARE == of(_LONG_HISTORY)


def test_a_plan_that_is_all_even_is_even(plan: Schedule) -> None:
    limits = replace(plan.limits, budget=2.0 / DAY)
    found = planned(plan.forecast, plan.importance, limits, 1.0)
    np.testing.assert_allclose(found, 0.5 / DAY)
    half = planned(plan.forecast, plan.importance, limits, 0.5)
    none = planned(plan.forecast, plan.importance, limits, 0.0)
    assert half.sum() == pytest.approx(2.0 / DAY)
    assert (half >= 0.25 / DAY * (1 - 1e-9)).all()
    assert np.ptp(none) > np.ptp(half) > 0.0
