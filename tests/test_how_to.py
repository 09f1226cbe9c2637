"""The scripts of the how-to pages do what the pages say."""

from __future__ import annotations

import csv
import hashlib
import json
import re
import shlex
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from crawlsim.scheduling import VisitLog, read_logs

DOCS = Path(__file__).parents[1] / "docs"
NEEDED = ("sh", "awk", "curl", "sha256sum")
DAY = 86400


def block(page: str, language: str, begins: str) -> str:
    """The code of a page that begins like this."""
    blocks = re.findall(rf"```{language}\n(.*?)```", (DOCS / page).read_text(), flags=re.DOTALL)
    (found,) = [each for each in blocks if each.startswith(begins)]
    return str(found)


class Site(BaseHTTPRequestHandler):
    """A page that never changes and says so, one that always does, one that is gone."""

    served: list[str]

    def do_GET(self) -> None:
        self.served.append(self.path)
        if self.path.startswith("/gone"):
            self.send_error(404)
            return
        same = not self.path.startswith("/new")
        if same and self.headers["If-None-Match"] == '"one"':
            self.send_response(304)
            self.send_header("ETag", '"one"')
            self.end_headers()
            return
        self.send_response(200)
        if same:
            self.send_header("ETag", '"one"')
        self.end_headers()
        self.wfile.write(b"text" if same else str(time.time_ns()).encode())

    def log_message(self, *_: Any) -> None:
        """Silent."""


@pytest.fixture
def site() -> Iterator[tuple[str, list[str]]]:
    served: list[str] = []
    handler = type("Here", (Site,), {"served": served})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}", served
    server.shutdown()
    thread.join()
    server.server_close()


ANSWERS = [
    page for page in sorted((DOCS / "how-to").glob("*.md")) if "```\n$ crawlsim" in page.read_text()
]


