"""What must not be believed, in every format that can hold it: one history, one answer."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from log_files import FIRST, FORMS, REVISIT, Visit, at, iso, java, key, write
from test_log_forms import sitemap

import crawlsim
from crawlsim.logs.read.states import STATES
from crawlsim.scheduling import Asked, Schedule, read_logs, schedule_of
from scenarios import ScenarioError

SITE = "https://example.org/"
DAY = 86400.0


def digest(number: int) -> str:
    """A digest as archives write them."""
    return f"{FIRST[:-4]}{'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'[number % 32]}{FIRST[-3:]}"


def answers(name: str, *statuses: str, first: int = 0, every: int = 0) -> list[Visit]:
    """Visits a day apart, which find another content every so many days, or always the same."""
    return [
        Visit(SITE + name, at(first + day), status, digest(day // every if every else 0))
        for day, status in enumerate(statuses)
    ]


# Dumps show each page as it was at its last visit: one for each day on which one was visited.


def states_by_day(visits: Sequence[Visit]) -> list[list[Visit]]:
    """What a dump after each time of a visit shows."""
    known: dict[str, Visit] = {}
    dumps = []
    in_order = sorted(visits, key=lambda each: each.time)
    for _, of_a_day in groupby(in_order, key=lambda each: each.time):
        for visit in of_a_day:
            before = known.get(visit.url)
            kept = before.digest if before is not None and visit.digest == "-" else visit.digest
            known[visit.url] = visit._replace(digest=kept)
        dumps.append(list(known.values()))
    return dumps


def nutch_status(status: str) -> int:
    if status in ("429", "503"):
        return 1  # unfetched: it is tried again
    return {"2": 2, "301": 5, "302": 4, "304": 6}.get(status[:1] if status < "3" else status, 3)


def of_nutch(visits: Sequence[Visit]) -> str:
    header = "Url,Status code,Status name,Fetch Time,Modified Time,Retries since fetch,"
    header += "Retry interval seconds,Retry interval days,Score,Signature,Metadata"
    rows = [
        f'"{v.url}",{nutch_status(v.status)},"",{java(v.time + timedelta(days=30))},'
        f'{java(at(0))},0,{30 * DAY},30.0,1.0,"{v.digest}",""'
        for v in visits
    ]
    return "\n".join([header, *rows, ""])


def of_nutch_in_json(visits: Sequence[Visit]) -> str:
    rows = [
        {
            "url": v.url,
            "statusCode": nutch_status(v.status),
            "fetchTime": java(v.time + timedelta(days=30)),
            "retryIntervalSeconds": 30 * 86400,
            "signature": v.digest,
        }
        for v in visits
    ]
    return "\n".join([*map(json.dumps, rows), ""])


def documents(visits: Sequence[Visit]) -> list[dict[str, object]]:
    """Of a status index; what failed has no interval, but the time at which it was processed."""
    words = {"2": "FETCHED", "301": "REDIRECTION", "302": "REDIRECTION", "304": "FETCHED"}
    found: list[dict[str, object]] = []
    for v in visits:
        word = words.get(v.status[:1] if v.status < "3" else v.status, "ERROR")
        metadata = {"fetch%2EstatusCode": [v.status], "lastProcessedDate": [iso(v.time)]}
        if word == "FETCHED":
            metadata |= {"signature": [v.digest], "fetchInterval": ["1440"]}
        row = {
            "url": v.url,
            "status": "FETCH_ERROR" if v.status in ("429", "503") else word,
            "nextFetchDate": iso(v.time + timedelta(days=1)),
            "metadata": metadata,
        }
        found.append({"_index": "status", "_id": v.url, "_source": row})
    return found


def of_stormcrawler(visits: Sequence[Visit]) -> str:
    return "\n".join([*map(json.dumps, documents(visits)), ""])


def of_a_search(visits: Sequence[Visit]) -> str:
    return json.dumps({"took": 5, "hits": {"total": 1, "hits": documents(visits)}}, indent=1)


DUMPS: Mapping[str, Callable[[Sequence[Visit]], str]] = {
    "nutch": of_nutch,
    "nutch, JSON": of_nutch_in_json,
    "stormcrawler": of_stormcrawler,
    "stormcrawler, search": of_a_search,
}


def of_parquet(visits: Sequence[Visit], path: Path) -> None:
    """As Common Crawl's index has it."""
    pytest.importorskip("pyarrow")
    pytest.importorskip("dask.dataframe")
    pd.DataFrame(
        {
            "url_surtkey": [key(v) for v in visits],
            "url": [v.url for v in visits],
            "fetch_time": pd.to_datetime([v.time for v in visits]),
            "fetch_status": pd.array(
                [pd.NA if v.status == "-" else int(v.status) for v in visits], "Int16"
            ),
            "content_digest": [None if v.digest == "-" else v.digest for v in visits],
            "content_mime_type": [v.mime for v in visits],
        }
    ).to_parquet(path)


