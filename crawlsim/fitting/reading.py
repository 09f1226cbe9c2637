"""A trace: what a log says, as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from crawlsim.fitting.columns import (
    DIGESTS,
    SMALLEST,
    UNSAID,
    are_dates,
    changes_in,
    codes_of,
    digest_changed,
    digests_in,
    instants,
    is_first_crawl,
    look_like_dates,
    numbers,
    why_no_number,
)
from crawlsim.fitting.csv_lines import Block, Table, blocks, fields_of, table_of
from scenarios.arrays import Array
from scenarios.base import listed, one_of
from scenarios.columns import other_separator
from scenarios.errors import MISSING, ScenarioError
from scenarios.text import shortened

Kind = Literal["changes", "crawls", "deliveries", "sizes"]

UNITS: Mapping[str, float] = {
    "second": 1.0,
    "minute": 60.0,
    "hour": 3600.0,
    "day": 86400.0,
    "week": 7 * 86400.0,
    "year": 365.25 * 86400.0,
}
"""Units of time in which dates can be counted, in seconds."""

MOST_SHOWN = 20
"""Broken rows that are put into words."""


@dataclass
class Broken:
    """Rows that say nothing: how many, and the first of them with line numbers.

    Attributes
    ----------
    count : int
    lines : list of (int, str)
        Line in the file, from 1, and what is wrong there; at most 20.
    """

    count: int = 0
    lines: list[tuple[int, str]] = field(default_factory=list)

    def add(self, count: int, lines: Sequence[tuple[int, str]]) -> None:
        """Some more, and the first of them in the order of the file."""
        self.count += count
        self.lines = sorted([*self.lines, *lines])[:MOST_SHOWN]


@dataclass(frozen=True)
class Trace:
    """What a file holds, one entry per row, in the order of the file.

    Attributes
    ----------
    kind : str
        "changes", "crawls", "deliveries" or "sizes".
    values : ndarray, shape (rows,)
        Times in `time_unit`, or sizes.
    page : ndarray of int, shape (rows,)
        Index into `pages`; empty for deliveries and sizes.
    pages : tuple of str
        Names, in the order in which they first appear in a row that says something.
    changed : ndarray of bool, shape (rows,)
        Whether the crawl found a change; empty but for crawls.
    dated : bool
        Whether the times are dates.
    time_unit : str
    broken : Broken
    doubts : tuple of str
        What may have been read in another way than it was meant.
    """

    kind: Kind
    values: Array
    page: NDArray[np.int32]
    pages: tuple[str, ...]
    changed: NDArray[np.bool_]
    dated: bool
    time_unit: str
    broken: Broken
    doubts: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """Number of rows that say something."""
        return len(self.values)


# Of reading: Traces: what a log says, read from CSV in one pass, with every broken row counted.

_COLUMNS: Mapping[Kind, tuple[str, ...]] = {
    "crawls": ("page", "time", "changed"),
    "changes": ("page", "time"),
    "deliveries": ("time",),
    "sizes": ("size",),
}
_LONGEST_SHOWN = 60
"""Characters of an entry that is quoted."""

_FORM = "2025-01-06T01:16"
"""A date as dates are to be written."""

_NO_SIGN = "must be 0, 1, true or false"
_SIZES = ("size", "bytes", "length", "service", "service_time", "duration", "value")


def read_trace(path: str | Path, kind: Kind | None = None, time_unit: str | None = None) -> Trace:
    """The trace in a CSV file, plain or gz.

    Parameters
    ----------
    path : str or Path
        With a header that names the columns: ``page,time`` are changes, ``page,time,changed``
        crawls, as are ``page,time,digest`` (or another of `findings.DIGESTS`), where another
        digest than at the visit before is a change; ``time`` alone deliveries, ``size``, ``bytes``
        or the like sizes; others are not looked at. Without a header `kind` says which columns
        there are, in this order.
    kind : str, optional
        Default by the header.
    time_unit : str, optional
        Dates are counted in it ("second" … "year"; default "day"); of numbers it is the label.

    Raises
    ------
    ScenarioError
        If the file cannot be read, its header says nothing, or no row says anything.
    """
    reader: _Reader | None = None
    for block in _from_first_line(blocks(Path(path))):
        if reader is None:
            reader, rest = _reader_for(block, Path(path), kind, time_unit)
            reader.take(rest)
        else:
            reader.take(block)
    if reader is None:
        raise ScenarioError("", MISSING, "is empty", str(path))
    return reader.trace()


def _from_first_line(found: Iterator[Block]) -> Iterator[Block]:
    """The blocks from the first line on that is not blank."""
    for block in found:
        while block.text and not block.text.partition(b"\n")[0].strip():
            block = block.without_first_line()
        if block.text:
            yield block
            yield from found


def read_instant(text: str, dated: bool, time_unit: str) -> float:
    """A time as the trace counts it, from a date or a number.

    Raises
    ------
    ValueError
        If it is neither, or not what the trace has.
    """
    import pandas as pd

    values = (instants if dated else numbers)(pd.Series([text], dtype="str"))
    value = values[0] / (UNITS[time_unit] if dated else 1.0)
    if not np.isfinite(value):
        raise ValueError(f"must be a {'date' if dated else 'number'}, as the times are")
    return float(value)


def _reader_for(
    block: Block, path: Path, kind: Kind | None, time_unit: str | None
) -> tuple[_Reader, Block]:
    """How to read the file, from its first line, and the block without the line of the names."""
    line = block.text.partition(b"\n")[0]
    foreign = {b"\0": "a NUL byte", b"\r": "a carriage return alone"}
    if found := [words for byte, words in foreign.items() if byte in line]:
        allowed = f"is no CSV file in UTF-8: line {block.first} holds {found[0]}"
        raise ScenarioError("", MISSING, allowed, str(path))
    try:
        header = fields_of(line)
    except ValueError as error:
        allowed = f"is no CSV file: line {block.first} {error}"
        raise ScenarioError("", MISSING, allowed, str(path)) from None
    names = [name.lower() for name in header]
    kind = kind or _kind_of(names, path)
    places = _places(names, kind)
    rest = block if places is None else block.without_first_line()
    if places is None:
        places = _by_position(names, kind, path)
    return _Reader(path, kind, len(header), places, time_unit), rest


def _kind_of(names: Sequence[str], path: Path) -> Kind:
    found = (kind for kind in _COLUMNS if _places(names, kind) is not None)
    kind = next(found, None)
    if kind is None:
        allowed = (
            "the first line must name columns (page,time; page,time,changed; page,time,digest; "
            f"time; size), or --kind must say {listed(get_args(Kind))}{_hint(names)}"
        )
        raise ScenarioError("header", ",".join(names), allowed, str(path))
    return kind


def _hint(fields: Sequence[str]) -> str:
    """What parts the fields instead of commas, if it is known."""
    other = other_separator(",".join(fields))
    return f"; its separator is {other}, and must be a comma" if other else ""


def _places(names: Sequence[str], kind: Kind) -> dict[str, int] | None:
    """Where the columns of a kind are, by their names; None where one is missing."""
    if kind == "sizes":
        size = next((name for name in _SIZES if name in names), None)
        return None if size is None else {"size": names.index(size)}
    wanted = list(_COLUMNS[kind])
    if kind == "crawls" and "changed" not in names:
        wanted[-1] = next((name for name in DIGESTS if name in names), "changed")
    return {name: names.index(name) for name in wanted} if set(wanted) <= set(names) else None


def _by_position(fields: Sequence[str], kind: Kind, path: Path) -> dict[str, int]:
    """The first columns, where the first line is a row already."""
    wanted = _COLUMNS[kind]
    value = "time" if "time" in wanted else "size"
    place = wanted.index(value)
    if len(fields) < len(wanted) or not _is_value(fields[place], dates=value == "time"):
        allowed = f"--kind {kind} needs the columns {','.join(wanted)}{_hint(fields)}"
        raise ScenarioError("header", ",".join(fields), allowed, str(path))
    return {name: place for place, name in enumerate(wanted)}


def _is_value(text: str, dates: bool) -> bool:
    import pandas as pd

    column = pd.Series([text], dtype="str")
    return are_dates(column) is not None if dates else bool(np.isfinite(numbers(column))[0])


class _Reader:
    """Columns as numbers, block after block."""

    def __init__(
        self,
        path: Path,
        kind: Kind,
        width: int,
        places: Mapping[str, int],
        time_unit: str | None,
    ) -> None:
        self._path = path
        self._kind = kind
        self._width = width
        self._places = places
        self._time_unit = time_unit
        self._digest = next((name for name in places if name in DIGESTS), None)
        self._dated: bool | None = False if kind == "sizes" else None
        self._index: dict[str, int] = {}
        self._broken = Broken()
        self._values_read: list[Array] = []
        self._pages_read: list[NDArray[np.int32]] = []
        self._findings_read: list[NDArray[Any]] = []
        self._unsaid: list[int] = []

    def take(self, block: Block) -> None:
        """Read one block."""
        if not block.text:
            return
        table = table_of(block, self._width, list(self._places.values()), MOST_SHOWN)
        count, lines = self._take_columns(table) if len(table.lines) else (0, [])
        self._broken.add(table.misshapen + count, sorted([*table.broken, *lines]))

    def _take_columns(self, table: Table) -> tuple[int, list[tuple[int, str]]]:
        """Keep the rows that say something; number of the others, and the first by line."""
        columns = dict(zip(self._places, table.columns, strict=True))
        bad = {}
        none = np.empty(0, np.int64), list[str]()
        codes, names = codes_of(columns["page"]) if "page" in columns else none
        if "page" in columns:
            bad["page"] = np.array([not name for name in names])[codes]
        measured = "time" if "time" in columns else "size"
        values = self._values(columns[measured])
        bad[measured] = ~np.isfinite(values)
        found, wrong = self._findings(columns)
        good = ~np.logical_or.reduce([*bad.values(), *wrong.values()])
        self._values_read.append(values[good])
        if "page" in columns:
            self._pages_read.append(self._pages(codes[good], names))
        self._keep_findings(found, good, table)
        return int((~good).sum()), self._broken_lines(table, columns, {**bad, **wrong})

    def _findings(
        self, columns: Mapping[str, Any]
    ) -> tuple[NDArray[Any] | None, dict[str, NDArray[np.bool_]]]:
        """What the crawls found, as digests or signs, and where they say neither."""
        if self._digest is not None:
            digests, given = digests_in(columns[self._digest])
            return digests, {self._digest: ~given}
        if "changed" in columns:
            signs = changes_in(columns["changed"])
            return signs, {"changed": signs == -1}
        return None, {}

    def _keep_findings(
        self, found: NDArray[Any] | None, good: NDArray[np.bool_], table: Table
    ) -> None:
        if found is None:
            return
        self._findings_read.append(found[good])
        if self._digest is None:
            self._unsaid += table.lines[good & (found == UNSAID)].tolist()

    def _broken_lines(
        self, table: Table, columns: Mapping[str, Any], bad: Mapping[str, NDArray[np.bool_]]
    ) -> list[tuple[int, str]]:
        """The first rows that say nothing, and why."""
        lines = []
        for place in np.flatnonzero(np.logical_or.reduce(list(bad.values())))[:MOST_SHOWN]:
            name = next(name for name, places in bad.items() if places[place])
            text = columns[name].iloc[place]
            shown = shortened(text, _LONGEST_SHOWN)
            lines.append((int(table.lines[place]), f"{name} = {shown!r} {self._why(name, text)}"))
        return lines

    def _why(self, name: str, text: str) -> str:
        """What is wrong with an entry."""
        if name == "page":
            return "is no name"
        if name == "changed":
            return _NO_SIGN
        if name == self._digest:
            return "is no digest"
        if name == "size":
            return f"must be a positive number, {SMALLEST:g} to {1 / SMALLEST:g}"
        if self._dated:
            return f"is no date, as other times are; write {_FORM}"
        why = why_no_number(text)
        neither = self._dated is None and why == "is no number"
        return f"is neither a date, such as {_FORM}, nor a number" if neither else why

    def _values(self, column: Any) -> Array:
        """Times or sizes."""
        if self._dated is None:
            self._dated = are_dates(column)
        values = instants(column) if self._dated else numbers(column)
        return np.where(values > 0, values, np.nan) if self._kind == "sizes" else values

    def _pages(self, codes: NDArray[np.int64], names: Sequence[str]) -> NDArray[np.int32]:
        """Index of the page of each row; new pages get the next ones as they appear."""
        import pandas as pd

        own, used = pd.factorize(codes)
        index = [self._index.setdefault(names[code], len(self._index)) for code in used.tolist()]
        found: NDArray[np.int32] = np.array(index, np.int32)[own]
        return found

    def trace(self) -> Trace:
        """All that was read."""
        if not any(map(len, self._values_read)):
            allowed = f"no row says anything{self._first()}"
            raise ScenarioError("", MISSING, allowed, str(self._path))
        unit = self._unit()
        values = np.concatenate(self._values_read)
        page = np.concatenate([np.empty(0, np.int32), *self._pages_read])
        changed, kept = self._changes(page, values)
        return Trace(
            kind=self._kind,
            values=(values / UNITS[unit] if self._dated else values)[kept],
            page=page[kept],
            pages=tuple(self._index),
            changed=changed[kept],
            dated=bool(self._dated),
            time_unit=unit,
            broken=self._broken,
            doubts=self._doubts(values),
        )

    def _changes(
        self, page: NDArray[np.int32], values: Array
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_] | slice]:
        """Whether each crawl found a change, and which rows stay.

        An entry may be empty at the first visit of a page, which has nothing to compare with.
        """
        if not self._findings_read:
            return np.empty(0, np.bool_), slice(None)
        found = np.concatenate(self._findings_read)
        if self._digest is not None:
            return digest_changed(page, values, found), slice(None)
        kept = (found != UNSAID) | is_first_crawl(page, values, len(self._index))
        lines = [self._unsaid[place] for place in np.flatnonzero(~kept[found == UNSAID])]
        why = f"changed = '' {_NO_SIGN}; only the first visit of a page may leave it out"
        self._broken.add(len(lines), [(line, why) for line in lines[:MOST_SHOWN]])
        return found == 1, kept

    def _first(self) -> str:
        """The first broken row, if there is one."""
        if not self._broken.lines:
            return ""
        line, reason = self._broken.lines[0]
        return f"; line {line} {reason}"

    def _doubts(self, values: Array) -> tuple[str, ...]:
        found = []
        if self._digest is not None:
            found.append(
                f"A visit that found another {self._digest} than the visit before counts as a "
                "change."
            )
        if not self._dated and self._kind != "sizes" and look_like_dates(values):
            first = f"{values[0]:.0f}"
            date = f"{first[:4]}-{first[4:6]}-{first[6:]}"
            found.append(
                f"Times such as {first} are taken as numbers; if they are dates, write {date}."
            )
        return tuple(found)

    def _unit(self) -> str:
        if self._dated and self._time_unit not in (None, *UNITS):
            allowed = f"must be {one_of(self._time_unit, UNITS)}, since the times are dates"
            raise ScenarioError("--time-unit", self._time_unit, allowed)
        return self._time_unit or ("day" if self._dated else "time unit")
