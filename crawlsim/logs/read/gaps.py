"""Gaps between successive visits of a page: when, how long, and whether the page had changed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crawlsim.logs.read.log import ChangeLog, VisitLog
from scenarios.arrays import Array

YEAR = 365.25 * 86400.0
WINDOWS = (1, 2, 3, 5, 10)
"""Years before the end of a log, each of which gives a forecast of next year's rates."""


@dataclass(frozen=True)
class Gaps:
    """What a log of visits says: one entry for each two successive visits of a page.

    Attributes
    ----------
    page : ndarray of int, shape (gaps,)
        Non-decreasing.
    start, length : ndarray, shape (gaps,)
        Time of the earlier visit in seconds since 1970, and seconds until the later one; gaps of a
        page in the order of time.
    changed : ndarray of bool, shape (gaps,)
        Whether the later visit found another state.
    first : ndarray, shape (pages,)
        Time of the first visit of each page; infinite for a page without one.
    begin, end : float
        First and last time of the log.
    interval : float
        Seconds between two visits of a page, on average.
    """

    page: NDArray[np.int32]
    start: Array
    length: Array
    changed: NDArray[np.bool_]
    first: Array
    visits: NDArray[np.int64]
    begin: float
    end: float
    interval: float

    @property
    def pages(self) -> int:
        """Number of pages, those without a gap included."""
        return len(self.visits)

    @property
    def changes(self) -> NDArray[np.int64]:
        """Visits of each page that found another state, shape (pages,)."""
        return np.bincount(self.page[self.changed], minlength=self.pages)

    def before(self, time: float) -> Gaps:
        """The gaps that ended by a time: what a log taken then would have held."""
        kept = self.start + self.length <= time
        seen = self.first <= time
        return replace(
            self.rows(kept),
            first=np.where(seen, self.first, np.inf),
            visits=np.bincount(self.page[kept], minlength=self.pages) + seen,
            end=time,
        )

    def of(self, pages: NDArray[np.int64]) -> Gaps:
        """The gaps of some pages, numbered anew in their order; nothing is copied if it is all."""
        if np.array_equal(pages, np.arange(self.pages)):
            return self
        index = np.full(self.pages, -1, np.int32)
        index[pages] = np.arange(len(pages), dtype=np.int32)
        kept = index[self.page] >= 0
        some = self.rows(kept)
        return replace(
            some, page=index[some.page], first=self.first[pages], visits=self.visits[pages]
        )

    def in_units(self, unit: float) -> Gaps:
        """The same with times counted in a unit, given in seconds."""
        return replace(
            self,
            start=self.start / unit,
            length=self.length / unit,
            first=self.first / unit,
            begin=self.begin / unit,
            end=self.end / unit,
            interval=self.interval / unit,
        )

    def sums(self, each: ArrayLike) -> Array:
        """Sum over the gaps of each page, shape (pages,)."""
        result = np.bincount(self.page, np.asarray(each, float), self.pages)
        return result.astype(np.float64)

    def rows(self, rows: slice | NDArray[np.bool_]) -> Gaps:
        """Some of the gaps, the pages numbered as before."""
        return replace(
            self,
            page=self.page[rows],
            start=self.start[rows],
            length=self.length[rows],
            changed=self.changed[rows],
        )

    def blocks(self, most_pages: int, most_gaps: int) -> Iterator[tuple[slice, slice]]:
        """Runs of pages, and where their gaps are; one page may have more gaps than `most_gaps`."""
        ends = np.searchsorted(self.page, np.arange(self.pages + 1))
        first = 0
        while first < self.pages:
            last = int(np.searchsorted(ends, ends[first] + most_gaps, "right")) - 1
            last = min(max(last, first + 1), first + most_pages, self.pages)
            yield slice(first, last), slice(int(ends[first]), int(ends[last]))
            first = last


def gaps_of_visits(log: VisitLog) -> Gaps:
    """The gaps of a log of visits; a first visit only says when watching began."""
    same = np.flatnonzero(np.diff(log.page) == 0)
    opening = np.flatnonzero(np.diff(log.page, prepend=-1))
    first = np.full(len(log.urls), np.inf)
    first[log.page[opening]] = log.time[opening]
    return Gaps(
        page=log.page[same],
        start=log.time[same],
        length=np.diff(log.time)[same],
        changed=log.changed[same + 1],
        first=first,
        visits=np.bincount(log.page, minlength=len(log.urls)),
        begin=float(log.time.min(initial=np.inf)),
        end=float(log.time.max(initial=-np.inf)),
        interval=float(np.diff(log.time)[same].mean()) if len(same) else np.inf,
    )


def gaps_of_changes(log: ChangeLog, interval: float, until: float | None = None) -> Gaps:
    """Change times read as visits, one per interval from the first row of each page on.

    Parameters
    ----------
    log : ChangeLog
    interval : float
        Seconds between two visits of a page.
    until : float, optional
        When watching ended; default with the last row of the log.

    Notes
    -----
    What lies between two such visits can neither be seen by them nor be mended by a schedule that
    visits no more often, which is why the exact times would say nothing more: a burst of changes
    within one interval costs as much as one change. Visits within a long time without a change are
    left out, since only their sum matters: one gap stands for all of them, cut at whole years
    before the end so that no more than an interval straddles the beginning of a window or a cut of
    the back-test.
    """
    end = float(log.time.max()) if until is None else until
    is_first = np.diff(log.page, prepend=-1) != 0
    opened = np.full(len(log.urls), np.inf)
    opened[log.page[is_first]] = log.time[is_first]
    opened = np.where(opened <= end, opened, np.inf)
    last = np.where(opened <= end, np.floor((end - opened) / interval), 0.0).astype(np.int64)
    later = ~is_first & (log.time <= end)
    page = log.page[later].astype(np.int64)
    visit = np.ceil((log.time[later] - opened[page]) / interval).astype(np.int64)
    visit = np.maximum(visit, 1)
    seen = visit <= last[page]
    # A visit of a page as one number, so that sets of them are arrays of numbers.
    most = int(last.max()) + 2
    with_change = np.unique(page[seen] * most + visit[seen])
    watched = np.flatnonzero(last > 0)
    kept = [with_change, with_change - 1, watched * most, watched * most + last[watched]]
    begin = float(opened.min())
    for years in range(1, math.ceil((end - begin) / YEAR) + 1):
        cut = np.ceil((end - years * YEAR - opened[watched]) / interval).astype(np.int64)
        inside = (cut > 0) & (cut < last[watched])
        at = watched[inside] * most + cut[inside]
        kept += [at - 1, at]  # the last visit before the cut, and the first from it on
    visits = np.unique(np.concatenate(kept))
    page, visit = np.divmod(visits, most)
    same = np.flatnonzero(np.diff(page) == 0)
    return Gaps(
        page=page[same].astype(np.int32),
        start=opened[page[same]] + visit[same] * interval,
        length=np.diff(visit)[same] * interval,
        changed=np.isin(visits[same + 1], with_change),
        first=opened,
        visits=np.where(opened <= end, last + 1, 0),
        begin=begin,
        end=end,
        interval=interval,
    )


def window_starts(gaps: Gaps) -> list[float]:
    """When each window begins that the log reaches, the shortest first."""
    reach = (gaps.end - gaps.begin) / YEAR
    shorter = (0, *WINDOWS[:-1])
    reached = [years for years, before in zip(WINDOWS, shorter, strict=True) if before < reach]
    return [gaps.end - years * YEAR for years in reached or WINDOWS[:1]]
