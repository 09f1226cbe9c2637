"""Pages that come and go, and the robots that fetch those that are known, put together.

The time of a page's end is drawn with its birth, and that of its next change when it is fetched: so
times in a state are known as soon as they begin, and no event is needed where they end.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import Protocol

from scenarios import Scenario
from scenarios.laws import Exponential
from scenarios.model import present
from scenarios.page_set import PageSet
from sim import rules
from sim.clock import Alarm, Clock
from sim.draws import sampler
from sim.engine_inputs import laws_of_robots, places_of_robots
from sim.event_log import Log, LogEvent
from sim.event_rate import require_a_short_list
from sim.laws import draws_and_mean
from sim.streams import stream
from sim.tally import PageSetTally, Tally

Draw = Callable[[], float]

_BIRTH = rules.tie_order(rules.PAGE_CHANGE, 0)
_DISCOVERY = rules.tie_order(rules.PAGE_CHANGE, 1)
_DELIVERY = rules.tie_order(rules.DELIVERY, 0)

NEVER_FETCHED = -1.0
"""As the time of a page's next change: it has no copy yet."""


def mean_at_start(section: PageSet) -> float:
    """Mean number of the pages that there are at time 0."""
    return section.birth_rate * draws_and_mean(section.lifetime)[1]


def births_of(section: PageSet) -> Exponential:
    """The law of the times between births."""
    return Exponential(mean=1.0 / section.birth_rate)


class Page:
    """A page that has become known.

    Parameters
    ----------
    number : int
        Pages are numbered in the order of their births.
    death : float
        When it vanishes.
    next_change : float
        From when on its copy is out of date; `NEVER_FETCHED`: there is none.
    """

    def __init__(self, number: int, death: float, next_change: float = NEVER_FETCHED) -> None:
        self.number = number
        self.death = death
        self.next_change = next_change
        self.is_listed = False
        self.place = 0


class PageList(Protocol):
    """The known pages, and which of them is accessed next."""

    def add(self, page: Page) -> None:
        """A page becomes known."""

    def remove(self, page: Page) -> None:
        """A page on the list was found gone."""

    def next_page(self) -> Page | None:
        """The page of the access that starts now; None where no page is known."""

    def __iter__(self) -> Iterator[Page]:
        """The listed pages."""


class DrawnList:
    """Each access draws its page among all that are known.

    Parameters
    ----------
    draw : callable
        A number between 0 and 1.
    """

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        self._pages: list[Page] = []

    def add(self, page: Page) -> None:
        """A page becomes known."""
        page.is_listed = True
        page.place = len(self._pages)
        self._pages.append(page)

    def remove(self, page: Page) -> None:
        """A page on the list was found gone; the last one takes its place."""
        page.is_listed = False
        last = self._pages.pop()
        if last is not page:
            last.place = page.place
            self._pages[page.place] = last

    def next_page(self) -> Page | None:
        """The page of the access that starts now; None where no page is known."""
        if not self._pages:
            return None
        return self._pages[rules.place_drawn(self._draw(), len(self._pages))]

    def __iter__(self) -> Iterator[Page]:
        """The listed pages."""
        return iter(self._pages)


class Template:
    """All known pages in turn; a new page waits for the next cycle (coffman1998, section 6).

    A cycle goes through its template, in which every page stands once. At its end the pages still
    listed and, after them, those that have become known meanwhile make the next template. A page
    found gone leaves it at once.
    """

    def __init__(self) -> None:
        self._template: list[Page] = []
        self._next = 0
        self._new: list[Page] = []

    def add(self, page: Page) -> None:
        """A page becomes known."""
        page.is_listed = True
        self._new.append(page)

    def remove(self, page: Page) -> None:
        """A page on the list was found gone."""
        page.is_listed = False

    def next_page(self) -> Page | None:
        """The page of the access that starts now; None where no page is known."""
        page = self._next_of_cycle()
        if page is None:
            self._template = list(self)
            self._new = []
            self._next = 0
            page = self._next_of_cycle()
        return page

    def _next_of_cycle(self) -> Page | None:
        while self._next < len(self._template):
            page = self._template[self._next]
            self._next += 1
            if page.is_listed:
                return page
        return None

    def __iter__(self) -> Iterator[Page]:
        """The listed pages."""
        for page in (*self._template, *self._new):
            if page.is_listed:
                yield page


