"""What logs of a crawler say: visits that found a change or none, or the times of changes.

Neither depends on the order of the rows, on how they are split into files, or on the format.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from scenarios.arrays import Array


class FurtherVisits(NamedTuple):
    """Visits that say nothing of changes: errors, redirects, contents without a digest.

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

    def where(self, kept: NDArray[np.bool_]) -> FurtherVisits:
        """Some of them."""
        return FurtherVisits(self.page[kept], self.time[kept], self.answer[kept])


NO_FURTHER = FurtherVisits(np.empty(0, np.int32), np.empty(0), np.empty(0, np.int8))


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
        Seconds since 1970-01-01 UTC, increasing within a page.
    """

    urls: NDArray[np.object_]
    page: NDArray[np.int32]
    time: Array

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
        return replace(some, urls=self.urls[pages], page=index[some.page])


@dataclass(frozen=True)
class VisitLog(Log):
    """Visits of a crawler, and whether each found the page changed.

    Attributes
    ----------
    urls, page, time
        As those of `Log`.
    changed : ndarray of bool, shape (visits,)
        Whether the visit found another state than the visit before; False for the first of a page.
    notes : tuple of str
        What was counted and what is in doubt, in sentences.
    further : FurtherVisits
    contradicted, compared : int
        Visits at which a digest and a sign of a change say different things, of those at which both
        are known.
    is_of_sitemaps : bool
        Whether nothing but sitemaps says it.
    """

    changed: NDArray[np.bool_]
    notes: tuple[str, ...] = ()
    further: FurtherVisits = NO_FURTHER
    contradicted: int = 0
    compared: int = 0
    is_of_sitemaps: bool = False

    def where(self, kept: NDArray[np.bool_]) -> Self:
        """Some of the visits; all that say nothing of changes."""
        return replace(super().where(kept), changed=self.changed[kept])

    def up_to(self, until: float) -> tuple[Self, int]:
        """The log as it was at a time, and how many rows are later."""
        log, late = super().up_to(until)
        kept = self.further.time <= until
        return replace(log, further=self.further.where(kept)), late + int((~kept).sum())

    def of_pages(self, pages: NDArray[np.int64]) -> Self:
        """The visits of some of the URLs, given in increasing order, that say of changes."""
        return replace(super().of_pages(pages), further=NO_FURTHER)


@dataclass(frozen=True)
class ChangeLog(Log):
    """Exact times of changes; the first time of a page only opens its watch.

    Attributes
    ----------
    urls, page, time
        As those of `Log`.
    notes : tuple of str
        As of `VisitLog`.
    """

    notes: tuple[str, ...] = ()
