"""Traces: what a log says, read from CSV in one pass, with every broken row counted.

Times are dates (ISO 8601, without a zone UTC) or numbers. Dates become numbers of time units since
Monday, 29 December 1969, 0:00 UTC, so that whole weeks of these numbers are calendar weeks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from analytic.fitting.lines import Block, Table, blocks, fields_of, table_of
from scenarios.base import listed
from scenarios.errors import MISSING, ScenarioError

__all__ = ["UNITS", "Broken", "Kind", "Trace", "read_instant", "read_trace"]

Kind = Literal["changes", "crawls", "deliveries", "sizes"]
Array = NDArray[np.float64]

UNITS: Mapping[str, float] = {
    "second": 1.0,
    "minute": 60.0,
    "hour": 3600.0,
    "day": 86400.0,
    "week": 7 * 86400.0,
    "year": 365.25 * 86400.0,
}
"""Units of time in which dates can be counted, in seconds."""

_MONDAY = 3 * 86400.0  # from Monday, 29 December 1969, to the epoch
_COLUMNS: Mapping[Kind, tuple[str, ...]] = {
    "crawls": ("page", "time", "changed"),
    "changes": ("page", "time"),
    "deliveries": ("time",),
    "sizes": ("size",),
}
_SIZES = ("size", "bytes", "length", "service", "service_time", "duration", "value")
_WORDS = {"1": 1, "true": 1, "yes": 1, "0": 0, "false": 0, "no": 0}
_MOST_SHOWN = 20


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

    def add(self, lines: Sequence[tuple[int, str]], more: int = 0) -> None:
        """Some more, in the order of the file; `more` of them without a line to show."""
        self.count += len(lines) + more
        self.lines += lines[: _MOST_SHOWN - len(self.lines)]


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
        Names, in the order in which they first appear.
    changed : ndarray of bool, shape (rows,)
        Whether the crawl found a change; empty but for crawls.
    dated : bool
        Whether the times are dates.
    time_unit : str
    broken : Broken
    """

    kind: Kind
    values: Array
    page: NDArray[np.int32]
    pages: tuple[str, ...]
    changed: NDArray[np.bool_]
    dated: bool
    time_unit: str
    broken: Broken

    @property
    def rows(self) -> int:
        """Number of rows that say something."""
        return len(self.values)


