"""Change rates of pages from the times of their changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crawlsim.fitting.intervals import rates_of_counts
from scenarios.arrays import Array

OF_NO_CHANGE = 0.5
"""Changes that stand for none, by Jeffreys' prior of a rate."""


@dataclass(frozen=True)
class History:
    """Changes of pages in a window, page by page in time.

    Attributes
    ----------
    page : ndarray of int, shape (changes,)
        Non-decreasing.
    time : ndarray, shape (changes,)
        Of the changes after the first sight of a page; increasing within a page.
    first : ndarray, shape (pages,)
        Since when each page is watched; NaN for a page that is not seen.
    end : float
        Until when all are.
    repeated : int
        Rows that say the same page and time again.
    """

    page: NDArray[np.int32]
    time: Array
    first: Array
    end: float
    repeated: int

    @property
    def observed(self) -> Array:
        """How long each page is watched, shape (pages,)."""
        return self.end - self.first

    @property
    def gaps(self) -> tuple[NDArray[np.int32], Array]:
        """Pages and times between successive changes, the first sight counted as one."""
        before = np.concatenate([[np.nan], self.time[:-1]])
        starts = np.flatnonzero(np.diff(self.page, prepend=-1))
        before[starts] = self.first[self.page[starts]]
        return self.page, self.time - before


def history_of(
    page: NDArray[np.int32],
    time: Array,
    pages: int,
    window: tuple[float | None, float | None] = (None, None),
) -> History:
    """The changes within a window.

    Parameters
    ----------
    page, time : ndarray, shape (rows,)
        In any order; the first row of a page is its creation.
    pages : int
    window : pair of float or None
        Since and until when to count; default from the first sight of each page to the last row.

    Raises
    ------
    ValueError
        If nothing is left, naming the window.
    """
    order = np.lexsort((time, page))
    page = page[order]
    time = time[order]
    new = np.ones(len(page), dtype=bool)
    new[1:] = (np.diff(page) != 0) | (np.diff(time) != 0)
    repeated = int(len(new) - new.sum())
    page = page[new]
    time = time[new]
    since = -np.inf if window[0] is None else window[0]
    end = float(time.max()) if window[1] is None else window[1]
    starts = np.flatnonzero(np.diff(page, prepend=-1))
    first = np.full(pages, np.nan)
    first[page[starts]] = np.maximum(time[starts], since)
    first[first >= end] = np.nan
    later = (time > first[page]) & (time <= end)
    if np.isnan(first).all():
        raise ValueError("the window holds no page")
    return History(page[later], time[later], first, end, repeated)


@dataclass(frozen=True)
class ChangeRates:
    """Change rates of the pages that are watched long enough.

    Attributes
    ----------
    index : ndarray of int, shape (pages,)
        Which pages of the trace.
    counts : ndarray of int
        Changes after the first sight.
    observed : ndarray
        Time watched.
    rates, low, high : ndarray
        With 95 % intervals of Poisson counts. No rate is 0.
    left_out : int
        Pages watched for a shorter time.
    """

    index: NDArray[np.int64]
    counts: NDArray[np.int64]
    observed: Array
    rates: Array
    low: Array
    high: Array
    left_out: int

    @property
    def never(self) -> NDArray[np.bool_]:
        """Pages that were never seen to change."""
        return np.equal(self.counts, 0)

    @property
    def standard_errors(self) -> Array:
        """``sqrt(N) / T``; of a page that did not change, that of its rate's posterior law."""
        errors: Array = np.sqrt(self.rates / self.observed)
        return errors


def change_rates(history: History, shortest: float) -> ChangeRates:
    """Change rates: (rows - 1) / (end of file - first row), or half a change, page by page.

    Parameters
    ----------
    history : History
    shortest : float
        Pages watched for less are left out.

    Raises
    ------
    ValueError
        If no page is watched that long.

    Notes
    -----
    The maximum likelihood of a Poisson process watched for a fixed time. The first row is where
    watching begins, and no change. Where the end is the last row of all, and not the time at which
    the log was taken, all rates are too large by less than one part in the number of rows.

    The likelihood of a page that did not change is largest at 0, and a page with rate 0 would never
    be visited again: no data can prove that. Its rate is Jeffreys' (N + 1/2) / T with N = 0, the
    posterior mean under the prior ``mu^(-1/2)``: half of what one change in that time would give.
    """
    observed = history.observed
    long_enough: NDArray[Any] = observed >= max(shortest, 1e-300)
    index = np.flatnonzero(long_enough)
    if not len(index):
        raise ValueError(f"no page is watched for {shortest:g} or longer")
    counts = np.bincount(history.page, minlength=len(observed))[index]
    left_out = int(np.isfinite(observed).sum() - len(index))
    _, low, high = rates_of_counts(counts, observed[index])
    rates = np.where(counts > 0, counts, OF_NO_CHANGE) / observed[index]
    return ChangeRates(index, counts, observed[index], rates, low, high, left_out)


def expected_changes(history: History) -> Callable[[Array], Array]:
    """Cumulative number of changes of all pages together, each with its own constant rate.

    Returns
    -------
    callable
        From times, shape (n,), to numbers of changes, shape (n,).
    """
    counts = np.bincount(history.page, minlength=len(history.first))
    seen = np.flatnonzero(counts)
    seen = seen[np.argsort(history.first[seen])]
    starts = history.first[seen]
    rates = counts[seen] / history.observed[seen]
    knots = np.append(starts, history.end)
    expected = np.concatenate([[0.0], np.cumsum(np.cumsum(rates) * np.diff(knots))])
    return lambda times: np.interp(times, knots, expected)
