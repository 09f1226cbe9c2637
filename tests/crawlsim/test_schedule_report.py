"""The report of a schedule: its figures hold the right numbers, and its page harms nobody."""

from __future__ import annotations

import csv
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from numpy.testing import assert_allclose

from crawlsim import schedule
from crawlsim.logs.plan.planning import planned, stale_shares
from crawlsim.logs.plan.replay import Window
from crawlsim.logs.plan.schedule import Share
from crawlsim.logs.plan.simulation import SimulatedPlan
from crawlsim.report.drawing import svg_text
from crawlsim.report.schedule_report import (
    budget_points,
    places_of,
    plot_backtest,
    plot_budget,
    plot_rates,
    schedule_page,
    stale_shares_of_pages,
)
from crawlsim.scheduling import Schedule

DAY = 86400.0
ATTACK = "https://b.example/<script>alert('1')</script>\"&$x$\u202e"
SIMULATED = SimulatedPlan(
    pages=7, draws=24, expected=0.25, simulated=0.26, low=0.24, high=0.28, keeps=False
)


def log_of(path: Path, pages: int, years: int = 6) -> Path:
    """Visits every 20 days: page k changes at every (k + 1)-th of them; the last is seen once."""
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["url", "time", "digest"])
        for page in range(pages):
            for visit in range(years * 18):
                time = 1.4e9 + 20 * DAY * visit + 100 * page
                rows.writerow([f"https://a.example/d{page % 3}/{page}", time, visit // (page + 1)])
        rows.writerow([ATTACK, 1.4e9, "x"])
    return path


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Schedule:
    log = log_of(tmp_path_factory.mktemp("logs") / "log.csv", 12)
    return schedule(log, "1/day", backtest=True)


def line_of(ax: Axes, label: str) -> tuple[np.ndarray, np.ndarray]:
    (line,) = [each for each in ax.lines if each.get_label() == label]
    return np.asarray(line.get_xdata()), np.asarray(line.get_ydata())


@pytest.mark.thorough
def test_rates_fall_and_the_visits_of_the_same_pages_stand_beside_them(found: Schedule) -> None:
    ax = plot_rates(found)
    order = np.argsort(-found.estimates.rates)
    place, rates = line_of(ax, "changes")
    assert_allclose(place, np.arange(1, 14))
    assert_allclose(rates, found.estimates.rates[order] * DAY)
    assert (np.diff(rates) <= 0).all()
    assert_allclose(line_of(ax, "visits")[1], DAY / found.intervals[order])
    (bars,) = [each for each in ax.collections if each.get_label() == "95 % interval"]
    ends = np.array([np.asarray(path.vertices)[:, 1] for path in bars.get_paths()])
    assert_allclose(ends[:, 1], found.estimates.high[order] * DAY)
    assert (ends[:, 0] <= rates).all()
    assert ax.get_ylabel() == "per day"


@pytest.mark.thorough
def test_of_many_pages_some_hundreds_are_drawn(found: Schedule) -> None:
    many = 100_000
    rates = np.geomspace(1e-9, 1e-5, many)
    wide = replace(found.estimates, rates=rates, low=rates / 2, high=2 * rates)
    large = replace(found, urls=np.array(["u"] * many, object), estimates=wide, intervals=1 / rates)
    ax = plot_rates(large)
    place, shown = line_of(ax, "changes")
    assert len(place) <= 400
    assert_allclose(shown[[0, -1]], rates[[-1, 0]] * DAY)
    assert len(svg_text(ax, "rates")) < 200_000


def test_the_budget_is_planned_anew_and_the_present_one_is_what_was_planned(
    found: Schedule,
) -> None:
    points = budget_points(found)
    assert [each.scale for each in points] == [0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0]
    now = points[4]
    assert_allclose(now.plan, found.expected["plan"].mean)
    assert_allclose(now.uniform, found.expected["uniform"].mean)
    for each in points:
        limits = replace(found.limits, budget=each.scale * found.limits.budget)
        visits = planned(found.forecast, found.importance, limits, found.even_share)
        assert_allclose(
            each.plan, stale_shares(found.forecast, visits, found.importance).mean(), rtol=1e-9
        )
    assert (np.diff([each.plan for each in points]) < 0).all()
    ax = plot_budget(found, points)
    visits_a_day, plan = line_of(ax, "this plan")
    assert_allclose(visits_a_day, [each.scale for each in points])
    assert_allclose(plan, [100 * each.plan for each in points])
    assert_allclose(line_of(ax, "present budget")[0], [1.0, 1.0])


def test_a_part_of_the_pages_stands_for_all(
    found: Schedule, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = budget_points(found)
    monkeypatch.setattr("crawlsim.report.schedule_report._MOST_REPLANNED", 9)
    part = budget_points(found)
    assert_allclose(part[4].plan, found.expected["plan"].mean)
    assert_allclose(part[4].uniform, found.expected["uniform"].mean)
    assert_allclose([e.plan for e in part], [e.plan for e in every], rtol=0.5)
    assert part[0].plan != every[0].plan
    assert "by 9 of the pages" in schedule_page(found, None)


def test_a_rule_of_others_has_no_curve(found: Schedule) -> None:
    other = replace(found, asked=replace(found.asked, rule="lambdacrawl"))
    assert budget_points(other) == []
    assert schedule_page(other, None).count("<svg") == 2


def test_budgets_that_the_limits_forbid_are_left_out(found: Schedule) -> None:
    most = np.where(np.isfinite(found.limits.host_budgets), 1.0, 1.5 / DAY / 2)
    limited = replace(found, limits=replace(found.limits, host_budgets=most))
    assert [each.scale for each in budget_points(limited)] == [0.25, 0.35, 0.5, 0.7, 1.0, 1.4]
    rare = replace(found, limits=replace(found.limits, least=1 / (20 * DAY)))
    assert [each.scale for each in budget_points(rare)] == [0.7, 1.0, 1.4, 2.0, 2.8, 4.0]
    page = schedule_page(rare, None)
    assert "half the visits" not in page
    assert "twice as many would save" in page


def test_the_windows_are_dots_at_what_was_promised_and_paid(found: Schedule) -> None:
    assert found.windows is not None
    windows = [
        Window(1.5e9, 3, 0.2, 0.1),
        Window(1.6e9, 4, None, None),
        Window(1.7e9, 5, 0.3, -0.1),
    ]
    ax = plot_backtest(replace(found, windows=windows))
    assert_allclose(line_of(ax, "promised")[1], [20, np.nan, 30])
    assert_allclose(line_of(ax, "paid")[1], [10, np.nan, -10])
    assert [text.get_text() for text in ax.get_xticklabels()] == [
        "2017-07-14",
        "2020-09-13",
        "2023-11-14",
    ]
    with pytest.raises(ValueError, match="no back-test to draw"):
        plot_backtest(replace(found, windows=None))


def test_the_stale_share_of_the_plan_is_the_mean_over_its_pages(found: Schedule) -> None:
    stale = stale_shares_of_pages(found)
    assert_allclose(stale.mean(), found.expected["plan"].mean)


def test_visits_go_to_hosts_and_of_one_host_to_folders(found: Schedule) -> None:
    stale = stale_shares_of_pages(found)
    places = {each.name: each for each in places_of(found, stale)}
    assert set(places) == {"https://a.example", "https://b.example"}
    assert places["https://a.example"].pages == 12
    assert_allclose(sum(each.visits for each in places.values()), 1.0)
    assert_allclose(sum(each.share for each in places.values()), 1.0)
    names = np.array([f"https://a.example/d{page % 3}/{page}" for page in range(13)], object)
    folders = places_of(replace(found, urls=names), stale)
    assert {each.name: each.pages for each in folders} == {
        "https://a.example/d0/": 5,
        "https://a.example/d1/": 4,
        "https://a.example/d2/": 4,
    }
    assert [each.visits for each in folders] == sorted((e.visits for e in folders), reverse=True)


class Page(HTMLParser):
    """The elements of a page, closed in order, and its words."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.words = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


def test_the_page_is_well_formed_and_fetches_nothing(found: Schedule) -> None:
    text = schedule_page(found, SIMULATED)
    page = Page(text)
    assert page.open == []
    assert "script" not in page.tags
    links = [value for name, value in page.attributes if name in ("src", "href", "xlink:href")]
    assert links
    assert all(link.startswith(("#", "data:")) for link in links)
    assert not re.search(r"@import|url\((?!#)|<link|\son\w+=", text)
    ids = [value for name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    figures = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    assert len(figures) == 3
    for figure in figures:
        ElementTree.fromstring(figure)


def test_a_hostile_url_is_shown_and_does_nothing(found: Schedule) -> None:
    text = schedule_page(found, None)
    assert "<script" not in text
    assert "\u202e" not in text
    assert ATTACK[:-1] + "%E2%80%AE" in Page(text).words
    long = replace(found, urls=np.array(["https://x.example/" + "y" * 9999] * 13, object))
    assert "y" * 200 not in schedule_page(long, None)
    halves = replace(found, urls=np.array(["https://x.example/\udcff"] * 13, object))
    schedule_page(halves, None).encode()


def test_the_page_says_what_the_operator_gets(found: Schedule) -> None:
    shares = {name: Share(0.2, 0.1, 0.3) for name in found.expected}
    shares["uniform"] = Share(0.25, 0.2, 0.3)
    windows = [Window(1.5e9 + n * 365 * DAY, 3, 0.2, 0.1 + 0.01 * n) for n in range(4)]
    text = schedule_page(replace(found, expected=shares, windows=windows), SIMULATED)
    words = " ".join(Page(text).words.split())
    for expected in (
        "With 1 visit a day by this plan, the copies of 13 pages are expected to be out of date "
        "for 20.0 % of the time (10.0 % to 30.0 %, 95 %); visited equally often, for 25.0 %, so "
        "that the plan saves 20.0 % of the stale time.",
        "Plans of earlier years paid; how much this one will pay cannot be predicted",
        "pays",
        "they saved 11.5 % of the stale time of uniform visits on average, 10.0 % in the worst "
        "year and 13.0 % in the best",
        "stale share 26.0 % (24.0 % to 28.0 %, 95 %), expected 25.0 %. The promise does not hold.",
        "half the visits would cost",
        "prior: seen once",
        "LambdaCrawl",
    ):
        assert expected in words
    assert text == schedule_page(replace(found, expected=shares, windows=windows), SIMULATED)


@pytest.mark.parametrize(
    ("paid", "word"),
    [(-0.2, "Plans of earlier years did not pay"), (0.0, "do not show whether plans pay")],
)
def test_the_page_hides_no_bad_news(found: Schedule, paid: float, word: str) -> None:
    windows = [Window(1.5e9 + n * 365 * DAY, 3, 0.2, paid + 0.01 * n) for n in range(4)]
    assert word in Page(schedule_page(replace(found, windows=windows), None)).words


@pytest.mark.thorough
def test_a_log_too_short_for_a_back_test_and_none_asked_for_are_told_apart(
    found: Schedule,
) -> None:
    short = Page(schedule_page(replace(found, windows=[]), None)).words
    assert "The log is too short to replay a year." in short
    none = Page(schedule_page(replace(found, windows=None), None)).words
    assert "--backtest replays the plans of earlier years" in none
    assert "The plan carried out" not in none


def test_the_command_writes_the_page(tmp_path: Path, crawlsim: Any) -> None:
    log = log_of(tmp_path / "log.csv", 3, years=1)
    page = tmp_path / "page.html"
    words = ["schedule", str(log), "--visits", "1/day", "--out", str(tmp_path / "plan.csv")]
    for _ in range(2):
        assert crawlsim(*words, "--report", str(page))[0] == 0
    assert "Schedule of 4 pages" in Page(page.read_text()).words
