"""Accesses that fail: their robot tries the same page again, or goes on to the next one.

An access to an anonymous page that is unchanged delivers nothing either, and is one of them.

Of pages that fall due `sim.robots.DueRobots` says what becomes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sim import rules
from sim.event_log import LogEvent
from sim.page_source import PageSource


class Failures:
    """Decides which accesses fail, robot by robot, whether or not the robot is heard.

    Parameters
    ----------
    retries : int
        How often a robot tries a page again before it goes on to the next one.
    fails : mapping int -> callable
        For the number of each robot, a function that says whether its access fails that ends.
    source : PageSource
    log_event : callable, optional
    name : str
        What the log calls it.

    Attributes
    ----------
    count : int
        Accesses of active robots that failed, since the end of the warm-up.
    """

    def __init__(
        self,
        retries: int,
        fails: Mapping[int, Callable[[], bool]],
        source: PageSource,
        log_event: LogEvent | None = None,
        name: str = "failure",
    ) -> None:
        self._retries = retries
        self._fails = fails
        self._source = source
        self._log_event = log_event
        self._name = name
        self._in_a_row = dict.fromkeys(fails, 0)
        self.count = 0

    def next_page(self, now: float, robot: int, page: int, *, heard: bool = True) -> int | None:
        """The page that a robot accesses next, if its access to `page` fails; None: it does not."""
        if not self._fails[robot]():
            return None
        if self._log_event:
            self._log_event(now, self._name, robot, page if page >= 0 else None)
        self.count += heard
        self._in_a_row[robot] += 1
        if not rules.gives_up(self._in_a_row[robot], self._retries):
            return page
        self._in_a_row[robot] = 0
        self._source.give_up(now, page)
        return self._source.next_page(now)

    def delivered(self, robot: int) -> None:
        """The page of a robot was delivered: its failures are counted anew."""
        self._in_a_row[robot] = 0
