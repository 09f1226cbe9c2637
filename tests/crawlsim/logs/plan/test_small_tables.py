"""Plain tables: limits of formats, numbers as text, and files that hold nothing."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crawlsim.logs.plan.tables import (
    of_site_keys,
    read_classes,
    read_host_visits,
    read_robots,
    read_sizes,
    read_weights,
    under_site_keys,
)
from crawlsim.logs.plan.writing import limits_in
from crawlsim.logs.read.times import in_digits
from scenarios import ScenarioError

DAY = 86400.0


@pytest.mark.parametrize(
    ("form", "shortest", "longest", "limits"),
    [
        ("csv", 0.5, 100.25, (0.5, 100.25)),
        ("csv", 0.5, None, (0.5, math.inf)),
        ("nutch", 0.0, None, (1.0, 90 * DAY)),
        ("nutch", 1.5, 2.5, (2.0, 2.0)),
        ("nutch", 2.0, 2.0**40, (2.0, 2.0**31 - 1)),
        ("stormcrawler", 0.0, 200.0, (60.0, 180.0)),
        ("stormcrawler", 90.0, 120.0, (120.0, 120.0)),
        ("stormcrawler", 60.0, None, (60.0, 60.0 * (2.0**31 - 1))),
    ],
)
def test_intervals_that_a_format_can_say(
    form: str, shortest: float, longest: float | None, limits: tuple[float, float]
) -> None:
    """In whole seconds or minutes, rounded inwards, up to 31 bits."""
    assert limits_in(form, shortest, longest) == limits


@pytest.mark.parametrize(
    ("number", "text"),
    [(np.nan, ""), (3.0, "3"), (20170730223850.0, "20170730223850"), (0.5, "0.5"), (-2.0, "-2")],
)
def test_numbers_as_text(number: float, text: str) -> None:
    assert in_digits(number) == text


def test_a_file_of_hosts_holds_some(tmp_path: Path) -> None:
    path = tmp_path / "hosts.csv"
    path.write_text("host,visits\nexample.org,5/day\n")
    assert read_host_visits(str(path)) == {"example.org": "5/day"}
    path.write_text("host,visits\n")
    with pytest.raises(ScenarioError, match="holds no host"):
        read_host_visits(str(path))


@pytest.fixture(name="saying")
def what_is_said_of_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)

    def saying(text: str, reader: Any) -> str:
        Path("FILE").write_text(text)
        with pytest.raises(ScenarioError) as error:
            reader("FILE")
        return str(error.value)

    return saying


def test_weights_of_a_url_are_added_up_and_of_its_sizes_the_last_counts(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("Note, URL ,views,bytes\n-,a,1.5,10\n-,b,0,20\n\n-,a,2,30\n")
    assert read_weights(str(path)) == {"a": 3.5, "b": 0.0}
    assert read_sizes(str(path)) == {"a": 30.0, "b": 20.0}
    path.write_text("class,pattern\nnews,*/news/*\nrest,*\nnews,*/2024/?\n")
    assert read_classes(str(path)) == [("news", "*/news/*"), ("rest", "*"), ("news", "*/2024/?")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("url,weight\na,0\nb,0\n", '--weights = "FILE"\nholds no weight above 0'),
        ("url,weight\n", '--weights = "FILE"\nholds no weight above 0'),
        ("url,weight\na,1\nb,-1\n", 'weight = "-1"\nin line 3 of FILE must be a number, 0 or more'),
        ("url,weight\na,inf\n", 'weight = "inf"\nin line 2 of FILE must be a number, 0 or more'),
        ("url,weight\na,x\n", 'weight = "x"\nin line 2 of FILE must be a number, 0 or more'),
        ("url,heft\na,1\n", '--weights = "FILE"\nneeds a header with the columns url,weight'),
        ("name,weight\na,1\n", '--weights = "FILE"\nneeds a header with the columns url,weight'),
        (
            "url,x,weight\na,1,2\nb,1\n",
            '--weights = "FILE"\nline 3 has 2 columns, and the header 3',
        ),
        ("url,weight\na\n", '--weights = "FILE"\nline 2 has 1 column, and the header 2'),
    ],
)
def test_weights_that_are_none_are_refused(text: str, message: str, saying: Any) -> None:
    assert saying(text, read_weights) == message


def test_other_tables_that_hold_nothing_are_refused(saying: Any) -> None:
    assert saying("url,bytes\n", read_sizes) == '--sizes = "FILE"\nholds no page'
    assert saying("url,bytes\na,0\n", read_sizes) == (
        'bytes = "0"\nin line 2 of FILE must be a number above 0'
    )
    assert saying("class,pattern\n", read_classes) == ('--classes = "FILE"\nholds no class')
    assert saying("host,visits\n", read_host_visits) == ('--host-visits = "FILE"\nholds no host')


def test_what_csv_does_not_read_is_refused(saying: Any) -> None:
    limit = csv.field_size_limit()
    said = saying(f"url,weight\n{'a' * (limit + 1)},1\n", read_weights)
    assert said == (
        f'--weights = "FILE"\nis not a CSV file: field larger than field limit ({limit})'
    )


def test_spellings_of_a_page_are_one() -> None:
    """Under the name in the log; weights are added, of sizes the last one counts."""
    urls = ["https://a.org/1", "http://www.b.org/"]
    given = {"http://www.a.org/1": 2.0, "https://a.org/1": 3.0, "https://c.org/": 5.0}
    assert of_site_keys(given, urls) == {"https://a.org/1": 5.0, "https://c.org/": 5.0}
    assert under_site_keys(given, urls) == {"https://a.org/1": 3.0, "https://c.org/": 5.0}
    turned = dict(reversed(given.items()))
    assert under_site_keys(turned, urls) == {"https://a.org/1": 2.0, "https://c.org/": 5.0}


ROBOTS = {
    "User-agent: *\nCrawl-delay: 10\n": 10.0,
    "user-agent: a\nUSER-AGENT: *\n\ncrawl-delay:2.5 # seconds\nDisallow: /x\n": 2.5,
    "User-agent: *\nDisallow:\nUser-agent: a\nCrawl-delay: 9\n": 0.0,
    "User-agent: *\nCrawl-delay: soon\n": 0.0,
    "Crawl-delay: 3\n": 0.0,
    "User-agent: *\nCrawl-delay: -3\n": 0.0,
    "User-agent: *\nCrawl-delay: inf\n": 0.0,
    "": 0.0,
}


@pytest.mark.parametrize("text", ROBOTS)
def test_a_crawl_delay_is_that_of_all_robots(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.org.txt").write_text("User-agent: *\nCrawl-delay: 1\n")
    (tmp_path / "b.org").mkdir()
    (tmp_path / "b.org" / "robots.txt").write_bytes(text.encode())
    found = read_robots(str(tmp_path))
    assert found == {"a.org": 1.0} | ({"b.org": ROBOTS[text]} if ROBOTS[text] else {})


def test_a_host_is_visited_no_oftener_than_its_robots_txt_allows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, crawlsim: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [
        f"https://{host}.org/{page},2026-01-{day:02},{day // 2}"
        for host in "ab"
        for page in range(4)
        for day in range(1, 29)
    ]
    Path("log.csv").write_text("\n".join(["url,time,digest", *rows]))
    Path("robots").mkdir()
    words = ("schedule", "log.csv", "--visits", "8/day", "--out", "plan.csv", "--robots", "robots")
    code, _, err = crawlsim(*words)
    assert (code, "holds no file HOST.txt" in err) == (2, True)
    Path("robots/a.org.txt").write_text("User-agent: *\nCrawl-delay: 86400\n")
    assert crawlsim(*words)[0] == 0
    with Path("plan.csv").open(newline="") as plan:
        every = {row["url"]: float(row["interval_seconds"]) for row in csv.DictReader(plan)}
    visits = {
        host: sum(86400 / seconds for url, seconds in every.items() if f"/{host}.org" in url)
        for host in "ab"
    }
    assert visits == pytest.approx({"a": 1.0, "b": 7.0}, rel=1e-6)
    assert crawlsim(*words[:-1], "nothing")[0] == 2