PARQUET = "parquet"
OF_ARCHIVES = [name for name in FORMS if name not in ("heritrix", "csv in gz")] + [PARQUET]
"""Formats that have keys, or methods, and media types that say that a row is a revisit."""

OF_WORDS = [name for name in FORMS if name.startswith("cdx of") or "letters" in name] + ["heritrix"]
"""Formats whose fields end at a blank."""

EVERY = [*FORMS, PARQUET, *DUMPS]


def files(form: str, visits: Sequence[Visit], folder: Path) -> list[Path]:
    """One history in a format."""
    if form == PARQUET:
        of_parquet(visits, folder / "index.parquet")
        return [folder / "index.parquet"]
    if form in FORMS:
        return write(folder, FORMS[form](visits))
    return write(folder, *map(DUMPS[form], states_by_day(visits)))


def planned(form: str, visits: Sequence[Visit], folder: Path, **asked: object) -> Schedule:
    """The plan for a history, which `fit` has read alike."""
    paths = files(form, visits, folder)
    plan = schedule_of(read_logs(paths), Asked(4 / DAY, **asked))  # type: ignore[arg-type]
    if not asked:
        fitted = crawlsim.fit(paths)
        assert list(fitted.trace.pages) == plan.urls.tolist()
        assert fitted.summary["gaps"] == int((plan.visits - 1).clip(0).sum())
    return plan


def seen(plan: Schedule) -> dict[str, tuple[int, int]]:
    """Visits of each page and the changes that they found."""
    numbers = zip(plan.visits.tolist(), plan.changes.tolist(), strict=True)
    return dict(zip([url.removeprefix(SITE) for url in plan.urls], numbers, strict=True))


ALIVE = [
    *answers("calm", *["200"] * 8),
    *answers("lively", *["200"] * 9, every=3),
    *answers("unmodified", "200", "304", "304", "200", "304", "200", every=3),
]
ANSWERS = [
    *ALIVE,
    *answers("dead", *["200"] * 4, "404", "410", "404"),
    *answers("dying", *["200"] * 4, "404", "500"),
    *answers("never", *["404"] * 5),
    *answers("home", *["301", "302"] * 3),
    *answers("moved", *["200"] * 4, "404", "302", "301"),
    *answers("refused", *["200"] * 4, "503", "429", "503", "503", "503"),
    *answers("back", *["404"] * 4, "200", "200"),
]
SEEN = {
    "back": (2, 0),
    "calm": (8, 0),
    "dying": (4, 0),
    "lively": (9, 2),
    "refused": (4, 0),
    "unmodified": (6, 1),
}


@pytest.mark.parametrize("form", EVERY)
def test_what_answers_is_a_page_and_what_does_not_is_none(form: str, tmp_path: Path) -> None:
    plan = planned(form, ANSWERS, tmp_path)
    assert seen(plan) == SEEN
    assert plan.record()["pages"] == len(SEEN)
    states = [STATES[state] for state in plan.gone.states.tolist()]
    assert dict(zip([url.removeprefix(SITE) for url in plan.gone.urls], states, strict=True)) == {
        "dead": "gone",
        "home": "redirect",
        "moved": "redirect",
        "never": "never-answered",
    }
    (note,) = (note for note in plan.notes if "no longer pages" in note)
    assert note.startswith("4 URLs are no longer pages: 1 gone, 2 redirect, 1 never-answered.")


