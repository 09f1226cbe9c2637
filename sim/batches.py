"""Servers that take waiting pages in batches, all of which end together."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sim import rules
from sim.buffer import SERVICE, Buffer, BufferRules
from sim.clock import Alarm, Clock
from sim.page_classes import Item
from sim.pages import Load
from sim.tally import BatchesTally

_NOBODY = (-1, math.inf)


@dataclass(frozen=True, slots=True)
class BatchRules:
    """How servers take batches, as `scenarios.model.Batch` has it.

    `end` says when the service of so many pages ends that starts now.
    """

    most: int
    least: int
    wait: float
    end: Callable[[float, int], float]


class BatchBuffer(Buffer):
    """The pages in the system, where servers take batches of them.

    Every page that enters waits. Once all pages that were delivered together have entered, free
    servers take what `rules.batch_size` says, the first server first. The first one that is left
    without pages goes by the time for which the oldest page has waited.

    Parameters
    ----------
    batches : BatchRules
    clock : Clock
    fixed : BufferRules
    others
        As `Buffer`.
    """

    def __init__(self, batches: BatchRules, clock: Clock, fixed: BufferRules, *others: Any) -> None:
        self._rules = batches
        self._batches: list[list[Item]] = [[] for _ in range(fixed.servers)]
        self._busy = 0
        self._busy_time = self._busy_since = 0.0
        self._batches_ended = 0
        self._watching = _NOBODY
        super().__init__(clock, fixed, *others)

    @property
    def in_service(self) -> Iterator[tuple[int, Item, float]]:
        """Each page in service: its server, the page, and when the service ends."""
        for server, batch in enumerate(self._batches):
            for item in batch:
                yield server, item, self._service_ends[server].time

    def deliver(self, now: float, loads: Sequence[Load], robot: int | None = None) -> None:
        """A robot brings pages; when they have entered, free servers take batches."""
        super().deliver(now, loads, robot)
        self._take_batches(now)

    def _places_taken(self) -> int:
        return rules.places_taken(len(self._waiting), self._busy, self._rules.most)

    def _free_servers(self) -> int:
        return 0

    def _overflow(self, now: float, load: Load, robot: int | None) -> None:
        self._take_batches(now)
        super()._overflow(now, load, robot)

    def _expire(self, now: float, item: Item) -> None:
        super()._expire(now, item)
        self._take_batches(now)

    def _comes_back(self, now: float, load: Load) -> bool:
        has_entered = super()._comes_back(now, load)
        if has_entered:
            self._take_batches(now)
        return has_entered

    def _take_batches(self, now: float) -> None:
        watching = _NOBODY
        fixed = self._rules
        while self._busy < self._fixed.servers and self._waiting:
            server = self._batches.index([])
            due = next(iter(self._waiting.values()))[1] + fixed.wait
            size = rules.batch_size(len(self._waiting), fixed.most, fixed.least, now >= due)
            if not size:
                watching = server, due
                break
            self._start_batch(now, server, size)
        if watching not in (self._watching, _NOBODY) and watching[1] < math.inf:
            self._clock.once(watching[1], SERVICE + watching[0], self._look_again, watching[0])
        self._watching = watching

    def _look_again(self, alarm: Alarm) -> None:
        """The oldest page has waited long enough, unless another one is the oldest by now."""
        if self._watching == (alarm.index, alarm.time):
            self._take_batches(alarm.time)

    def _start_batch(self, now: float, server: int, size: int) -> None:
        for _ in range(size):
            ends = next(iter(self._waiting)), next(reversed(self._waiting))
            item = self._leave(rules.next_in_line(self._fixed.order, *ends))
            self._batches[server].append(item)
        self._change_busy(now, 1)
        self._clock.at(self._rules.end(now, size), SERVICE + server, self._service_ends[server])

    def _complete_service(self, alarm: Alarm) -> None:
        now = alarm.time
        served = self._batches[alarm.index]
        self._batches[alarm.index] = []
        for item in served:
            self._end(rules.SERVED, now, item)
            load = item[2]
            if load is not None and self._pages:
                self._pages.index(now, load)
        self._batches_ended += 1
        self._change_busy(now, -1)
        self._change_level(now, -len(served))
        self._take_batches(now)
        self._tell_of_service(now, served)

    def _change_busy(self, now: float, step: int) -> None:
        self._busy_time += self._busy * (now - self._busy_since)
        self._busy_since = now
        self._busy += step

    def _start_counting(self, now: float) -> None:
        super()._start_counting(now)
        self._batches_ended = 0
        self._busy_time, self._busy_since = 0.0, now

    def batches(self, now: float) -> BatchesTally:
        """What was counted of batches from the end of the warm-up to now."""
        self._change_busy(now, 0)
        return BatchesTally(self._batches_ended, self._busy_time)
