"""Budgets of bytes: the optimum against searches of another kind, what a plan fetches, refusals."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import optimize
from simulated_logs import DAY, visit_log

from crawlsim.logs.plan import allocation, byte_budget
from crawlsim.logs.plan.allocation import Limits, Worth
from crawlsim.logs.plan.byte_budget import ByteBudget, Fetched
from crawlsim.logs.plan.planning import planned, stale_share
from crawlsim.logs.plan.quantities import bytes_per_second
from crawlsim.logs.plan.replay import Changes, changes_found
from crawlsim.logs.plan.schedule import LogRequest, schedule_of
from crawlsim.logs.plan.writing import intervals_in, unspent
from crawlsim.logs.read import VisitLog, read_logs
from scenarios import ScenarioError
from scenarios.arrays import Array

UNCHANGED = 300.0


def bytes_of(visits: Array, rates: Array, sizes: Array) -> Array:
    """By the words of the model: a visit finds a change with probability 1 - exp(-r / f)."""
    share = -np.expm1(-rates / visits)
    return visits * ((1 - share) * UNCHANGED + share * sizes)


def known(rates: Array, sizes: Array, visits_of_a_page: float) -> tuple[Worth, Fetched]:
    """The worth of bytes, and the bytes, of pages whose rates are known."""
    logs = allocation.visit_grid(visits_of_a_page)
    each = np.eye(len(rates))
    price = byte_budget.log_bytes_of_one_more(each, rates, logs, sizes, UNCHANGED)
    worth = Worth(logs, (allocation.values_of_visits(each, rates, logs) - price).astype("f4"))
    found = byte_budget.log_found(each, rates, logs)
    return worth, Fetched(sizes, UNCHANGED, logs, found)


def limits(budget: float, fetched: Fetched) -> Limits:
    host = np.zeros(len(fetched.sizes), np.int64)
    return Limits(budget, 1e-9, np.inf, host, np.full(1, np.inf), fetched.bytes)


@given(st.integers(0, 10_000))
@example(268)  # one of 19 bytes
def test_the_bytes_of_visits_are_those_of_the_model(seed: int) -> None:
    """To 2 in 10,000; of pages smaller than a 304, of which one in 60 is, in bytes of such answers.

    What their visits save is a difference of two numbers that may be nearly the same.
    """
    rng = np.random.default_rng(seed)
    rates = np.exp(rng.normal(0, 2, 20))
    sizes = np.exp(rng.normal(10, 2, 20))
    _, fetched = known(rates, sizes, 1.0)
    visits = np.exp(rng.uniform(-7, 8, 20))
    exact = bytes_of(visits, rates, sizes)
    allowed = 2e-4 * bytes_of(visits, rates, np.maximum(sizes, UNCHANGED))
    assert (np.abs(fetched.bytes(visits) - exact) <= allowed).all()


@pytest.mark.parametrize("per_page", [600.0, 5e3, 2e4])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_optimum_is_that_of_a_search_over_all_visits(seed: int, per_page: float) -> None:
    """SLSQP from several starts, by the exact costs: the plan leaves no more stale."""
    rng = np.random.default_rng(seed)
    pages = 5
    rates = np.exp(rng.normal(0, 1, pages))
    sizes = np.where(rng.random(pages) < 0.5, 1e4, 1e5)
    weights = rng.uniform(0.5, 2.0, pages)
    budget = per_page * pages
    even = byte_budget.roughly_even_visits(budget, sizes, UNCHANGED, float(rates.mean()))
    worth, fetched = known(rates, sizes, even / pages)
    best = allocation.by_freshness(worth, weights, limits(budget, fetched))
    assert bytes_of(best, rates, sizes).sum() == pytest.approx(budget, rel=2e-4)

    def cost(logs: Array) -> float:
        return float(weights @ stale_share(rates, np.exp(logs)))

    spends = {
        "type": "ineq",
        "fun": lambda logs: 1 - bytes_of(np.exp(logs), rates, sizes).sum() / budget,
    }
    starts = [np.log(best), *(rng.normal(0, 2, pages) for _ in range(8))]
    bounds = [(-9.0, 7.0)] * pages
    found = min(
        each.fun
        for start in starts
        if (each := optimize.minimize(cost, start, constraints=[spends], bounds=bounds)).success
    )
    assert cost(np.log(best)) == pytest.approx(found, rel=2e-3)
    assert cost(np.log(best)) <= found * 1.002


def test_the_optimum_solves_the_equation_of_the_contract() -> None:
    """1 - (1 + x) exp(-x) = price c0 r / (w - price c1 r), with one price for all pages."""
    rng = np.random.default_rng(4)
    rates = np.exp(rng.normal(0, 0.7, 40))
    sizes = np.exp(rng.normal(9, 1, 40))
    weights = rng.uniform(0.5, 2.0, 40)
    worth, fetched = known(rates, sizes, 1.0)
    best = allocation.by_freshness(worth, weights, limits(2e5, fetched))
    x = rates / best
    gain = 1 - (1 + x) * np.exp(-x)
    prices = gain * weights / rates / (UNCHANGED + (sizes - UNCHANGED) * gain)
    inside = (best > 1e-2) & (best < 1e2)
    assert inside.sum() > 20
    np.testing.assert_allclose(prices[inside], np.median(prices[inside]), rtol=0.02)


def site(pages: int = 200, seed: int = 5) -> tuple[VisitLog, Array, Array]:
    """A log of visits, the true rates, and sizes that differ by ten."""
    rng = np.random.default_rng(seed)
    rates = rng.gamma(1.0, 1.0, pages) / (10 * DAY)
    log = visit_log(rates, 5 * DAY * rng.uniform(0.5, 1.5, (pages, 40)))
    return log, rates, np.where(rng.random(pages) < 0.5, 2e4, 2e5)


def budget_of(log: VisitLog, sizes: Array, of_a_page: float) -> ByteBudget:
    per_second = of_a_page * len(sizes) / DAY
    return ByteBudget(per_second, dict(zip(log.urls.tolist(), sizes.tolist(), strict=True)))


@pytest.mark.parametrize(("even", "of_a_page"), [(0.0, 2e3), (None, 2e3), (None, 1e4)])
def test_a_plan_of_bytes_beats_one_by_visits_by_a_tenth(
    even: float | None, of_a_page: float
) -> None:
    """By the true rates, and with the bytes that these fetch: even so more than a quarter."""
    log, rates, sizes = site()
    plan = schedule_of(log, LogRequest(0.0, bytes=budget_of(log, sizes, of_a_page), even=even))
    saving = plan.saving("by_visits")
    assert saving is not None
    assert saving > 0.25
    visits = 1 / plan.intervals
    fetched = plan.bytes_of_pages
    assert fetched is not None
    assert fetched.sum() * DAY == pytest.approx(of_a_page * len(sizes), rel=1e-6)
    share = plan.bytes()
    assert share.low < share.mean < share.high
    assert share.low < bytes_of(visits, rates, sizes).sum() < share.high
    by_visits = schedule_of(log, LogRequest(1.0, even=even))
    others = 1 / by_visits.intervals
    true_bytes = bytes_of(visits, rates, sizes).sum()

    def surplus(log_factor: float) -> float:
        return float(bytes_of(np.exp(log_factor) * others, rates, sizes).sum() - true_bytes)

    others = others * np.exp(optimize.brentq(surplus, -30, 30))
    assert stale_share(rates, visits).mean() < 0.75 * stale_share(rates, others).mean()


@pytest.mark.thorough
def test_an_even_share_is_of_the_bytes() -> None:
    """Half the budget spread evenly: more visits of each page, and the bytes are still kept."""
    log, _, sizes = site(60)
    budget = budget_of(log, sizes, 3e3)
    plans = [schedule_of(log, LogRequest(0.0, bytes=budget, even=even)) for even in (0, 0.5, 1)]
    for plan in plans:
        fetched = plan.bytes_of_pages
        assert fetched is not None
        assert fetched.sum() == pytest.approx(budget.per_second, rel=1e-6)
    alike = 1 / plans[2].intervals
    np.testing.assert_allclose(alike, alike[0])
    assert (1 / plans[1].intervals >= 0.5 * alike * (1 - 1e-9)).all()
    half = plans[1]
    again = planned(half.forecast, half.importance, half.limits, 0.5)
    np.testing.assert_allclose(again, 1 / half.intervals, rtol=1e-9)


def test_pages_alike_are_planned_as_by_visits() -> None:
    """Equal sizes and equal rates: bytes are visits by another name."""
    log, _, _ = site(50)
    sizes = np.full(50, UNCHANGED)
    by_bytes = schedule_of(log, LogRequest(0.0, bytes=budget_of(log, sizes, UNCHANGED), even=0.0))
    by_visits = schedule_of(log, LogRequest(50 / DAY, even=0.0))
    np.testing.assert_allclose(by_bytes.intervals, by_visits.intervals, rtol=1e-4)


@pytest.mark.parametrize("form", ["nutch", "stormcrawler"])
def test_whole_intervals_spend_no_more_bytes(form: str) -> None:
    log, _, sizes = site(80)
    plan = schedule_of(log, LogRequest(0.0, bytes=budget_of(log, sizes, 8e3)))
    unit = 60.0 if form == "stormcrawler" else 1.0
    seconds = intervals_in(plan, form) * unit
    assert plan.forecast.fetched is not None
    spent = plan.forecast.fetched.bytes(1 / seconds).sum()
    assert spent <= plan.asked.budget * (1 + 1e-6)
    assert spent == pytest.approx(plan.asked.budget, rel=1e-3)


def test_tiers_spend_the_bytes() -> None:
    log, _, sizes = site(80)
    tiers = (DAY / 4, DAY, 5 * DAY, 60 * DAY)
    plan = schedule_of(log, LogRequest(0.0, bytes=budget_of(log, sizes, 3e3), tiers=tiers))
    assert set(plan.intervals.tolist()) <= set(tiers)
    fetched = plan.bytes_of_pages
    assert fetched is not None
    assert 0.97 * plan.asked.budget < fetched.sum() <= plan.asked.budget * (1 + 1e-6)


@given(st.integers(0, 1000))
def test_visits_that_find_a_change_in_a_history(seed: int) -> None:
    """Against visits at a thousand phases, one by one."""
    rng = np.random.default_rng(seed)
    time = np.sort(rng.uniform(0, 12, rng.integers(1, 12)))
    every = rng.uniform(0.3, 4.0)
    changes = Changes(np.zeros(len(time), np.int64), time)
    found = changes_found(changes, np.array([1 / every]), 2.0, 10.0)[0] * 8.0
    counts = []
    for phase in (np.arange(1000) + 0.5) / 1000:
        visits = np.arange(-5, 60) * every + phase * every
        at = np.searchsorted(visits, time)
        last = np.append(at[1:] != at[:-1], True)  # of the changes before one visit
        counts.append(int((last & (time >= 2) & (time < 10)).sum()))
    assert found == pytest.approx(np.mean(counts), abs=0.02)


def test_the_backtest_compares_equal_bytes() -> None:
    log, _, sizes = site(120, 6)
    stretched = VisitLog(
        log.urls, log.page, log.time[0] + 6 * (log.time - log.time[0]), log.changed
    )
    asked = LogRequest(0.0, bytes=budget_of(log, sizes, 2e3), backtest=True)
    plan = schedule_of(stretched, asked)
    assert plan.windows
    for window in plan.windows:
        assert window.bytes is not None
        assert window.paid is not None
        assert 0.3 < window.bytes / asked.budget < 3
        assert window.paid > 0.05
    assert plan.record()["backtest"]["windows"][0]["bytes_per_day"] > 0


def test_a_budget_that_pages_cannot_use_is_said() -> None:
    """Forty gigabytes a day for forty pages; not five visits a page."""
    log, _, sizes = site(40)
    known = dict(zip(log.urls.tolist(), sizes.tolist(), strict=True))
    plans = [
        schedule_of(log, LogRequest(0.0, bytes=ByteBudget(40e9 / DAY, known))),
        schedule_of(log, LogRequest(40 * 5 / DAY)),
    ]
    said = [any("more often than once a minute" in note for note in plan.notes) for plan in plans]
    assert said == [True, False]


def test_pages_without_a_size_are_said() -> None:
    log, _, sizes = site(40)
    some = dict(zip(log.urls[:30].tolist(), sizes[:30].tolist(), strict=True))
    plan = schedule_of(log, LogRequest(0.0, bytes=ByteBudget(1.0, {**some, "https://x/": 5.0})))
    said = " ".join(plan.notes)
    mean = sizes[:30].mean()
    assert "10 of 40 pages are of unknown size and are taken to have the mean of the others" in said
    assert f"{mean / 1e3:.4g} kB" in said
    assert "--sizes: 1 of its URLs are not in the plan." in said
    assert plan.forecast.fetched is not None
    np.testing.assert_allclose(plan.forecast.fetched.sizes[30:], mean)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"objective": "delay"}, "does not go with --objective delay"),
        ({"longest": DAY / 50}, "need at least .* (kB|MB|GB) a day, and --budget allows"),
        ({"shortest": 200 * DAY}, r"no more than .*B/day keeps to at least 200 days"),
    ],
)
def test_what_cannot_be_is_refused(changes: dict[str, Any], words: str) -> None:
    log, _, sizes = site(40)
    with pytest.raises(ScenarioError, match=words):
        schedule_of(log, LogRequest(0.0, bytes=budget_of(log, sizes, 2e3), **changes))


def test_a_log_without_sizes_is_refused() -> None:
    log, _, _ = site(40)
    with pytest.raises(ScenarioError, match="--sizes FILE with url,bytes"):
        schedule_of(log, LogRequest(0.0, bytes=ByteBudget(1.0)))


@pytest.mark.parametrize(
    ("text", "per_day"),
    [("40GB/day", 40e9), ("1.5 TB/week", 1.5e12 / 7), ("512KiB/hour", 24 * 2**19), ("9B/day", 9)],
)
def test_budgets_of_bytes(text: str, per_day: float) -> None:
    assert bytes_per_second(text) * DAY == pytest.approx(per_day)


@pytest.mark.parametrize("text", ["5000/day", "40GB", "-1GB/day", "40Gb/day", "GB/day", "1GB/year"])
def test_what_is_no_budget_of_bytes(text: str) -> None:
    with pytest.raises(ScenarioError, match="such as 40GB/day"):
        bytes_per_second(text)


FORMS = {
    "log.csv": (
        "url,time,status,digest,size\n"
        "https://a/,2025-01-06,200,x,1000\n"
        "https://a/,2025-01-07,304,,200\n"
        "https://a/,2025-01-08,200,y,3000\n"
        "https://b/,2025-01-06,200,x,-\n"
        "https://b/,2025-01-07,404,,70\n"
    ),
    "log.jsonl": (
        '{"url": "https://a/", "time": "2025-01-06", "digest": "x", "content_length": 1000}\n'
        '{"url": "https://a/", "time": "2025-01-08", "digest": "y", "content_length": 3000}\n'
        '{"url": "https://b/", "time": "2025-01-06", "digest": "y"}\n'
    ),
    "log.cdx": (
        " CDX N b a m s k S\n"
        "a)/ 20250106000000 https://a/ text/html 200 AAA 1000\n"
        "a)/ 20250108000000 https://a/ text/html 200 BBB 3000\n"
        "a)/ 20250109000000 https://a/ warc/revisit - BBB 300\n"
        "b)/ 20250106000000 https://b/ text/html 200 BBB -\n"
    ),
    "crawl.log": (
        "2025-01-06T00:00:00.000Z 200 1000 https://a/ - - text/html #001 20250106 sha1:A - -\n"
        "2025-01-08T00:00:00.000Z 200 3000 https://a/ - - text/html #001 20250108 sha1:B - -\n"
        "2025-01-08T00:00:00.000Z 404 9 https://b/ - - text/html #001 20250108 sha1:B - -\n"
    ),
}


@pytest.mark.parametrize("name", FORMS)
def test_sizes_are_read_from_logs(name: str, tmp_path: Path) -> None:
    """The mean of the contents of a page; answers that it is unchanged and errors are none."""
    (tmp_path / name).write_text(FORMS[name])
    for pages in ("exact", "site-key"):
        log = read_logs([tmp_path / name], pages=pages)
        assert log.urls.tolist() == ["https://a/", "https://b/"]
        assert log.sizes is not None
        np.testing.assert_array_equal(log.sizes, [2000.0, np.nan])


def write(path: Path, log: VisitLog, sizes: Array | None) -> None:
    with path.open("w") as stream:
        stream.write("url,time,changed" + (",size" if sizes is not None else "") + "\n")
        for page, time, changed in zip(log.page, log.time, log.changed, strict=True):
            size = "" if sizes is None else f",{sizes[page]:.0f}"
            stream.write(f"{log.urls[page]},{time:.0f},{int(changed)}{size}\n")


def test_the_command_says_bytes(tmp_path: Path, crawlsim: Any) -> None:
    log, _, sizes = site(40)
    write(tmp_path / "log.csv", log, sizes)
    out = tmp_path / "plan.csv"
    report = tmp_path / "plan.html"
    asked = ("schedule", str(tmp_path / "log.csv"), "--budget", "120kB/day", "--out", str(out))
    code, said, err = crawlsim(*asked, "--report", str(report), "--backtest")
    assert code == 0, err
    assert "40 pages, 120 kB a day" in said
    assert "planned by visits, whatever their bytes" in said
    assert "visits a day, expected to fetch" in said
    with out.open() as stream:
        rows = list(csv.DictReader(stream))
    assert sum(float(row["bytes_per_day"]) for row in rows) == pytest.approx(120e3, rel=1e-4)
    assert {row["page_bytes"] for row in rows} == {"20000.0", "200000.0"}
    assert "With 120 kB a day by this plan" in report.read_text()
    assert "bytes per day" in report.read_text()
    code, said, err = crawlsim(*asked, "--json")
    record = json.loads(said)
    assert record["budget_of"] == "bytes"
    assert record["budget_per_day"] == pytest.approx(120e3)
    fetched = record["bytes_per_day"]
    assert fetched["low"] < fetched["expected"] < fetched["high"]
    assert record["savings"]["by_visits"] > 0.1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "a budget is needed: --visits 5000/day, or --budget 40GB/day"),
        (("--visits", "5/day", "--budget", "1GB/day"), "does not go with --visits"),
        (("--visits", "5/day", "--unchanged-bytes", "3"), "goes with --budget"),
        (("--budget", "1GB/day"), "needs the sizes of pages"),
        (("--budget", "5/day"), "such as 40GB/day"),
        (("--budget", "1GB/day", "--sizes", "sizes.csv"), "must be a number above 0"),
    ],
)
def test_refusals_of_the_command(
    options: tuple[str, ...],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    crawlsim: Any,
) -> None:
    monkeypatch.chdir(tmp_path)
    log, _, _ = site(12)
    write(Path("log.csv"), log, None)
    Path("sizes.csv").write_text("url,bytes\nhttps://a/,0\n")
    code, _, err = crawlsim("schedule", "log.csv", "--out", "plan.csv", *options)
    assert code == 2
    assert words in " ".join(err.split())
    assert not Path("plan.csv").exists()


def test_the_how_to_shows_what_is_printed(
    crawlsim: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Path(__file__).parents[4] / "docs" / "how-to" / "scheduling.md"
    monkeypatch.chdir(page.parent)
    words = ("site-visits.csv.gz", "--budget", "80kB/day", "--sizes", "site-sizes.csv")
    code, out, _ = crawlsim("schedule", *words, "--out", str(tmp_path / "plan.csv"))
    assert code == 0
    printed = [" ".join(line.split()) for line in out.splitlines()]
    (table,) = [each for each in page.read_text().split("```") if "\nplanned by visits" in each]
    for line in table.strip().splitlines():
        assert " ".join(line.split()) in printed


def test_what_hosts_leave_of_the_bytes_is_said() -> None:
    """All hosts at their limit of visits: the limits are kept, and less is spent."""
    log, _, sizes = site(80)
    free = schedule_of(log, LogRequest(0.0, bytes=budget_of(log, sizes, 8e3)))
    spacing = 7 / (0.5 * (1 / free.intervals).sum())
    asked = LogRequest(0.0, bytes=budget_of(log, sizes, 8e3), host_spacing=spacing)
    plan = schedule_of(log, asked)
    of_hosts = np.bincount(plan.limits.host, 1 / plan.intervals)
    assert (of_hosts * spacing <= 1 + 1e-9).all()
    said = unspent(plan, "csv")
    assert plan.bytes_of_pages is not None
    assert plan.bytes_of_pages.sum() < 0.99 * asked.budget
    assert said.startswith("Within the limits of the hosts, where cheap pages come first")
    assert said.endswith("kB of 640 kB a day.")
