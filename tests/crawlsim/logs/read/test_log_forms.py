"""Every format of logs says the same, in whatever order and split into whatever files."""

from __future__ import annotations

import json
import os
import random
import threading
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from log_files import (
    EXPECTED,
    FIRST,
    FORMS,
    HISTORY,
    SECOND,
    A,
    B,
    C,
    Visit,
    at,
    csv,
    iso,
    java,
    json_array,
    read,
    said,
    write,
)

import crawlsim
from crawlsim.logs.read import read_logs
from crawlsim.logs.read.log import ChangeLog, VisitLog
from crawlsim.logs.read.page_names import site_key
from scenarios import ScenarioError


@pytest.mark.parametrize("form", FORMS)
def test_each_format_says_what_was_found(form: str, tmp_path: Path) -> None:
    assert read(tmp_path, FORMS[form](HISTORY)) == EXPECTED


@pytest.mark.parametrize("form", FORMS)
def test_neither_the_order_of_rows_nor_their_split_into_files_matters(
    form: str, tmp_path: Path
) -> None:
    visits = random.Random(1).sample(HISTORY, len(HISTORY))
    parts = [FORMS[form](visits[start : start + 4]) for start in range(0, len(visits), 4)]
    assert read(tmp_path, *parts) == EXPECTED


def test_formats_together_are_one_history_without_repeats(tmp_path: Path) -> None:
    """The digest of crawl.log has the name of its algorithm before it, that of an index not."""
    assert read(tmp_path, *(form(HISTORY) for form in FORMS.values())) == EXPECTED


def test_cdx_files_put_together_have_headers_in_the_middle(tmp_path: Path) -> None:
    with_header = [name for name in FORMS if name.endswith(("and a header", "letters"))]
    names = ["cdx of 9 fields", *with_header]
    parts = [FORMS[name](HISTORY[number :: len(names)]) for number, name in enumerate(names)]
    assert read(tmp_path, "".join(map(str, parts))) == EXPECTED


def test_a_pipe_will_do(tmp_path: Path) -> None:
    for number, name in enumerate(("csv in gz", "heritrix", "cdx server, array")):
        content = FORMS[name](HISTORY)
        pipe = tmp_path / str(number)
        os.mkfifo(pipe)
        data = content.encode() if isinstance(content, str) else content
        writer = threading.Thread(target=pipe.write_bytes, args=(data,))
        writer.start()
        assert said(read_logs([pipe])) == EXPECTED
        writer.join()


def test_the_end_of_an_answer_may_say_where_the_next_begins(tmp_path: Path) -> None:
    content = json_array(HISTORY).removesuffix("]\n") + ',\n[],\n["org%2Cexample%29%2F+2026"]]\n'
    log = read_logs(write(tmp_path, content))
    assert said(log) == EXPECTED
    assert not any("broken" in note for note in log.notes)


