"""Traces: a log and the unit of time in which it is fitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from crawlsim.logs.read import ChangeLog, VisitLog, read_logs
from crawlsim.logs.read.columns import MONDAY, numbers, places_of
from crawlsim.logs.read.csv_lines import (
    Block,
    blocks,
    from_first_line,
    header_of,
    separator_hint,
)
from crawlsim.logs.read.forms import form_of
from crawlsim.logs.read.log import BrokenRows, NumberLog
from crawlsim.logs.read.named import known_places
from crawlsim.logs.read.numbers import COLUMNS, What, read_numbers
from crawlsim.logs.read.parquet import is_parquet
from crawlsim.logs.read.read import files_of
from crawlsim.logs.read.states import PAGE, no_page_in, states_of
from crawlsim.logs.read.times import seconds_of
from scenarios import ScenarioError
from scenarios.arrays import Array
from scenarios.base import listed, one_of
from scenarios.errors import MISSING
from scenarios.text import counted

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

_NUMBERS: Mapping[str, What] = {"deliveries": "time", "sizes": "size"}


@dataclass(frozen=True)
class Trace:
    """A log and the unit in which its times are counted.

    Dates become numbers of time units since Monday, 29 December 1969, 0:00 UTC, so that whole weeks
    of these numbers are calendar weeks.

    Attributes
    ----------
    log : VisitLog, ChangeLog or NumberLog
    time_unit : str
        Of plain numbers, where it may be any word, a label.
    """

    log: VisitLog | ChangeLog | NumberLog
    time_unit: str

    @property
    def kind(self) -> Kind:
        """What the log holds."""
        if isinstance(self.log, NumberLog):
            return "deliveries" if self.log.of_times else "sizes"
        return "crawls" if isinstance(self.log, VisitLog) else "changes"

    @property
    def values(self) -> Array:
        """Times in `time_unit`, or sizes, in the order of the log, shape (rows,)."""
        times = self.log.values if isinstance(self.log, NumberLog) else self.log.time
        return (times + MONDAY) / UNITS[self.time_unit] if self.dated else times

    @property
    def page(self) -> NDArray[np.int32]:
        """Index into `pages`; empty for deliveries and sizes."""
        return np.empty(0, np.int32) if isinstance(self.log, NumberLog) else self.log.page

    @cached_property
    def pages(self) -> tuple[str, ...]:
        """Names of the pages."""
        return () if isinstance(self.log, NumberLog) else tuple(self.log.urls.tolist())

    @property
    def dated(self) -> bool:
        """Whether the times are dates."""
        return self.log.dated

    @property
    def broken(self) -> BrokenRows:
        """Rows that could not be read."""
        return self.log.broken

    @property
    def doubts(self) -> tuple[str, ...]:
        """What else was left out, and what is in doubt."""
        return () if isinstance(self.log, NumberLog) else self.log.left_out

    @property
    def repeated(self) -> int:
        """Rows that say the page and time of another one."""
        return 0 if isinstance(self.log, NumberLog) else self.log.repeated

    @property
    def rows(self) -> int:
        """Number of rows that say something, also if another one says it too."""
        return len(self.values) + self.repeated


def read_trace(
    paths: str | Path | Sequence[str | Path],
    kind: Kind | None = None,
    time_unit: str | None = None,
    pages: str = "exact",
) -> Trace:
    """The history in logs of crawlers of any format, or the times or numbers in a CSV file.

    Parameters
    ----------
    paths : str, Path or sequence of them
        Logs as `crawlsim.scheduling.read_logs` reads them, several of which are one history; or one
        CSV file whose header has no page: ``time`` alone are deliveries, ``size``, ``bytes`` or the
        like sizes. Without a header `kind` says which columns there are: ``page,time`` are changes,
        ``page,time,changed`` crawls.
    kind : str, optional
        Default by the header.
    time_unit : str, optional
        Dates are counted in it ("second" … "year"; default "day"); of numbers it is the label.

    pages : {"exact", "site-key"}
        As of `crawlsim.scheduling.read_logs`.

    Raises
    ------
    ScenarioError
        If a file cannot be read, its header says nothing, no row can be read, or they do not go
        together.
    """
    files = [Path(paths)] if isinstance(paths, str | Path) else [Path(each) for each in paths]
    begun = None
    if kind is not None and kind in _NUMBERS:
        if len(files) > 1:
            allowed = "is read from one CSV file; logs are crawls or changes"
            raise ScenarioError("--kind", kind, allowed)
        parts = from_first_line(blocks(files[0]))
        return _counted_in(read_numbers(parts, files[0], _NUMBERS[kind]), time_unit)
    if len(files) == 1 and files_of(files[0]) == files and not is_parquet(files[0]):
        begun = from_first_line(blocks(files[0], json=True))
        first = next(begun, None)
        if first is None:
            raise ScenarioError("", MISSING, "is empty", str(files[0]))
        begun = chain([first], begun)
        found = None if kind is not None else _numbers_in(first, files[0])
        if found is not None:
            return _counted_in(read_numbers(begun, files[0], found), time_unit)
    kinds: Mapping[Kind | None, Literal["visits", "changes"]]
    kinds = {"crawls": "visits", "changes": "changes"}
    log = read_logs(files, kind=kinds.get(kind), pages=pages, begun=begun)
    if isinstance(log, VisitLog):
        if kind == "changes":
            allowed = "the log says what each visit found, so these are crawls"
            raise ScenarioError("--kind", kind, allowed)
        log = _pages_of(log)
    if not len(log.time):
        raise log.refused("no row can be read")
    return _counted_in(log, time_unit)


def _pages_of(log: VisitLog) -> VisitLog:
    """The log without URLs that are no longer pages, and how many these are.

    Raises
    ------
    ScenarioError
        If it has no page.
    """
    states = states_of(log)
    if allowed := no_page_in(states):
        raise log.refused(allowed)
    gone = int((states != PAGE).sum())
    if not gone:
        return log
    said = f"Left out, since no longer a page: {counted(gone, 'URL')}."
    some = log.of_pages(np.flatnonzero(states == PAGE))
    return replace(some, left_out=(*log.left_out, said))


def _numbers_in(first: Block, path: Path) -> What | None:
    """What the only column of a CSV file holds that names no page; None for logs of crawlers.

    Raises
    ------
    ScenarioError
        If it is CSV and its header says nothing.
    """
    try:
        names = [name.lower() for name in header_of(first, path)]
    except ScenarioError:
        return None  # whoever reads logs says what is wrong
    if {"url", "time"} <= set(known_places(names)):
        return None
    if places := places_of(names, COLUMNS):
        return "time" if "time" in places else "size"
    if form_of(first, path) not in ("csv", "common-crawl"):
        return None
    allowed = (
        "the first line must name columns (page,time; page,time,changed; page,time,digest; "
        f"time; size), or --kind must say {listed(get_args(Kind))}{separator_hint(names)}"
    )
    raise ScenarioError("header", ",".join(names), allowed, str(path))


def _counted_in(log: VisitLog | ChangeLog | NumberLog, time_unit: str | None) -> Trace:
    """The trace in a unit of time.

    Raises
    ------
    ScenarioError
        If the times are dates and the unit is none of time.
    """
    if log.dated and time_unit not in (None, *UNITS):
        allowed = f"must be {one_of(time_unit, UNITS)}, since the times are dates"
        raise ScenarioError("--time-unit", time_unit, allowed)
    return Trace(log, time_unit or ("day" if log.dated else "time unit"))


def read_instant(text: str, dated: bool, time_unit: str) -> float:
    """A time as the trace counts it, from a date or a number.

    Raises
    ------
    ValueError
        If it is neither, or not what the trace has.
    """
    import pandas as pd

    column = pd.Series([text], dtype="str")
    value = (seconds_of(column) + MONDAY) / UNITS[time_unit] if dated else numbers(column)
    if not np.isfinite(value[0]):
        raise ValueError(f"must be a {'date' if dated else 'number'}, as the times are")
    return float(value[0])
