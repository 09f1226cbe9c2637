"""Accesses that fail: their robot tries the same page again, or goes on to the next one.

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
    probability : float
        That an access fails.
    retries : int
        How often a robot tries a page again before it goes on to the next one.
    draws : mapping int -> callable
        For the number of each robot, a function that draws a uniform number between 0 and 1.
    source : PageSource
    log_event : callable, optional
    """

    def __init__(
        self,
        probability: float,
        retries: int,
        draws: Mapping[int, Callable[[], float]],
        source: PageSource,
        log_event: LogEvent | None = None,
    ) -> None:
        self._probability = probability
        self._retries = retries
        self._draws = draws
        self._source = source
        self._log_event = log_event
        self._in_a_row = dict.fromkeys(draws, 0)

    def next_page(self, now: float, robot: int, page: int) -> int | None:
        """The page that a robot accesses next, if its access to `page` fails; None: it does not."""
        if not rules.fails(self._probability, self._draws[robot]()):
            return None
        if self._log_event:
            self._log_event(now, "failure", robot, page if page >= 0 else None)
        self._in_a_row[robot] += 1
        if not rules.gives_up(self._in_a_row[robot], self._retries):
            return page
        self._in_a_row[robot] = 0
        self._source.give_up(now, page)
        return self._source.next_page(now)

    def delivered(self, robot: int) -> None:
        """The page of a robot was delivered: its failures are counted anew."""
        self._in_a_row[robot] = 0
