"""Counts about pages and about the clients that query them."""

from __future__ import annotations

from dataclasses import dataclass

from sim.tally.conservation import RELATIVE, ROUNDING, require

__all__ = ["ClientsTally", "PagesTally"]


@dataclass(frozen=True, slots=True)
class PagesTally:
    """Per page, over the window.

    Attributes
    ----------
    deliveries : tuple of int
        Accesses that ended with a delivery, lost ones included.
    stale_time : tuple of float
        Time during which the copy in the index was out of date.
    """

    deliveries: tuple[int, ...]
    stale_time: tuple[float, ...]

    def check(self, window: float, horizon: float) -> None:
        """Raise `ConservationError` if a page was stale for less than nothing or too long."""
        longest = window * (1 + RELATIVE) + horizon * ROUNDING
        require(min(self.stale_time) >= 0, "a page was stale for a negative time")
        require(max(self.stale_time) <= longest, "a page was stale for longer than the window")


@dataclass(frozen=True, slots=True)
class ClientsTally:
    """Queries in the window, and how many of them met a copy that was out of date."""

    queries: int
    stale: int

    def check(self, window: float, horizon: float) -> None:  # noqa: ARG002  # same call for all parts
        """Raise `ConservationError` if more queries were stale than were asked."""
        require(0 <= self.stale <= self.queries, "more stale answers than queries")
