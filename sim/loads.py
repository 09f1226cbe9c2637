"""What robots carry: pages chosen by an accessing policy, or pages without identity."""

from __future__ import annotations

from collections.abc import Callable

from sim.buffer import Load
from sim.pages import Pages


class Anonymous:
    """Pages without identity: nothing is asked, nothing is carried."""

    def ask(self) -> int:
        """The page of the access that starts now."""
        return -1

    def bring(self, now: float, page: int) -> Load:  # noqa: ARG002  # same call as for chosen pages
        """What is delivered when the access ends."""
        return None


class Chosen:
    """Pages chosen by the accessing policy, in the order in which accesses start.

    Parameters
    ----------
    next_page : callable
        The policy.
    pages : Pages
    """

    def __init__(self, next_page: Callable[[], int], pages: Pages) -> None:
        self._next_page = next_page
        self._pages = pages

    def ask(self) -> int:
        """The page of the access that starts now."""
        return self._next_page()

    def bring(self, now: float, page: int) -> Load:
        """What is delivered when the access ends: the content at that moment."""
        return self._pages.deliver(now, page)


Loads = Anonymous | Chosen


class DirectIndex:
    """Without a buffer each delivery refreshes the index at once."""

    level = 0

    def __init__(
        self,
        pages: Pages,
        note: Callable[[float, str, int | None, int | None], None] | None,
    ) -> None:
        self._pages = pages
        self._note = note
        self.level_changed: Callable[[float], None] | None = None
        self.service_completed: Callable[[float], None] | None = None

    def deliver(self, now: float, loads: tuple[Load, ...], robot: int | None = None) -> None:
        """A robot brings a batch."""
        for load in loads:
            assert load is not None
            self._pages.index(now, load)
            if self._note:
                self._note(now, "delivery", robot, load.page)
