"""A SimPy environment whose events carry the absolute time at which they happen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappush
from itertools import count
from typing import Any

import simpy

from sim import rules


class Alarm(simpy.Event):
    """An event at a known time, with one action; it can be set again once it has gone off."""

    _ok = True
    _value = None

    def __init__(self, clock: Clock, action: Callable[[Any], None], index: int = 0) -> None:
        self.env = clock
        self.action = [action]
        self.index = index
        self.time = 0.0


class Clock(simpy.Environment):
    """The environment of one replication.

    SimPy adds a delay to the present time, and ``now + (time - now)`` can miss `time` by the last
    bit. Here an alarm is set for the time itself, and equal times are ordered by `rules.tie_order`.
    """

    def __init__(self) -> None:
        super().__init__()
        self._numbers = count()
        self._events: list[Any] = self._queue

    def at(self, time: float, order: int, alarm: Alarm) -> None:
        """Set an alarm; its action is called with it."""
        alarm.time = time
        alarm.callbacks = alarm.action
        heappush(self._events, (time, order, next(self._numbers), alarm))

    def once(self, time: float, order: int, action: Callable[[Any], None], index: int = 0) -> None:
        """Call an action once at a time."""
        self.at(time, order, Alarm(self, action, index))

    def run_to(self, horizon: float) -> None:
        """Let everything happen up to a time, that time included."""
        end = Alarm(self, lambda _alarm: None)
        self.at(horizon, rules.tie_order(rules.HORIZON, 0), end)
        self.run(until=end)

    def steps_to(self, horizon: float) -> Iterator[None]:
        """The same, one event at a time: each is waited for."""
        ended: list[Alarm] = []
        self.once(horizon, rules.tie_order(rules.HORIZON, 0), ended.append)
        while not ended:
            self.step()
            yield
