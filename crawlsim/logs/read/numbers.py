"""Logs of times or of numbers alone: one column of a CSV file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np

from crawlsim.logs.read.columns import SMALLEST, broken_rows, numbers, places_of
from crawlsim.logs.read.csv_lines import (
    MOST_SHOWN,
    Block,
    Broken,
    header_of,
    separator_hint,
    table_of,
)
from crawlsim.logs.read.log import BrokenRows, NumberLog
from crawlsim.logs.read.named import NAMES
from crawlsim.logs.read.times import Times
from scenarios.arrays import Array
from scenarios.errors import MISSING, ScenarioError
from scenarios.text import visible

What = Literal["time", "size"]

COLUMNS: dict[str, tuple[str, ...]] = {
    "time": NAMES["time"],
    "size": (
        *("size", "bytes", "length", "service", "service_time", "duration", "value"),
        *("seconds", "elapsed", "latency_ms"),
    ),
}
"""What such a log holds, and the names by which its column goes."""


def read_numbers(parts: Iterator[Block], path: Path, what: What) -> NumberLog:
    """The times or the sizes in a CSV file; without a header those of its first column.

    Parameters
    ----------
    parts : iterator of Block
        The file from its first line on.
    path : Path
    what : {"time", "size"}

    Raises
    ------
    ScenarioError
        If there is no such column, or no row can be read.
    """
    first = next(parts, None)
    if first is None:
        raise ScenarioError("", MISSING, "is empty", str(path))
    header = header_of(first, path)
    place = places_of([name.lower() for name in header], COLUMNS).get(what)
    reader = _Reader(what)
    if place is None:
        place = 0
        _refuse_header(header, reader, path)
    else:
        first = first.without_first_line()
    found = []
    broken = Broken()
    for block in chain([first], parts):
        if not block.text:
            continue
        table = table_of(block, len(header), [place])
        broken.add(table.broken.count, table.broken.lines)
        if len(table.lines):
            (column,) = table.columns
            values = reader.values(column)
            is_broken, worse = broken_rows(
                table.lines, {what: column}, {what: ~np.isfinite(values)}, reader.why
            )
            broken.add(worse.count, worse.lines)
            found.append(values[~is_broken])
    values = np.concatenate([np.empty(0), *found])
    if not len(values):
        why = "; line {} {}".format(*broken.lines[0]) if broken.lines else ""
        raise ScenarioError("", MISSING, f"no row can be read{why}", str(path))
    lines = tuple(broken.lines[:MOST_SHOWN])
    names = (visible(path.name),) * len(lines)
    rows = BrokenRows(broken.count, broken.count + len(values), lines, names)
    return NumberLog(values, what == "time", rows, bool(reader.times.dated))


def _refuse_header(header: Sequence[str], reader: _Reader, path: Path) -> None:
    """Refuse a first line that is not a row.

    Raises
    ------
    ScenarioError
        If its first field is not of the kind.
    """
    import pandas as pd

    if not np.isfinite(reader.values(pd.Series(header[:1], dtype="str")))[0]:
        needed = f"there is no column {reader.what}, nor is the first line a row"
        raise ScenarioError("header", ",".join(header), needed + separator_hint(header), str(path))


@dataclass
class _Reader:
    """Entries of one column as numbers, and what is wrong with others."""

    what: What

    def __post_init__(self) -> None:
        self.times = Times()

    def values(self, column: Any) -> Array:
        """Numbers, NaN for what is none that is allowed."""
        if self.what == "time":
            return self.times(column)
        sizes = numbers(column)
        return np.where(sizes > 0, sizes, np.nan)

    def why(self, name: str, text: str) -> str:
        """What is wrong with an entry."""
        if name == "size":
            return f"must be a positive number, {SMALLEST:g} to {1 / SMALLEST:g}"
        return self.times.why_not(text)
