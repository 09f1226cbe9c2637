"""The indexing engine: a finite buffer, one server, and an obsolescence clock per waiting page."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from sim import rules
from sim.clock import Alarm, Clock
from sim.tally import BufferTally

__all__ = ["Buffer", "BufferRules"]

Draw = Callable[[], float]
Note = Callable[[float, str, int | None, int | None], None]

_SERVICE = rules.tie_order(rules.SERVICE, 0)
_OBSOLESCENCE = rules.tie_order(rules.OBSOLESCENCE, 0)


@dataclass(frozen=True, slots=True)
class BufferRules:
    """What does not change during a run: sizes, admission, discipline, and the laws to draw from.

    `obsolescence` is None where waiting pages never go stale. `top` is the highest level.
    """

    capacity: int
    top: int
    admission: int
    newest_first: bool
    push_out: bool
    service: Draw
    obsolescence: Draw | None


class Buffer:
    """The pages in the system.

    `level` is their number, the page in service included. A page that finds the server free
    starts at once and never has an obsolescence clock; the clock of a waiting page is discarded
    when its service starts.

    Parameters
    ----------
    clock : Clock
    fixed : BufferRules
    level_changed : callable, optional
        Called with the time after each change of the level.
    service_completed : callable, optional
        Called with the time after a service completion, once the next service has started.
    note : callable, optional
        Writes the event log: time, event, robot, running number of the page.
    """

    def __init__(self, clock: Clock, fixed: BufferRules, note: Note | None = None) -> None:
        self._clock, self._fixed, self._note = clock, fixed, note
        self._draw_service, self._draw_obsolescence = fixed.service, fixed.obsolescence
        self.level_changed: Callable[[float], None] | None = None
        self.service_completed: Callable[[float], None] | None = None
        self.level = 0
        self._level_since = 0.0
        self._entered = 0
        self._in_service = (0, 0.0)
        self._waiting: OrderedDict[int, float] = OrderedDict()
        self._service_end = Alarm(clock, self._complete_service)
        self._window_start = 0.0
        self._start_counting(0.0)

    @property
    def top(self) -> int:
        """The highest level that can be reached."""
        return self._fixed.top

    def deliver(self, now: float, pages: int, robot: int | None = None) -> None:
        """A robot brings a batch; its pages enter in their order, as far as the rules admit."""
        self._delivered += pages
        fixed = self._fixed
        if self.level < fixed.capacity:
            entering = rules.admitted(pages, self.level, fixed.capacity, fixed.admission)
            if entering:
                self._enter(now, entering, robot)
                pages -= entering
        if pages:
            self._overflow(now, pages, robot)

    def _enter(self, now: float, pages: int, robot: int | None) -> None:
        before = self.level
        self._level_time[before] += now - self._level_since
        self._level_since = now
        self.level = before + pages
        for _ in range(pages):
            number = self._entered
            self._entered = number + 1
            if before == 0:
                self._start_service(now, number, now)
                before = 1
            else:
                self._wait(now, number)
            if self._note:
                self._note(now, "delivery", robot, number)
        if self.level_changed:
            self.level_changed(now)

    def _overflow(self, now: float, pages: int, robot: int | None) -> None:
        """Pages that find no room: lost, or pushing out the page that has waited longest."""
        for _ in range(pages):
            if self._fixed.push_out and self._waiting:
                number, entered = self._waiting.popitem(last=False)
                self._end(rules.PUSHED_OUT, now - entered)
                if self._note:
                    self._note(now, "push-out", None, number)
                number = self._entered
                self._entered = number + 1
                self._wait(now, number)
                if self._note:
                    self._note(now, "delivery", robot, number)
            else:
                self._refused += 1
                if self._note:
                    self._note(now, "loss", robot, None)

    def _wait(self, now: float, number: int) -> None:
        self._waiting[number] = now
        if self._draw_obsolescence:
            due = now + self._draw_obsolescence()
            alarm = Alarm(self._clock, self._expire, number)
            self._clock.at(due, _OBSOLESCENCE + number, alarm)

    def _start_service(self, now: float, number: int, entered: float) -> None:
        self._in_service = (number, entered)
        self._clock.at(now + self._draw_service(), _SERVICE, self._service_end)

    def _complete_service(self, alarm: Alarm) -> None:
        now = alarm.time
        number, entered = self._in_service
        self._end(rules.SERVED, now - entered)
        self._change_level(now, -1)
        if self._waiting:
            self._start_service(now, *self._waiting.popitem(last=self._fixed.newest_first))
        if self._note:
            self._note(now, "service", None, number)
        if self.level_changed:
            self.level_changed(now)
        if self.service_completed:
            self.service_completed(now)

    def _expire(self, alarm: Alarm) -> None:
        entered = self._waiting.pop(alarm.index, None)
        if entered is None:
            return
        now = alarm.time
        self._end(rules.OBSOLETE, now - entered)
        self._change_level(now, -1)
        if self._note:
            self._note(now, "obsolescence", None, alarm.index)
        if self.level_changed:
            self.level_changed(now)

    def _change_level(self, now: float, step: int) -> None:
        self._level_time[self.level] += now - self._level_since
        self._level_since = now
        self.level += step

    def _end(self, fate: int, sojourn: float) -> None:
        self._ended[fate] += 1
        self._sojourn[fate] += sojourn
        self._square[fate] += sojourn * sojourn

    def _start_counting(self, now: float) -> None:
        self._delivered = self._refused = 0
        self._ended, self._sojourn, self._square = [0] * 4, [0.0] * 4, [0.0] * 4
        self._level_time = [0.0] * (self._fixed.top + 1)
        self._level_since = now
        self._window_start = now
        self._inside_at_start, self._age_at_start = self.level, self._total_age(now)

    def _total_age(self, now: float) -> float:
        """Time since entry, summed over the pages in the system."""
        if not self.level:
            return 0.0
        return sum((now - entered for entered in self._waiting.values()), now - self._in_service[1])

    def cut(self, now: float) -> None:
        """Forget what was counted so far: the warm-up is over."""
        self._start_counting(now)

    def tally(self, now: float) -> BufferTally:
        """What was counted from the cut up to now."""
        self._change_level(now, 0)
        return BufferTally(
            delivered=self._delivered,
            refused=self._refused,
            ended=tuple(self._ended),
            sojourn=tuple(self._sojourn),
            sojourn_square=tuple(self._square),
            inside_at_start=self._inside_at_start,
            inside_at_end=self.level,
            age_at_start=self._age_at_start,
            age_at_end=self._total_age(now),
            level_time=tuple(self._level_time),
        )