@pytest.mark.parametrize("form", EVERY)
def test_urls_that_only_lead_elsewhere_are_no_pages(form: str, tmp_path: Path) -> None:
    """Spellings of one home page, all of them redirects, and revisits of those."""
    visits = answers("", "301", "302", "301") + answers("index.html", "302", "302")
    if form in OF_ARCHIVES:
        again = [v._replace(time=at(9), status="-", mime=REVISIT) for v in visits[:1]]
        visits += [*again, visits[0]._replace(url="http://www.example.org/", status="301")]
    for read in (crawlsim.fit, lambda paths: crawlsim.schedule(paths, "1/day")):
        with pytest.raises(ScenarioError, match=r"show no page, only URLs that are none"):
            read(files(form, visits, tmp_path))


@pytest.mark.by_day(every=2)
@pytest.mark.parametrize("form", EVERY)
def test_a_move_to_https_says_how_the_history_is_kept(form: str, tmp_path: Path) -> None:
    """Half of the watch under http, half under https, and a week of 503 in it."""
    late = [v._replace(time=v.time + timedelta(days=20)) for v in answers("calm", *["200"] * 4)]
    visits = [v._replace(url=v.url.replace("https", "http")) for v in answers("calm", *["200"] * 4)]
    moved = [visits[0]._replace(time=at(day), status="301") for day in (10, 12, 14)]
    outage = [late[0]._replace(time=at(day), status="503") for day in range(24, 31)]
    last = late[0]._replace(time=at(40), digest=digest(9))
    paths = files(form, [*visits, *moved, *late, *outage, last], tmp_path)
    plan = schedule_of(read_logs(paths), Asked(1 / DAY))
    assert seen(plan) == {"calm": (5, 1)}
    assert plan.gone.record()["redirect"] == 1
    assert any("with --pages site-key what was seen of them counts too" in n for n in plan.notes)
    joined = schedule_of(read_logs(paths, pages="site-key"), Asked(1 / DAY))
    assert seen(joined) == {"calm": (9, 1)}
    assert not joined.gone.record()["redirect"]
    assert not any("site-key" in note for note in joined.notes)


@pytest.mark.parametrize("form", OF_ARCHIVES)
def test_a_revisit_of_a_redirect_is_one(form: str, tmp_path: Path) -> None:
    moved = Visit(SITE, at(0), "301", FIRST)
    again = [moved._replace(time=at(day), status="-", mime=REVISIT) for day in (1, 2, 3)]
    plan = planned(form, [moved, *again, *answers("en/", *["200"] * 3, every=1)], tmp_path)
    assert seen(plan) == {"en/": (3, 2)}
    assert plan.gone.record()["redirect"] == 1


@pytest.mark.parametrize("form", OF_ARCHIVES)
def test_answers_to_post_are_no_visits(form: str, tmp_path: Path) -> None:
    posted = [
        v._replace(posted=f"?__wb_method=POST&q={number}")
        for number, v in enumerate(answers("api", *["200"] * 4, every=1))
    ]
    plan = planned(form, [*ALIVE, *posted], tmp_path)
    assert list(seen(plan)) == ["calm", "lively", "unmodified"]
    assert "Left out, since answers to POST are not what a page holds: 4 rows." in plan.notes


@pytest.mark.parametrize("form", [*FORMS, PARQUET])
def test_the_digest_of_an_empty_answer_contradicts_nothing(form: str, tmp_path: Path) -> None:
    """Indexes give answers without a body (304, revisits of such) the digest of nothing."""
    empty = [v._replace(digest=digest(9)) if v.status == "304" else v for v in ALIVE]
    if form in OF_ARCHIVES:
        empty += [Visit(f"{SITE}calm", at(9), "-", digest(9), REVISIT)]
    plan = planned(form, empty, tmp_path)
    assert seen(plan)["unmodified"] == (6, 1)
    assert seen(plan)["calm"] == (8 + (form in OF_ARCHIVES), 0)
    assert plan.no_promise == ""


@pytest.mark.by_day(every=2)
@pytest.mark.parametrize("form", EVERY)
def test_other_schemes_are_no_pages(form: str, tmp_path: Path) -> None:
    others = ["dns:example.org", "metadata:x", "file:///box/a.jpg", "urn:crawl:1", "mailto:a@b"]
    visits = [Visit(name, at(day), "200", FIRST) for name in others for day in (0, 1)]
    plan = planned(form, [*ALIVE, *visits], tmp_path)
    assert list(seen(plan)) == ["calm", "lively", "unmodified"]
    assert any(note.startswith("Left out, since only http, https and ftp") for note in plan.notes)


