"""Dumps of Nutch's CrawlDb (``readdb -dump``), as CSV or JSON Lines.

A dump holds the state of each page at its last visit. Its "Fetch Time" is when the *next* one is
due: the last was a retry interval before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from crawlsim.logs.read.columns import numbers, places_of
from crawlsim.logs.read.csv_lines import Block, header_of
from crawlsim.logs.read.json_rows import json_rows
from crawlsim.logs.read.named import Kind, csv_columns, json_columns
from crawlsim.logs.read.rows import DIGEST, FAILED, MOVED, NAMED, Columns, Rows, rows_of
from crawlsim.logs.read.times import seconds_of
from scenarios.arrays import Array
from scenarios.errors import ScenarioError

_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "url": ("url",),
    "status": ("statuscode", "status"),
    "time": ("fetchtime",),
    "interval": ("retryintervalseconds", "retryinterval"),
    "digest": ("signature",),
}
"""What a column holds, and its names as letters only."""

_STATES: Mapping[str, int] = {
    **dict.fromkeys(("2", "6", "7", "db_fetched", "db_notmodified", "db_duplicate"), DIGEST),
    **dict.fromkeys(("3", "db_gone"), FAILED),
    **dict.fromkeys(("4", "5", "db_redir_temp", "db_redir_perm"), MOVED),
}
"""What a status says: fetched, not modified and duplicate pages have a signature."""

_UNKNOWN = "Where the retry interval is missing it is not known when a page was fetched: left out."
_LETTERS_ONLY = re.compile(r"[^a-z]")


def is_nutch(header: Sequence[str]) -> bool:
    """Whether the names are those of a dump of a CrawlDb."""
    return set(_places(header)) == set(_COLUMNS)


def _places(header: Sequence[str]) -> dict[str, int]:
    return places_of([_LETTERS_ONLY.sub("", name.lower()) for name in header], _COLUMNS)


def read_nutch(
    parts: Iterator[Block], path: Path, kind: Kind | None
) -> tuple[Kind, Iterator[Rows]]:
    """The rows of one dump.

    Raises
    ------
    ScenarioError
        If the columns are not those of a dump.
    """
    del kind
    first = next(parts)
    if first.text.lstrip()[:1] in (b"{", b"["):
        return "visits", _rows_of_json(chain([first], parts), path)
    header = header_of(first, path)
    if not is_nutch(header):
        allowed = "is not a dump of a CrawlDb; make one with readdb CRAWLDB -dump DIR -format csv"
        raise ScenarioError("header", ",".join(header), allowed, str(path))
    rest = chain([first.without_first_line()], parts)
    return "visits", map(_rows, csv_columns(rest, len(header), _places(header)))


def _rows_of_json(parts: Iterator[Block], path: Path) -> Iterator[Rows]:
    for chunk in json_rows(parts, path):
        yield _rows(json_columns(chunk, _places, _COLUMNS))


def _rows(columns: dict[str, Any]) -> Rows:
    interval = numbers(columns.pop("interval"))
    unknown = np.isnan(interval)
    columns["status"] = columns["status"].where(~unknown, "")

    def last_visit(due: Any) -> Array:
        return seconds_of(due) - interval

    rows = rows_of(
        Columns(**columns), states=lambda status: _STATES.get(status, NAMED), seconds=last_visit
    )
    return replace(rows, notes=(_UNKNOWN,)) if unknown.any() else rows
