"""Sitemaps that were kept: each shows when its pages had last changed, at its own time.

Its own time is the date in the name of its file, or of its folder; without any date the newest
``lastmod``, since it was written then or later.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from xml.parsers import expat

import numpy as np
from numpy.typing import NDArray

from crawlsim.logs.read.csv_lines import Block
from crawlsim.logs.read.named import Kind
from crawlsim.logs.read.rows import DIGEST, STAMPED, Columns, Rows, rows_of
from crawlsim.logs.read.times import seconds_of
from scenarios.arrays import Array
from scenarios.errors import MISSING, ScenarioError
from scenarios.text import shortened, visible

_DATE = re.compile(
    r"(?<!\d)((?:19|20|21)\d\d)-?([01]\d)-?([0-3]\d)"
    r"(?:[T_ -]?([0-2]\d)[:-]?([0-5]\d)(?:[:-]?([0-5]\d))?)?Z?(?!\d)",
    re.ASCII,
)
_LONGEST_NAME = 60
_DAY = 86400.0
_MANY, _MANY_OF_FILE = 5, 0.1


def read_sitemap(
    parts: Iterator[Block], path: Path, kind: Kind | None
) -> tuple[Kind, Iterator[Rows]]:
    """The rows of one sitemap: a page is in another state where its lastmod is another.

    Raises
    ------
    ScenarioError
        If it is not a sitemap, or one of sitemaps, or has neither a date nor a lastmod.
    """
    del kind
    return "visits", iter([_rows(parts, path)])


class Lastmods(NamedTuple):
    """When the pages of a sitemap claim to have changed last.

    Attributes
    ----------
    rows : Rows
    without_date : int
        Pages that claim nothing.
    time : float
        Of the sitemap; 0 where neither its name nor a page has a date.
    """

    rows: Rows
    without_date: int
    time: float


def lastmods_of(parts: Iterator[Block], path: Path) -> Lastmods:
    """What a sitemap says, each date without an hour taken for noon.

    Raises
    ------
    ScenarioError
        If it is not a sitemap.
    """
    import pandas as pd

    found = _entries(parts, path)
    urls = pd.Series(found.urls, dtype="str")
    lastmod = pd.Series(found.lastmods, dtype="str")
    lines = np.array(found.lines, np.int64)
    kept = (lastmod != "").to_numpy(bool)
    dates = (lastmod[kept].str.len() == len("2025-01-06")).to_numpy(bool)

    def seconds(column: Any) -> Array:
        return seconds_of(column) + np.where(dates, _DAY / 2, 0.0)

    columns = Columns(lines[kept], urls[kept], lastmod[kept], names={"time": "lastmod"})
    rows = rows_of(columns, seconds=seconds)
    own = _date_in_name(path)
    time = float(rows.time.max(initial=0.0)) if own is None else own
    return Lastmods(rows, int((~kept).sum()), time)


def _entries(parts: Iterator[Block], path: Path) -> _Entries:
    """The entries of a sitemap that has some."""
    found = _Entries(path)
    for block in parts:
        found.feed(block.text)
    found.close()
    if not found.urls:
        raise ScenarioError("", MISSING, "is a sitemap without any url", str(path))
    return found


def _rows(parts: Iterator[Block], path: Path) -> Rows:
    import pandas as pd

    found = _entries(parts, path)
    lastmod = pd.Series(found.lastmods, dtype="str")
    modified = seconds_of(lastmod)
    time, notes = _time_of(path, modified)
    read_at = np.where((lastmod == "").to_numpy(bool) | ~np.isnan(modified), time, np.nan)

    def seconds(_: object) -> Array:
        return read_at

    columns = Columns(
        np.array(found.lines, np.int64),
        pd.Series(found.urls, dtype="str"),
        lastmod,
        digest=lastmod.where(np.isnan(modified), pd.Series(modified).map(repr).astype("str")),
    )
    rows = rows_of(columns, seconds=seconds)
    stamped = _stamped(modified[~np.isnan(read_at)], time, is_named=not notes)
    if len(stamped) == len(rows.state):
        rows.state[stamped & (rows.state == DIGEST)] = STAMPED
    return replace(rows, notes=notes)


def _stamped(modified: Array, time: float, *, is_named: bool) -> NDArray[np.bool_]:
    """Which dates may be those of the file: of its own day, or the same for many pages."""
    _, place, count = np.unique(modified, return_inverse=True, return_counts=True)
    shared = count[place] >= max(_MANY, _MANY_OF_FILE * len(modified))
    if is_named:
        shared |= np.floor(modified / _DAY) == np.floor(time / _DAY)
    return shared & ~np.isnan(modified)


def _time_of(path: Path, modified: Array) -> tuple[float, tuple[str, ...]]:
    """Seconds since 1970-01-01 UTC at which the sitemap was as it is, and a note if in doubt."""
    own = _date_in_name(path)
    if own is not None:
        return own, ()
    if np.isnan(modified).all():
        allowed = (
            "has no date in its name and no lastmod; name it by the day on which it was fetched, "
            "sitemap-2025-01-06.xml"
        )
        raise ScenarioError("", MISSING, allowed, str(path))
    newest = float(np.nanmax(modified))
    shown = np.datetime_as_string(np.datetime64(int(newest), "s"))
    name = shortened(visible(path.name), _LONGEST_NAME)
    return newest, (f"{name} has no date in its name: its newest lastmod, {shown}Z, is its time.",)


def _date_in_name(path: Path) -> float | None:
    """The date in the name of a file or of its folder, in seconds since 1970-01-01 UTC."""
    for name in (path.name, path.absolute().parent.name):
        for found in _DATE.finditer(name):
            year, month, day, hour, minute, second = found.groups("00")
            time = _seconds(f"{year}-{month}-{day}T{hour}:{minute}:{second}")
            if not np.isnan(time):
                return time
    return None


def _seconds(date: str) -> float:
    import pandas as pd

    return float(seconds_of(pd.Series([date], dtype="str"))[0])


class _Entries:
    """URLs and their lastmods, as the parser comes upon them.

    Document types are refused: a sitemap has none, and entities are what small files blow up with.
    """

    def __init__(self, path: Path) -> None:
        self.urls: list[str] = []
        self.lastmods: list[str] = []
        self.lines: list[int] = []
        self._path = path
        self._stack: list[str] = []
        self._text: list[str] = []
        self._entry: dict[str, str] = {}
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text.append
        self._parser.StartDoctypeDeclHandler = self._refuse_document_type

    def feed(self, text: bytes) -> None:
        """More of the file."""
        self._parse(text, is_last=False)

    def close(self) -> None:
        """The end of the file."""
        self._parse(b"", is_last=True)

    def _parse(self, text: bytes, *, is_last: bool) -> None:
        try:
            self._parser.Parse(text, is_last)
        except expat.ExpatError as error:
            why = f"is not XML: {expat.errors.messages[error.code]}, line {error.lineno}"
            raise ScenarioError("", MISSING, why, str(self._path)) from None

    def _refuse_document_type(self, *_: object) -> None:
        allowed = "declares a document type, which a sitemap must not"
        raise ScenarioError("", MISSING, allowed, str(self._path))

    def _start(self, name: str, _: object) -> None:
        name = name.rpartition(" ")[2]
        if not self._stack and name != "urlset":
            allowed = f"is not a sitemap: its root element is {shortened(visible(name), 40)}"
            if name == "sitemapindex":
                allowed = "is an index of sitemaps; give the sitemaps themselves"
            raise ScenarioError("", MISSING, allowed, str(self._path))
        self._stack.append(name)
        self._text.clear()
        if self._stack == ["urlset", "url"]:
            self._entry = {}
            self.lines.append(self._parser.CurrentLineNumber)

    def _end(self, name: str) -> None:
        name = name.rpartition(" ")[2]
        if len(self._stack) == 3 and self._stack[1] == "url" and name in ("loc", "lastmod"):
            self._entry[name] = "".join(self._text).strip()
        if self._stack == ["urlset", "url"]:
            self.urls.append(self._entry.get("loc", ""))
            self.lastmods.append(self._entry.get("lastmod", ""))
        self._stack.pop()
        self._text.clear()
