"""Indexes of web archives: CDX files, CDX servers' answers, CDXJ.

The page is the original URL, never the key by which the index is sorted, which several URLs share.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain, pairwise
from pathlib import Path

from crawlsim.logs.read.columns import places_of
from crawlsim.logs.read.csv_lines import Block
from crawlsim.logs.read.json_rows import JsonRows, take_line
from crawlsim.logs.read.named import NAMES, Kind, json_columns, read_json
from crawlsim.logs.read.rows import OF_POST, Columns, Rows, rows_of
from crawlsim.logs.read.times import seconds_of
from crawlsim.logs.read.words import columns_of_words
from scenarios.arrays import Array
from scenarios.errors import ScenarioError

_LETTERS: Mapping[str, tuple[str, ...]] = {
    "url": ("a",),
    "time": ("b",),
    "mime": ("m",),
    "status": ("s",),
    "digest": ("k", "c"),
    "size": ("S",),
}
"""What a column holds, and its letters in the header of a CDX file."""

_NAMES_IN_CDXJ = {what: names for what, names in NAMES.items() if what != "changed"}
_USUAL = "N b a m s k"
"""The columns with which files of 7, 9 and 11 fields begin."""

_KEYS = ("N", "A")
_OF_POST = OF_POST.encode()

_FEWEST, _MOST = 7, 11
_LINE_OF_CDXJ = re.compile(rb"(.*?)[ \t](\d{4,17})[ \t]+(\{.*)").fullmatch
_HEADER = re.compile(rb"^[ \t]?CDX(?:[ \t]+[A-Za-z])+[ \t]*$", re.MULTILINE)


@dataclass(frozen=True)
class _Fields:
    """Where the columns are, which the key of the URL is, and how many fields a line has."""

    places: Mapping[str, int]
    key: int
    fewest: int
    most: int


def read_cdx(parts: Iterator[Block], path: Path, kind: Kind | None) -> tuple[Kind, Iterator[Rows]]:
    """The rows of a CDX file, by its header or by the usual order of 7, 9 or 11 fields."""
    del kind
    return "visits", _rows(parts, path)


def _rows(parts: Iterator[Block], path: Path) -> Iterator[Rows]:
    fields = _Fields(places_of(_USUAL.split(), _LETTERS), 0, _FEWEST, _MOST)
    for block in parts:
        for section in _sections(block):
            if _HEADER.match(section.text):
                fields = _fields_of_header(section, path)
                section = section.without_first_line()
            if section.text:
                yield _rows_of_section(section, fields)


def _sections(block: Block) -> Iterator[Block]:
    """The block in parts that begin with a header, of which files put together have several."""
    if b"CDX " not in block.text:
        yield block
        return
    starts = {0, *(found.start() for found in _HEADER.finditer(block.text))}
    for start, end in pairwise([*sorted(starts), len(block.text)]):
        yield Block(block.first + block.text.count(b"\n", 0, start), block.text[start:end])


def _fields_of_header(section: Block, path: Path) -> _Fields:
    """The fields that the first line names.

    Raises
    ------
    ScenarioError
        If one that is needed is not among them.
    """
    header = section.text.partition(b"\n")[0].decode("utf-8", "backslashreplace")
    letters = header.split()[1:]
    places = places_of(letters, _LETTERS)
    if not {"url", "time", "digest"} <= set(places):
        allowed = "must name the columns a (original URL), b (date) and k (digest)"
        raise ScenarioError("header", header.strip(), allowed, str(path))
    key = next((letters.index(each) for each in _KEYS if each in letters), places["url"])
    return _Fields(places, key, len(letters), len(letters))


def _rows_of_section(section: Block, fields: _Fields) -> Rows:
    places = dict(fields.places)
    if _OF_POST in section.text.lower():
        places["key"] = fields.key
    lines, columns, broken = columns_of_words(
        section, list(places.values()), fields.fewest, fields.most
    )
    named = dict(zip(places, columns, strict=True))
    return rows_of(Columns(lines, **named, broken=broken), seconds=_seconds)


def _seconds(column: object) -> Array:
    return seconds_of(column, in_cdx=True)


def read_cdx_server(
    parts: Iterator[Block], path: Path, kind: Kind | None
) -> tuple[Kind, Iterator[Rows]]:
    """The rows of a CDX server's answer: text, an array of arrays, or JSON Lines."""
    first = next(parts)
    is_json = first.text.lstrip()[:1] in (b"[", b"{")
    return (read_json if is_json else read_cdx)(chain([first], parts), path, kind)


def read_cdxj(parts: Iterator[Block], path: Path, kind: Kind | None) -> tuple[Kind, Iterator[Rows]]:
    """The rows of a CDXJ file: a key, a date and a JSON object on each line."""
    del path, kind
    return "visits", map(_rows_of_cdxj, parts)


def _rows_of_cdxj(block: Block) -> Rows:
    found = JsonRows()
    times = []
    keys = []
    for offset, line in enumerate(block.text.split(b"\n")[:-1]):
        if not line.strip() or line.startswith((b"!", b" ")):  # what describes the file
            continue
        parts = _LINE_OF_CDXJ(line)  # a key may hold blanks
        key, time, text = parts.groups() if parts else (b"", b"", line)
        before = len(found.rows)
        take_line(found, block.first + offset, text)
        if len(found.rows) > before:
            times.append(time.decode("ascii"))
            keys.append(key.decode("utf-8", "backslashreplace"))
    for row, moment, key_of_row in zip(found.rows, times, keys, strict=True):
        row["time"] = moment
        row["urlkey"] = key_of_row
    columns = json_columns(found, partial(places_of, names=_NAMES_IN_CDXJ), _NAMES_IN_CDXJ)
    columns["status"] = columns["status"].replace("", "-")
    return rows_of(Columns(**columns), seconds=_seconds)
