"""What is a page: URLs that do not answer, that lead elsewhere, that were never meant as pages."""

from __future__ import annotations

import csv as table
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from log_files import (
    FIRST,
    FORMS,
    REVISIT,
    SECOND,
    A,
    B,
    C,
    Visit,
    at,
    cdx,
    csv,
    digits,
    iso,
    write,
)
from test_log_forms import sitemap

import crawlsim
from crawlsim.logs.plan.gone import recheck_rates
from crawlsim.logs.plan.writing import FORMATS, schedule_text
from crawlsim.logs.read.log import SilentVisits
from crawlsim.logs.read.rows import FAILED, MOVED, UNTOLD
from crawlsim.logs.read.states import GONE, NEVER_ANSWERED, PAGE, REDIRECT, states_of
from crawlsim.scheduling import LogRequest, Schedule, VisitLog, read_logs, schedule_of
from scenarios import ScenarioError

DAY = 86400.0


def answers(url: str, *statuses: str) -> list[Visit]:
    """Visits a day apart, each with the same content where there is one."""
    return [Visit(url, at(day), status, FIRST) for day, status in enumerate(statuses)]


HISTORY = [
    *answers(A, *["200"] * 6, "404", "500", "404"),
    *answers(B, "404"),
    *answers(C, "301", "302"),
    *answers("https://example.org/d", *["200"] * 6, "503", "429", "503"),
    *answers("https://example.org/e", "200", "301", "404", "301"),
    *answers("https://example.org/f", "404", "404", "404", "200"),
]


@pytest.mark.parametrize("form", FORMS)
def test_every_format_tells_which_urls_are_gone(form: str, tmp_path: Path) -> None:
    log = read_logs(write(tmp_path, FORMS[form](HISTORY)))
    assert isinstance(log, VisitLog)
    by_url = dict(zip(log.urls.tolist(), states_of(log).tolist(), strict=True))
    expected = {A: GONE, B: NEVER_ANSWERED, C: REDIRECT}
    expected |= {
        f"https://example.org/{name}": state
        for name, state in zip("def", (PAGE, REDIRECT, PAGE), strict=True)
    }
    assert by_url == expected


def test_failures_within_a_day_are_an_outage(tmp_path: Path) -> None:
    visits = answers(A, "200", "200")
    outage = [Visit(A, at(2, hour), "500") for hour in (1, 8, 16, 23)]
    later = Visit(A, at(3, 2), "500")
    for more, state in (([], PAGE), ([later], GONE)):
        log = read_logs(write(tmp_path, csv([*visits, *outage, *more])))
        assert isinstance(log, VisitLog)
        assert states_of(log).tolist() == [state]
        assert states_of(log, after=6).tolist() == [PAGE]


def test_what_comes_back_is_a_page_again(tmp_path: Path) -> None:
    log = read_logs(write(tmp_path, csv(answers(A, "200", *["404"] * 9, "200"))))
    assert isinstance(log, VisitLog)
    assert states_of(log).tolist() == [PAGE]


@given(
    st.lists(
        st.tuples(
            st.integers(0, 3), st.integers(0, 9), st.sampled_from(["read", FAILED, MOVED, UNTOLD])
        ),
        max_size=30,
    ),
    st.integers(1, 4),
)
def test_states_are_those_of_the_words(
    rows: Sequence[tuple[int, int, str | int]], after: int
) -> None:
    """Page by page and visit by visit; two at one time are a content if one of them is."""
    rows = sorted(set(rows), key=str)
    pages = 4
    contents = sorted({(page, day) for page, day, answer in rows if answer == "read"})
    others = sorted((page, day, int(a)) for page, day, a in rows if a != "read")
    log = VisitLog(
        np.array([f"u{page}" for page in range(pages)], object),
        np.array([page for page, _ in contents], np.int32),
        np.array([day for _, day in contents], float) * DAY,
        np.zeros(len(contents), bool),
        silent=SilentVisits(
            np.array([page for page, _, _ in others], np.int32),
            np.array([day for _, day, _ in others], float) * DAY,
            np.array([answer for _, _, answer in others], np.int8),
        ),
    )
    expected = []
    for page in range(pages):
        seen = [day for own, day in contents if own == page]
        seen += [day for own, day, answer in others if own == page and answer == UNTOLD]
        last = max(seen, default=-1)
        run = [(day, a) for own, day, a in others if own == page and a != UNTOLD and day > last]
        is_gone = run and (not seen or (len(run) >= after and run[-1][0] - run[0][0] >= 1))
        kind = REDIRECT if run and run[-1][1] == MOVED else GONE if seen else NEVER_ANSWERED
        expected.append(kind if is_gone else PAGE)
    assert states_of(log, after).tolist() == expected


