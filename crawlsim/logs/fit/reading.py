"""Traces: what a log says, as arrays, read from CSV in one pass with every broken row counted.

The first time that is a date or a number decides which of the two all times are. Dates become
numbers of time units since Monday, 29 December 1969, 0:00 UTC, so that whole weeks of these numbers
are calendar weeks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from crawlsim.logs.read.columns import (
    DATE_FORM,
    DIGESTS,
    NO_SIGN,
    SMALLEST,
    UNSAID,
    are_dates,
    broken_rows,
    changes_in,
    codes_of,
    digest_changed,
    digests_in,
    instants,
    is_first_crawl,
    look_like_dates,
    numbers,
    places_of,
    why_no_number,
)
from crawlsim.logs.read.csv_lines import (
    MOST_SHOWN,
    Block,
    Broken,
    blocks,
    header_of,
    separator_hint,
    table_of,
)
from scenarios.arrays import Array
from scenarios.base import listed, one_of
from scenarios.errors import MISSING, ScenarioError

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

_PAGE_AND_TIME = {"page": ("page",), "time": ("time",)}
_SIZES = (
    *("size", "bytes", "length", "service", "service_time", "duration", "value"),
    *("seconds", "elapsed", "latency_ms"),
)
_COLUMNS: Mapping[Kind, Mapping[str, tuple[str, ...]]] = {
    "crawls": {**_PAGE_AND_TIME, "changed": ("changed", *DIGESTS)},
    "changes": _PAGE_AND_TIME,
    "deliveries": {"time": ("time",)},
    "sizes": {"size": _SIZES},
}
"""What the columns of each kind hold, and the names by which they go."""
_WHY = {
    "page": "is no name",
    "changed": NO_SIGN,
    "size": f"must be a positive number, {SMALLEST:g} to {1 / SMALLEST:g}",
}
"""What is wrong with an entry of a column that cannot be read."""


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
        Names, in the order in which they first appear in a row that can be read.
    changed : ndarray of bool, shape (rows,)
        Whether the crawl found a change; empty but for crawls.
    dated : bool
        Whether the times are dates.
    time_unit : str
    broken : Broken
    doubts : tuple of str
        What may have been meant in another way than it was read.
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
        """Number of rows that could be read."""
        return len(self.values)


def read_trace(path: str | Path, kind: Kind | None = None, time_unit: str | None = None) -> Trace:
    """The trace in a CSV file, plain or gz.

    Parameters
    ----------
    path : str or Path
        With a header that names the columns: ``page,time`` are changes, ``page,time,changed``
        crawls, as are ``page,time,digest`` (or another of `columns.DIGESTS`), where a digest that
        differs from the previous crawl is a change; ``time`` alone deliveries, ``size``, ``bytes``
        or the like sizes; other columns are ignored. Without a header `kind` says which columns
        there are, in this order.
    kind : str, optional
        Default by the header.
    time_unit : str, optional
        Dates are counted in it ("second" … "year"; default "day"); of numbers it is the label.

    Raises
    ------
    ScenarioError
        If the file cannot be read, its header says nothing, or no row can be read.
    """
    path = Path(path)
    parts = _from_first_line(blocks(path))
    first = next(parts, None)
    if first is None:
        raise ScenarioError("", MISSING, "is empty", str(path))
    names = [name.lower() for name in header_of(first, path)]
    kind = kind or _kind_of(names, path)
    places = places_of(names, _COLUMNS[kind])
    if set(places) == set(_COLUMNS[kind]):
        first = first.without_first_line()
        sign = names[places["changed"]] if kind == "crawls" else None
    else:
        places = _by_position(names, kind, path)
        sign = None
    digest = sign if sign in DIGESTS else None
    reader = _Reader(path, kind, len(names), places, digest, time_unit)
    for block in chain([first], parts):
        if block.text:
            reader.take(block)
    return reader.trace()


def _from_first_line(parts: Iterator[Block]) -> Iterator[Block]:
    """The blocks from the first line on that is not blank."""
    for block in parts:
        while block.text and not block.text.partition(b"\n")[0].strip():
            block = block.without_first_line()
        if block.text:
            yield block
            yield from parts


def _kind_of(names: Sequence[str], path: Path) -> Kind:
    for kind, columns in _COLUMNS.items():
        if set(places_of(names, columns)) == set(columns):
            return kind
    allowed = (
        "the first line must name columns (page,time; page,time,changed; page,time,digest; "
        f"time; size), or --kind must say {listed(get_args(Kind))}{separator_hint(names)}"
    )
    raise ScenarioError("header", ",".join(names), allowed, str(path))


def _by_position(fields: Sequence[str], kind: Kind, path: Path) -> dict[str, int]:
    """The first columns, where the first line is a row already."""
    import pandas as pd

    wanted = list(_COLUMNS[kind])
    place = wanted.index("size" if kind == "sizes" else "time")
    is_row = len(fields) >= len(wanted)
    if is_row:
        column = pd.Series([fields[place]], dtype="str")
        is_row = bool(np.isfinite(numbers(column))[0])
        is_row = is_row or (kind != "sizes" and are_dates(column) is not None)
    if not is_row:
        allowed = f"--kind {kind} needs the columns {','.join(wanted)}{separator_hint(fields)}"
        raise ScenarioError("header", ",".join(fields), allowed, str(path))
    return {name: place for place, name in enumerate(wanted)}


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


@dataclass
class _Reader:
    """Columns as numbers, block after block."""

    path: Path
    kind: Kind
    width: int
    places: Mapping[str, int]
    digest: str | None
    time_unit: str | None
    dated: bool | None = None
    index: dict[str, int] = field(default_factory=dict)
    broken: Broken = field(default_factory=Broken)
    values_read: list[Array] = field(default_factory=list)
    pages_read: list[NDArray[np.int32]] = field(default_factory=list)
    changes_read: list[NDArray[Any]] = field(default_factory=list)  # digests, or signs of changes
    unsaid: list[int] = field(default_factory=list)

    def take(self, block: Block) -> None:
        """Read one block: keep the rows that can be read, and say what is wrong with the first."""
        table = table_of(block, self.width, list(self.places.values()))
        self.broken.add(table.broken.count, table.broken.lines)
        if not len(table.lines):
            return
        columns = dict(zip(self.places, table.columns, strict=True))
        bad = {}
        if "page" in columns:
            codes, names = codes_of(columns["page"])
            bad["page"] = np.array([not name for name in names])[codes]
        measured = "time" if "time" in columns else "size"
        values = self._values(columns[measured])
        bad[measured] = ~np.isfinite(values)
        changes: NDArray[Any]
        if self.digest is not None:
            columns[self.digest] = columns.pop("changed")
            changes, given = digests_in(columns[self.digest])
            bad[self.digest] = ~given
        elif "changed" in columns:
            changes = changes_in(columns["changed"])
            bad["changed"] = changes == -1
        is_broken, broken = broken_rows(table.lines, columns, bad, self._why)
        self.broken.add(broken.count, broken.lines)
        good = ~is_broken
        self.values_read.append(values[good])
        if "page" in columns:
            self.pages_read.append(self._pages(codes[good], names))
        if self.kind == "crawls":
            self.changes_read.append(changes[good])
            if self.digest is None:
                self.unsaid += table.lines[good & (changes == UNSAID)].tolist()

    def _why(self, name: str, text: str) -> str:
        """What is wrong with an entry."""
        if name != "time":
            return _WHY.get(name, "is no digest")
        if self.dated:
            return f"is no date, as other times are; write {DATE_FORM}"
        why = why_no_number(text)
        neither = self.dated is None and why == "is no number"
        return f"is neither a date, such as {DATE_FORM}, nor a number" if neither else why

    def _values(self, column: Any) -> Array:
        """Times or sizes."""
        if self.kind == "sizes":
            sizes = numbers(column)
            return np.where(sizes > 0, sizes, np.nan)
        if self.dated is None:
            self.dated = are_dates(column)
        return instants(column) if self.dated else numbers(column)

    def _pages(self, codes: NDArray[np.int64], names: Sequence[str]) -> NDArray[np.int32]:
        """Index of the page of each row; new pages get the next ones as they appear."""
        import pandas as pd

        own, used = pd.factorize(codes)
        index = [self.index.setdefault(names[code], len(self.index)) for code in used.tolist()]
        pages: NDArray[np.int32] = np.array(index, np.int32)[own]
        return pages

    def trace(self) -> Trace:
        """All that was read."""
        if not any(map(len, self.values_read)):
            first = "; line {} {}".format(*self.broken.lines[0]) if self.broken.lines else ""
            raise ScenarioError("", MISSING, f"no row can be read{first}", str(self.path))
        unit = self._unit()
        values = np.concatenate(self.values_read)
        page = np.concatenate([np.empty(0, np.int32), *self.pages_read])
        changed, kept = self._changes(page, values)
        return Trace(
            kind=self.kind,
            values=(values / UNITS[unit] if self.dated else values)[kept],
            page=page[kept],
            pages=tuple(self.index),
            changed=changed[kept],
            dated=bool(self.dated),
            time_unit=unit,
            broken=self.broken,
            doubts=self._doubts(values),
        )

    def _changes(
        self, page: NDArray[np.int32], values: Array
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_] | slice]:
        """Whether each crawl found a change, and which rows stay.

        An entry may be empty at the first crawl of a page, which has nothing to compare with.
        """
        if not self.changes_read:
            return np.empty(0, np.bool_), slice(None)
        signs = np.concatenate(self.changes_read)
        if self.digest is not None:
            return digest_changed(page, values, signs), slice(None)
        kept = (signs != UNSAID) | is_first_crawl(page, values, len(self.index))
        lines = [self.unsaid[place] for place in np.flatnonzero(~kept[signs == UNSAID])]
        why = f"changed = '' {NO_SIGN}; only the first crawl of a page may leave it out"
        self.broken.add(len(lines), [(line, why) for line in lines[:MOST_SHOWN]])
        return signs == 1, kept

    def _doubts(self, values: Array) -> tuple[str, ...]:
        doubts = []
        if self.digest is not None:
            doubts.append(
                f"A crawl whose {self.digest} differs from that of the previous crawl counts as a "
                "change."
            )
        if not self.dated and self.kind != "sizes" and look_like_dates(values):
            first = f"{values[0]:.0f}"
            date = f"{first[:4]}-{first[4:6]}-{first[6:]}"
            doubts.append(
                f"Times such as {first} are taken as numbers; if they are dates, write {date}."
            )
        return tuple(doubts)

    def _unit(self) -> str:
        if self.dated and self.time_unit not in (None, *UNITS):
            allowed = f"must be {one_of(self.time_unit, UNITS)}, since the times are dates"
            raise ScenarioError("--time-unit", self.time_unit, allowed)
        return self.time_unit or ("day" if self.dated else "time unit")
