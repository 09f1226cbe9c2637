"""Plans by signals: what levels lead to, what they promise and pay, and the files for crawlers."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analytic.signals.cycles import cycles_at, signal_worths
from crawlsim.api import schedule
from crawlsim.logs.fit.signal_worth import Draws, signals_beside
from crawlsim.logs.plan.allocation import Limits, evenly
from crawlsim.logs.plan.by_signals import imputed_beside
from crawlsim.logs.plan.schedule import due_in_words
from crawlsim.logs.plan.signal_levels import (
    Due,
    Rates,
    cycles,
    deaf,
    level_plan,
    replayed,
)
from crawlsim.logs.read.gaps import gaps_of_visits
from crawlsim.logs.read.signals import Heard, heard_in
from experiments.signal_logs import (
    DAY,
    MONTH,
    START,
    Site,
    kept,
    made_site,
    replayed_year,
    write_site,
)
from scenarios import ScenarioError
from scenarios.signals import SignalRates

RATES = Rates(np.array([0.4, 0.05, 1.0]), np.array([0.6, 0.5, 0.1]), np.array([0.9, 0.1, 3.0]))


def test_cycles_are_those_of_the_theory() -> None:
    """Levels made for the rates as they are, and no shortest time."""
    of = SignalRates(*RATES)
    levels = np.array([1.7, 5.0, 0.8])
    length, fresh = cycles(RATES, Due(levels, signal_worths(of), 0.0))
    exact = cycles_at(of, levels)
    np.testing.assert_allclose(length, exact.lengths, rtol=1e-9)
    np.testing.assert_allclose(fresh, exact.fresh, rtol=1e-9)


@pytest.mark.statistical
def test_cycles_of_other_levels_by_simulation() -> None:
    """Worths that the rates do not have, and a shortest time; 40,000 cycles, errors of 0.4 %."""
    rng = np.random.default_rng(1)
    due = Due(np.array([2.0, 6.0, 0.9]), np.array([0.7, 5.0, 0.25]), 0.5)
    length, fresh = cycles(RATES, due)
    for page in range(3):
        silent, true, false = (each[page] for each in RATES)
        signals = np.cumsum(rng.exponential(1 / (true + false), (40_000, 40)), axis=1)
        tau = signals + due.worths[page] * np.arange(1, 41)
        first = np.argmax(tau >= due.levels[page], axis=1)
        before = due.levels[page] - due.worths[page] * first
        end = np.maximum(np.minimum(signals[np.arange(40_000), first], before), 0.5)
        is_true = rng.random(signals.shape) < true / (true + false)
        told = np.where(is_true, signals, np.inf).min(axis=1)
        change = np.minimum(rng.exponential(1 / silent, 40_000), told)
        assert end.mean() == pytest.approx(length[page], rel=0.015)
        assert np.minimum(change, end).mean() == pytest.approx(fresh[page], rel=0.015)


def test_many_worthless_signals_are_taken_in_the_mean() -> None:
    rates = Rates(np.array([0.5]), np.array([0.0]), np.array([5.0]))
    few = cycles(rates, Due(np.array([2.0]), np.array([2.0 / 399.0]), 0.0))
    many = cycles(rates, Due(np.array([2.0]), np.array([2.0 / 401.0]), 0.0))
    np.testing.assert_allclose(few, many, rtol=1e-3)


def known(silent: Any, true: Any, false: Any) -> Draws:
    """One draw: what is known for sure, per second."""
    silent, true, false = (np.asarray(each, float)[:, None] / DAY for each in (silent, true, false))
    return Draws(true / (true + false), silent, true + false)


def limits_of(pages: int, a_day: float, **how: Any) -> Limits:
    kept_to = {
        "least": 1e-9 / DAY,
        "most": np.inf,
        "host": np.zeros(pages, np.int64),
        "host_budgets": np.array([np.inf]),
    } | how
    return Limits(a_day / DAY, **kept_to)


def random_pages(pages: int = 20) -> Draws:
    rng = np.random.default_rng(7)
    changes = rng.exponential(0.3, pages)
    return known(0.5 * changes, 0.5 * changes, 1.5 * changes)


def test_plans_spend_the_budget_and_keep_limits() -> None:
    draws = random_pages()
    ones = np.ones(20)
    host = np.arange(20) % 2
    for limits in (
        limits_of(20, 4.0),
        limits_of(20, 4.0, most=0.5 / DAY),
        limits_of(20, 4.0, least=0.1 / DAY),
        limits_of(20, 4.0, host=host, host_budgets=np.array([np.inf, 1.0 / DAY])),
    ):
        plan = level_plan(draws, ones, limits, 0.1)
        assert plan.visits.sum() == pytest.approx(limits.budget, rel=1e-3)
        assert (1 / plan.visits >= plan.due.shortest * (1 - 1e-9)).all()
        assert (plan.due.levels <= np.minimum(1 / limits.least, 10 / evenly(limits)) * 1.0001).all()
        of_host = np.bincount(limits.host, plan.visits, len(limits.host_budgets))
        assert (of_host <= limits.host_budgets * 1.001).all()


def test_an_even_share_of_all_is_even() -> None:
    plan = level_plan(random_pages(), np.ones(20), limits_of(20, 4.0), 1.0)
    np.testing.assert_allclose(plan.visits, 0.2 / DAY, rtol=1e-3)


def test_signals_that_mean_nothing_change_nothing() -> None:
    rates = np.linspace(0.05, 0.5, 30)
    noisy = level_plan(known(rates, 1e-9 * rates, 4 * rates), np.ones(30), limits_of(30, 9.0), 0.1)
    silent = level_plan(
        known(rates, 1e-9 * rates, 1e-9 * rates), np.ones(30), limits_of(30, 9.0), 0.1
    )
    np.testing.assert_allclose(noisy.visits, silent.visits, rtol=1e-3)


def test_a_replay_follows_the_levels() -> None:
    """By hand, from a visit at 0: the level is 5, each signal counts for 2.

    The signal at 2 brings the visit of 5 to 3; those at 3.5 and 4 bring that of 8 to 6 and 4; then
    nothing is heard, and 9 is next. The copy is out of date from 1 to 3 and from 7 to 9.
    """
    plan = deaf(np.array([1 / 5.0]))
    plan = plan.__class__(Due(np.array([5.0]), np.array([2.0]), 0.0), plan.visits, None)
    heard = Heard(np.zeros(3, np.int64), np.array([2.0, 3.5, 4.0]), 0.0, 20.0)
    changes = (np.zeros(2, np.int64), np.array([1.0, 7.0]))
    found = replayed(changes, heard, plan, 0.0, 10.0)
    assert found.visits[0] == 3
    assert found.stale[0] * 10.0 == pytest.approx(2.0 + 2.0)


def test_a_replay_agrees_with_the_formulas() -> None:
    """A site of ten years: the stale share of replayed levels is that of the true rates."""
    site = made_site(60, 121, 1.0, 0.4, 0.6, np.random.default_rng(8))
    heard = Heard(site.signals.page.astype(np.int64), site.signals.time, START, START + 1e9)
    due = Due(np.full(60, 1.2 * MONTH), np.full(60, 0.5 * MONTH), 0.0)
    length, fresh = cycles(Rates(*site.rates), due)
    plan = deaf(1 / length)
    plan = plan.__class__(due, 1 / length, None)
    changes = (site.change_page, site.change_time)
    found = replayed(changes, heard, plan, START + MONTH, START + 120 * MONTH)
    assert found.stale.mean() == pytest.approx(1 - (fresh / length).mean(), abs=0.01)
    assert found.visits.sum() / 119 == pytest.approx((MONTH / length).sum(), rel=0.01)


def test_imputed_changes_are_those_that_the_log_leaves_possible() -> None:
    site = made_site(40, 13, 1.0, 0.4, 0.6, np.random.default_rng(9))
    gaps = gaps_of_visits(site.log)
    heard = heard_in(site.signals, site.log.urls, gaps.begin, gaps.end)
    beside = signals_beside(gaps, heard)
    draws = known(*(each * DAY for each in site.rates))
    rng = np.random.default_rng(1)
    totals = []
    for _ in range(20):
        made = imputed_beside(beside, heard, draws, rng)
        span = 1e10
        at = gaps.page * span + gaps.start
        number = np.searchsorted(made.page * span + made.time, at + gaps.length) - np.searchsorted(
            made.page * span + made.time, at
        )
        assert ((number > 0) == gaps.changed).all()
        totals.append(len(made.time))
    last = START + 12 * MONTH
    assert np.mean(totals) == pytest.approx((site.change_time < last).sum(), rel=0.05)


def test_words() -> None:
    assert due_in_words(9.2 * DAY, 3.1 * DAY) == (
        "due after 9.2 days; each signal counts for 3.1 days; at once with 3"
    )
    assert due_in_words(9.2 * DAY, 9.2 * DAY).endswith("at once with the first")
    assert due_in_words(9.2 * DAY, 0.0) == "due after 9.2 days; a signal counts for nothing"


@pytest.mark.thorough
@pytest.mark.statistical
@pytest.mark.parametrize(("precision", "recall"), [(0.2, 0.5), (0.8, 0.8)])
def test_most_of_the_exact_saving_is_kept(precision: float, recall: float) -> None:
    """A year of monthly visits; by night many more."""
    found = kept(made_site(150, 13, 0.5, precision, recall, np.random.default_rng(3)))
    assert found.of_uniform > 0.9
    assert found.of_deaf > 0.85
    assert found.spent == pytest.approx(1.0, abs=0.03)
    assert found.promised == pytest.approx(found.plan, abs=0.03)


@pytest.mark.thorough
@pytest.mark.statistical
@pytest.mark.parametrize("build_takes", [0.0, 6 * 3600.0])
def test_builds_that_stamp_all_dates_do_no_harm(build_takes: float) -> None:
    """As many stamps as signals, at one moment, which is seen, or over hours, which is learned."""
    site = made_site(
        100, 25, 1.0, 0.8, 0.8, np.random.default_rng(4), builds=24, build_takes=build_takes
    )
    plan, even, spent = replayed_year(site)
    assert plan < 1.01 * even
    assert spent < 1.1


@pytest.mark.nightly
@pytest.mark.statistical
@pytest.mark.parametrize(("precision", "recall"), [(0.2, 0.5), (0.5, 0.5), (0.8, 0.8)])
@pytest.mark.parametrize("changes", [0.3, 1.0, 3.0])
def test_savings_by_night(precision: float, recall: float, changes: float) -> None:
    """In the mean of six sites of 300 pages."""
    sites = [
        kept(made_site(300, 13, changes, precision, recall, np.random.default_rng(seed)))
        for seed in range(6)
    ]
    assert np.mean([each.of_uniform for each in sites]) > 0.88
    assert sum(each.promise_holds for each in sites) >= 4


@pytest.mark.nightly
@pytest.mark.statistical
@pytest.mark.parametrize(("precision", "recall"), [(0.2, 0.5), (0.8, 0.8)])
@pytest.mark.parametrize("changes", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("build_takes", [0.0, 30.0, 6 * 3600.0, 3 * DAY])
def test_stamps_by_night(
    precision: float, recall: float, changes: float, build_takes: float
) -> None:
    """As many stamps as other signals."""
    builds = max(1, round(24 * recall * changes / precision))
    for seed in range(3):
        rng = np.random.default_rng([seed, 7])
        site = made_site(
            150, 25, changes, precision, recall, rng, builds=builds, build_takes=build_takes
        )
        plan, even, _ = replayed_year(site)
        assert plan < 1.01 * even


# The command


@pytest.fixture(name="_site")
def site_in_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    monkeypatch.chdir(tmp_path)
    made = made_site(30, 13, 1.0, 0.5, 0.6, np.random.default_rng(6))
    write_site(made, tmp_path)
    return made


def rows_in(path: str) -> list[dict[str, str]]:
    with Path(path).open(newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.usefixtures("_site")
def test_a_plan_with_signals(crawlsim: Any) -> None:
    words = ("--signals", "signals.csv", "--visits", "1/day", "--out", "plan.csv")
    code, out, err = crawlsim("schedule", "visits.csv", *words)
    assert code == 0, err
    assert "this plan without signals" in out
    assert "Signals of example.org:" in err
    rows = rows_in("plan.csv")
    assert len(rows) == 30
    visits = sum(DAY / float(row["interval_seconds"]) for row in rows)
    assert visits == pytest.approx(1.0, rel=1e-3)
    for row in rows:
        assert float(row["interval_seconds"]) <= float(row["level_seconds"]) * 1.000001
        assert 0 <= float(row["signal_worth_seconds"]) <= float(row["level_seconds"]) * 1.000001
        assert "due after" in row["why"]
    code, out, _ = crawlsim("schedule", "visits.csv", *words, "--force", "--json")
    record = json.loads(out)
    (host,) = record["signals"]
    assert host["precision_low"] < 0.5 < host["precision_high"]
    assert record["expected"]["stale"] < record["expected"]["without_signals"]
    assert record["savings"]["uniform"] > 0.1


@pytest.mark.usefixtures("_site")
def test_seeds_of_stormcrawler_say_what_a_signal_counts_for(crawlsim: Any) -> None:
    words = ("--signals", "signals.csv", "--visits", "1/day", "--format", "stormcrawler")
    code, _, err = crawlsim("schedule", "visits.csv", *words, "--out", "seeds.txt")
    assert code == 0, err
    lines = Path("seeds.txt").read_text().splitlines()
    assert len(lines) == 30
    assert all("\tsignalWorthMinutes=" in line for line in lines)


@pytest.mark.usefixtures("_site")
def test_signals_alone_make_an_even_plan(crawlsim: Any) -> None:
    words = ("--signals", "signals.csv", "--visits", "3/day", "--out", "plan.csv")
    code, out, err = crawlsim("schedule", *words)
    assert code == 0, err
    assert "No promise. Signals without visits" in out
    rows = rows_in("plan.csv")
    levels = [float(row["level_seconds"]) for row in rows]
    assert levels == pytest.approx([len(rows) * DAY / 3] * len(rows), rel=1e-6)
    assert {row["signal_worth_seconds"] for row in rows} == {"0.0"}
    assert {row["rate_per_day"] for row in rows} == {""}


@pytest.mark.usefixtures("_site")
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("visits.csv", "--signals", "none.csv"), "no signal can be read"),
        (("visits.csv", "--signals", "strange.csv"), "1 signal is of a URL that was never visited"),
        (("visits.csv", "--signals", "visits.csv"), "this holds visits"),
        (("visits.csv", "--signals", "nowhere.csv"), "cannot be read"),
        (("visits.csv", "--signals", "signals.csv", "--format", "nutch"), "knows no signals"),
        (("visits.csv", "--signals", "signals.csv", "--tiers", "1d,2d"), "--tiers"),
        (("visits.csv", "--signals", "signals.csv", "--simulate"), "--simulate"),
        (("visits.csv", "--signals", "signals.csv", "--objective", "delay"), "--objective"),
        ((), "a log of visits is needed"),
    ],
)
def test_refusals(words: tuple[str, ...], says: str, crawlsim: Any) -> None:
    Path("none.csv").write_text("url,time\n")
    Path("strange.csv").write_text("url,time\nhttps://strange.example/,2024-01-01\n")
    code, out, err = crawlsim("schedule", *words, "--visits", "1/day", "--out", "plan.csv")
    assert (code, out) == (2, "")
    assert says in err
    assert not Path("plan.csv").exists()


@pytest.mark.usefixtures("_site")
def test_fit_says_what_signals_are_worth(crawlsim: Any) -> None:
    code, out, err = crawlsim("fit", "visits.csv", "--signals", "signals.csv", "--out", "made.toml")
    assert code == 0, err
    assert "What the signals are worth" in out
    assert "[pages.signals]" in Path("made.toml").read_text()
    code, out, _ = crawlsim("fit", "visits.csv", "--signals", "signals.csv", "--json")
    names = {each["parameter"] for each in json.loads(out)["parameters"]}
    assert {"precision", "recall", "total_change_rate"} <= names


@pytest.mark.thorough
def test_a_backtest_replays_the_signals() -> None:
    site = made_site(40, 38, 1.0, 0.5, 0.6, np.random.default_rng(6))
    plan = schedule(site.log, "1/day", signals=site.signals, backtest=True)
    assert plan.windows is not None
    assert len(plan.windows) == 2
    for each in plan.windows:
        assert each.paid is not None
        assert each.promised is not None
        assert each.paid == pytest.approx(each.promised, abs=0.12)


def test_signals_that_cannot_be_read() -> None:
    with pytest.raises(ScenarioError):
        schedule([], "1/day", signals="nowhere.csv")


# The how-to

PAGE = Path(__file__).parents[4] / "docs" / "how-to" / "sitemaps-worth.md"


def test_the_loop_of_the_how_to(tmp_path: Path) -> None:
    """By hand, with the level 10 and the worth 4: two signals bring a visit of 10 to 2."""
    script = PAGE.read_text().partition("```python\n")[2]
    names: dict[str, Any] = {"__name__": "due"}
    exec(script.partition("```")[0], names)
    plan, log, signals = (tmp_path / name for name in ("plan.csv", "log.csv", "signals.csv"))
    plan.write_text(
        "url,interval_seconds,level_seconds,signal_worth_seconds\n"
        "a,8,10,4\nb,8,10,4\nc,8,10,0\nd,8,10,4\nnew,8,10,4\ngone,,,\n"
    )
    log.write_text("url,time\na,100\nb,100\nc,100\nd,90\nd,100\n")
    signals.write_text("url,time\na,101\na,102\na,102\nb,99\nb,101\nb,108\nc,101\n")
    assert names["due"](plan, log, signals, 101.0) == ["new"]
    assert names["due"](plan, log, signals, 103.0) == ["new", "a"]
    assert names["due"](plan, log, signals, 107.0) == ["new", "a", "b"]
    assert names["due"](plan, log, signals, 110.0) == ["new", "a", "b", "c", "d"]
    assert names["seconds"]("1970-01-02T00:00:00Z") == DAY


@pytest.mark.thorough
def test_the_how_to_shows_what_is_printed(
    crawlsim: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What `fit` says there, tests/test_how_to.py compares."""
    monkeypatch.chdir(PAGE.parent)
    words = ("site-visits.csv.gz", "--signals", "site-signals.csv.gz")
    plan = str(tmp_path / "plan.csv")
    code, out, _ = crawlsim("schedule", *words, "--visits", "2/day", "--out", plan)
    assert code == 0
    printed = [" ".join(line.split()) for line in out.splitlines()]
    (table,) = [
        block for block in PAGE.read_text().split("```") if "this plan without signals" in block
    ]
    for line in table.strip().splitlines():
        assert " ".join(line.split()) in printed
    assert "due after 66.3 days; each signal counts for 66.3 days; at once with the first" in (
        Path(plan).read_text()
    )