def test_objects_need_not_have_the_same_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each block holds a row or two; only the first and the last have a digest."""
    rows = [
        {"url": A, "time": iso(at(1)), "status": 304, "digest": None},
        {"url": A, "time": iso(at(2)), "status": 304},
        {"time": iso(at(5)), "url": A, "status": 200, "filename": "f" * 40},
        {"time": iso(at(0)), "url": A, "status": 200, "filename": "f" * 40},
        {"digest": FIRST, "time": iso(at(3)), "url": A},
        {"digest": SECOND, "time": iso(at(4)), "url": A},
    ]
    monkeypatch.setattr("crawlsim.logs.read.csv_lines._BLOCK", 150)
    for lines in (rows, rows[::-1]):
        content = "".join(json.dumps(row) + "\n" for row in lines)
        found = {A: [(at(1), 0), (at(2), 0), (at(3), 0), (at(4), 1)]}
        assert read(tmp_path, content) == found


def test_the_name_of_an_algorithm_before_a_digest_does_not_matter(tmp_path: Path) -> None:
    content = csv(HISTORY)
    named = content.replace(FIRST, f"sha1:{FIRST}")
    assert read(tmp_path, named, content) == EXPECTED
    assert read(tmp_path, named.replace(SECOND, f"sha1:{FIRST}")) != EXPECTED


def test_blocks_end_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crawlsim.logs.read.csv_lines._BLOCK", 100)
    for number, form in enumerate(FORMS.values()):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert read(folder, form(HISTORY)) == EXPECTED


@pytest.mark.parametrize(
    ("form", "name"),
    [("csv", "csv"), ("common-crawl", "common-crawl"), ("cdxj", "cdxj"), ("heritrix", "heritrix")]
    + [(f"cdx of {fields} fields", name) for fields in (7, 9) for name in ("cdx", "cdx-server")]
    + [("cdx server, lines", "cdx-server"), ("cdx server, array", "cdx-server")],
)
def test_a_format_that_is_said_is_the_one_found(form: str, name: str, tmp_path: Path) -> None:
    assert read(tmp_path, FORMS[form](HISTORY), form=name) == EXPECTED


def test_a_folder_stands_for_its_files(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "part-0").write_text(csv(HISTORY[:5]))
    (folder / "part-1").write_text(csv(HISTORY[5:]))
    (folder / "part-2").write_text("")
    (folder / "_SUCCESS").write_text("")
    (folder / ".part-0.crc").write_bytes(b"crc\0")
    assert said(read_logs([folder])) == EXPECTED


def test_columns_of_csv_are_found_by_name(tmp_path: Path) -> None:
    content = (
        f'Note,SHA1,TIMESTAMP,"Page"\n"a, b",{FIRST},20260101063005,"{A}"\n'
        f",{SECOND},{java(at(7))},{A}\n"
    )
    assert read(tmp_path, content) == {A: [(at(0), 0), (at(7), 1)]}


@pytest.mark.parametrize("no", ["0", "false", "FALSE", "no"])
@pytest.mark.parametrize("yes", ["1", "true", "True", "yes"])
def test_a_column_says_itself_whether_a_page_had_changed(no: str, yes: str, tmp_path: Path) -> None:
    content = (
        f"url,time,changed\n{A},{iso(at(5))},{yes}\n{A},{iso(at(3))},{no}\n{A},{iso(at(1))},\n"
    )
    assert read(tmp_path, content) == {A: [(at(1), 0), (at(3), 0), (at(5), 1)]}


# Dumps, which show each page as it was at its last visit


DUMPED = (
    [(A, at(0), FIRST)],
    [(A, at(4), FIRST), (C, at(5), FIRST)],
    [(A, at(9), SECOND), (C, at(5), FIRST)],
)
"""Three dumps of a crawler's data base: A changes before the last, B is gone, C is new."""

FOUND = {A: [(at(0), 0), (at(4), 0), (at(9), 1)], B: [], C: [(at(5), 0)]}


def nutch_csv(visits: Sequence[tuple[str, datetime, str]]) -> str:
    header = (
        "Url,Status code,Status name,Fetch Time,Modified Time,Retries since fetch,"
        "Retry interval seconds,Retry interval days,Score,Signature,Metadata"
    )
    rows = []
    for number, (url, time, digest) in enumerate(visits):
        days = 30 + number
        rows.append(
            f'"{url}",{(2, 6)[number % 2]},"db_fetched",{java(time + timedelta(days=days))},'
            f"{java(at(0))},0,{days * 86400}.0,{days}.0,1.0,"
            f'"{digest.lower()}","Content-Type:text/html|||_pst_:success(1), lastModified=0|||"'
        )
    for status, name in ((1, "db_unfetched"), (3, "db_gone")):
        rows.append(
            f'"{B}",{status},"{name}",{java(at(status))},{java(at(0))},1,2592000.0,30.0,0.0,"{SECOND}",""'
        )
    return "\n".join([header, *rows, ""])


def nutch_json(visits: Sequence[tuple[str, datetime, str]]) -> str:
    rows = [
        {
            "url": url,
            "statusCode": 2,
            "statusName": "db_fetched",
            "fetchTime": java(time + timedelta(days=7)),
            "modifiedTime": java(at(0)),
            "retriesSinceFetch": 0,
            "retryIntervalSeconds": 604800,
            "retryIntervalDays": 7,
            "score": 1.0,
            "signature": digest.lower(),
            "metadata": {"Content-Type": "text/html"},
        }
        for url, time, digest in visits
    ]
    gone = {**rows[0], "url": B, "statusCode": 3, "statusName": "db_gone", "signature": "null"}
    return "\n".join([json.dumps(row) for row in (*rows, gone)] + [""])


