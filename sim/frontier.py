"""The frontier: pages that are due and wait for a robot, and what is counted about them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sim import rules
from sim.engine_inputs import DueRules
from sim.sojourn_times import TimeCounter
from sim.tally import FrontierTally, TimesTally


class Frontier:
    """The due pages that wait, in the order in which they fell due.

    A page whose host may not be accessed yet is passed over.

    Parameters
    ----------
    given : DueRules
    intervals, priorities : sequence of float
        Of each page.
    hosts : sequence of int
        The host of each page; empty where they want no spacing.
    spacing : sequence of float
        Least time between the starts of two accesses at each host.
    followed : int
        Pages whose own delays are kept: all, or none.
    octave : int or None
        That of the horizon, where quantiles of the delays are asked for.
    """

    def __init__(
        self,
        given: DueRules,
        intervals: Sequence[float],
        priorities: Sequence[float],
        hosts: Sequence[int],
        spacing: Sequence[float],
        followed: int,
        octave: int | None,
    ) -> None:
        self._given = given
        self._caught_up = math.inf
        self._intervals = intervals
        self._priorities = priorities
        self._hosts = hosts
        self._spacing = spacing
        self._busy_until = [0.0] * len(spacing)
        self._due: dict[int, float] = {}
        self._followed = followed
        self._octave = octave
        self.busy = 0
        self._since = self._delay = self._waiting_time = self._busy_time = 0.0
        self._begin_counting(0.0)

    @property
    def waiting(self) -> int:
        """Due pages that wait."""
        return len(self._due)

    def add(self, now: float, page: int) -> None:
        """A page falls due."""
        self._count(now)
        self._due[page] = now
        self._fell_due += 1

    def take(self, now: float) -> int:
        """The page of the access that begins now; -1 where no page may be accessed."""
        free = (page for page in self._due if self._may_start(now, page))
        if self._given.order == rules.FIRST_DUE:
            page = next(free, -1)
        else:
            page = max(free, key=lambda each: self._urgency(now, each), default=-1)
        if page >= 0:
            self._start(now, page)
        return page

    def release_of(self, page: int) -> float:
        """Until when the host of a page is to be left alone, whose access has just begun."""
        return self._busy_until[self._hosts[page]] if self._hosts else 0.0

    def end(self, now: float) -> None:
        """An access ends."""
        self._count(now)
        self.busy -= 1

    def _may_start(self, now: float, page: int) -> bool:
        return not self._hosts or rules.is_free(now, self._busy_until[self._hosts[page]])

    def _urgency(self, now: float, page: int) -> float:
        overdue = now - self._due[page]
        return rules.urgency(
            self._given.order, overdue, self._intervals[page], self._priorities[page]
        )

    def _start(self, now: float, page: int) -> None:
        self._count(now)
        delay = now - self._due.pop(page)
        self.busy += 1
        self._started += 1
        self._delay += delay
        if self._followed:
            self._page_started[page] += 1
            self._page_delay[page] += delay
        if self._times:
            self._times.add(page if self._followed else 0, delay)
        if self._hosts:
            self._busy_until[self._hosts[page]] = now + self._spacing[self._hosts[page]]

    def _count(self, now: float) -> None:
        """Close the integrals."""
        lasted = now - self._since
        self._caught_up = min(self._caught_up, self._catch_up(now))
        self._waiting_time += self.waiting * lasted
        self._busy_time += self.busy * lasted
        self._since = now

    def _catch_up(self, now: float) -> float:
        given = self._given
        return rules.caught_up_after(self._since, now, self.waiting, given.ended, given.caught_up)

    def _begin_counting(self, now: float) -> None:
        self._since = now
        self._waiting_at_start = self.waiting
        self._fell_due = self._started = 0
        self._delay = self._waiting_time = self._busy_time = 0.0
        self._page_started = [0] * self._followed
        self._page_delay = [0.0] * self._followed
        self._times = None if self._octave is None else TimeCounter(self._octave)

    def end_warmup(self, now: float) -> None:
        """Forget what was counted so far: the warm-up is over."""
        self._begin_counting(now)

    def delays(self) -> TimesTally | None:
        """How long the pages waited whose accesses began since the end of the warm-up."""
        return self._times.tally() if self._times else None

    def tally(self, now: float) -> FrontierTally:
        """What was counted from the end of the warm-up to now."""
        self._count(now)
        return FrontierTally(
            fell_due=self._fell_due,
            started=self._started,
            waiting_at_start=self._waiting_at_start,
            waiting_at_end=self.waiting,
            delay=self._delay,
            caught_up=int(self._caught_up < math.inf),
            catch_up=self._caught_up if self._caught_up < math.inf else 0.0,
            waiting_time=self._waiting_time,
            busy_time=self._busy_time,
            page_started=np.array(self._page_started, dtype=np.int64),
            page_delay=np.array(self._page_delay),
        )
