"""The pages: when they change, and when the copies in the index are out of date.

Changes are sampled lazily and exactly: the time of a page's first change after its last delivery
is all that matters, and it stays valid until it has passed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from sim import rules
from sim.clock import Alarm, Clock
from sim.event_log import LogEvent
from sim.sojourn_times import TimeCounter
from sim.speeds import end_at_full_speed
from sim.tally import AgesTally, PagesTally, TimesTally

_CHANGE = rules.tie_order(rules.PAGE_CHANGE, 0)


class Copy(NamedTuple):
    """A delivered copy of a page.

    `number` counts the deliveries, so that a later copy is newer; `delivered` is when this one was;
    it is out of date from `stale_from` on.
    """

    page: int
    number: int
    stale_from: float
    delivered: float


Load = Copy | None
"""What a robot delivers: a copy of a page, or a page without identity."""


class Pages:
    """All pages and their copies in the index.

    Parameters
    ----------
    change_rates : sequence of float
        A page with rate 0 never changes, and nothing is drawn for it.
    stream : Generator
        The stream "change"; one draw per page at time 0, in page order.
    end : callable, optional
        When what takes a time from now on ends, at the speed of changes.
    next_commit : callable, optional
        When what is indexed now can be searched; None: at once.
    counter_of_times : callable, optional
        Makes a counter of the times until changes can be searched, where quantiles are asked for.
    by_page : bool
        Whether that has a row for each page.
    counts_found : bool
        Whether it counts which deliveries were of a page that had changed.
    signalled : sequence of float, optional
        Of each page the next change that has a signal, kept up by others; all others are drawn
        here, at the `change_rates`.
    """

    def __init__(
        self,
        change_rates: Sequence[float],
        stream: Any,
        end: Callable[[float, float], float] = end_at_full_speed,
        next_commit: Callable[[float], float] | None = None,
        counter_of_times: Callable[[], TimeCounter] | None = None,
        by_page: bool = True,
        counts_found: bool = False,
        signalled: Sequence[float] | None = None,
    ) -> None:
        self._signalled = signalled
        self._counter_of_times = counter_of_times
        self._by_page = by_page
        self._counts_found = counts_found
        self._next_commit = next_commit
        self._uncommitted: dict[int, tuple[float, Copy]] = {}
        self._end = end
        self._means = [1.0 / rate if rate > 0 else math.inf for rate in change_rates]
        self._stream = stream
        self._next_change = [self._after(0.0, page) for page in range(len(self._means))]
        self._stale_from = [self._first_change(page) for page in range(len(self._means))]
        self._unseen_from = list(self._stale_from)
        self._newest = [-1] * len(self._means)
        self._fetched_until = list(self._stale_from)
        self._delivered = [0.0] * len(self._means)
        self._copies = 0
        self.change_drawn: Callable[[int, float], None] | None = None
        self._window_start = 0.0
        self._start_counting(0.0)

    def _after(self, now: float, page: int) -> float:
        mean = self._means[page]
        if mean == math.inf:
            return math.inf
        return self._end(now, rules.draw_exponential(self._stream, mean))

    def deliver(self, now: float, page: int, same: bool | None = None) -> Copy:
        """The copy that a robot brings: the content at this moment.

        Whether it is the `same` as before may have been decided when the access started.
        """
        self._deliveries[page] += 1
        if not (self.is_unchanged(now, page) if same is None else same):
            self._found[page] += 1
        if self._next_change[page] <= now:
            self._next_change[page] = self._after(now, page)
            if self.change_drawn:
                self.change_drawn(page, self._next_change[page])
        number = self._copies
        self._copies = number + 1
        self._fetched_until[page] = self._first_change(page)
        return Copy(page, number, self._fetched_until[page], now)

    def is_unchanged(self, now: float, page: int) -> bool:
        """Whether a page is as it was at its last delivery, at time 0 before the first."""
        return self._fetched_until[page] > now

    def _first_change(self, page: int) -> float:
        """When a page changes next, with a signal or without."""
        change = self._next_change[page]
        return change if self._signalled is None else min(change, self._signalled[page])

    def index(self, now: float, copy: Copy) -> None:
        """The indexing of a copy ends; an older copy never overwrites a newer one."""
        if copy.number < self._newest[copy.page]:
            return
        self._newest[copy.page] = copy.number
        if self._next_commit is None:
            self._make_searchable(now, copy)
        else:
            self._commit(now, copy.page)
            self._uncommitted[copy.page] = self._next_commit(now), copy

    def _commit(self, now: float, page: int) -> None:
        """Make up for a commit that has been since a copy of the page was indexed."""
        if page in self._uncommitted and self._uncommitted[page][0] <= now:
            self._make_searchable(*self._uncommitted.pop(page))

    def _commit_all(self, now: float) -> None:
        for page in list(self._uncommitted):
            self._commit(now, page)

    def _make_searchable(self, now: float, copy: Copy) -> None:
        """A copy that is out of date by now leaves the page as stale as it was."""
        page, _, stale_from, delivered = copy
        self._grow_older(now, page)
        self._delivered[page] = delivered
        unseen_from = self._unseen_from[page]
        if rules.holds_change(stale_from, delivered, unseen_from):
            self._refreshes[page] += 1
            counted_from = max(unseen_from, self._window_start)
            self._refresh_time[page] += now - counted_from
            self._waited_before[page] += counted_from - unseen_from
            if self._times:
                self._times.add(page if self._by_page else 0, now - unseen_from)
            self._unseen_from[page] = stale_from
        if stale_from > now:
            self._close(now, page)
            self._stale_from[page] = stale_from

    def _close(self, now: float, page: int) -> None:
        stale_from = self._stale_from[page]
        if stale_from < now:
            self._stale_time[page] += now - max(stale_from, self._window_start)

    def _grow_older(self, now: float, page: int) -> None:
        """Count the ages of the copy in the index up to now; the first is as if delivered at 0."""
        since = self._age_since[page]
        delivered = self._delivered[page]
        self._age_time[page] += (now - since) * ((now + since) / 2.0 - delivered)
        self._age_since[page] = now

    def is_stale(self, now: float, page: int) -> bool:
        """Whether the copy in the index is out of date."""
        self._commit(now, page)
        return self._stale_from[page] <= now

    def _start_counting(self, now: float) -> None:
        self._window_start = now
        self._deliveries = [0] * len(self._means)
        self._found = [0] * len(self._means)
        self._stale_time = [0.0] * len(self._means)
        self._refreshes = [0] * len(self._means)
        self._refresh_time = [0.0] * len(self._means)
        self._waited_before = [0.0] * len(self._means)
        self._times = self._counter_of_times() if self._counter_of_times else None
        self._age_since = [now] * len(self._means)
        self._age_time = [0.0] * len(self._means)

    def end_warmup(self, now: float) -> None:
        """Forget what was counted so far: the warm-up is over."""
        self._commit_all(now)
        self._start_counting(now)

    @property
    def next_changes(self) -> list[float]:
        """For each page the time of its first change without a signal after its last delivery."""
        return self._next_change

    @property
    def deliveries(self) -> list[int]:
        """Deliveries of each page since the warm-up."""
        return self._deliveries

    def tally(self, now: float) -> PagesTally:
        """What was counted from the end of the warm-up to now."""
        self._commit_all(now)
        for page in range(len(self._means)):
            self._close(now, page)
        waited = np.add(self._refresh_time, self._waited_before)
        counted = (self._deliveries, self._stale_time, self._refreshes, waited)
        found = self._found if self._counts_found else np.zeros(0, np.int64)
        return PagesTally(*map(np.array, (*counted, found)))

    def refresh_times(self) -> TimesTally | None:
        """How long changes had to wait that became searchable since the end of the warm-up."""
        return self._times.tally() if self._times else None

    def ages(self, now: float) -> AgesTally:
        """How old the copies in the index were from the end of the warm-up to now."""
        for page in range(len(self._means)):
            self._grow_older(now, page)
        return AgesTally(np.array(self._age_time))


class DirectIndex:
    """Without a buffer each delivery refreshes the index at once."""

    level = 0

    def __init__(
        self,
        pages: Pages,
        log_event: LogEvent | None,
    ) -> None:
        self._pages = pages
        self._log_event = log_event
        self._since = 0.0
        self.level_changed: Callable[[float], None] | None = None
        self.service_completed: Callable[[float], None] | None = None

    def deliver(self, now: float, loads: tuple[Load, ...], robot: int | None = None) -> None:
        """A robot brings a batch."""
        for load in loads:
            assert load is not None
            self._pages.index(now, load)
            if self._log_event:
                self._log_event(now, "delivery", robot, load.page)

    def end_warmup(self, now: float) -> None:
        """Forget what was counted so far: the warm-up is over."""
        self._since = now

    def time_at_levels(self, now: float) -> list[float]:
        """Time from the end of the warm-up to now, all of it at the one level that there is."""
        return [now - self._since]


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