def stormcrawler(visits: Sequence[tuple[str, datetime, str]]) -> str:
    def row(url: str, status: str, due: datetime, metadata: dict[str, list[str]]) -> str:
        source = {"url": url, "status": status, "nextFetchDate": iso(due), "metadata": metadata}
        return json.dumps({"_index": "status", "_id": url, "_source": source})

    rows = [
        row(
            url,
            "FETCHED",
            time + timedelta(minutes=90 * (number + 1)),
            {
                "signature": [digest.lower()],
                "signatureOld": ["0" * 32],
                "fetch%2EstatusCode": ["200"],
                "fetchInterval": [str(90 * (number + 1))],
            },
        )
        for number, (url, time, digest) in enumerate(visits)
    ]
    rows += [row(B, status, at(1), {}) for status in ("DISCOVERED", "FETCH_ERROR", "ERROR")]
    return "\n".join([*rows, ""])


@pytest.mark.parametrize("dump", [nutch_csv, nutch_json, stormcrawler])
def test_two_or_more_dumps_are_a_history(
    dump: Callable[[Sequence[tuple[str, datetime, str]]], str], tmp_path: Path
) -> None:
    contents = [dump(visits) for visits in DUMPED]
    assert read(tmp_path, *contents) == FOUND
    assert read(tmp_path, *contents[::-1], contents[0]) == FOUND


@pytest.mark.parametrize("indent", [None, 2])
def test_answers_of_a_search_are_dumps(indent: int | None, tmp_path: Path) -> None:
    """What Elasticsearch answers to _search, on one line or pretty; several stand in a row."""
    dumps = []
    for day, digest in ((1, FIRST), (9, SECOND)):
        lines = stormcrawler([(A, at(day), digest), (B, at(day), FIRST)]).splitlines()
        answers = [
            json.dumps({"took": 5, "hits": {"total": 1, "hits": [json.loads(line)]}}, indent=indent)
            for line in lines
        ]
        dumps.append("\n".join([*answers, ""]))
    assert read(tmp_path, *dumps) == {
        A: [(at(1), 0), (at(9), 1)],
        B: [(at(1), 0), (at(9), 0)],
    }
    with pytest.raises(ScenarioError, match="one dump of a status index says only"):
        read(tmp_path, dumps[0])


def test_names_of_metadata_in_small_letters(tmp_path: Path) -> None:
    contents = []
    for dump in map(stormcrawler, DUMPED):
        for name in ("signatureOld", "fetch%2EstatusCode", "fetchInterval"):
            dump = dump.replace(name, name.lower())
        contents.append(dump)
    assert read(tmp_path, *contents) == FOUND


@pytest.mark.parametrize("dump", [nutch_csv, nutch_json, stormcrawler])
def test_one_dump_alone_is_refused(
    dump: Callable[[Sequence[tuple[str, datetime, str]]], str], tmp_path: Path
) -> None:
    with pytest.raises(ScenarioError, match="two or more are needed"):
        read(tmp_path, dump(DUMPED[1]))


def test_a_dump_may_come_after_a_log(tmp_path: Path) -> None:
    log = csv([Visit(url, time, "200", digest.lower()) for url, time, digest in DUMPED[0]])
    assert read(tmp_path, log, *map(nutch_csv, DUMPED[1:])) == FOUND


def test_the_parts_of_a_dump_in_a_folder_are_one_dump(tmp_path: Path) -> None:
    for number, visits in enumerate(DUMPED):
        (tmp_path / f"dump-{number}").mkdir()
        for part, visit in enumerate(visits):
            (tmp_path / f"dump-{number}" / f"part-r-0000{part}").write_text(nutch_csv([visit]))
    folders = [tmp_path / f"dump-{number}" for number in range(3)]
    assert said(read_logs(folders)) == FOUND
    with pytest.raises(ScenarioError, match="one dump of a CrawlDb says only"):
        read_logs(folders[1:2])


def test_a_dump_whose_first_line_is_cut_off_is_told_by_the_next(tmp_path: Path) -> None:
    for dump in (nutch_json, stormcrawler):
        contents = [f'{{"url": \n{dump(visits)}' for visits in DUMPED]
        assert read(tmp_path, *contents) == FOUND