def many(pages: int, dead: int, days: int = 30) -> list[Visit]:
    """Pages that change every third day, and URLs that have never answered."""
    visits = []
    for page in range(pages):
        url = f"https://h.example/{page:03}"
        visits += [
            Visit(url, at(day), "200", f"{FIRST[:-3]}{day // 3:03}")
            for day in range(page % 2, days)
        ]
    for page in range(dead):
        visits += answers(f"https://h.example/dead/{page:03}", *["404"] * 5)
    return visits


def planned(folder: Path, visits: Sequence[Visit], budget: float, **asked: object) -> Schedule:
    log = read_logs(write(folder, csv(visits)))
    return schedule_of(log, LogRequest(budget / DAY, **asked))  # type: ignore[arg-type]


def test_dead_urls_do_not_change_the_plan_of_the_living(tmp_path: Path) -> None:
    alive = planned(tmp_path, many(20, 0), 20.0 - 30 / 90)
    both = planned(tmp_path, many(20, 30), 20.0)
    assert both.urls.tolist() == alive.urls.tolist()
    np.testing.assert_allclose(both.intervals, alive.intervals, rtol=1e-9)
    assert both.gone.numbers() == {"gone": 0, "redirect": 0, "never-answered": 30}
    assert both.gone.visits_per_second * DAY == pytest.approx(30 / 90)
    assert both.spent * DAY == pytest.approx(20.0)
    assert both.expected is not None
    assert alive.expected is not None
    assert both.expected["plan"].mean == pytest.approx(alive.expected["plan"].mean, rel=1e-9)
    (note,) = (note for note in both.notes if "no longer pages" in note)
    assert "30 never-answered" in note
    assert "0.333 of 20 visits a day" in note


def test_looks_take_a_tenth_of_the_budget_at_most(tmp_path: Path) -> None:
    plan = planned(tmp_path, many(10, 400), 10.0)
    assert plan.gone.visits_per_second * DAY == pytest.approx(1.0)
    assert plan.gone.intervals.tolist() == pytest.approx([400 * DAY] * 400)
    assert plan.spent * DAY == pytest.approx(10.0)


def test_looks_take_a_tenth_of_what_a_host_allows() -> None:
    host = np.array([0, 0, 1])
    rates = recheck_rates(host, np.array([1.0, np.inf]), 0.1, 1e9)
    assert rates.tolist() == pytest.approx([0.05, 0.05, 10.0])
    assert recheck_rates(host, np.array([1.0, np.inf]), np.inf, 1.0).tolist() == [0.0] * 3


@pytest.mark.parametrize("form", FORMATS)
def test_what_is_never_looked_at_is_in_the_plan_and_in_no_seed(form: str, tmp_path: Path) -> None:
    seeds = {
        recheck: schedule_text(
            planned(tmp_path, many(8, 2), 8.0, recheck=recheck, longest=60 * DAY), form
        )
        for recheck in (30 * DAY, np.inf)
    }
    dead = "https://h.example/dead/000"
    if form != "csv":
        assert dead in seeds[30 * DAY]
        assert dead not in seeds[np.inf]
        return
    for recheck, text in seeds.items():
        rows = {row["url"]: row for row in table.DictReader(io.StringIO(text))}
        assert list(rows) == sorted(rows)
        assert rows[dead]["state"] == "never-answered"
        assert rows[dead]["rate_per_day"] == ""
        every = rows[dead]["interval_seconds"]
        assert every == "" if np.isinf(recheck) else float(every) == pytest.approx(30 * DAY)
        assert {row["state"] for url, row in rows.items() if "dead" not in url} == {"page"}


