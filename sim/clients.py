"""Clients that query the index."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any

from sim import rules
from sim.clock import Alarm, Clock
from sim.event_log import LogEvent
from sim.pages import Pages
from sim.tally import ClientsTally

_QUERY = rules.tie_order(rules.QUERY, 0)


class Clients:
    """Poisson queries; each draws its page by weight.

    A query takes one uniform (the page), then one exponential (the time to the next query).

    Parameters
    ----------
    clock : Clock
    pages : Pages
    rate : float
        Queries per unit time.
    sums : sequence of float
        Of the pages, as `sim.engine_inputs.query_sums` gives them.
    stream : Generator
        The stream "query".
    end : callable
        When what takes a time from now on ends, at the speed of queries.
    log_event : callable, optional
        Hears of each answer.
    """

    def __init__(
        self,
        clock: Clock,
        pages: Pages,
        rate: float,
        sums: Sequence[float],
        stream: Any,
        end: Callable[[float, float], float],
        log_event: LogEvent | None = None,
    ) -> None:
        self._end = end
        self._log_event = log_event
        self._clock = clock
        self._pages = pages
        self._stream = stream
        self._mean = 1.0 / rate
        self._cumulative = sums
        self._queries = self._stale = 0

    def start(self) -> None:
        """Wait for the first query."""
        first = Alarm(self._clock, self._query)
        self._wait(0.0, first)

    def _query(self, alarm: Alarm) -> None:
        page = bisect_right(self._cumulative, self._stream.random())
        self._queries += 1
        stale = self._pages.is_stale(alarm.time, page)
        self._stale += stale
        if self._log_event:
            self._log_event(alarm.time, "stale-answer" if stale else "fresh-answer", None, page)
        self._wait(alarm.time, alarm)

    def _wait(self, now: float, alarm: Alarm) -> None:
        gap = rules.draw_exponential(self._stream, self._mean)
        self._clock.at(self._end(now, gap), _QUERY, alarm)

    def end_warmup(self) -> None:
        """Forget what was counted so far: the warm-up is over."""
        self._queries = self._stale = 0

    def counts(self) -> tuple[int, int]:
        """Queries, and those answered from a copy out of date, since the end of the warm-up."""
        return self._queries, self._stale

    def tally(self) -> ClientsTally:
        """What was counted since the end of the warm-up."""
        return ClientsTally(*self.counts())
