"""URLs that are no longer pages: what answers without a content say, and what revisits cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crawlsim.logs.plan.allocation import DAY
from crawlsim.logs.read.log import VisitLog
from crawlsim.logs.read.rows import MOVED, UNTOLD
from scenarios.arrays import Array

PAGE, GONE, REDIRECT, NEVER_ANSWERED = range(4)
"""What a URL is: a page, also one that was never tried; one that no longer answers with a content;
one that leads elsewhere; one that never answered with a content."""

STATES = ("page", "gone", "redirect", "never-answered")
"""The same as words."""

GONE_AFTER = 3
"""Visits without a content after which a URL that had one is gone."""

RECHECK = 90 * DAY
"""Seconds between two visits of a URL that is gone."""

_LEAST_SPAN = DAY
_MOST_OF_BUDGET = 0.1


def states_of(log: VisitLog, after: int = GONE_AFTER) -> NDArray[np.int8]:
    """What each URL of a log is, shape (pages,): `PAGE`, `GONE`, `REDIRECT` or `NEVER_ANSWERED`.

    Parameters
    ----------
    log : VisitLog
    after : int
        A URL that had a content is gone after so many errors and redirects in a row, if from the
        first to the last of them it is at least a day. One that never had any is after the first.
    """
    pages = len(log.urls)
    page, time, answer = log.further
    last_content = np.full(pages, -np.inf)
    np.maximum.at(last_content, log.page, log.time)
    told = answer == UNTOLD
    np.maximum.at(last_content, page[told], time[told])
    since = ~told & (time > last_content[page])
    page = page[since]
    time = time[since]
    failures = np.bincount(page, minlength=pages)
    first = np.full(pages, np.inf)
    np.minimum.at(first, page, time)
    last = np.full(pages, -np.inf)
    np.maximum.at(last, page, time)
    moved = np.zeros(pages, bool)
    moved[page] = answer[since] == MOVED  # rows are in the order of time: the last one stays
    answered = np.isfinite(last_content)
    with np.errstate(invalid="ignore"):
        lasts = (failures >= after) & (last - first >= _LEAST_SPAN)
    is_gone = (failures > 0) & (lasts | ~answered)
    kinds = np.where(moved, REDIRECT, np.where(answered, GONE, NEVER_ANSWERED))
    states: NDArray[np.int8] = np.where(is_gone, kinds, PAGE).astype(np.int8)
    return states


def numbers_of(states: NDArray[np.int8]) -> dict[str, int]:
    """How many URLs are of each state but that of a page."""
    counts = np.bincount(states, minlength=len(STATES)).tolist()
    return dict(zip(STATES[1:], counts[1:], strict=True))


@dataclass(frozen=True)
class Gone:
    """URLs outside the plan, each with the time between two looks whether it has come back.

    Attributes
    ----------
    urls : ndarray of str, shape (urls,)
    states : ndarray of int, shape (urls,)
        `GONE`, `REDIRECT` or `NEVER_ANSWERED`; `PAGE` of a page that is not to be visited.
    visits, changes : ndarray of int, shape (urls,)
        Observations of each, while it was a page.
    intervals : ndarray, shape (urls,)
        Seconds; infinite where it is not visited.
    """

    urls: NDArray[np.object_]
    states: NDArray[np.int8]
    visits: NDArray[np.int64]
    changes: NDArray[np.int64]
    intervals: Array

    @property
    def visits_per_second(self) -> float:
        """What the looks cost."""
        return float((1 / self.intervals).sum())

    def numbers(self) -> dict[str, int]:
        """How many are of each state but that of a page."""
        return numbers_of(self.states)

    def record(self) -> Mapping[str, float]:
        """The entries for JSON."""
        return {**self.numbers(), "visits_per_day": self.visits_per_second * DAY}


def recheck_rates(
    host: NDArray[np.int64], host_budgets: Array, every: float, budget: float
) -> Array:
    """Visits per second of URLs that are gone: together at most a tenth of any budget.

    Parameters
    ----------
    host : ndarray of int, shape (urls,)
    host_budgets : ndarray, shape (hosts,)
        Visits per second.
    every : float
        Seconds between two visits that are asked for; infinite for none.
    budget : float
        Visits per second, all pages together.
    """
    rates = np.full(len(host), 1 / every)
    of_host = np.bincount(host, rates, len(host_budgets))
    with np.errstate(divide="ignore", invalid="ignore"):
        kept = np.minimum(1.0, _MOST_OF_BUDGET * host_budgets / of_host)
    rates *= np.nan_to_num(kept, nan=1.0)[host]
    total = float(rates.sum())
    return rates * min(1.0, _MOST_OF_BUDGET * budget / total) if total else rates