def read_trace(path: str | Path, kind: Kind | None = None, time_unit: str | None = None) -> Trace:
    """The trace in a CSV file, plain or gz.

    Parameters
    ----------
    path : str or Path
        With a header that names the columns: ``page,time`` are changes, ``page,time,changed``
        crawls, ``time`` alone deliveries, ``size``, ``bytes`` or the like sizes; others are not
        looked at. Without a header `kind` says which columns there are, in this order.
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
    for block in blocks(Path(path)):
        if reader is None:
            reader = _reader_for(block, Path(path), kind, time_unit)
            block = reader.without_header(block)
        reader.take(block)
    if reader is None:
        raise ScenarioError("", MISSING, "is empty", str(path))
    return reader.trace()


def read_instant(text: str, dated: bool, time_unit: str) -> float:
    """A time as the trace counts it, from a date or a number.

    Raises
    ------
    ValueError
        If it is neither, or not what the trace has.
    """
    import pandas as pd

    values = (_instants if dated else _numbers)(pd.Series([text], dtype="str"))
    value = values[0] / (UNITS[time_unit] if dated else 1.0)
    if not np.isfinite(value):
        raise ValueError("must be a date" if dated else "must be a number, as the times are")
    return float(value)


def _reader_for(block: Block, path: Path, kind: Kind | None, time_unit: str | None) -> _Reader:
    """How to read the file, from its first line."""
    header = fields_of(block.text.partition(b"\n")[0])
    names = [name.lower() for name in header]
    kind = kind or _kind_of(names, path)
    places = _places(names, kind)
    has_header = places is not None
    if places is None:
        places = _by_position(names, kind, path)
    return _Reader(path, kind, len(header), places, has_header, time_unit)


def _kind_of(names: Sequence[str], path: Path) -> Kind:
    found = (kind for kind in _COLUMNS if _places(names, kind) is not None)
    kind = next(found, None)
    if kind is None:
        allowed = f"the first line must name columns (page,time; page,time,changed; time; size), \
or --kind must say {listed(get_args(Kind))}"
        raise ScenarioError("header", ",".join(names), allowed, str(path))
    return kind


def _places(names: Sequence[str], kind: Kind) -> list[int] | None:
    """Where the columns of a kind are, or None where one is missing."""
    if kind == "sizes":
        return [names.index(name) for name in _SIZES if name in names][:1] or None
    wanted = _COLUMNS[kind]
    return [names.index(name) for name in wanted] if set(wanted) <= set(names) else None


def _by_position(fields: Sequence[str], kind: Kind, path: Path) -> list[int]:
    """The first columns, where the first line is a row already."""
    wanted = _COLUMNS[kind]
    value = "time" if "time" in wanted else "size"
    place = wanted.index(value)
    if len(fields) < len(wanted) or not _is_value(fields[place], dates=value == "time"):
        allowed = f"--kind {kind} needs the columns {','.join(wanted)}"
        raise ScenarioError("header", ",".join(fields), allowed, str(path))
    return list(range(len(wanted)))


def _is_value(text: str, dates: bool) -> bool:
    import pandas as pd

    column = pd.Series([text], dtype="str")
    return bool(np.isfinite(_numbers(column))[0] or (dates and np.isfinite(_instants(column))[0]))


def _numbers(column: Any) -> Array:
    """Finite numbers, NaN for everything else."""
    import pandas as pd

    values: Array = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float)
    return np.where(np.isfinite(values), values, np.nan)


def _instants(column: Any) -> Array:
    """Seconds since the Monday before the epoch, NaN for what is no date."""
    import pandas as pd

    dates = pd.to_datetime(column, format="ISO8601", errors="coerce", utc=True)
    values = dates.dt.tz_localize(None).to_numpy(dtype="datetime64[us]")
    seconds: Array = values.astype(np.int64) / 1e6 + _MONDAY
    return np.where(np.isnat(values), np.nan, seconds)


class _Reader:
    """Columns as numbers, block after block."""

    def __init__(
        self,
        path: Path,
        kind: Kind,
        width: int,
        places: Sequence[int],
        has_header: bool,
        time_unit: str | None,
    ) -> None:
        self._path, self._kind, self._width = path, kind, width
        self._places, self._has_header, self._time_unit = places, has_header, time_unit
        self._dated: bool | None = False if kind == "sizes" else None
        self._index: dict[str, int] = {}
        self._broken = Broken()
        self._values_read: list[Array] = []
        self._pages_read: list[NDArray[np.int32]] = []
        self._changes_read: list[NDArray[np.bool_]] = []

    def without_header(self, block: Block) -> Block:
        """The first block without the line that names the columns."""
        if not self._has_header:
            return block
        return Block(block.first + 1, block.text.partition(b"\n")[2])

    def take(self, block: Block) -> None:
        """Read one block."""
        table = table_of(block, self._width, self._places)
        wrong: dict[int, str] = dict(table.broken)
        if len(table.lines):
            self._take_columns(table, wrong)
        shown = [(line, wrong[line]) for line in sorted(wrong)]
        self._broken.add(shown)

    def _take_columns(self, table: Table, wrong: dict[int, str]) -> None:
        columns = dict(zip(_COLUMNS[self._kind], table.columns, strict=True))
        good = np.ones(len(table.lines), dtype=bool)
        values = self._values(columns.get("time", columns.get("size")))
        page = self._page(columns["page"]) if "page" in columns else np.empty(0, np.int32)
        changed = _changed(columns["changed"]) if "changed" in columns else np.empty(0, np.int8)
        for name, bad in (
            ("page", page < 0),
            ("size" if self._kind == "sizes" else "time", ~np.isfinite(values)),
            ("changed", changed < 0),
        ):
            for place in np.flatnonzero(bad):
                reason = f"{name} = {columns[name].iloc[place]!r} {self._allowed(name)}"
                wrong.setdefault(int(table.lines[place]), reason)
                good[place] = False
        self._values_read.append(values[good])
        self._pages_read.append(page[good] if "page" in columns else page)
        self._changes_read.append((changed > 0)[good] if "changed" in columns else changed > 0)

    def _allowed(self, name: str) -> str:
        if name == "time":
            return f"is no {'date' if self._dated else 'number'}"
        words = {"page": "is no name", "changed": "must be 0, 1, true or false"}
        return words.get(name, "must be a positive number")

    def _values(self, column: Any) -> Array:
        """Times or sizes; the first that is either decides whether times are dates."""
        if self._dated is None:
            numbers = _numbers(column)
            if np.isfinite(numbers).any():
                self._dated = False
                return numbers
            dates = _instants(column)
            self._dated = True if np.isfinite(dates).any() else None
            return dates
        values = _instants(column) if self._dated else _numbers(column)
        return np.where(values > 0, values, np.nan) if self._kind == "sizes" else values

    def _page(self, column: Any) -> NDArray[np.int32]:
        """Index of each page; -1 for one without a name."""
        codes, names = _codes(column)
        index = [self._index.setdefault(n, len(self._index)) if n else -1 for n in names]
        found: NDArray[np.int32] = np.array(index, np.int32)[codes]
        return found

    def trace(self) -> Trace:
        """All that was read."""
        if not any(map(len, self._values_read)):
            first = self._broken.lines[0] if self._broken.lines else (2, "is not there")
            allowed = f"no row says anything; line {first[0]} {first[1]}"
            raise ScenarioError("", MISSING, allowed, str(self._path))
        unit, values = self._unit(), np.concatenate(self._values_read)
        return Trace(
            kind=self._kind,
            values=values / UNITS[unit] if self._dated else values,
            page=np.concatenate(self._pages_read),
            pages=tuple(self._index),
            changed=np.concatenate(self._changes_read),
            dated=bool(self._dated),
            time_unit=unit,
            broken=self._broken,
        )

    def _unit(self) -> str:
        if self._dated and self._time_unit not in (None, *UNITS):
            allowed = f"must be {listed(UNITS)}, since the times are dates"
            raise ScenarioError("--time-unit", self._time_unit, allowed)
        return self._time_unit or ("day" if self._dated else "time unit")


def _codes(column: Any) -> tuple[NDArray[np.int64], list[str]]:
    """Each value as the index of a different one, and the different values without blanks."""
    import pandas as pd

    codes, values = pd.factorize(column)
    return codes, [str(value).strip() for value in values]


def _changed(column: Any) -> NDArray[np.int8]:
    """1 for a change, 0 for none, -1 for neither."""
    codes, words = _codes(column)
    signs = np.array([_WORDS.get(word.lower(), -1) for word in words], np.int8)
    found: NDArray[np.int8] = signs[codes]
    return found
