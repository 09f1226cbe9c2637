"""What all replications together have of each page, and which pages are the worst.

The sums grow replication by replication in their order, as numpy adds the rows of a table: they
have the bits of those that are made where every row is kept.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from scenarios.measures import Subject
from scenarios.page_data import PageData
from scenarios.page_groups import FOLLOWED, blocks_of, largest_products
from scenarios.results import Columns
from sim.estimates.intervals import interval
from sim.estimates.jackknife import rounded_errors, t_quantile
from sim.tally import PagesTally


class PagePool:
    """Sums over replications, of each page.

    Parameters
    ----------
    pages : PageData
        Those of the scenario.

    Attributes
    ----------
    replications : int
        Those that have been added.
    deliveries, stale_time : ndarray, shape (pages,)
        Sums of those of a `PagesTally`.
    squares : ndarray, shape (pages,)
        Squared deviations of the time out of date from its mean, summed.
    """

    def __init__(self, pages: PageData) -> None:
        self._pages = pages
        self.replications = 0
        self.deliveries = np.zeros(pages.count, dtype=np.int64)
        self.stale_time = np.zeros(pages.count)
        self.squares = np.zeros(pages.count)

    def add(self, tally: PagesTally) -> None:
        """One more replication, the next in their order."""
        before = self.replications
        self.replications = before + 1
        self.deliveries += tally.deliveries
        for some in blocks_of(len(self.stale_time)):
            new, total = tally.stale_time[some], self.stale_time[some]
            deviation = new - total / before if before else 0.0
            total += new
            self.squares[some] += deviation * (new - total / self.replications)

    def worst(self, window: float, without: Collection[Subject]) -> Columns:
        """The obsolescence rates of the worst pages: of the largest weight × rate, the worst first.

        A standard error is that of a mean, which the jackknife's is where windows are equally long.

        Parameters
        ----------
        window : float
            Length of the window of each replication.
        without : collection
            Subjects that have rows already.
        """
        largest = largest_products(self.stale_time, self._pages.weights, FOLLOWED)
        pages = [page for page in largest.tolist() if page not in without]
        count = self.replications
        estimate = self.stale_time[pages] / (count * window)
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = self.squares[pages] / np.float64(count * (count - 1))
        error = rounded_errors(np.sqrt(variance) / window, estimate)
        seen = np.maximum(self.deliveries[pages], count)
        sample = np.where(self._pages.change_rates[pages] > 0, seen, np.inf)
        ends = interval("obsolescence_rate", estimate, error, sample, t_quantile(count - 1))
        values = np.stack([estimate, error, *ends, np.zeros(len(pages)), sample])
        return Columns("obsolescence_rate", pages, values)