def test_the_normal_dump_of_nutch_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="-format csv"):
        read(tmp_path, f"{A}\tVersion: 7\nStatus: 2 (db_fetched)\n", "")


def test_a_page_of_stormcrawler_that_was_not_modified_has_no_signature(tmp_path: Path) -> None:
    unsigned = stormcrawler([(A, at(4), "")]).replace('"200"', '"304"')
    dumps = [stormcrawler(DUMPED[0]), unsigned, stormcrawler(DUMPED[2][:1])]
    assert read(tmp_path, *dumps)[A] == FOUND[A]


# Sitemaps


def sitemap(entries: dict[str, str], namespace: str = "http://www.sitemaps.org/schemas/0.9") -> str:
    urls = "".join(
        f"<url>\n<loc> {url.replace('&', '&amp;')} </loc>"
        + (f"<lastmod>{lastmod}</lastmod>" if lastmod else "")
        + "<image:image><image:loc>https://example.org/i.png</image:loc></image:image></url>\n"
        for url, lastmod in entries.items()
    )
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="{namespace}" '
        f'xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">\n{urls}</urlset>\n'
    )


def test_a_lastmod_that_differs_is_a_change(tmp_path: Path) -> None:
    first = tmp_path / "sitemap-2026-01-05.xml"
    second = tmp_path / "sitemap-20260112T0630.xml"
    first.write_text(sitemap({A: "2026-01-02", B: "", C: "2025-12-30T10:00:00+01:00"}))
    second.write_text(sitemap({A: "2026-01-06T09:00Z", C: "2025-12-30T09:00:00Z"}))
    midnight = at(4).replace(hour=0, minute=0, second=0)
    morning = at(11).replace(second=0)
    for paths in ([first, second], [second, first], [tmp_path]):
        assert said(read_logs(paths)) == {
            A: [(midnight, 0), (morning, 1)],
            B: [],
            C: [(midnight, 0), (morning, 0)],
        }


def test_a_sitemap_is_of_the_day_of_its_folder_or_of_its_newest_lastmod(tmp_path: Path) -> None:
    (tmp_path / "2026-01-05").mkdir()
    first = tmp_path / "2026-01-05" / "sitemap.xml"
    second = tmp_path / "new.xml"
    first.write_text(sitemap({A: "2026-01-02", B: "2026-01-01"}))
    second.write_text(sitemap({A: "2026-01-08T06:30:05Z", B: "2026-01-01"}))
    log = read_logs([first, second])
    midnight = at(4).replace(hour=0, minute=0, second=0)
    assert said(log) == {A: [(midnight, 0), (at(7), 1)], B: [(midnight, 0), (at(7), 0)]}
    assert log.notes == (
        "new.xml has no date in its name: its newest lastmod, 2026-01-08T06:30:05Z, is its time.",
    )


@pytest.mark.parametrize(
    ("contents", "why"),
    [
        ([sitemap({A: "2026-01-02"})], "one sitemap says only"),
        ([sitemap({A: "2026-01-02"})] * 2, "of the same time"),
        ([sitemap({A: ""})] * 2, "no date in its name and no lastmod"),
        ([sitemap({})] * 2, "without any url"),
        (["<sitemapindex><sitemap><loc>x</loc></sitemap></sitemapindex>"] * 2, "give the sitemaps"),
        (["<html><body>404</body></html>"] * 2, "its root element is html"),
        (["<urlset><url></urlset>"] * 2, "is not XML: mismatched tag, line 1"),
        (["<urlset><url>"] * 2, "is not XML"),
    ],
)
def test_sitemaps_that_are_refused(contents: list[str], why: str, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=why):
        read(tmp_path, *contents)


def test_a_lastmod_that_is_no_date_is_a_broken_row(tmp_path: Path) -> None:
    paths = [tmp_path / f"sitemap-2026-01-0{day}.xml" for day in (1, 2)]
    for path in paths:
        path.write_text(sitemap({A: "2025-12-31", B: "soon"}))
    log = read_logs(paths)
    assert list(log.urls) == [A]
    assert log.notes[0] == "2 of 4 rows are broken and left out."
    assert log.notes[1].startswith("sitemap-2026-01-01.xml, line 5: time = 'soon' is not a time")


# Changes