class PagesComeAndGo:
    """The components of one replication, wired together.

    Parameters
    ----------
    scenario : Scenario
    replication, seed : int
        They select the random streams.
    log : Log, optional
        Receives every event.
    """

    def __init__(self, scenario: Scenario, replication: int, seed: int, log: Log | None) -> None:
        section = present(scenario.page_set)
        own = partial(stream, seed, replication)
        self._scenario = scenario
        self._replication = replication
        self.clock = Clock()
        self.end = scenario.run.horizon
        self._warmup = scenario.run.warmup
        self._log_event: LogEvent | None = partial(self._write, log) if log else None
        births = own("birth")
        self._at_start = int(births.poisson(mean_at_start(section)))
        self._gap = sampler(births_of(section), births)
        self._lifetime = sampler(section.lifetime, own("lifetime"))
        delay = section.delay
        self._delay = None if delay is None else sampler(delay, own("discovery"))
        self._changes = own("change")
        self._mean_change = 1.0 / section.change_rate if section.change_rate else math.inf
        is_drawn = present(scenario.model.accessing).policy == "randomized"
        self._list: PageList = DrawnList(own("accessing").random) if is_drawn else Template()
        self._access = {
            robot: sampler(law, own("access", robot))
            for law, robots in laws_of_robots(scenario, places_of_robots(scenario))
            for robot in robots
        }
        self._new: deque[Page] | None = deque() if section.first_access == "at-once" else None
        self._carried: dict[int, Page | None] = dict.fromkeys(self._access)
        self._pages = 0
        self._start_counting()

    def _start_counting(self) -> None:
        self._born = self._discovered = self._removed = 0
        self._listed_at_start = self._listed = self._accesses = self._wasted = 0
        self._existing_time = self._known_time = self._indexed_time = 0.0
        self._fresh_time = self._gone_time = 0.0

    def run(self) -> Tally:
        """Run from time 0 to the horizon, counting from the end of the warm-up."""
        self.start()
        self.clock.run_to(self.end)
        tally = self._tally()
        tally.check(self.end, len(self._access))
        return tally

    def start(self) -> None:
        """Set everything going, at time 0: what exists is known, and its copies are current."""
        for _ in range(self._at_start):
            number, death = self._number(), self._lifetime()
            self._existing_time += self._time(0.0, death)
            page = Page(number, death)
            self._list_page(0.0, page)
            self._fetch(0.0, page)
        self.clock.at(self._gap(), _BIRTH, Alarm(self.clock, self._give_birth))
        for robot in self._access:
            self._begin_access(0.0, robot, Alarm(self.clock, self._arrive, robot))

    def _number(self) -> int:
        self._pages += 1
        return self._pages - 1

    def _time(self, begin: float, end: float) -> float:
        """How much of a time lies in the window."""
        return rules.overlap(begin, end, self._warmup, self.end)

    def _give_birth(self, alarm: Alarm) -> None:
        now = alarm.time
        number, death = self._number(), now + self._lifetime()
        self._born += now > self._warmup
        self._existing_time += self._time(now, death)
        if self._log_event:
            self._log_event(now, "birth", None, number)
        discovery = now if self._delay is None else now + self._delay()
        if rules.is_discovered(discovery, death):
            self._discover_at(discovery, Page(number, death))
        self.clock.at(now + self._gap(), _BIRTH, alarm)

    def _discover_at(self, discovery: float, page: Page) -> None:
        if self._delay is None:
            self._become_known(discovery, page)
            return
        order = _DISCOVERY + page.number
        self.clock.once(discovery, order, lambda alarm: self._become_known(alarm.time, page))

    def _become_known(self, now: float, page: Page) -> None:
        self._list_page(now, page)
        if self._new is not None:
            self._new.append(page)
        if self._log_event:
            self._log_event(now, "discovery", None, page.number)

    def _list_page(self, now: float, page: Page) -> None:
        if now > self._warmup:
            self._discovered += 1
        else:
            self._listed_at_start += 1
        self._listed += 1
        require_a_short_list(self._scenario, self._listed)
        self._known_time += self._time(now, page.death)
        self._list.add(page)

    def _next_page(self) -> Page | None:
        """The page of the access that starts now; None where no page is known."""
        while self._new:
            page = self._new.popleft()
            if page.is_listed:
                return page
        return self._list.next_page()

    def _begin_access(self, now: float, robot: int, alarm: Alarm) -> None:
        self._carried[robot] = self._next_page()
        self.clock.at(now + self._access[robot](), _DELIVERY + robot, alarm)

    def _arrive(self, alarm: Alarm) -> None:
        now, robot = alarm.time, alarm.index
        page = self._carried[robot]
        if page is not None:
            self._accesses += now > self._warmup
            is_gone = rules.is_gone(page.death, now)
            if is_gone:
                self._find_gone(now, page)
            else:
                self._fetch(now, page)
            if self._log_event:
                self._log_event(now, "gone" if is_gone else "delivery", robot, page.number)
        self._begin_access(now, robot, alarm)

    def _find_gone(self, now: float, page: Page) -> None:
        self._wasted += now > self._warmup
        if not page.is_listed:  # another robot found it gone meanwhile
            return
        self._list.remove(page)
        self._listed -= 1
        if now > self._warmup:
            self._removed += 1
        else:
            self._listed_at_start -= 1
        self._gone_time += self._time(page.death, now)

    def _fetch(self, now: float, page: Page) -> None:
        """The copy holds the content at this moment."""
        if page.next_change > now:
            return
        if page.next_change == NEVER_FETCHED:
            self._indexed_time += self._time(now, page.death)
        page.next_change = self._after(now)
        self._fresh_time += self._time(now, min(page.next_change, page.death))

    def _after(self, now: float) -> float:
        if self._mean_change == math.inf:
            return math.inf
        return now + rules.draw_exponential(self._changes, self._mean_change)

    def _tally(self) -> Tally:
        for page in self._list:
            self._gone_time += self._time(page.death, self.end)
        window = self.end - self._warmup
        counted = PageSetTally(
            born=self._born,
            discovered=self._discovered,
            removed=self._removed,
            listed_at_start=self._listed_at_start,
            listed_at_end=self._listed,
            accesses=self._accesses,
            wasted=self._wasted,
            existing_time=self._existing_time,
            known_time=self._known_time,
            indexed_time=self._indexed_time,
            fresh_time=self._fresh_time,
            gone_time=self._gone_time,
        )
        robots_time = rules.time_of_robots([window], [len(self._access)])
        return Tally(window=window, robots_time=robots_time, page_set=counted)

    def _write(self, log: Log, now: float, event: str, robot: int | None, page: int | None) -> None:
        log.add((self._replication, now, event, robot, page, self._listed, len(self._access)))
