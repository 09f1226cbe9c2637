"""The command `schedule`: files that a crawler loads, refusals that leave nothing."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from simulated_logs import bursty_site

from crawlsim.cli.schedule import _change
from crawlsim.logs.plan.writing import HEADER
from scenarios import load


def rows_of_a_log(pages: int = 40, years: float = 6.0) -> list[tuple[str, str, str]]:
    """Monthly visits of an invented site: URL, time, digest."""
    site = bursty_site(pages, years, 9)
    end = float(site.time.max())
    rows = []
    for page, url in enumerate(site.urls.tolist()):
        own = site.time[site.page == page]
        at = np.arange(own[0], end, 30 * 86400.0)
        for time, state in zip(at, np.searchsorted(own, at, "right"), strict=True):
            date = str(np.datetime64(int(time), "s"))
            rows.append((url, f"{date}Z", f"{page}-{state}"))
    return rows


def write_log(path: str, rows: list[tuple[str, str, str]]) -> None:
    lines = ["url,time,digest", *map(",".join, rows)]
    Path(path).write_text("\n".join(lines) + "\n")


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    write_log("log.csv", rows_of_a_log())
    return "log.csv"


def plan_in(path: str) -> dict[str, dict[str, str]]:
    with Path(path).open(newline="") as stream:
        return {row["url"]: row for row in csv.DictReader(stream)}


def test_a_log_becomes_a_schedule(log: str, crawlsim: Any) -> None:
    code, out, err = crawlsim(
        "schedule", log, "--visits", "4/day", "--out", "plan.csv", "--backtest"
    )
    assert code == 0, err
    assert Path("plan.csv").read_text().splitlines()[0] == ",".join(HEADER)
    plan = plan_in("plan.csv")
    assert len(plan) == 40
    intervals = np.array([float(row["interval_seconds"]) for row in plan.values()])
    assert (86400 / intervals).sum() == pytest.approx(4.0, rel=1e-6)
    for row in plan.values():
        assert 0 < float(row["low"]) <= float(row["rate_per_day"]) <= float(row["high"])
        assert 0 <= int(row["changes"]) < int(row["visits"])
    assert "40 pages, 4 visits a day" in out
    assert "By the back-test:" in out
    assert "cannot be predicted" in out


@pytest.mark.thorough
def test_neither_order_nor_files_nor_packing_change_anything(log: str, crawlsim: Any) -> None:
    rows = rows_of_a_log()
    order = np.random.default_rng(2).permutation(len(rows))
    shuffled = [rows[each] for each in order]
    write_log("a.csv", shuffled[::2])
    write_log("b.csv", shuffled[1::2])
    Path("b.csv.gz").write_bytes(gzip.compress(Path("b.csv").read_bytes()))
    for out, logs in (("one.csv", (log,)), ("two.csv", ("b.csv.gz", "a.csv"))):
        assert crawlsim("schedule", *logs, "--visits", "4/day", "--out", out)[0] == 0
    assert Path("one.csv").read_bytes() == Path("two.csv").read_bytes()


def test_json_says_what_is_expected(log: str, crawlsim: Any) -> None:
    asked = ("--visits", "28/week", "--out", "plan.csv", "--backtest", "--json")
    code, out, err = crawlsim("schedule", log, *asked)
    assert code == 0, err
    record = json.loads(out)
    assert record["pages"] == 40
    assert record["budget_per_day"] == pytest.approx(4.0)
    expected = record["expected"]
    assert 0 < expected["low"] < expected["stale"] < expected["high"] < 1
    assert expected["stale"] < expected["uniform"]
    assert expected["stale"] < expected["proportional"]
    assert {"lambdacrawl", "half_and_half"} <= set(expected)
    saving = 1 - expected["stale"] / expected["uniform"]
    assert record["savings"]["uniform"] == pytest.approx(saving)
    assert len(record["backtest"]["windows"]) >= 4
    assert {"promised", "paid"} <= set(record["backtest"]["windows"][0])
    assert record["backtest"]["verdict"] in ("pays", "does not pay", "unknown")
    code, out, _ = crawlsim("schedule", log, *asked[:4], "--json")
    assert json.loads(out)["backtest"] is None


@pytest.mark.by_day(besides=("nutch-https://\\\\S+\\\\tnutch\\\\.fetchInterval\\\\.fixed=\\\\d+",))
@pytest.mark.parametrize(
    ("form", "line"),
    [
        ("nutch", r"https://\S+\tnutch\.fetchInterval\.fixed=\d+"),
        ("scrapy", r'\{"url": "https://\S+", "next": "[\dT:-]+\+00:00", "interval": \d+\}'),
        ("stormcrawler", r"https://\S+\tscheduler\.delay\.mins=(\d+)\tfetchInterval=\1"),
    ],
)
def test_formats_of_crawlers(form: str, line: str, log: str, crawlsim: Any) -> None:
    import re

    code, _, err = crawlsim("schedule", log, "--visits", "4/day", "--out", "plan", "--format", form)
    assert code == 0, err
    lines = Path("plan").read_text().splitlines()
    assert len(lines) == 40
    assert all(re.fullmatch(line, each) for each in lines)
    # The next run replaces its own file, and no other.
    assert crawlsim("schedule", log, "--visits", "5/day", "--out", "plan", "--format", form)[0] == 0
    Path("plan").write_text("mine\n")
    assert crawlsim("schedule", log, "--visits", "5/day", "--out", "plan", "--format", form)[0] == 2
    assert Path("plan").read_text() == "mine\n"


REFUSED = {
    "no visits": (("--visits", "0/day"), "visits"),
    "negative": (("--visits=-5/day",), "visits"),
    "nan": (("--visits", "nan/day"), "visits"),
    "no unit": (("--visits", "5"), "visits"),
    "another unit": (("--visits", "5/month"), "visits"),
    "max": (("--visits", "1/day", "--max", "30d"), "need at least 1.33334 visits a day"),
    "min": (("--visits", "1000/day", "--min", "1d"), "no more often than 40/day"),
    "order": (("--visits", "4/day", "--min", "2d", "--max", "1d"), "at most --max"),
    "duration": (("--visits", "4/day", "--max", "20"), "a positive number and a unit"),
    "format": (("--visits", "4/day", "--format", "heritrix"), "csv, nutch, stormcrawler or scrapy"),
    "from": (("--visits", "4/day", "--from", "word"), "--from"),
    "kind": (("--visits", "4/day", "--kind", "x"), "visits or changes"),
    "rule": (("--visits", "4/day", "--rule", "best"), "freshness"),
    "report": (("--visits", "4/day", "--report", "page.pdf"), "must end in .html"),
    "weights": (("--visits", "4/day", "--weights", "none.csv"), "none.csv"),
    "until": (("--visits", "4/day", "--until", "1999-01-01"), "before the log begins"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_leaves_nothing(case: str, log: str, crawlsim: Any) -> None:
    options, words = REFUSED[case]
    before = set(Path().iterdir())
    code, out, err = crawlsim("schedule", log, "--out", "plan.csv", *options)
    assert code == 2
    assert words in err
    assert len(err.strip().splitlines()) <= 3
    assert out == ""
    assert set(Path().iterdir()) == before


def test_weights_and_hosts_come_from_files(log: str, crawlsim: Any) -> None:
    url = rows_of_a_log()[0][0]
    Path("views.csv").write_text(f"page_views,url\n900,{url}\n100,{url}\n1,https://other/\n")
    Path("hosts.csv").write_text("host,visits\nhost0.example,3.9/day\n")
    plain = ("schedule", log, "--visits", "4/day", "--out")
    assert crawlsim(*plain, "plain.csv")[0] == 0
    assert crawlsim(*plain, "weighted.csv", "--weights", "views.csv")[0] == 0
    intervals = [
        float(plan_in(name)[url]["interval_seconds"]) for name in ("plain.csv", "weighted.csv")
    ]
    assert intervals[1] < 0.6 * intervals[0]
    code, _, err = crawlsim(*plain, "limited.csv", "--host-visits", "hosts.csv")
    assert code == 2
    assert "no more often than 3.9/day" in err
    Path("views.csv").write_text("url,weight\na,-1\n")
    code, _, err = crawlsim(*plain, "no.csv", "--weights", "views.csv")
    assert code == 2
    assert "line 2" in err
    Path("views.csv").write_text(f"{url},900\n")
    code, _, err = crawlsim(*plain, "no.csv", "--weights", "views.csv")
    assert code == 2
    assert "needs a header with the columns url,weight" in err


def test_change_times_make_a_schedule(log: str, crawlsim: Any) -> None:
    del log
    site = bursty_site(30, 4.0, 3)
    dates = np.datetime_as_string(site.time.astype("datetime64[s]"))
    lines = [f"{site.urls[page]},{date}" for page, date in zip(site.page, dates, strict=True)]
    Path("changes.csv").write_text("\n".join(["page,time", *lines]))
    Path("weights.csv").write_text(f"url,weight\n{site.urls[7]},0\n{site.urls[8]},1\n")
    asked = ("--kind", "changes", "--until", "2022-01-01", "--visits", "1/day", "--out", "plan.csv")
    asked += ("--weights", "weights.csv")
    code, _, err = crawlsim("schedule", "changes.csv", *asked)
    assert code == 0, err
    plan = plan_in("plan.csv")
    assert len(plan) == 30
    assert {row["visits"] for row in plan.values()} == {""}  # such a log holds none
    until = np.datetime64("2022-01-01", "s").astype(float)
    unvisited = plan[site.urls[7]]
    assert unvisited["interval_seconds"] == ""
    assert int(unvisited["changes"]) == (site.time[site.page == 7] <= until).sum() - 1
    Path("visits.csv").write_text("page,time,digest\na,2020-01-01,x\na,2021-01-01,x\n")
    code, _, err = crawlsim("schedule", "visits.csv", *asked[:2], *asked[4:6], "--out", "p.csv")
    assert code == 0, err
    assert plan_in("p.csv")["a"]["changes"] == "0"


def test_fit_reads_the_same_logs_and_keeps_the_names(log: str, crawlsim: Any) -> None:
    code, out, err = crawlsim("fit", log, "--rates", "posterior", "--out", "made.toml", "--json")
    assert code == 0, err
    rates = {
        each["subject"]: each["estimate"]
        for each in json.loads(out)["parameters"]
        if each["parameter"] == "change_rate"
    }
    assert crawlsim("schedule", log, "--visits", "4/day", "--out", "plan.csv")[0] == 0
    for url, row in plan_in("plan.csv").items():
        assert rates[url] == pytest.approx(float(row["rate_per_day"]), rel=1e-6)
    asked = ("--target", "frequencies", "--out", "best.toml")
    assert crawlsim("optimize", "made.toml", *asked)[0] == 0
    best = load("best.toml")
    assert best.pages is not None
    assert list(best.model.pages.names or ()) == list(rates)
    assert crawlsim("fit", log, "--rates", "best")[0] == 2


def test_visits_are_not_taken_for_changes(log: str, crawlsim: Any) -> None:
    text = Path(log).read_text()
    Path("odd.csv").write_text(text.replace("digest", "checksum", 1))
    code, _, err = crawlsim("schedule", "odd.csv", "--visits", "4/day", "--out", "plan.csv")
    assert code == 2
    assert "--kind changes" in err
    Path("signs.csv").write_text(
        "url,time,changed\na,2024-01-01,f\na,2024-01-02,t\na,2024-01-03,n\na,2024-01-04,y\n"
    )
    assert crawlsim("schedule", "signs.csv", "--visits", "4/day", "--out", "plan.csv")[0] == 0
    assert plan_in("plan.csv")["a"]["changes"] == "2"


@pytest.mark.usefixtures("log")
@pytest.mark.parametrize("name", ["x" * 3000, "no\x1bthing", "folder"])
def test_logs_that_cannot_be_read_are_refused(name: str, crawlsim: Any) -> None:
    Path("folder").mkdir()
    for command in (["schedule", name, "--visits", "4/day", "--out", "p.csv"], ["fit", name]):
        code, out, err = crawlsim(*command)
        assert (code, out) == (2, "")
        assert len(err.strip().splitlines()) <= 3
        assert "\x1b" not in err
    assert crawlsim("optimize", name, "--target", "static", "--out", "q.toml")[0] == 2
    assert not Path("p.csv").exists()


def test_classes_of_pages_have_their_numbers(log: str, crawlsim: Any) -> None:
    Path("classes.csv").write_text("class,pattern\neven,*[02468].html\nnone,ftp:*\neven,*1.html\n")
    words = ("--visits", "4/day", "--out", "plan.csv", "--classes", "classes.csv")
    code, out, err = crawlsim("schedule", log, *words, "--json")
    assert code == 0, err
    record = json.loads(out)
    even, none, other = record["classes"]
    plan = plan_in("plan.csv")
    assert [each["class"] for each in record["classes"]] == ["even", "none", "other"]
    urls = [url for url in plan if url.removesuffix(".html")[-1] in "024681"]
    assert even["pages"] == len(urls)
    assert other["pages"] == len(plan) - len(urls)
    visits = sum(86400 / float(plan[url]["interval_seconds"]) for url in urls)
    assert even["visits_per_day"] == pytest.approx(visits)
    assert none == {"class": "none", "pages": 0, "visits_per_day": 0.0, "stale": None}
    together = even["stale"] * even["pages"] + other["stale"] * other["pages"]
    assert together / len(plan) == pytest.approx(record["expected"]["stale"])
    assert "Classes of pages" in crawlsim("schedule", log, *words)[1]
    Path("classes.csv").write_text("class,glob\n")
    assert crawlsim("schedule", log, *words)[0] == 2


@pytest.mark.parametrize("form", ["csv", "nutch"])
def test_pages_of_a_pattern_keep_their_own_limits(form: str, log: str, crawlsim: Any) -> None:
    rules = ("--rule-for", "*1.html=2h:1d", "--rule-for", "*[12].html=90d:200d", "--max", "60d")
    words = ("schedule", log, "--visits", "10/day", *rules, "--format", form, "--out", "plan")
    code, _, err = crawlsim(*words)
    assert code == 0, err
    if form == "csv":
        every = {url: float(row["interval_seconds"]) for url, row in plan_in("plan").items()}
    else:
        rows = [line.split("\t") for line in Path("plan").read_text().splitlines()]
        every = {url: float(text.partition("=")[2]) for url, text in rows}
    assert len(every) == 40
    day = 86400
    for url, seconds in every.items():
        low, high = {"1": (day / 12, day), "2": (90 * day, 200 * day)}.get(
            url.removesuffix(".html")[-1], (0, 60 * day)
        )
        assert low <= seconds <= high
    assert sum(day / seconds for seconds in every.values()) == pytest.approx(10, rel=0.002)
    tight = (*words[:3], "3/day", *words[4:])
    code, _, err = crawlsim(*tight)
    assert (code, "--rule-for or --max" in err) == (2, True), err
    for text, said in (
        ("*=1d", "must be a pattern and two times"),
        ("*=2d:1d", "the shorter time first"),
        ("=1d:2d", "must be a pattern"),
        ("*=1d:soon", "must be a positive number and a unit"),
    ):
        code, _, err = crawlsim(*words[:4], "--out", "plan", "--rule-for", text)
        assert (code, said in err) == (2, True), err
    code, _, err = crawlsim(*words[:4], "--out", "p", "--rule-for", "*=1d:2d", "--tiers", "1d")
    assert (code, "does not go with --rule-for" in err) == (2, True)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (0.165, 0.144, "16.5 → 14.4 %"),
        (0.00104, 0.00096, "0.104 → 0.096 %"),
        (0.0, 0.0, "as now 0.0 %"),
    ],
)
def test_two_shares_are_told_apart(before: float, after: float, said: str) -> None:
    assert _change(before, after) == said
