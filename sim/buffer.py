"""The indexing engine: its servers, a finite buffer, and an obsolescence timer per waiting page."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from sim import rules
from sim.clock import Alarm, Clock
from sim.event_log import LogEvent
from sim.law_counter import LawCounter
from sim.orbit import Orbit
from sim.page_classes import ClassLine, Item, PageClasses
from sim.pages import Load, Pages
from sim.sojourn_times import TimeCounter
from sim.tally import BufferTally, TimesTally

Draw = Callable[[], float]

SERVICE = rules.tie_order(rules.SERVICE, 0)
_OBSOLESCENCE = rules.tie_order(rules.OBSOLESCENCE, 0)


@dataclass(frozen=True, slots=True)
class BufferRules:
    """What does not change during a run: sizes, admission, discipline, and the times.

    `service` says when the indexing of a page that starts now ends.

    `obsolescence` is None where no timer is drawn; `page_change` drops a waiting copy when its
    original changes. `top` is the highest level, `octave` that of the horizon
    (`sim.rules.time_bin`).
    """

    servers: int
    capacity: int
    top: int
    admission: int
    order: int
    push_out: bool
    push_out_last: bool
    replace: bool
    page_change: bool
    octave: int
    service: Callable[[float, Load], float]
    obsolescence: Draw | None


class Buffer:
    """The pages in the system.

    `level` is their number, those in service included. A page that finds a server free, the first
    of several, starts at once and never has an obsolescence timer; the timer of a waiting page is
    discarded when its service starts.

    Parameters
    ----------
    clock : Clock
    fixed : BufferRules
    pages : Pages, optional
        Whose index is refreshed when an indexing ends.
    log_event : callable, optional
        Writes the event log: time, event, robot, page.
    laws : LawCounter, optional
        Counts sojourn times, cycle times and levels at arrivals.
    classes : PageClasses, optional
        Says of which class pages are, where that matters.
    orbit : Orbit, optional
        Of pages that find no room, and come back.
    """

    def __init__(
        self,
        clock: Clock,
        fixed: BufferRules,
        pages: Pages | None = None,
        log_event: LogEvent | None = None,
        laws: LawCounter | None = None,
        classes: PageClasses | None = None,
        orbit: Orbit | None = None,
    ) -> None:
        self._clock = clock
        self._fixed = fixed
        self._pages = pages
        self._log_event = log_event
        self._laws = laws
        self._classes = classes
        self._orbit = orbit
        if orbit:
            orbit.comes_back = self._comes_back
        self._service_end = fixed.service
        self._draw_obsolescence = fixed.obsolescence
        self.level_changed: Callable[[float], None] | None = None
        self.timer_started: Callable[[int, float], None] | None = None
        self.service_completed: Callable[[float], None] | None = None
        self.level = 0
        self._level_since = 0.0
        self._entered = 0
        self._in_service: list[Item | None] = [None] * fixed.servers
        self._waiting: OrderedDict[int, Item] | ClassLine = OrderedDict()
        if classes:
            self._waiting = ClassLine(classes.count)
        self._number_of: dict[int, int] = {}
        self._service_ends = [
            Alarm(clock, self._complete_service, server) for server in range(fixed.servers)
        ]
        self._start_counting(0.0)

    @property
    def waiting(self) -> Collection[Item]:
        """The pages that wait, in line."""
        return self._waiting.values()

    @property
    def in_service(self) -> Iterator[tuple[int, Item, float]]:
        """Each page in service: its server, the page, and when the service ends."""
        for server, item in enumerate(self._in_service):
            if item:
                yield server, item, self._service_ends[server].time

    @property
    def top(self) -> int:
        """The highest level that can be reached."""
        return self._fixed.top

    def deliver(self, now: float, loads: Sequence[Load], robot: int | None = None) -> None:
        """A robot brings a batch; its pages enter in their order, as far as the rules admit."""
        self._delivered += len(loads)
        if self._fixed.replace:
            for load in loads:
                if not self._replaces(now, load, robot):
                    self._admit(now, (load,), robot)
        else:
            self._admit(now, loads, robot)

    def _admit(self, now: float, loads: Sequence[Load], robot: int | None) -> None:
        fixed = self._fixed
        entering = 0
        taken = self._places_taken()
        if taken < fixed.capacity:
            entering = rules.admitted(len(loads), taken, fixed.capacity, fixed.admission)
        if self._laws:
            self._laws.count_arrivals(self.level, len(loads), entering)
        if entering:
            self._enter(now, loads[:entering], robot)
        for load in loads[entering:]:
            self._overflow(now, load, robot)

    def _places_taken(self) -> int:
        """Places, those of the servers included, that a new page cannot have."""
        return self.level

    def _free_servers(self) -> int:
        """Servers at which new pages start at once."""
        return self._fixed.servers - self.level

    def _comes_back(self, now: float, load: Load) -> bool:
        """A page in orbit tries again; whether it has entered."""
        fixed = self._fixed
        taken = self._places_taken()
        if not rules.admitted(1, taken, fixed.capacity, fixed.admission):
            return False
        self._enter(now, (load,), None, "retrial")
        return True

    def _enter(
        self, now: float, loads: Sequence[Load], robot: int | None, event: str = "delivery"
    ) -> None:
        if self._laws and self.level == 0:
            self._laws.count_cycle(now)
        free = self._free_servers()
        self._change_level(now, len(loads))
        for load in loads:
            number = self._entered
            self._entered = number + 1
            group = self._class_of(load)
            if free > 0:
                self._start_service(now, self._in_service.index(None), (number, now, load, group))
                free -= 1
            else:
                self._wait(now, number, load, group)
            if self._log_event:
                self._log_event(now, event, robot, _shown(number, load))
        if self.level_changed:
            self.level_changed(now)

    def _overflow(self, now: float, load: Load, robot: int | None) -> None:
        """A page that finds no room: lost, or pushing out another one."""
        number = self._entered
        group = self._class_of(load)
        victim = self._pushed_out_by(group)
        if victim is None and self._orbit and self._orbit.has_room:
            self._orbit.join(now, load)
            if self._log_event:
                self._log_event(now, "orbit", robot, None if load is None else load.page)
            return
        if victim is None:
            self._refused += 1
            if self._classes:
                self._classes.count_refused(group)
            if self._log_event:
                self._log_event(now, "loss", robot, None if load is None else load.page)
            return
        self._entered = number + 1
        item = self._leave(victim)
        self._end(rules.PUSHED_OUT, now, item)
        self._wait(now, number, load, group)
        if self._log_event:
            self._log_event(now, "push-out", None, _shown(item[0], item[2]))
            self._log_event(now, "delivery", robot, _shown(number, load))

    def _pushed_out_by(self, group: int) -> int | None:
        """Who makes room for a page of a class: the oldest, or the last in line; None: nobody."""
        if self._waiting and self._fixed.push_out:
            return next(iter(self._waiting))
        if self._waiting and self._fixed.push_out_last:
            last = next(reversed(self._waiting))
            return last if rules.pushes_out_by_class(group, self._waiting[last][3]) else None
        return None

    def _class_of(self, load: Load) -> int:
        return self._classes.of(load) if self._classes else 0

    def _replaces(self, now: float, load: Load, robot: int | None) -> bool:
        """A newer copy takes the place of its own waiting older copy, if there is one."""
        assert load is not None
        number = self._number_of.get(load.page)
        if number is None:
            return False
        if self._laws:
            self._laws.count_arrivals(self.level, pages=1, entering=0)
        older = self._waiting[number]
        self._end(rules.REPLACED, now, older)
        self._wait(now, number, load, older[3])
        if self._log_event:
            self._log_event(now, "replacement", robot, load.page)
        return True

    def _wait(self, now: float, number: int, load: Load, group: int) -> None:
        item = (number, now, load, group)
        self._waiting[number] = item
        if self._fixed.replace and load is not None:
            self._number_of[load.page] = number
        if self._draw_obsolescence:
            self._start_timer(now + self._draw_obsolescence(), item)
        elif self._fixed.page_change and load is not None and load.stale_from < math.inf:
            self._start_timer(load.stale_from, item)

    def _start_timer(self, due: float, item: Item) -> None:
        """The obsolescence timer of a page; it means nothing once the page waits no longer."""

        def expire(alarm: Alarm) -> None:
            if self._waiting.get(item[0]) is item:
                self._expire(alarm.time, item)

        self._clock.once(due, _OBSOLESCENCE + item[0], expire)
        if self.timer_started:
            self.timer_started(item[0], due)

    def _expire(self, now: float, item: Item) -> None:
        self._leave(item[0])
        self._end(rules.OBSOLETE, now, item)
        self._change_level(now, -1)
        if self._log_event:
            self._log_event(now, "obsolescence", None, _shown(item[0], item[2]))
        if self.level_changed:
            self.level_changed(now)

    def _leave(self, number: int) -> Item:
        item = self._waiting.pop(number)
        if (load := item[2]) is not None:
            self._number_of.pop(load.page, None)
        return item

    def _start_service(self, now: float, server: int, item: Item) -> None:
        self._in_service[server] = item
        end = self._service_ends[server]
        self._clock.at(self._service_end(now, item[2]), SERVICE + server, end)

    def _complete_service(self, alarm: Alarm) -> None:
        now = alarm.time
        server = alarm.index
        served = self._in_service[server]
        assert served is not None
        load = served[2]
        self._end(rules.SERVED, now, served)
        if load is not None and self._pages:
            self._pages.index(now, load)
        self._change_level(now, -1)
        if waiting := self._waiting:
            ends = next(iter(waiting)), next(reversed(waiting))
            following = rules.next_in_line(self._fixed.order, *ends)
            self._start_service(now, server, self._leave(following))
        else:
            self._in_service[server] = None
        self._tell_of_service(now, (served,))

    def _tell_of_service(self, now: float, served: Sequence[Item]) -> None:
        if self._log_event:
            for number, _, load, _ in served:
                self._log_event(now, "service", None, _shown(number, load))
        if self.level_changed:
            self.level_changed(now)
        if self.service_completed:
            self.service_completed(now)

    def _change_level(self, now: float, step: int) -> None:
        self._level_time[self.level] += now - self._level_since
        self._level_since = now
        self.level += step

    def _end(self, fate: int, now: float, item: Item) -> None:
        sojourn = now - item[1]
        self._ended[fate] += 1
        self._sojourn[fate] += sojourn
        self._square[fate] += sojourn * sojourn
        self._times.add(fate, sojourn)
        if self._laws:
            self._laws.count_time(fate, sojourn)
        if self._classes:
            self._classes.count_end(item[3], fate, sojourn)

    def _start_counting(self, now: float) -> None:
        self._delivered = self._refused = 0
        self._ended = [0] * 4
        self._sojourn = [0.0] * 4
        self._square = [0.0] * 4
        self._times = TimeCounter(self._fixed.octave)
        self._level_time = [0.0] * (self._fixed.top + 1)
        self._level_since = now
        self._inside_at_start, self._age_at_start = self.level, self._total_age(now)

    def _total_age(self, now: float) -> float:
        """Time since entry, summed over the pages in the system."""
        total = 0.0
        for _, item, _ in self.in_service:
            total += now - item[1]  # not `sum`, which newer Pythons compensate
        for item in self._waiting.values():
            total += now - item[1]
        return total

    def end_warmup(self, now: float) -> None:
        """Forget what was counted so far: the warm-up is over."""
        self._start_counting(now)
        if self._laws:
            self._laws.end_warmup()
        if self._classes:
            self._classes.end_warmup()

    def counts(self) -> tuple[int, ...]:
        """Pages delivered, lost, indexed, dropped as obsolete and replaced since the warm-up."""
        lost = self._refused + self._ended[rules.PUSHED_OUT]
        others = (rules.SERVED, rules.OBSOLETE, rules.REPLACED)
        return self._delivered, lost, *(self._ended[fate] for fate in others)

    def time_at_levels(self, now: float) -> list[float]:
        """Time with 0, 1, … pages in the system from the end of the warm-up to now."""
        self._change_level(now, 0)
        return self._level_time

    def sojourns(self) -> TimesTally:
        """How long the pages were in the system that ended since the end of the warm-up."""
        return self._times.tally()

    def tally(self, now: float) -> BufferTally:
        """What was counted from the end of the warm-up to now."""
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


def _shown(number: int, load: Load) -> int:
    """How the event log names a page: by its index, or by its running number."""
    return number if load is None else load.page
