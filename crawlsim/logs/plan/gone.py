"""URLs that are no longer pages (`crawlsim.logs.read.states` decides which), and their revisits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crawlsim.logs.plan.allocation import DAY
from crawlsim.logs.read.states import numbers_of
from scenarios.arrays import Array

RECHECK = 90 * DAY
"""Seconds between two visits of a URL that is gone."""

_MOST_OF_BUDGET = 0.1


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
