"""What is easily read wrongly: gaps across failures, revisits, ties, times, names."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from log_files import (
    FIRST,
    FORMS,
    REVISIT,
    SECOND,
    A,
    B,
    Visit,
    at,
    cdx,
    csv,
    digits,
    iso,
    read,
    write,
)
from profiles import examples

from crawlsim.logs.read import read_logs
from crawlsim.logs.read.csv_lines import Broken
from crawlsim.logs.read.history import History, resolve_stamps
from crawlsim.logs.read.log import VisitLog
from crawlsim.logs.read.rows import CHANGED, DIGEST, FAILED, OPENING, SAME, STAMPED, Rows
from crawlsim.logs.read.times import _ZONES, seconds_of


def found(folder: Path, *visits: Visit) -> list[int]:
    """What the visits of the only page found."""
    (visits_of_page,) = read(folder, csv(visits)).values()
    return [changed for _, changed in visits_of_page]


def test_a_gap_goes_on_across_failures_even_if_they_carry_digests(tmp_path: Path) -> None:
    failures = [Visit(A, at(day), s, SECOND) for day, s in enumerate(["404", "503", "-2", "-"], 2)]
    visits = [Visit(A, at(1), "200", FIRST), *failures, Visit(A, at(9), "200", FIRST)]
    assert read(tmp_path, csv(visits)) == {A: [(at(1), 0), (at(9), 0)]}


def test_a_digest_is_carried_across_visits_that_bring_none(tmp_path: Path) -> None:
    unchanged = [Visit(A, at(2), "304"), Visit(A, at(3), "200", FIRST, REVISIT)]
    same = found(tmp_path, Visit(A, at(1), "200", FIRST), *unchanged, Visit(A, at(4), "200", FIRST))
    other = found(
        tmp_path, Visit(A, at(1), "200", FIRST), *unchanged, Visit(A, at(4), "200", SECOND)
    )
    assert same == [0, 0, 0, 0]
    assert other == [0, 0, 0, 1]


@pytest.mark.parametrize(
    ("rows", "changed"),
    [
        ([("200", SECOND, ""), ("-", FIRST, REVISIT)], 1),
        ([("200", FIRST, ""), ("-", SECOND, REVISIT)], 0),
        ([("200", FIRST, ""), ("200", FIRST, "")], 0),
        ([("200", FIRST, ""), ("200", SECOND, "")], 1),
        ([("304", "-", ""), ("200", SECOND, "")], 1),
        ([("304", "-", ""), ("-", SECOND, REVISIT)], 0),
    ],
)
def test_of_rows_of_one_time_what_was_fetched_counts(
    rows: list[tuple[str, str, str]], changed: int, tmp_path: Path
) -> None:
    for some in (rows, rows[::-1]):
        visits = [Visit(A, at(1), "200", FIRST), *(Visit(A, at(2), *row) for row in some)]
        assert found(tmp_path, *visits) == [0, changed]


def test_a_revisit_is_no_change_whatever_its_digest(tmp_path: Path) -> None:
    visits = [Visit(A, at(1), "200", FIRST), Visit(A, at(2), "-", SECOND, REVISIT)]
    assert found(tmp_path, *visits) == [0, 0]
    assert found(tmp_path, *visits, Visit(A, at(3), "200", FIRST)) == [0, 0, 0]


def test_a_log_may_begin_with_a_revisit_whose_digest_then_counts(tmp_path: Path) -> None:
    opening = Visit(A, at(1), "-", FIRST, REVISIT)
    assert found(tmp_path, opening, Visit(A, at(2), "200", FIRST)) == [0, 0]
    assert found(tmp_path, opening, Visit(A, at(2), "200", SECOND)) == [0, 1]


def test_a_revisit_of_an_error_page_is_no_observation(tmp_path: Path) -> None:
    assert read(tmp_path, csv([Visit(A, at(1), "404", FIRST, REVISIT)])) == {A: []}


def test_a_successful_visit_without_a_digest_is_left_out_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(csv([Visit(A, at(1), "200", FIRST), Visit(A, at(2), "200")]))
    log = read_logs([path])
    assert len(log.time) == 1
    assert log.notes == ("Left out, since a successful visit has no digest: 1 row.",)


def test_rows_at_the_same_time_are_one_visit(tmp_path: Path) -> None:
    before, both, after = at(1), at(2), at(3)
    visits = [
        Visit(A, before, "200", FIRST),
        Visit(A, both, "200", FIRST),
        Visit(A, both, "200", SECOND),
        Visit(A, after, "200", SECOND),
    ]
    for order in (visits, visits[::-1], [*visits[2:], *visits[:2]]):
        assert found(tmp_path, *order) == [0, 1, 0]


def test_rows_that_do_not_say_whether_a_page_had_changed_open_its_history_only(
    tmp_path: Path,
) -> None:
    path = tmp_path / "log.csv"
    path.write_text(
        f"page,time,changed\n{A},{iso(at(1))},\n{A},{iso(at(2))},\n{A},{iso(at(3))},1\n"
    )
    log = read_logs([path])
    assert log.time.tolist() == [at(1).timestamp(), at(3).timestamp()]
    assert log.changed.tolist() == [False, True]
    assert log.notes == ("Left out, since nothing says whether the page had changed: 1 row.",)


def test_where_no_status_is_said_the_digest_tells(tmp_path: Path) -> None:
    silent = Visit(A, at(2), "", SECOND)
    assert found(tmp_path, Visit(A, at(1), "200", FIRST), silent) == [0, 1]
    no_answer = Visit(A, at(2), "-", SECOND)
    assert found(tmp_path, Visit(A, at(1), "200", FIRST), no_answer) == [0]
    assert read(tmp_path, FORMS["cdxj"]([no_answer])) == {A: []}


def test_two_urls_with_one_key_are_two_pages(tmp_path: Path) -> None:
    other = A.replace("https", "http").replace("example", "EXAMPLE")
    visits = [Visit(A, at(1), "200", FIRST), Visit(other, at(2), "200", SECOND)]
    assert read(tmp_path, cdx(7, header=True)(visits)) == {A: [(at(1), 0)], other: [(at(2), 0)]}


def test_every_url_is_named_that_is_seen_and_no_look_up_of_a_name(tmp_path: Path) -> None:
    path = tmp_path / "crawl.log"
    path.write_text(
        "2026-01-01T00:00:00.000Z 1 64 dns:example.org P x text/dns #1 2+9 sha1:Q - -\n"
        f"2026-01-01T00:00:01.000Z -61 - {A} P x unknown #1 - - - -\n"
        f"2026-01-01T00:00:02.000Z 404 9 {B} P x text/html #1 2+9 sha1:Q - -\n"
    )
    log = read_logs([path])
    assert list(log.urls) == [A, B]
    assert not len(log.time)
    assert log.notes == (
        "No successful visit (the gap between those before and after goes on): 2 rows.",
        "Left out, since only http, https and ftp lead to pages (not dns:, urn:, mailto:): 1 row.",
    )


STRANGE = {
    "https://e.org/a\x1b[31m\x07": "https://e.org/a%1B[31m%07",
    "https://e.org/\x9b\u202eb": "https://e.org/%C2%9B%E2%80%AEb",
    "HTTP://E.org/": "HTTP://E.org/",
    "ftp://e.org/x": "ftp://e.org/x",
    "//e.org/=x": "//e.org/=x",
    "e.org:8080/x": "e.org:8080/x",
    "page-1": "page-1",
    **dict.fromkeys(("javascript:alert(1)", "Mailto:a@e.org", "data:text/html", "tel:1")),
    **dict.fromkeys(("=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(1)", "\uff1d1", "\u200b=1")),
    **dict.fromkeys(("\x1b]0;x\x07", "\x9b31m")),
}
"""Names in a log, and what they are in a plan; None for what is no page."""


@pytest.mark.parametrize("form", [name for name in FORMS if name not in ("heritrix", "csv in gz")])
def test_no_name_acts_on_who_opens_a_plan(tmp_path: Path, form: str) -> None:
    """Formulas in spreadsheets, escapes on terminals: all formats go through one place."""
    if form == "common-crawl":
        pytest.importorskip("pyarrow")
    visits = [Visit(name, at(day), "200", FIRST) for name in STRANGE for day in (1, 2)]
    is_read = read_logs(write(tmp_path, FORMS[form](visits)))
    if "cdx of" in form or form == "cdx with other letters":  # fields end at a blank
        pages = {page for name, page in STRANGE.items() if page and " " not in name}
    else:
        pages = {page for page in STRANGE.values() if page}
    assert set(is_read.urls) == pages
    assert any("begins with =, +, -, @" in note for note in is_read.notes)
    assert any("only http, https and ftp" in note for note in is_read.notes)


def test_blanks_around_a_name_are_no_part_of_it(tmp_path: Path) -> None:
    rows = [f" {A},{iso(at(1))},x", f"{A} ,{iso(at(2))},y", f"{B},{iso(at(3))},x"]
    content = "\n".join(["url,time,digest", *rows, ""])
    assert read(tmp_path, content) == {A: [(at(1), 0), (at(2), 1)], B: [(at(3), 0)]}


def test_urls_are_in_the_order_of_their_code_points(tmp_path: Path) -> None:
    names = ["b", "a", "Z", "é", "a\U0001f600", "a｡", "ä"]
    content = "url,time,digest\n" + "".join(f"{name},2026-01-01,x\n" for name in names)
    assert list(read(tmp_path, content)) == sorted(names)


# Times

WRITTEN = [
    "2026-11-22T20:16:45Z",
    "2026-11-22 20:16:45",
    "2026-11-22T20:16:45.000+00:00",
    "2026-11-22T21:16:45+01:00",
    "2026-11-22 20:16:45.000 UTC",
    " 20261122201645",
    "20261122201645000",
    "Sun Nov 22 20:16:45 UTC 2026",
    "Sun Nov 22 21:16:45 CET 2026",
    "Sun Nov 22 12:16:45 PST 2026",
    "Sun Nov 22 15:46:45 GMT-04:30 2026",
    "1795378605",
    "1795378605.0",
    "1795378605000",
    "1795378605000000",
    "Sun, 22 Nov 2026 20:16:45 GMT",
    "Sun, 22-Nov-2026 20:16:45 GMT",
    "22/Nov/2026:20:16:45 +0000",
    "[22/Nov/2026:23:46:45 +0330]",
    "20261122T201645Z",
    "20261122T201645",
]


@pytest.mark.parametrize("written", WRITTEN)
def test_each_way_of_writing_a_time(written: str) -> None:
    for kind in ("str", object):
        column = pd.Series(["2020-01-01", written], dtype=kind)
        assert seconds_of(column)[1] == 1795378605.0
        assert seconds_of(column[1:])[0] == 1795378605.0


NO_TIMES = [
    "soon",
    "now",
    "2026",
    "-1",
    "5",
    "nan",
    "inf",
    "1e400",
    "12:30",
    "2026-02-30",
    "20260230000000",
    "20261301000000",
    "20261122246060",
    "20260100000000",
    "99999999999999",
    "２０２６",
    "",
    "Sun Nov 31 20:16:45 UTC 2026",
    "Sun Nox 22 20:16:45 UTC 2026",
    "Sun Nov 22 20:16:45 XYZ 2026",
    "Sun Nov 22 20:16:45 2026",
    "22/Nov/2026:20:16:45",
    "22/Nox/2026:20:16:45 +0000",
    "Sun, 31 Nov 2026 20:16:45 GMT",
    "20261122T256045Z",
]


@pytest.mark.parametrize("written", NO_TIMES)
def test_what_is_no_time(written: str) -> None:
    assert np.isnan(seconds_of(pd.Series([written], dtype="str")))[0]


def test_ten_digits_are_unix_seconds_but_in_cdx() -> None:
    column = pd.Series(["2026112220"], dtype="str")
    assert seconds_of(column)[0] == 2026112220.0
    assert seconds_of(column, in_cdx=True)[0] == at(325, 20).replace(minute=0, second=0).timestamp()


@given(st.datetimes(min_value=pd.Timestamp(1902, 1, 1), max_value=pd.Timestamp(2199, 12, 31)))
def test_digits_are_the_date_that_they_spell(time: Any) -> None:
    time = time.replace(microsecond=0)
    column = pd.Series([f"{time:%Y%m%d%H%M%S}", f"{time:%Y-%m-%dT%H:%M:%S}"], dtype="str")
    digits_read, iso_read = seconds_of(column)
    assert digits_read == iso_read == (time - pd.Timestamp(1970, 1, 1)).total_seconds()


@pytest.mark.parametrize("length", [4, 6, 8, 10, 12, 14])
def test_a_date_in_cdx_may_be_cut_short(length: int, tmp_path: Path) -> None:
    date = "20260101000000"[:length]
    line = f"org,example)/ {date} {A} text/html 200 {FIRST} 1\n"
    midnight = at(0).replace(hour=0, minute=0, second=0)
    assert read(tmp_path, f" CDX N b a m s k S\n{line}") == {A: [(midnight, 0)]}


def test_a_time_zone_that_may_be_another_is_named(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("url,time,digest\na,Sun Nov 22 20:16:45 CST 2026,x\n")
    log = read_logs([path])
    assert log.time.tolist() == [1795378605.0 + 6 * 3600]
    assert log.notes == ("The time zone CST is taken for Central Standard Time of North America.",)


def test_milliseconds_count(tmp_path: Path) -> None:
    content = f"url,time,digest\n{A},2026-01-01T00:00:00.250Z,x\n{A},{digits(at(0))},y\n"
    log = read_logs([_written(tmp_path, content)])
    assert log.time[0] % 1 == 0.25


def _written(folder: Path, content: str) -> Path:
    path = folder / "log"
    path.write_text(content)
    return path


# Against an oracle that goes through the rows one by one


def told_one_by_one(rows: list[tuple[int, int, int]]) -> list[tuple[int, bool]]:
    """(time, changed) of each visit of one page from (time, state, digest), slow and obvious."""
    visits: list[tuple[int, bool]] = []
    known: set[int] = set()
    for time in sorted({time for time, state, _ in rows if state != FAILED}):
        here = {(state, digest) for when, state, digest in rows if when == time}
        states = {state for state, _ in here} - {FAILED}
        own = {digest for state, digest in here if digest and state in (DIGEST, CHANGED)}
        hints = {digest for state, digest in here if digest and state in (SAME, OPENING)}
        if states == {OPENING} and visits:
            continue
        if CHANGED in states:
            changed = True
            known = own
        elif DIGEST in states:
            changed = bool(known) and not own <= known
            known = own
        else:
            changed = False
            known = known or (hints if SAME in states else set())
        visits.append((time, changed and bool(visits)))
    return visits


ROWS = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from([SAME, CHANGED, DIGEST, FAILED, OPENING]),
              st.integers(0, 2)),
    min_size=1, max_size=8,
)  # fmt: skip


@settings(max_examples=examples(500))
@given(st.lists(ROWS, min_size=1, max_size=3), st.randoms())
def test_what_visits_found_agrees_with_going_through_them(
    pages: list[list[tuple[int, int, int]]], random: Any
) -> None:
    rows = [
        (page, time, state, digest if state != DIGEST else digest or 1)
        for page, of_page in enumerate(pages)
        for time, state, digest in of_page
        if not (state == OPENING and digest)  # a row with a digest does not only open
    ]
    if not rows:
        return
    random.shuffle(rows)
    cut = random.randint(0, len(rows))
    history = History()
    for part in (rows[:cut], rows[cut:]):
        page, time, state, digest = np.array(part).reshape(-1, 4).T
        names = [f"page {number}" for number in range(len(pages))]
        history.add(
            Rows(names, page.astype(np.int32), time.astype(float), state.astype(np.int8),
                 digest.astype(np.uint64), Broken()),
            Path("log"),
        )  # fmt: skip
    log = history.visit_log()
    assert isinstance(log, VisitLog)
    for number in range(len(pages)):
        expected = told_one_by_one([row[1:] for row in rows if row[0] == number])
        of_page = log.page == number
        got = list(zip(log.time[of_page].tolist(), log.changed[of_page].tolist(), strict=True))
        assert got == expected


@pytest.mark.parametrize(
    ("stamped", "own", "pages", "follow"),
    [(2, 2, 5, 5), (2, 3, 5, 0), (1, 0, 5, 0), (2, 0, 4, 0), (2, 0, 50, 5), (2, 0, 51, 0)],
    ids=["half", "fewer than half", "one date", "few pages", "a tenth", "less than a tenth"],
)
def test_which_dates_follow_the_file_that_tells_them(
    stamped: int, own: int, pages: int, follow: int
) -> None:
    """Two dates or more, half of all, at five pages or more, a tenth of all: neither one fewer."""
    dates = stamped + own
    page = np.repeat(np.arange(min(pages, 5), dtype=np.int32), dates)
    state = np.tile(np.repeat([STAMPED, DIGEST], [stamped, own]).astype(np.int8), min(pages, 5))
    digest = np.arange(1, len(page) + 1, dtype=np.uint64)
    assert resolve_stamps(page, state, digest, pages) == follow
    assert set(state.tolist()) == ({OPENING} if follow else {DIGEST})


ELSEWHERE = {
    **{"TRT": "Europe/Istanbul", "GST": "Asia/Dubai", "SAMT": "Europe/Samara"},
    **{"UZT": "Asia/Tashkent", "YEKT": "Asia/Yekaterinburg", "ICT": "Asia/Bangkok"},
    **{"SGT": "Asia/Singapore", "PHT": "Asia/Manila", "MYT": "Asia/Kuala_Lumpur"},
    **{"BRT": "America/Sao_Paulo", "UYT": "America/Montevideo", "CLT": "America/Santiago"},
    **{"ART": "America/Argentina/Buenos_Aires", "COT": "America/Bogota", "PET": "America/Lima"},
    **{"Z": "UTC", "UCT": "UTC", "BST": "Europe/London", "IST": "Asia/Kolkata"},
    **{"CST": "America/Chicago", "CDT": "America/Chicago", "PST": "America/Los_Angeles"},
}
"""Where abbreviations are used that zones have no longer, or that several places use."""


def test_a_zone_is_as_far_from_utc_as_where_its_abbreviation_is_used() -> None:
    """In summer or in winter, by the data base of time zones."""
    hours: dict[str, set[float]] = defaultdict(set)
    places: dict[str, set[float]] = defaultdict(set)
    for place in available_timezones():
        for month in (1, 7):
            local = datetime(2022, month, 15, tzinfo=ZoneInfo(place))
            ahead = (local.utcoffset() or timedelta()).total_seconds() / 3600
            hours[str(local.tzname())].add(ahead)
            places[place].add(ahead)
    for name, ahead in _ZONES.items():
        if name in ELSEWHERE:
            assert ahead in places[ELSEWHERE[name]], name
        else:
            assert hours[name] == {ahead}, name
        text = pd.Series([f"Wed Feb 02 12:00:00 {name} 2022"])
        noon = datetime(2022, 2, 2, 12, tzinfo=UTC).timestamp()
        assert seconds_of(text).tolist() == [noon - 3600 * ahead]
