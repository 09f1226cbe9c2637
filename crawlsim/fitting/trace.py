"""A trace: what a log says, as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from scenarios.arrays import Array

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
