"""What logs of a crawler say: visits that found a change or none, or the times of changes.

Neither depends on the order of the rows, on how they are split into files, or on the format.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from crawlsim.logs.read.columns import starts_anew
from scenarios import ScenarioError
from scenarios.arrays import Array
from scenarios.text import counted


class SilentVisits(NamedTuple):
    """Visits that say nothing of changes: errors, redirects, contents without a digest.

    `states_of` in `crawlsim/logs/read/states.py` tells from them whether a URL is gone.

    Attributes
    ----------
    page : ndarray of int, shape (visits,)
        Index into the URLs of the log, not decreasing.
    time : ndarray, shape (visits,)
        Not decreasing within a page.
    answer : ndarray of int, shape (visits,)
        `FAILED`, `MOVED` or `UNTOLD` of `crawlsim.logs.read.rows`.
    """

    page: NDArray[np.int32]
    time: Array
    answer: NDArray[np.int8]

    def where(self, kept: NDArray[np.bool_]) -> SilentVisits:
        """Some of them."""
        return SilentVisits(self.page[kept], self.time[kept], self.answer[kept])


NONE_SILENT = SilentVisits(np.empty(0, np.int32), np.empty(0), np.empty(0, np.int8))


@dataclass(frozen=True)
class BrokenRows:
    """Rows that could not be read: how many of how many, and the first of them.

    Attributes
    ----------
    count, of : int
        Of all rows, these included.
    lines : tuple of (int, str)
        Line in its file, from 1, and what is wrong there; at most `MOST_SHOWN`.
    files : tuple of str
        The file of each line.
    """

    count: int = 0
    of: int = 0
    lines: tuple[tuple[int, str], ...] = ()
    files: tuple[str, ...] = ()

    def notes(self) -> list[str]:
        """The same in sentences."""
        if not self.count:
            return []
        are = "is" if self.count == 1 else "are"
        notes = [f"{self.count} of {self.of} rows {are} broken and left out."]
        for (line, why), name in zip(self.lines, self.files, strict=True):
            notes.append(f"{name}, line {line}: {why}.")
        more = self.count - len(self.lines)
        return [*notes, f"… and {more} more."] if more > 0 else notes


@dataclass(frozen=True)
class Log:
    """Rows of a log by page and time.

    Attributes
    ----------
    urls : ndarray of str, shape (pages,)
        Distinct names as in the logs, in the order of their code points; those without any row too.
    page : ndarray of int, shape (rows,)
        Index into `urls`, not decreasing.
    time : ndarray, shape (rows,)
        Increasing within a page: seconds since 1970-01-01 UTC, or plain numbers where `dated` is
        False.
    broken : BrokenRows
    left_out : tuple of str
        What else was counted and what is in doubt, in sentences.
    repeated : int
        Rows at the page and time of another row, with which they are one.
    dated : bool
    sizes : ndarray, shape (pages,), optional
        Mean bytes of the contents of each page; NaN where the logs do not say.
    """

    urls: NDArray[np.object_]
    page: NDArray[np.int32]
    time: Array
    broken: BrokenRows = field(default=BrokenRows(), kw_only=True)
    left_out: tuple[str, ...] = field(default=(), kw_only=True)
    repeated: int = field(default=0, kw_only=True)
    dated: bool = field(default=True, kw_only=True)
    sizes: Array | None = field(default=None, kw_only=True)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was left out and what is in doubt, in sentences."""
        return (*self.broken.notes(), *self.left_out)

    def refused(self, allowed: str) -> ScenarioError:
        """Why nothing is made of the log, with what was left out of it."""
        notes = "".join(f" {note}" for note in self.notes)
        return ScenarioError("log", counted(len(self.urls), "URL"), f"{allowed}.{notes}")

    def where(self, kept: NDArray[np.bool_]) -> Self:
        """Some of the rows."""
        return replace(self, page=self.page[kept], time=self.time[kept])

    def up_to(self, until: float) -> tuple[Self, int]:
        """The log as it was at a time, and how many rows are later."""
        kept = self.time <= until
        return self.where(kept), int((~kept).sum())

    def of_pages(self, pages: NDArray[np.int64]) -> Self:
        """The rows of some of the URLs, given in increasing order."""
        index = np.full(len(self.urls), -1, np.int32)
        index[pages] = np.arange(len(pages), dtype=np.int32)
        some = self.where(index[self.page] >= 0)
        sizes = None if self.sizes is None else self.sizes[pages]
        return replace(some, urls=self.urls[pages], page=index[some.page], sizes=sizes)


@dataclass(frozen=True)
class VisitLog(Log):
    """Visits of a crawler, and whether each found the page changed.

    Attributes
    ----------
    urls, page, time
        As those of `Log`.
    changed : ndarray of bool, shape (visits,)
        Whether the visit found another state than the visit before; False for the first of a page.
    silent : SilentVisits
    contradicted, compared : int
        Visits at which a digest and a sign of a change say different things, of those at which both
        are known.
    is_of_sitemaps : bool
        Whether nothing but sitemaps says it.
    """

    changed: NDArray[np.bool_]
    silent: SilentVisits = NONE_SILENT
    contradicted: int = 0
    compared: int = 0
    is_of_sitemaps: bool = False

    @classmethod
    def of(
        cls,
        urls: Sequence[str],
        page: NDArray[np.int32],
        time: Array,
        changed: NDArray[np.bool_],
        *,
        dated: bool = True,
    ) -> Self:
        """The log of rows in any order; those of a page at one time are one, changed if one is."""
        order = np.lexsort((time, page))
        starts = np.flatnonzero(starts_anew(page[order], time[order]))
        any_changed = np.logical_or.reduceat(changed[order], starts) if len(starts) else changed
        return cls(
            np.array(urls, object),
            page[order][starts],
            time[order][starts],
            any_changed,
            repeated=len(order) - len(starts),
            dated=dated,
        )

    def where(self, kept: NDArray[np.bool_]) -> Self:
        """Some of the visits; all that say nothing of changes."""
        return replace(super().where(kept), changed=self.changed[kept])

    def up_to(self, until: float) -> tuple[Self, int]:
        """The log as it was at a time, and how many rows are later."""
        log, late = super().up_to(until)
        kept = self.silent.time <= until
        return replace(log, silent=self.silent.where(kept)), late + int((~kept).sum())

    def of_pages(self, pages: NDArray[np.int64]) -> Self:
        """The visits of some of the URLs, given in increasing order, that say of changes."""
        return replace(super().of_pages(pages), silent=NONE_SILENT)


@dataclass(frozen=True)
class ChangeLog(Log):
    """Exact times of changes; the first time of a page only opens its watch.

    Attributes
    ----------
    urls, page, time
        As those of `Log`.
    """

    @classmethod
    def of(
        cls, urls: Sequence[str], page: NDArray[np.int32], time: Array, *, dated: bool = True
    ) -> Self:
        """The log of rows in any order; those of a page at one time are one."""
        order = np.lexsort((time, page))
        kept = order[starts_anew(page[order], time[order])]
        repeated = len(order) - len(kept)
        names = np.array(urls, object)
        return cls(names, page[kept], time[kept], repeated=repeated, dated=dated)


@dataclass(frozen=True)
class NumberLog:
    """Times of deliveries, or sizes, in the order of the file.

    Attributes
    ----------
    values : ndarray, shape (rows,)
        Seconds since 1970-01-01 UTC where they are dates.
    of_times : bool
    broken : BrokenRows
    dated : bool
    """

    values: Array
    of_times: bool
    broken: BrokenRows = BrokenRows()
    dated: bool = False