@pytest.mark.by_day(every=2)
@pytest.mark.parametrize("form", EVERY)
def test_blanks_in_a_url_are_kept_or_named(form: str, tmp_path: Path) -> None:
    plan = planned(form, [*ALIVE, *answers("two words", *["200"] * 4, every=2)], tmp_path)
    if form in OF_WORDS:
        assert list(seen(plan)) == ["calm", "lively", "unmodified"]
        assert any("4 of " in note and "broken and left out" in note for note in plan.notes)
    else:
        assert seen(plan)["two words"] == (4, 1)


@pytest.mark.by_day(every=2)
@pytest.mark.parametrize("form", EVERY)
def test_an_index_without_repetitions_carries_no_promise(form: str, tmp_path: Path) -> None:
    visits = [v for page in range(8) for v in answers(f"{page}", *["200"] * 5, every=1)]
    plan = planned(form, visits, tmp_path)
    assert plan.expected is None
    assert plan.record()["expected_reason"].startswith("Of 8 pages seen three times or more 8 had")
    fitted = crawlsim.fit(files(form, visits, tmp_path))
    assert any("had changed at every visit" in note for note in fitted.notes)


@pytest.mark.parametrize("form", EVERY)
def test_rows_after_the_end_are_counted(form: str, tmp_path: Path) -> None:
    end = at(2).timestamp()
    plan = planned(form, ALIVE, tmp_path, until=end)
    assert seen(plan) == {"calm": (3, 0), "lively": (3, 0), "unmodified": (3, 0)}
    assert "Left out, since later than --until: 14 rows." in plan.notes


@pytest.mark.parametrize("form", EVERY)
def test_a_page_that_changes_at_every_visit_may_change_without_end(
    form: str, tmp_path: Path
) -> None:
    plan = planned(form, [*ALIVE, *answers("news", *["200"] * 5, every=1)], tmp_path)
    why = dict(zip(plan.urls.tolist(), plan.why, strict=True))
    assert why[f"{SITE}news"] == "at least: changed at 4 of 4 visits"
    assert why[f"{SITE}lively"] == "changed at 2 of 8 visits"


# Columns that say themselves what a visit found, and logs that are none.


def with_signs(
    form: str, rows: Sequence[tuple[str, int, str, str]], folder: Path, kind: str
) -> list[Path]:
    """A log of page, day, digest and sign of a change, the signs as programs write them."""
    table = pd.DataFrame(
        {
            "url": [SITE + name for name, *_ in rows],
            "time": [iso(at(day)) for _, day, *_ in rows],
            "digest": [each for *_, each, _ in rows],
            "changed": pd.array([float(sign) if sign else None for *_, sign in rows], "Float64"),
        }
    )
    table["changed"] = table["changed"].astype({"float": "float64"}.get(kind, kind))
    path = folder / "log"
    if form == PARQUET:
        pytest.importorskip("pyarrow")
        pytest.importorskip("dask.dataframe")
        table.to_parquet(path)
    elif form == "csv":
        table.to_csv(path, index=False)
    else:
        table.to_json(path, orient="records", lines=form == "JSON Lines")
        path.write_text(path.read_text().strip() + "\n")
    return [path]


@pytest.mark.parametrize("kind", ["float", "Int8", "boolean"])
@pytest.mark.parametrize("form", ["csv", "JSON Lines", "JSON array", PARQUET])
def test_signs_of_changes_as_programs_write_them(form: str, kind: str, tmp_path: Path) -> None:
    rows = [
        ("a", 0, "", ""),
        ("a", 1, "", "1"),
        ("a", 2, "", "0"),
        ("b", 0, "", ""),
        ("b", 3, "", "0"),
    ]
    plan = schedule_of(read_logs(with_signs(form, rows, tmp_path, kind)), Asked(2 / DAY))
    assert seen(plan) == {"a": (3, 1), "b": (2, 0)}


