"""The formats of logs: what each looks like, and what reads it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from crawlsim.logs.read.cdx import read_cdx, read_cdx_server, read_cdxj
from crawlsim.logs.read.csv_lines import Block, fields_of
from crawlsim.logs.read.heritrix import read_heritrix
from crawlsim.logs.read.named import Kind, read_csv
from crawlsim.logs.read.nutch import is_nutch, read_nutch
from crawlsim.logs.read.rows import Rows
from crawlsim.logs.read.sitemaps import read_sitemap
from crawlsim.logs.read.stormcrawler import read_stormcrawler
from scenarios.base import listed
from scenarios.columns import other_separator
from scenarios.errors import MISSING, ScenarioError

Reader = Callable[[Iterator[Block], Path, Kind | None], tuple[Kind, Iterator[Rows]]]


@dataclass(frozen=True)
class Form:
    """A format of logs.

    Attributes
    ----------
    read : callable
        From blocks of lines, the path and the kind that is asked for to the kind and the rows.
    dump : str
        What one file is that shows each page at one moment, so that it takes two to see a change;
        empty for logs.
    """

    read: Reader
    dump: str = ""


FORMS: Mapping[str, Form] = {
    "csv": Form(read_csv),
    "cdx": Form(read_cdx),
    "cdxj": Form(read_cdxj),
    "cdx-server": Form(read_cdx_server),
    "common-crawl": Form(read_csv),
    "heritrix": Form(read_heritrix),
    "nutch": Form(read_nutch, "dump of a CrawlDb"),
    "stormcrawler": Form(read_stormcrawler, "dump of a status index"),
    "sitemaps": Form(read_sitemap, "sitemap"),
}

_HERITRIX = re.compile(rb"\d{4}-\d\d-\d\dT[\d:.]+Z\s+-?\d+\s+(?:\d+|-)\s+\S+\s").match
_CDXJ = re.compile(rb"(?:!|[^{]*?[ \t]\d{4,17}[ \t]+\{)").match
_CDX = re.compile(rb"[^\s,]\S*[ \t]\d{4,17}(?:[ \t]\S+){2}[ \t](?:\d{3}|-)[ \t]\S+[ \t]").match
_ACCESS_LOG = re.compile(
    rb"\S+ \S+ .*\[\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}\] \""
    rb"|#(?:Software|Version|Fields|Date): "
).match
_WARC = re.compile(rb"WARC/\d").match
_OTHERS: Mapping[str, tuple[Callable[[bytes], object], str]] = {
    "a web server's access log": (
        _ACCESS_LOG,
        "which says who came, not what had changed; give what the crawler wrote of its visits",
    ),
    "a WARC": (
        _WARC,
        "which holds the contents; an index of it is read: cdxj-indexer FILE makes one",
    ),
    "in UTF-16": (
        re.compile(rb"\xff\xfe|\xfe\xff|.\0.\0").match,
        "which no log is; iconv -f UTF-16 -t UTF-8 FILE makes it readable",
    ),
}
"""Files that are taken for logs: what each is -> what shows it, and the way out."""

_NORMAL_DUMP = re.compile(rb"\S+\tVersion: \d+").match
_LOOKED_AT = 1 << 20
_OBJECTS_LOOKED_AT = 20


def form_of(block: Block, path: Path) -> str:
    """The format of a file by its first lines.

    Raises
    ------
    ScenarioError
        If it is none that is known.
    """
    text = block.text[:_LOOKED_AT]
    line = text.lstrip(b"\r\n").partition(b"\n")[0]
    start = text.lstrip()[:1]
    _refuse_others(line, path)
    if start == b"<":
        return "sitemaps"
    if start == b"[":
        return "cdx-server"
    if start == b"{":
        return _form_of_json(text)
    if line.split()[:1] == [b"CDX"]:
        return "cdx"
    for name, fits in (("heritrix", _HERITRIX), ("cdxj", _CDXJ), ("cdx", _CDX)):
        if fits(line):
            return name
    if _NORMAL_DUMP(line):
        allowed = "is Nutch's normal dump; readdb CRAWLDB -dump DIR -format csv makes one to read"
        raise ScenarioError("", MISSING, allowed, str(path))
    is_table = b"," in line or other_separator(line.decode("utf-8", "replace")) is not None
    if is_table and b"\0" not in line:
        return _form_of_csv(line)
    allowed = f"is not a log that is known; --from says which it is: {listed(FORMS)}"
    raise ScenarioError("", MISSING, allowed, str(path))


def _refuse_others(line: bytes, path: Path) -> None:
    """Refuse a file that only looks like a log, and say what to do."""
    for name, (fits, way_out) in _OTHERS.items():
        if fits(line):
            raise ScenarioError("", MISSING, f"is {name}, {way_out}", str(path))


def _form_of_csv(line: bytes) -> str:
    try:
        return "nutch" if is_nutch(fields_of(line)) else "csv"
    except ValueError:
        return "csv"  # whose reader says what is wrong


def _form_of_json(text: bytes) -> str:
    """By the keys of the first objects, of which one may be cut off."""
    if b'"hits"' in text and b'"nextFetchDate"' in text:
        return "stormcrawler"
    for line in text.split(b"\n")[:_OBJECTS_LOOKED_AT]:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        document = row.get("_source", row) if isinstance(row, dict) else None
        names = list(document) if isinstance(document, dict) else []
        if "nextFetchDate" in names:
            return "stormcrawler"
        if is_nutch(names):
            return "nutch"
    return "cdx-server"  # whose reader says what is wrong