@pytest.mark.by_day(
    every=4,
    besides=(
        "share-one-robot",
        "cleverer-rule",
        "index-of-millions",
        "rare-losses",
        "trust-signals",
    ),
)
@pytest.mark.parametrize("page", ANSWERS, ids=lambda page: page.stem)
def test_a_question_of_an_operator_is_answered_as_its_page_says(
    page: Path, crawlsim: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Every line that the page shows is printed, in that order; "…" stands for others."""
    (shown,) = re.findall(r"```\n\$ (.*?)```", page.read_text(), flags=re.DOTALL)
    command, *lines = shown.splitlines()
    if " --study " in command:
        shutil.copy(page.parent / "crawl.toml", tmp_path)
    monkeypatch.chdir(tmp_path if " --study " in command else page.parent)
    expected = 0
    if "$ echo $?" in lines:
        *lines, _, shown_code = lines
        expected = int(shown_code)
    code, out, _ = crawlsim(*shlex.split(command)[1:])
    printed = iter([line.rstrip() for line in out.splitlines()])
    assert code == expected
    assert [line for line in lines if line not in ("", "…") and line not in printed] == []


def test_every_answer_is_in_the_index() -> None:
    index = (DOCS / "how-to" / "index.md").read_text()
    assert len(ANSWERS) >= 15
    for page in ANSWERS:
        assert f"({page.name})" in index
        assert f"`{page.read_text().partition('$ ')[2].splitlines()[0]}`" in index


@pytest.mark.skipif(not all(map(shutil.which, NEEDED)), reason=f"needs {', '.join(NEEDED)}")
def test_the_script_of_cron_visits_what_is_due(site: tuple[str, list[str]], tmp_path: Path) -> None:
    at, served = site
    names = ("/same", '/same,"quoted"', "/new", "/gone", "/same[1-2]{a,b}")
    script = tmp_path / "visit.sh"
    script.write_text(block("how-to/cron.md", "sh", "#!/bin/sh"))
    plan = tmp_path / "plan.csv"
    with plan.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["url", "interval_seconds", "why"])
        writer.writerows([at + name, 10 * DAY, "x"] for name in names)
        writer.writerow(["file:///etc/hostname", DAY, "hostile"])
    log = tmp_path / "log.csv"

    def visit(early: int = 0) -> list[str]:
        served.clear()
        words = ["sh", str(script), str(plan), str(log)]
        subprocess.run(
            words,
            check=True,
            timeout=60,
            env={"PATH": "/usr/bin:/bin", "PAUSE": "0", "EARLY": str(early)},
        )
        return list(served)

    def rows_of_log() -> list[list[str]]:
        return list(csv.reader(log.read_text().splitlines()))

    def days_later(days: float) -> None:
        header, *rows = rows_of_log()
        for row in rows:
            row[1] = f"{float(row[1]) - days * DAY:.0f}"
        with log.open("w", newline="") as changed:
            csv.writer(changed).writerows([header, *rows])

    assert len(visit()) == 5
    assert visit() == []
    days_later(9.9)
    assert visit() == []
    assert len(visit(early=DAY // 5)) == 5
    days_later(10)
    assert len(visit()) == 5
    header, *rows = rows_of_log()
    assert header == ["url", "time", "status", "digest"]
    of_page = {name: [row for row in rows if row[0] == at + name] for name in names}
    digest = hashlib.sha256(b"text").hexdigest()
    for same in ("/same", '/same,"quoted"', "/same[1-2]{a,b}"):
        assert [row[2:] for row in of_page[same]] == [["200", digest], ["304", ""], ["304", ""]]
    assert [row[2:] for row in of_page["/gone"]] == [["404", ""]] * 3
    assert len({row[3] for row in of_page["/new"]}) == 3
    assert {row[2] for row in rows if row[0].startswith("file:")} == {"000"}
    assert abs(float(rows[-1][1]) - time.time()) < 60

    read = read_logs([log])
    assert isinstance(read, VisitLog)
    found = {
        url: read.changed[read.page == page].tolist() for page, url in enumerate(read.urls.tolist())
    }
    assert found[at + "/same"] == [False] * 3
    assert found[at + "/new"] == [False, True, True]
    assert found[at + "/gone"] == []


@pytest.mark.parametrize("small", [False, True])
def test_the_script_of_stormcrawler_keeps_the_last_visit(tmp_path: Path, small: bool) -> None:
    key, processed = "fetchInterval", "lastProcessedDate"
    if small:
        key, processed = key.lower(), processed.lower()

    def row(url: str, status: str, last: str, due: str, minutes: int) -> dict[str, Any]:
        metadata = {key: [str(minutes)], processed: [last], "signature": ["a"]}
        page = {"url": url, "status": status, "nextFetchDate": due, "metadata": metadata}
        return {"_index": "status", "_id": f"id of {url}", "_source": page | {"key": "a.example"}}

    last = "2026-01-05T10:00:00.123Z"
    rows = [
        row("https://a.example/1", "FETCHED", last, "2026-01-06T10:00:00.000Z", 1440),
        row("https://a.example/gone", "ERROR", last, "2026-01-06T10:00:00.000Z", 1440),
        row("https://a.example/not-planned", "FETCHED", last, "2026-01-06T10:00:00.000Z", 1440),
    ]
    dump = tmp_path / "dump.json"
    dump.write_text("".join(json.dumps(each) + "\n" for each in rows))
    plan = tmp_path / "plan.txt"
    plan.write_text(
        "".join(
            f"https://a.example/{name}\tscheduler.delay.mins=2880\tfetchInterval=2880\n"
            for name in ("1", "gone", "new")
        )
    )
    script = tmp_path / "load_plan.py"
    script.write_text(block("how-to/stormcrawler.md", "python", '"""'))
    words = [sys.executable, str(script), str(dump), str(plan)]
    text = subprocess.run(words, check=True, capture_output=True, text=True, timeout=60).stdout
    action, change = map(json.loads, text.splitlines())
    assert action == {"update": {"_id": "id of https://a.example/1", "routing": "a.example"}}
    assert change["doc"]["metadata"] == {"scheduler%2Edelay%2Emins": ["2880"], key: ["2880"]}
    page = rows[0]["_source"]
    page["nextFetchDate"] = change["doc"]["nextFetchDate"]
    page["metadata"] |= change["doc"]["metadata"]
    again = tmp_path / "again.json"
    again.write_text(json.dumps(rows[0]) + "\n")
    if not small:
        read = read_logs([dump, again])
        times = read.time[read.page == read.urls.tolist().index("https://a.example/1")]
        assert_allclose(np.unique(np.round(times)), [1767607200.0], atol=1.0)


def test_the_script_of_heritrix_splits_a_plan_into_tiers(tmp_path: Path, crawlsim: Any) -> None:
    log = tmp_path / "log.csv"
    rows = [
        f'"https://a.example/{page},x",{1.6e9 + DAY * visit:.0f},{visit // (3 * page + 1)}\n'
        for page in range(9)
        for visit in range(40)
    ]
    log.write_text("url,time,digest\n" + "".join(rows))
    words = ["--visits", "3/day", "--tiers", "1d,7d,30d", "--out", str(tmp_path / "plan.csv")]
    assert crawlsim("schedule", str(log), *words)[0] == 0
    script = block("how-to/heritrix.md", "python", '"""')
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60, cwd=tmp_path)
    tiers = {"daily": DAY, "weekly": 7 * DAY, "monthly": 30 * DAY}
    with (tmp_path / "plan.csv").open(newline="") as plan:
        planned = {row["url"]: float(row["interval_seconds"]) for row in csv.DictReader(plan)}
    assert len(planned) == 9
    assert len(set(planned.values())) > 1
    assert planned == {
        url: seconds
        for name, seconds in tiers.items()
        for url in (tmp_path / f"{name}.txt").read_text().splitlines()
    }


