"""Pages that found no room, and try again: the orbit of a retrial queue."""

from __future__ import annotations

import math
from collections.abc import Callable

from sim import rules
from sim.clock import Alarm, Clock
from sim.pages import Load
from sim.tally import OrbitTally

_RETRIAL = rules.tie_order(rules.RETRIAL, 0)


class Orbit:
    """Each page in it tries again after a time of its own, and again, until it finds room.

    Parameters
    ----------
    clock : Clock
    most : int or None
        Pages in orbit; None: any number.
    draw : callable
        The time until a page tries again.

    Attributes
    ----------
    comes_back : callable
        A page tries at a time; says whether it has entered the buffer.
    """

    def __init__(self, clock: Clock, most: int | None, draw: Callable[[], float]) -> None:
        self._clock = clock
        self._most = math.inf if most is None else most
        self._draw = draw
        self.comes_back: Callable[[float, Load], bool] = lambda _now, _load: False
        self._inside = 0
        self._alarms: list[Alarm] = []
        self._loads: list[Load] = []
        self._free: list[int] = []
        self._since = 0.0
        self.end_warmup(0.0)

    @property
    def has_room(self) -> bool:
        """Whether one more page may join."""
        return self._inside < self._most

    def join(self, now: float, load: Load) -> None:
        """A page that found no room is to try again."""
        if self._free:
            slot = self._free.pop()
        else:
            slot = len(self._loads)
            self._loads.append(None)
            self._alarms.append(Alarm(self._clock, self._try_again, slot))
        self._loads[slot] = load
        self._joined += 1
        self._change(now, 1)
        self._wait(now, slot)

    def _wait(self, now: float, slot: int) -> None:
        self._clock.at(now + self._draw(), _RETRIAL + slot, self._alarms[slot])

    def _try_again(self, alarm: Alarm) -> None:
        slot = alarm.index
        if self.comes_back(alarm.time, self._loads[slot]):
            self._free.append(slot)
            self._left += 1
            self._change(alarm.time, -1)
        else:
            self._wait(alarm.time, slot)

    def _change(self, now: float, step: int) -> None:
        """Close the time with the present number of pages, then change it."""
        self._time += self._inside * (now - self._since)
        self._since = now
        self._inside += step

    def end_warmup(self, now: float) -> None:
        """Forget what was counted so far: the warm-up is over."""
        self._joined = self._left = 0
        self._time = 0.0
        self._since = now
        self._inside_at_start = self._inside

    def tally(self, now: float) -> OrbitTally:
        """What was counted from the end of the warm-up to now."""
        self._change(now, 0)
        return OrbitTally(
            joined=self._joined,
            left=self._left,
            time=self._time,
            inside_at_start=self._inside_at_start,
            inside_at_end=self._inside,
        )