def test_a_page_of_weight_0_is_not_visited(tmp_path: Path) -> None:
    url = "https://h.example/003"
    plan = planned(tmp_path, many(8, 0), 8.0, weights={url: 0.0, A: 1.0})
    assert url not in plan.urls.tolist()
    (row,) = (
        row
        for row in table.DictReader(io.StringIO(schedule_text(plan, "csv")))
        if row["url"] == url
    )
    assert (row["interval_seconds"], row["state"]) == ("", "page")
    weights = {f"https://h.example/{page:03}": 0.0 for page in range(8)}
    with pytest.raises(ScenarioError, match="no page of the log has a weight above 0"):
        planned(tmp_path, many(8, 0), 8.0, weights=weights)


def test_tiers_hold_for_looks_too(tmp_path: Path) -> None:
    plan = planned(tmp_path, many(20, 30), 20.0, tiers=(DAY / 2, DAY, 30 * DAY))
    assert set(plan.gone.intervals.tolist()) == {30 * DAY}
    crowded = planned(tmp_path, many(10, 400), 10.0, tiers=(DAY / 2, DAY, 30 * DAY))
    assert np.isinf(crowded.gone.intervals).all()


def test_a_log_without_a_page_is_refused_with_what_it_held(tmp_path: Path) -> None:
    visits = [*answers(A, "301", "302"), *answers(B, "404", "404")]
    with pytest.raises(ScenarioError, match=r"no page.* 1 redirect, 1 never-answered"):
        planned(tmp_path, visits, 1.0)


def test_a_revisit_is_of_what_had_its_digest(tmp_path: Path) -> None:
    """Of a redirect at this URL before, later or elsewhere; of a content; of nothing known."""
    again = [Visit(A, at(day), "-", FIRST, REVISIT) for day in (2, 3)]
    moved = Visit(A, at(1), "301", FIRST)
    for visits in (
        [moved, *again],
        [*again, moved._replace(time=at(9))],
        [*again, moved._replace(url=B)],
    ):
        log = read_logs(write(tmp_path, csv(visits)))
        assert not len(log.time)
    content = Visit(A, at(0), "200", FIRST)
    for visits in ([content, *again], again, [content._replace(url=B), *again]):
        log = read_logs(write(tmp_path, csv(visits)))
        assert (log.urls[log.page] == A).sum() >= 2
    later = [content, moved, again[1]]  # the redirect had that digest last
    assert len(read_logs(write(tmp_path, csv(later))).time) == 1


@pytest.mark.parametrize("form", ["cdx", "cdxj", "csv"])
def test_answers_to_post_are_no_visits(form: str, tmp_path: Path) -> None:
    page = [Visit(A, at(1), "200", FIRST), Visit(A, at(2), "200", SECOND)]
    posted = [Visit(B, at(day), "200", FIRST) for day in (1, 2)]
    if form == "csv":
        rows = [f"{v.url},{iso(v.time)},{v.digest},GET" for v in page]
        rows += [f"{v.url},{iso(v.time)},{v.digest},POST" for v in posted]
        text = "\n".join(["url,time,digest,method", *rows, ""])
    else:
        key = "org,example)/b?__wb_method=POST&q=1"
        text = str(FORMS["cdx of 11 fields" if form == "cdx" else "cdxj"]([*page, *posted]))
        text = text.replace("org,example)/b ", f"{key} ")
    log = read_logs(write(tmp_path, text))
    assert log.urls.tolist() == [A]
    assert len(log.time) == 2
    assert "Left out, since answers to POST are not what a page holds: 2 rows." in log.notes


SERVERS = '192.0.2.3 - - [21/May/2026:08:14:33 +0000] "GET /a HTTP/1.1" 200 15423 "-" "Bot"\n'


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (SERVERS.encode(), "is a web server's access log, which says who came"),
        (b"WARC/1.1\r\nWARC-Type: warcinfo\r\n\r\n", "is a WARC, which holds the contents"),
        ("url,time,digest\n".encode("utf-16"), "is in UTF-16"),
    ],
)
def test_what_is_taken_for_a_log_is_named(content: bytes, why: str, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=why):
        read_logs(write(tmp_path, content))