def test_the_page_of_heritrix_keeps_pages_and_leaves_pictures(tmp_path: Path) -> None:
    line = "2026-01-05T10:00:00.000Z {} 9 https://a.example/{} L - {} #1 20260105100000+9 {} - -\n"
    (tmp_path / "crawl.log").write_text(
        line.format(200, "a", "text/html", "sha1:A")
        + line.format(200, "b.png", "image/png", "sha1:B")
        + line.format(304, "a", "unknown", "-")
    )
    command = block("how-to/heritrix.md", "sh", "cat").replace(
        "jobs/*/*/logs/crawl.log*", "crawl.log"
    )
    subprocess.run(["sh", "-c", command], check=True, timeout=60, cwd=tmp_path)
    kept = (tmp_path / "pages.log").read_text().splitlines()
    assert [each.split()[1] for each in kept] == ["200", "304"]


def test_a_plan_of_scrapy_says_what_is_due(tmp_path: Path, crawlsim: Any) -> None:
    """Each page when its turn comes, and again an interval after it was visited."""
    log = tmp_path / "old.csv"
    rows = [
        f"https://a.example/{page},{1.6e9 + DAY * visit:.0f},{visit // (3 * page + 1)}\n"
        for page in range(9)
        for visit in range(40)
    ]
    log.write_text("url,time,digest\n" + "".join(rows))
    plan = tmp_path / "plan.jsonl"
    words = ["--visits", "3/day", "--format", "scrapy", "--out", str(plan)]
    assert crawlsim("schedule", str(log), *words)[0] == 0
    planned = [json.loads(line) for line in plan.read_text().splitlines()]
    assert [each["url"] for each in planned] == sorted(f"https://a.example/{n}" for n in range(9))
    assert sum(DAY / each["interval"] for each in planned) == pytest.approx(3, rel=1e-3)
    end = 1.6e9 + 39 * DAY
    moments = {each["url"]: datetime.fromisoformat(each["next"]).timestamp() for each in planned}
    intervals = {each["url"]: each["interval"] for each in planned}
    assert moments == {url: end + seconds for url, seconds in intervals.items()}
    names: dict[str, Any] = {}
    exec(block("how-to/scrapy.md", "python", '"""'), names)
    new = str(tmp_path / "log.csv")
    assert names["due"](plan, new, end) == []
    every = sorted(moments, key=lambda url: (moments[url], url))
    assert names["due"](plan, new, end + 400 * DAY) == every
    now = moments[every[0]] + 1
    names["visited"](new, every[0], 200, b"x", now)
    names["visited"](new, every[1], 404, b"no", now)
    assert every[0] not in names["due"](plan, new, now + intervals[every[0]] - 2)
    assert every[0] in names["due"](plan, new, now + intervals[every[0]] + 2)
    read = read_logs([log, new])
    assert (read.time == int(now)).sum() == 1