def test_pages_and_times_alone_are_changes(tmp_path: Path) -> None:
    content = f"page,time\n{B},{iso(at(2))}\n{A},{iso(at(3))}\n{A},{iso(at(1))}\n"
    for kind in (None, "changes"):
        log = read_logs(write(tmp_path, content, content), kind=kind)  # type: ignore[arg-type]
        assert isinstance(log, ChangeLog)
        assert list(log.urls) == [A, B]
        assert log.page.tolist() == [0, 0, 1]
        assert log.time.tolist() == [time.timestamp() for time in (at(1), at(3), at(2))]


def test_visits_without_a_digest_are_refused(tmp_path: Path) -> None:
    for kind, content in (("visits", "page,time\na,2026-01-01\n"), (None, "page,time,status\n")):
        with pytest.raises(ScenarioError, match="need a column digest or changed"):
            read_logs(write(tmp_path, content), kind=kind)  # type: ignore[arg-type]


def test_visits_with_a_digest_are_visits_whatever_is_said(tmp_path: Path) -> None:
    assert read(tmp_path, csv(HISTORY), kind="changes") == EXPECTED


def test_changes_and_visits_are_not_one_history(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="not one history"):
        read(tmp_path, csv(HISTORY), "page,time\na,2026-01-01\n")


# Spellings of one page


@pytest.mark.parametrize(
    "urls",
    [
        ("http://a.org", "https://www.A.org/", "HTTPS://a.org:443/?", "http://www.a.org:80"),
        ("http://a.org/b", "https://a.org/b?", "http://a.org:80/b"),
        ("http://a.org:8080/", "https://a.org:8080"),
        ("a.org/b",),
        ("ftp://a.org/b",),
        ("http://a.org:443/b",),
        ("https://a.org/b/",),
        ("https://a.org/B",),
        ("https://a.org/b?x",),
    ],
)
def test_a_site_key_is_what_the_usual_spellings_share(urls: tuple[str, ...]) -> None:
    """And what nothing else has that stands here."""
    every = (A, "http://a.org", "http://a.org/b", "http://a.org:8080/", "a.org/b", "ftp://a.org/b")
    others = {site_key(each) for each in every if each != urls[0]}
    (key,) = {site_key(url) for url in urls}
    assert key not in others


def test_spellings_put_together_are_one_page_with_the_name_that_answers(tmp_path: Path) -> None:
    """Moved from http to https: content, then redirects, under one name and the other."""
    old, new = "http://www.a.org", "https://a.org/"
    rows = [
        f"{old},2026-01-01,200,x", f"{new},2026-01-05,200,x", f"{old},2026-01-09,301,",
        f"{new},2026-01-09,200,y", f"{old},2026-01-12,301,", "http://b.org/,2026-01-01,404,",
        "https://b.org/,2026-01-02,404,",
    ]  # fmt: skip
    paths = write(tmp_path, "\n".join(["url,time,status,digest", *rows, ""]))
    log = read_logs(paths, pages="site-key")
    assert isinstance(log, VisitLog)
    assert log.urls.tolist() == [new, "https://b.org/"]
    assert np.diff(log.time).tolist() == [4 * 86400.0, 4 * 86400.0]
    assert log.changed.tolist() == [False, False, True]
    assert len(read_logs(paths).urls) == 4
    plan = crawlsim.schedule(paths, "1/day", pages="site-key", weights={old: 2.0, new: 1.0})
    assert plan.urls.tolist() == [new]
    assert plan.gone.urls.tolist() == ["https://b.org/"]
    assert not [note for note in plan.notes if "--weights" in note]
    assert crawlsim.fit(paths, pages="site-key").trace.pages == (new,)
    with pytest.raises(ScenarioError, match="--pages"):
        read_logs(paths, pages="surt")


def test_joined_spellings_do_not_depend_on_the_order_of_rows(tmp_path: Path) -> None:
    rows = csv(HISTORY).splitlines()
    rows += [row.replace("https://", "http://www.") for row in rows[1:] if ",404," not in row]
    content = "\n".join([rows[0], *rows[:0:-1], ""])
    found = said(read_logs(write(tmp_path, content), pages="site-key"))
    assert {site_key(url): visits for url, visits in found.items()} == {
        site_key(url): visits for url, visits in EXPECTED.items()
    }