@pytest.mark.parametrize("form", ["csv", "JSON Lines", "JSON array", PARQUET])
def test_digests_and_signs_that_contradict_one_another_promise_nothing(
    form: str, tmp_path: Path
) -> None:
    rows = [
        (f"{page}", day, "x" if day < 3 else "y", "1" if day == 2 else "0" if day else "")
        for page in range(5)
        for day in range(6)
    ]
    paths = with_signs(form, rows, tmp_path, "float")
    plan = schedule_of(read_logs(paths), Asked(5 / DAY))
    assert plan.expected is None
    said = "digest and changed contradict one another at 10 of 25 visits"
    assert said in plan.no_promise
    fitted = crawlsim.fit(paths)
    assert any(said in note for note in fitted.notes)
    assert all(each.high == np.inf for each in fitted.parameters if each.name == "change_rate")


SERVERS = {
    "combined": '192.0.2.3 - - [21/May/2026:08:14:33 +0000] "GET /a HTTP/1.1" 200 154 "-" "Bot"',
    "with the host": 'a.example:443 ::1 - - [21/May/2026:08:14:33 +0000] "GET /a HTTP/2" 200 15',
    "W3C": "#Software: Server 10.0\n#Version: 1.0\n#Fields: date time c-ip cs-method cs-uri-stem",
}


@pytest.mark.parametrize("packed", [bytes, gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("form", SERVERS)
def test_a_web_servers_log_is_named(
    form: str, packed: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    paths = write(tmp_path, packed(f"{SERVERS[form]}\n".encode()))
    for read in (crawlsim.fit, read_logs):
        with pytest.raises(ScenarioError, match="a web server's access log, which says who came"):
            read(paths)


@pytest.mark.parametrize("form", DUMPS)
def test_a_dump_that_does_not_say_when_a_page_was_fetched(form: str, tmp_path: Path) -> None:
    """Without the interval the time of the visit is unknown, whatever the next one is."""
    visits = [*ALIVE, *answers("unknown", *["200"] * 4, every=1)]
    texts = []
    for known in states_by_day(visits):
        text = DUMPS[form](known)
        if form == "nutch":
            rows = text.splitlines()
            rows = [row.replace("2592000.0,30.0", ",") if "unknown" in row else row for row in rows]
            text = "\n".join([*rows, ""])
        else:
            text = without_interval(text)
        texts.append(text)
    plan = schedule_of(read_logs(write(tmp_path, *texts)), Asked(4 / DAY))
    assert seen(plan) == {name: SEEN[name] for name in ("calm", "lively", "unmodified")} | {
        "unknown": (0, 0)
    }
    assert any("is missing it is not known when" in n for n in plan.notes)


def without_interval(text: str) -> str:
    """A dump in JSON, in which one page has neither an interval nor the time of its visit."""

    def stripped(row: dict[str, Any]) -> dict[str, Any]:
        if "hits" in row:
            return {"hits": {"hits": list(map(stripped, row["hits"]["hits"]))}}
        document = row.get("_source", row)
        if document["url"] == f"{SITE}unknown":
            for name in ("retryIntervalSeconds", "fetchInterval", "lastProcessedDate"):
                document.pop(name, None)
                document.get("metadata", {}).pop(name, None)
        return row

    rows = [text] if text.startswith("{\n") else text.splitlines()
    return "\n".join([*(json.dumps(stripped(json.loads(row))) for row in rows), ""])


def test_sitemaps_name_pages_only(tmp_path: Path) -> None:
    """Blanks in a URL are kept, other schemes left out; nothing is promised from dates alone."""
    paths = []
    for day in (1, 8, 15):
        entries = {f"{SITE}two words": "2026-01-01", f"{SITE}new": f"2026-02-{day:02}T03:00:00Z"}
        entries |= {"file:///box/a.jpg": "2026-01-01", "mailto:a@b": "2026-01-01"}
        paths.append(tmp_path / f"sitemap-2026-02-{day + 1:02}.xml.gz")
        paths[-1].write_bytes(gzip.compress(sitemap(entries).encode()))
    plan = schedule_of(read_logs(paths), Asked(2 / DAY))
    assert seen(plan) == {"new": (3, 2), "two words": (3, 0)}
    assert plan.no_promise.startswith("Sitemaps hold what their owner says of changes")
    assert any(note.startswith("Left out, since only http, https and ftp") for note in plan.notes)
