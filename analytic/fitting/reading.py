"""Traces: what a log says, read from CSV in one pass, with every broken row counted.

The first time that is a date or a number decides which of the two all times are. Dates become
numbers of time units since Monday, 29 December 1969, 0:00 UTC, so that whole weeks of these numbers
are calendar weeks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from analytic.fitting.columns import (
    SMALLEST,
    are_dates,
    changes_in,
    codes_of,
    instants,
    look_like_dates,
    numbers,
    why_no_number,
)
from analytic.fitting.lines import Block, Table, blocks, fields_of, table_of
from analytic.fitting.trace import MOST_SHOWN, UNITS, Broken, Kind, Trace
from scenarios.base import listed, one_of
from scenarios.columns import other_separator
from scenarios.errors import MISSING, ScenarioError
from scenarios.text import shortened

__all__ = ["UNITS", "Broken", "Kind", "Trace", "read_instant", "read_trace"]

Array = NDArray[np.float64]

_COLUMNS: Mapping[Kind, tuple[str, ...]] = {
    "crawls": ("page", "time", "changed"),
    "changes": ("page", "time"),
    "deliveries": ("time",),
    "sizes": ("size",),
}
_LONGEST_SHOWN = 60
"""Characters of an entry that is quoted."""

_SIZES = ("size", "bytes", "length", "service", "service_time", "duration", "value")


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
        allowed = f"the first line must name columns (page,time; page,time,changed; time; size), \
or --kind must say {listed(get_args(Kind))}{_hint(names)}"
        raise ScenarioError("header", ",".join(names), allowed, str(path))
    return kind


def _hint(fields: Sequence[str]) -> str:
    """What parts the fields instead of commas, if it is known."""
    other = other_separator(",".join(fields))
    return f"; its separator is {other}, and must be a comma" if other else ""


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
        allowed = f"--kind {kind} needs the columns {','.join(wanted)}{_hint(fields)}"
        raise ScenarioError("header", ",".join(fields), allowed, str(path))
    return list(range(len(wanted)))


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
        places: Sequence[int],
        time_unit: str | None,
    ) -> None:
        self._path, self._kind, self._width = path, kind, width
        self._places, self._time_unit = places, time_unit
        self._dated: bool | None = False if kind == "sizes" else None
        self._index: dict[str, int] = {}
        self._broken = Broken()
        self._values_read: list[Array] = []
        self._pages_read: list[NDArray[np.int32]] = []
        self._changes_read: list[NDArray[np.bool_]] = []

    def take(self, block: Block) -> None:
        """Read one block."""
        if not block.text:
            return
        table = table_of(block, self._width, self._places, MOST_SHOWN)
        count, lines = self._take_columns(table) if len(table.lines) else (0, [])
        self._broken.add(table.misshapen + count, sorted([*table.broken, *lines]))

    def _take_columns(self, table: Table) -> tuple[int, list[tuple[int, str]]]:
        """Keep the rows that say something; number of the others, and the first by line."""
        columns = dict(zip(_COLUMNS[self._kind], table.columns, strict=True))
        rows = len(table.lines)
        none = np.empty(0, np.int64), list[str]()
        codes, names = codes_of(columns["page"]) if "page" in columns else none
        values = self._values(columns.get("time", columns.get("size")))
        signs = changes_in(columns["changed"]) if "changed" in columns else np.empty(0, np.int8)
        bad = {"size" if self._kind == "sizes" else "time": ~np.isfinite(values)}
        if "page" in columns:
            bad = {"page": np.array([not name for name in names])[codes], **bad}
        if "changed" in columns:
            bad["changed"] = signs < 0
        good = ~np.logical_or.reduce(list(bad.values()))
        self._values_read.append(values[good])
        if "page" in columns:
            self._pages_read.append(self._pages(codes[good], names))
        if "changed" in columns:
            self._changes_read.append(signs[good] > 0)
        lines = []
        for place in np.flatnonzero(~good)[:MOST_SHOWN]:
            name = next(name for name, places in bad.items() if places[place])
            text = columns[name].iloc[place]
            shown = shortened(text, _LONGEST_SHOWN)
            lines.append((int(table.lines[place]), f"{name} = {shown!r} {self._why(name, text)}"))
        return rows - int(good.sum()), lines

    def _why(self, name: str, text: str) -> str:
        """What is wrong with an entry."""
        if name == "page":
            return "is no name"
        if name == "changed":
            return "must be 0, 1, true or false"
        if name == "size":
            return f"must be a positive number, {SMALLEST:g} to {1 / SMALLEST:g}"
        if self._dated:
            return "is no date, as the first time is"
        why = why_no_number(text)
        neither = self._dated is None and why == "is no number"
        return "is neither a date nor a number" if neither else why

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
        unit, values = self._unit(), np.concatenate(self._values_read)
        return Trace(
            kind=self._kind,
            values=values / UNITS[unit] if self._dated else values,
            page=np.concatenate([np.empty(0, np.int32), *self._pages_read]),
            pages=tuple(self._index),
            changed=np.concatenate([np.empty(0, np.bool_), *self._changes_read]),
            dated=bool(self._dated),
            time_unit=unit,
            broken=self._broken,
            doubts=self._doubts(values),
        )

    def _first(self) -> str:
        """The first broken row, if there is one."""
        if not self._broken.lines:
            return ""
        line, reason = self._broken.lines[0]
        return f"; line {line} {reason}"

    def _doubts(self, values: Array) -> tuple[str, ...]:
        if self._dated or self._kind == "sizes" or not look_like_dates(values):
            return ()
        first = f"{values[0]:.0f}"
        date = f"{first[:4]}-{first[4:6]}-{first[6:]}"
        return (f"Times such as {first} are taken as numbers; if they are dates, write {date}.",)

    def _unit(self) -> str:
        if self._dated and self._time_unit not in (None, *UNITS):
            allowed = f"must be {one_of(self._time_unit, UNITS)}, since the times are dates"
            raise ScenarioError("--time-unit", self._time_unit, allowed)
        return self._time_unit or ("day" if self._dated else "time unit")
