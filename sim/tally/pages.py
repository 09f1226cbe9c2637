"""Counts about pages and about the clients that query them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.tally.conservation import RELATIVE, ROUNDING, require


@dataclass(frozen=True, slots=True, eq=False)
class PagesTally:
    """Per page, over the window.

    Attributes
    ----------
    deliveries : ndarray of int, shape (pages,)
        Accesses that ended with a delivery, lost ones included.
    stale_time : ndarray of float, shape (pages,)
        Time during which the copy in the index was out of date.
    """

    deliveries: NDArray[np.integer[Any]]
    stale_time: NDArray[np.floating[Any]]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, PagesTally)
            and np.array_equal(self.deliveries, other.deliveries)
            and np.array_equal(self.stale_time, other.stale_time)
        )

    __hash__ = None  # type: ignore[assignment]  # it holds arrays

    def check(self, window: float, horizon: float) -> None:
        """Raise `ConservationError` if a page was stale for less than nothing or too long."""
        longest = window * (1 + RELATIVE) + horizon * ROUNDING
        require(self.stale_time.min() >= 0, "a page was stale for a negative time")
        require(self.stale_time.max() <= longest, "a page was stale for longer than the window")


@dataclass(frozen=True, slots=True, eq=False)
class AgesTally:
    """How old the copies in the index were, over the window; where pages go through a buffer.

    Attributes
    ----------
    age_time : ndarray of float, shape (pages,)
        Time integral of the time since the delivery of the copy in the index.
    """

    age_time: NDArray[np.floating[Any]]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AgesTally) and np.array_equal(self.age_time, other.age_time)

    __hash__ = None  # type: ignore[assignment]  # it holds arrays

    def check(self, window: float, horizon: float) -> None:
        """Raise `ConservationError` if a copy is from the future, or older than the run."""
        oldest = window * (horizon - window / 2) * (1 + RELATIVE) + horizon**2 * ROUNDING
        require(self.age_time.min() >= 0, "a copy in the index was delivered after its indexing")
        require(self.age_time.max() <= oldest, "a copy in the index was older than the run")


@dataclass(frozen=True, slots=True)
class ClientsTally:
    """Queries in the window, and how many of them met a copy that was out of date."""

    queries: int
    stale: int

    def check(self, window: float, horizon: float) -> None:  # noqa: ARG002  # same call for all parts
        """Raise `ConservationError` if more queries were stale than were asked."""
        require(0 <= self.stale <= self.queries, "more stale answers than queries")
