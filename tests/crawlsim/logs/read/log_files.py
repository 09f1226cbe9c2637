"""One history of visits, written as each crawler would write it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import numpy as np

from crawlsim.logs.read import read_logs
from crawlsim.logs.read.log import VisitLog

A, B, C = "https://example.org/a?x=1&y=2", "https://example.org/b", "http://www.example.com/c"
FIRST = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
SECOND = "777777ZZZZZZYYYYYYXXXXXXWWWWWWVV"
ERROR_PAGE = "E2E2E2E2E2E2E2E2E2E2E2E2E2E2E2E2"
REVISIT = "warc/revisit"


class Visit(NamedTuple):
    url: str
    time: datetime
    status: str
    digest: str = "-"
    mime: str = "text/html"
    posted: str = ""
    """What indexes put behind the key of an answer to POST."""


def at(day: int, hour: int = 6) -> datetime:
    return datetime(2026, 1, 1, hour, 30, 5, tzinfo=UTC) + timedelta(days=day)


HISTORY = (
    Visit(A, at(0), "200", FIRST),
    Visit(A, at(3), "304"),
    Visit(A, at(7), "200", FIRST),
    Visit(A, at(9), "404", ERROR_PAGE),
    Visit(A, at(11), "200", SECOND),
    Visit(A, at(12), "-", SECOND, REVISIT),
    Visit(A, at(20), "200", FIRST),
    Visit(B, at(1), "503", ERROR_PAGE),
    Visit(B, at(2), "404", ERROR_PAGE),
    Visit(C, at(2, 5), "206", SECOND),
    Visit(C, at(2, 6), "301", ERROR_PAGE),
    Visit(C, at(2, 7), "206", FIRST),
)
EXPECTED = {
    A: [(at(0), 0), (at(3), 0), (at(7), 0), (at(11), 1), (at(12), 0), (at(20), 1)],
    B: [],
    C: [(at(2, 5), 0), (at(2, 7), 1)],
}
"""What each page's visits found: time, and whether it had changed."""


def said(log: object) -> dict[str, list[tuple[datetime, int]]]:
    """The log as `EXPECTED` writes it, after a look at its shape."""
    assert isinstance(log, VisitLog)
    assert log.page.dtype == np.int32
    assert log.changed.dtype == bool
    assert list(log.urls) == sorted(set(log.urls))
    assert (np.diff(log.page) >= 0).all()
    assert (np.diff(log.time)[np.diff(log.page) == 0] > 0).all()
    visits: dict[str, list[tuple[datetime, int]]] = {url: [] for url in log.urls}
    for page, time, changed in zip(log.page, log.time, log.changed, strict=True):
        when = datetime.fromtimestamp(float(time), UTC)
        visits[log.urls[page]].append((when, int(changed)))
    return visits


def read(folder: Path, *contents: str | bytes, **options: str) -> dict[str, object]:
    """What `read_logs` says of files with these contents."""
    return said(read_logs(write(folder, *contents), **options))  # type: ignore[arg-type]


def write(folder: Path, *contents: str | bytes) -> list[Path]:
    paths = []
    for number, content in enumerate(contents):
        path = folder / f"log-{number}"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        paths.append(path)
    return paths


def iso(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def digits(time: datetime) -> str:
    return time.strftime("%Y%m%d%H%M%S")


def java(time: datetime) -> str:
    return time.strftime("%a %b %d %H:%M:%S UTC %Y")


def key(v: Visit) -> str:
    """The key by which archives sort, which http and https share."""
    host, _, path = v.url.partition("://")[2].partition("/")
    return f"{','.join(reversed(host.split('.')))})/{path.lower()}{v.posted}"


def csv(visits: Sequence[Visit]) -> str:
    rows = [
        f"{v.url},{iso(v.time)},{v.digest},{v.status},{v.mime},{'POST' if v.posted else 'GET'}"
        for v in visits
    ]
    return "\n".join(["url,time,digest,status,mime,method", *rows, ""])


def common_crawl(visits: Sequence[Visit]) -> str:
    rows = [
        f'"{v.mime}",{v.status},{digits(v.time)},"{key(v)}",{v.digest},"{v.url}"' for v in visits
    ]
    header = "content_mime_type,fetch_status,fetch_time,url_surtkey,content_digest,URL"
    return "\n".join([header, *rows, ""])


def cdx(fields: int, header: bool) -> Callable[[Sequence[Visit]], str]:
    letters = {7: "N b a m s k S", 9: "N b a m s k r V g", 11: "N b a m s k r M S V g"}[fields]

    def written(visits: Sequence[Visit]) -> str:
        more = " ".join(["-", "-", "5120", "77", "file.warc.gz"][: fields - 6])
        rows = [
            f"{key(v)} {digits(v.time)} {v.url} {v.mime} {v.status} {v.digest} {more}"
            for v in visits
        ]
        return "\n".join([*([f" CDX {letters}"] if header else []), *rows, ""])

    return written


def old_cdx(visits: Sequence[Visit]) -> str:
    rows = [
        f"{key(v)} {digits(v.time)} 192.0.2.1 {v.url} {v.mime} {v.status} {v.digest} 5 - 77"
        for v in visits
    ]
    return "\n".join([" CDX A b e a m s c V r S", *rows, ""])


def cdxj(visits: Sequence[Visit]) -> str:
    rows = [f"{key(v)} {digits(v.time)} {json.dumps(archived(v))}" for v in visits]
    return "\n".join(["!meta {}", *rows, ""])


def archived(v: Visit) -> dict[str, str]:
    status = {} if v.status == "-" else {"status": v.status}
    digest = {} if v.digest == "-" else {"digest": f"sha1:{v.digest}"}
    return {"url": v.url, "mime": v.mime, **status, **digest, "length": "5120"}


def json_lines(visits: Sequence[Visit]) -> str:
    rows = [
        json.dumps({"urlkey": key(v), "timestamp": digits(v.time), **archived(v)}) for v in visits
    ]
    return "\n".join([*rows, ""])


def json_array(visits: Sequence[Visit]) -> str:
    names = ["urlkey", "timestamp", "original", "mimetype", "statuscode", "digest", "length"]
    rows = [[key(v), digits(v.time), v.url, v.mime, v.status, v.digest, "5120"] for v in visits]
    return ",\n".join(map(json.dumps, [names, *rows])).join(["[", "]\n"])


def heritrix(visits: Sequence[Visit]) -> str:
    rows = ["2026-01-01T06:30:04.100Z     1         64 dns:example.org P https://example.org/ "
            "text/dns #001 20260101063004001+99 sha1:QQQQ - -"]  # fmt: skip
    for v in visits:
        digest = v.digest if v.digest == "-" else f"sha1:{v.digest}"
        time = v.time.strftime("%Y-%m-%dT%H:%M:%S.000Z")
        rows.append(
            f"{time}   {v.status:>3}       5120 {v.url} LL https://example.org/ {v.mime} #012 "
            f"{digits(v.time)}000+250 {digest} - 1t"
        )
    return "\n".join([*rows, ""])


FORMS: dict[str, Callable[[Sequence[Visit]], str | bytes]] = {
    "csv": csv,
    "csv in gz": lambda visits: gzip.compress(csv(visits).encode()),
    "common-crawl": common_crawl,
    **{
        f"cdx of {fields} fields{' and a header' * header}": cdx(fields, header)
        for fields in (7, 9, 11)
        for header in (False, True)
    },
    "cdx with other letters": old_cdx,
    "cdxj": cdxj,
    "cdx server, lines": json_lines,
    "cdx server, array": json_array,
    "heritrix": heritrix,
}
