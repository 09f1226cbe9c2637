"""Every change of every page, for the event log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sim import rules
from sim.clock import Alarm, Clock
from sim.event_log import LogEvent
from sim.pages import Pages

_CHANGE = rules.tie_order(rules.PAGE_CHANGE, 0)


class PageChanges:
    """Tells the event log when pages change.

    `Pages` draws only what matters, the first change of a page after each delivery. The further
    ones, up to the next delivery, are drawn here, from a stream of their own, so that a run with a
    log gives the same numbers as one without. As changes are a Poisson process, they are as likely
    as if all of them had been drawn one after the other.

    Parameters
    ----------
    clock : Clock
    pages : Pages
    change_rates : sequence of float
    stream : Generator
        The stream "further change".
    end : callable
        When what takes a time from now on ends, at the speed of changes.
    log_event : callable
    until : float
        When the replication ends.
    """

    def __init__(
        self,
        clock: Clock,
        pages: Pages,
        change_rates: Sequence[float],
        stream: Any,
        end: Callable[[float, float], float],
        log_event: LogEvent,
        until: float,
    ) -> None:
        self._clock = clock
        self._pages = pages
        self._rates = change_rates
        self._stream = stream
        self._end = end
        self._log_event = log_event
        self._until = until
        self._awaited: dict[int, Alarm] = {}
        pages.change_drawn = self._await

    def start(self) -> None:
        """Wait for the first change of each page."""
        for page, time in enumerate(self._pages.next_changes):
            self._await(page, time)

    def _await(self, page: int, time: float) -> None:
        """Wait for the next change of a page, and no longer for another one."""
        self._awaited.pop(page, None)
        if time <= self._until:
            alarm = self._awaited[page] = Alarm(self._clock, self._change, page)
            self._clock.at(time, _CHANGE + page, alarm)

    def _change(self, alarm: Alarm) -> None:
        page = alarm.index
        if alarm is not self._awaited.get(page):
            return
        self._log_event(alarm.time, "change", None, page)
        gap = rules.draw_exponential(self._stream, 1.0 / self._rates[page])
        self._await(page, self._end(alarm.time, gap))
