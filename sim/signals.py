"""Signals of changes: when they are sent and heard, and what the robots make of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from scenarios.arrays import Array
from sim import rules
from sim.clock import Alarm, Clock
from sim.compiled_engine.crawl_values import (
    CrawlValues,
    end_access_of,
    hear_signal,
    take_most_valuable,
)
from sim.event_log import LogEvent
from sim.page_source import ChosenPages
from sim.pages import Load, Pages
from sim.speeds import end_at_full_speed

_SIGNAL = rules.tie_order(rules.SIGNAL, 0)


class Signals:
    """Every change that has a signal, and every signal that has no change.

    Parameters
    ----------
    clock : Clock
    means : pair of ndarray of float, shape (pages,)
        Mean times between changes that have a signal, and between signals without a change.
    first : pair of ndarray of float, shape (pages,)
        When the first of both come.
    stream : Generator
        The stream "signal".
    end : callable
        When what takes a time from now on ends, at the speed of changes.
    draw_delay : callable, optional
        From the stream "signal delay"; None: signals are heard at once.
    log_event : callable, optional

    Attributes
    ----------
    next_changes : list of float
        Of each page the next change that has a signal.
    heard : callable or None
        Told of the time and the page of each signal that is heard.
    """

    def __init__(
        self,
        clock: Clock,
        means: tuple[Array, Array],
        first: tuple[Array, Array],
        stream: Any,
        end: Callable[[float, float], float] = end_at_full_speed,
        draw_delay: Callable[[], float] | None = None,
        log_event: LogEvent | None = None,
    ) -> None:
        self._clock = clock
        self._stream = stream
        self._end = end
        self._draw_delay = draw_delay
        self._log_event = log_event
        self._mean_change, self._mean_false = (each.tolist() for each in means)
        self.next_changes: list[float] = first[0].tolist()
        self._next_false: list[float] = first[1].tolist()
        self.heard: Callable[[float, int], None] | None = None

    def start(self) -> None:
        """Wait for the first signal of each page."""
        for page in range(len(self.next_changes)):
            self._await(page, Alarm(self._clock, self._send, page))

    def _await(self, page: int, alarm: Alarm) -> None:
        time = min(self.next_changes[page], self._next_false[page])
        if time < math.inf:
            self._clock.at(time, _SIGNAL + page, alarm)

    def _send(self, alarm: Alarm) -> None:
        """A page changes and a signal is sent, or one is sent without a change."""
        page, now = alarm.index, alarm.time
        if self.next_changes[page] <= now:
            gap = rules.draw_exponential(self._stream, self._mean_change[page])
            self.next_changes[page] = self._end(now, gap)
            if self._log_event:
                self._log_event(now, "change", None, page)
        else:
            gap = rules.draw_exponential(self._stream, self._mean_false[page])
            self._next_false[page] = now + gap
        self._await(page, alarm)
        if self._draw_delay is None:
            self._hear(now, page)
        else:
            self._clock.once(now + self._draw_delay(), _SIGNAL + page, self._arrive, page)

    def _arrive(self, alarm: Alarm) -> None:
        self._hear(alarm.time, alarm.index)

    def _hear(self, now: float, page: int) -> None:
        if self._log_event:
            self._log_event(now, "signal", None, page)
        if self.heard:
            self.heard(now, page)


class MostValuable:
    """The page whose access is worth most, by its age and its signals."""

    def __init__(self, values: CrawlValues, pages: Pages) -> None:
        self._values = values
        self._pages = pages

    def hear(self, now: float, page: int) -> None:
        """A signal is heard."""
        hear_signal(self._values, page, now)

    def next_page(self, now: float) -> int:
        """The page of the access that starts now."""
        return int(take_most_valuable(self._values, now))

    def deliver(self, now: float, page: int, same: bool | None = None) -> Load:
        """The content of the page at this moment."""
        end_access_of(self._values, page, now)
        return self._pages.deliver(now, page, same)

    def give_up(self, now: float, page: int) -> None:
        """The last access of a page failed; as after others its age counts from now on."""
        end_access_of(self._values, page, now)


class SignalledFirst(ChosenPages):
    """Pages of which a signal was heard, in the order of their signals; else those of a plan."""

    def __init__(self, blocks: Iterator[Any], pages: Pages) -> None:
        super().__init__(blocks, pages)
        self._line: dict[int, None] = {}
        self._taken: set[int] = set()

    def hear(self, now: float, page: int) -> None:  # noqa: ARG002  # same call for all listeners
        """A signal is heard; of a page that is accessed now it would be forgotten."""
        if page not in self._taken:
            self._line.setdefault(page)

    def next_page(self, now: float) -> int:
        """The page of the access that starts now."""
        if not self._line:
            return super().next_page(now)
        page = next(iter(self._line))
        del self._line[page]
        self._taken.add(page)
        return page

    def deliver(self, now: float, page: int, same: bool | None = None) -> Load:
        """The content of the page at this moment; what was heard of it is forgotten."""
        self.give_up(now, page)
        return super().deliver(now, page, same)

    def give_up(self, now: float, page: int) -> None:  # noqa: ARG002  # same call for all sources
        """No robot is at the page any more."""
        self._taken.discard(page)
        self._line.pop(page, None)