def test_keys_and_urls_of_an_index_may_hold_blanks(tmp_path: Path) -> None:
    spaced = "http://example.com/a b"
    rows = []
    for day, digest in ((1, FIRST), (9, SECOND)):
        row = {"url": spaced, "status": "200", "digest": digest}
        rows.append(f"com,example)/a b {digits(at(day))} {json.dumps(row)}")
    log = read_logs(write(tmp_path, "\n".join([*rows, ""])))
    assert log.urls.tolist() == [spaced]
    assert log.changed.tolist() == [False, True]


def test_a_cdx_may_be_parted_by_tabs(tmp_path: Path) -> None:
    written: Callable[[Sequence[Visit]], str] = cdx(11, header=False)
    log = read_logs(write(tmp_path, written(answers(A, "200", "200")).replace(" ", "\t")))
    assert len(log.time) == 2


def test_sitemaps_stamped_at_build_say_nothing_of_their_pages(tmp_path: Path) -> None:
    """Twelve pages whose dates are those of the files, and four with their own."""
    paths = []
    for week in range(1, 5):
        day = f"2026-02-{7 * week - 6:02}"
        entries = {f"https://e.org/built/{page}": f"{day}T04:00:00Z" for page in range(12)}
        entries |= {f"https://e.org/own/{page}": f"2026-01-{page + 1:02}" for page in range(4)}
        if week > 2:
            entries["https://e.org/own/3"] = "2026-02-10T09:00:00Z"
        paths.append(tmp_path / f"sitemap-{day}.xml")
        paths[-1].write_text(sitemap(entries))
    log = read_logs(paths)
    assert isinstance(log, VisitLog)
    built = np.array(["built" in url for url in log.urls.tolist()])
    assert np.bincount(log.page, minlength=16)[built].tolist() == [1] * 12
    assert np.bincount(log.page, minlength=16)[~built].tolist() == [4] * 4
    assert int(log.changed.sum()) == 1
    assert any("dates of 12 of 16 pages follow the sitemaps" in note for note in log.notes)
    plan = schedule_of(log, LogRequest(16 / DAY))
    assert plan.expected is None
    assert "Sitemaps" in plan.no_promise


def test_fit_and_schedule_read_the_same(tmp_path: Path) -> None:
    """A 404 with a digest is no content, also where the pages are called so; gone URLs are out."""
    rows = ["page,time,status,digest"]
    rows += [f"{v.url},{iso(v.time)},{v.status},{v.digest}" for v in HISTORY]
    (path,) = write(tmp_path, "\n".join([*rows, ""]))
    found = crawlsim.fit(path)
    planned_pages = schedule_of(read_logs([path]), LogRequest(4 / DAY))
    assert list(found.trace.pages) == planned_pages.urls.tolist()
    assert found.summary["gaps"] == int((planned_pages.visits - 1).clip(0).sum())
    assert "Left out, since no longer a page: 4 URLs." in found.notes


def test_a_page_watched_for_seconds_does_not_lead_the_rates(tmp_path: Path) -> None:
    rows = ["page,time,changed"]
    rows += [f"p{page},{week * 604800},{int(week == 3)}" for page in range(9) for week in range(9)]
    rows += ["brief,0,0", "brief,8,1"]
    (path,) = write(tmp_path, "\n".join([*rows, ""]))
    by_prior = crawlsim.fit(path, time_unit="second")
    alone = crawlsim.fit(path, time_unit="second", rates="likelihood")
    every = crawlsim.fit(path, time_unit="second", rates="likelihood", shortest=1.0)
    assert "brief" not in {each.subject for each in alone.parameters}
    assert any("1 page was watched for too short a time" in note for note in alone.notes)
    rate = every.find("change_rate", "brief").estimate
    assert rate > 0.05
    assert by_prior.find("change_rate", "brief").estimate < rate / 20
