"""The robots: when pages are delivered, and how many robots are active."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from heapq import heappop, heappush
from typing import Any, Protocol

from sim import rules
from sim.active_robots import ActiveRobots, Target
from sim.buffer import Buffer
from sim.clock import Alarm, Clock
from sim.draws import stationary_phase
from sim.engine_inputs import DueLevels, DueRules, joint_events, mean_times
from sim.event_log import LogEvent
from sim.failures import Failures
from sim.frontier import Frontier
from sim.host_spacing import HostSpacing
from sim.page_source import PageSource


class AccessEnd:
    """When the accesses of a robot end.

    Parameters
    ----------
    end : callable
        When what takes a time from now on ends.
    draw : callable
        The length of an access.
    is_unchanged : callable, optional
        Whether a page is unchanged when an access to it starts, which then takes only a share of
        its length; None: all take all of it.
    share : float

    Attributes
    ----------
    same : bool or None
        What was decided of the page of the last access; None where accesses decide it at their end.
    """

    def __init__(
        self,
        end: Callable[[float, float], float],
        draw: Callable[[], float],
        is_unchanged: Callable[[float, int], bool] | None = None,
        share: float = 1.0,
    ) -> None:
        self._end = end
        self._draw = draw
        self._is_unchanged = is_unchanged
        self._share = share
        self.same: bool | None = None

    def __call__(self, now: float, page: int) -> float:
        """When an access to a page ends that starts now."""
        length = self._draw()
        if self._is_unchanged is not None:
            self.same = self._is_unchanged(now, page)
            length = rules.length_of_access(length, self._share, self.same)
        return self._end(now, length)


_DELIVERY = rules.tie_order(rules.DELIVERY, 0)
_FALLS_DUE = rules.tie_order(rules.FALLS_DUE, 0)


class Robots(Protocol):
    """What the engine asks of a fleet of robots."""

    @property
    def active(self) -> int:
        """Number of active robots now."""

    def start(self) -> None:
        """Begin the first accesses, at time 0."""

    def limit(self, now: float, active_at: Sequence[int]) -> None:
        """From now on at most this many robots are active."""

    def end_warmup(self, now: float) -> None:
        """Forget what was counted so far: the warm-up is over."""

    def robots_time(self, now: float, level_time: Sequence[float]) -> float:
        """Time integral of the active robots since the end of the warm-up."""

    def class_time(self) -> tuple[float, ...] | None:
        """That of each class, after the whole; None where classes are not told apart."""

    @property
    def switched_on(self) -> int | None:
        """Robots switched on since then; None if they are not counted."""


class _Ruled:
    """Robots of whom a rule of the level says how many are active.

    Parameters
    ----------
    clock : Clock
    buffer : Buffer or DirectIndex
    rule : ActiveRobots
    """

    def __init__(self, clock: Clock, buffer: Target, rule: ActiveRobots) -> None:
        self._clock = clock
        self._buffer = buffer
        self._rule = rule

    @property
    def active(self) -> int:
        """Number of active robots now."""
        return self._rule.number

    def limit(self, now: float, active_at: Sequence[int]) -> None:
        """Change the numbers of active robots from now on."""
        self._rule.limit(now, active_at)

    def end_warmup(self, now: float) -> None:
        """Forget what was counted so far: the warm-up is over."""
        self._rule.end_warmup(now)

    def robots_time(self, now: float, level_time: Sequence[float]) -> float:
        """Time integral of the active robots since the end of the warm-up."""
        return self._rule.time(now, level_time)

    def class_time(self) -> tuple[float, ...] | None:
        """None: classes are not told apart."""
        return None

    @property
    def switched_on(self) -> int | None:
        """Robots switched on since the end of the warm-up; None if they are not counted."""
        return self._rule.switched_on


class _Accessing(_Ruled):
    """Robots with accesses of their own, each of which fetches one page.

    Parameters
    ----------
    rule : ActiveRobots
    access_ends : mapping int -> callable
        For the number of each robot that is ever active, what draws when its access ends.
    source : PageSource
    """

    def __init__(
        self,
        clock: Clock,
        buffer: Target,
        rule: ActiveRobots,
        access_ends: Mapping[int, AccessEnd],
        source: PageSource,
    ) -> None:
        super().__init__(clock, buffer, rule)
        self._access_ends = access_ends
        self._source = source
        self._carried = dict.fromkeys(access_ends, -1)


class FreeRobots(_Accessing):
    """The level just before a delivery decides whether its robot is heard.

    A robot that is switched off keeps running, and what it would deliver is discarded: it keeps its
    page for its next access.

    Parameters
    ----------
    places : mapping int -> int
        The place of each robot in the order of activation.
    failures : Failures, optional
        Which accesses fail; none, where it is left out.
    """

    def __init__(
        self,
        clock: Clock,
        buffer: Target,
        rule: ActiveRobots,
        places: Mapping[int, int],
        access_ends: Mapping[int, AccessEnd],
        source: PageSource,
        failures: Failures | None = None,
    ) -> None:
        super().__init__(clock, buffer, rule, access_ends, source)
        self._places = places
        self._failures = failures

    def start(self) -> None:
        """Begin the first accesses, at time 0."""
        for robot, access_end in self._access_ends.items():
            self._carried[robot] = self._source.next_page(0.0)
            end = Alarm(self._clock, self._arrive, robot)
            self._clock.at(access_end(0.0, self._carried[robot]), _DELIVERY + robot, end)

    def _arrive(self, alarm: Alarm) -> None:
        robot = alarm.index
        now = alarm.time
        page = self._carried[robot]
        heard = rules.is_heard(self._places[robot], self.active)
        failures = self._failures
        another = failures.next_page(now, robot, page, heard=heard) if failures else None
        if another is not None:
            self._carried[robot] = another
        elif heard:
            load = self._source.deliver(now, page, self._access_ends[robot].same)
            self._buffer.deliver(now, (load,), robot)
            self._carried[robot] = self._source.next_page(now)
            if self._failures:
                self._failures.delivered(robot)
        end = self._access_ends[robot](now, self._carried[robot])
        self._clock.at(end, _DELIVERY + robot, alarm)


class StartedRobots(_Accessing):
    """Robots that rest while they are switched off, and take a time to start.

    One that is switched on begins its access after that time. One that is switched off gives up
    what it was doing. At time 0 nobody has to start.

    Parameters
    ----------
    places : mapping int -> int
        The place of each robot in the order of activation.
    start_ups : mapping int -> callable
        For the number of each robot, a function that draws how long it takes to start.
    failures : Failures, optional
        Which accesses fail; none, where it is left out.
    """

    def __init__(
        self,
        clock: Clock,
        buffer: Buffer,
        rule: ActiveRobots,
        places: Mapping[int, int],
        access_ends: Mapping[int, AccessEnd],
        source: PageSource,
        start_ups: Mapping[int, Callable[[], float]],
        failures: Failures | None = None,
    ) -> None:
        super().__init__(clock, buffer, rule, access_ends, source)
        self._places = places
        self._order = sorted(places, key=places.__getitem__)
        self._start_ups = start_ups
        self._failures = failures
        self._on = rule.number
        self._awaited: dict[int, Alarm] = {}
        self._starting: set[int] = set()
        buffer.level_changed = self._follow

    def start(self) -> None:
        """Begin the first accesses, at time 0."""
        for robot in self._order[: self._on]:
            self._begin(0.0, robot, self._source.next_page(0.0))

    def limit(self, now: float, active_at: Sequence[int]) -> None:
        """Change the numbers of active robots from now on."""
        super().limit(now, active_at)
        self._follow(now)

    def _follow(self, now: float) -> None:
        """Some robots may be switched off, or on."""
        self._rule.follow(now)
        for robot in self._order[self.active : self._on]:
            at_work = self._awaited.pop(robot, None) is not None
            if at_work and robot not in self._starting:
                self._source.give_up(now, self._carried[robot])
            self._starting.discard(robot)
            if self._failures:
                self._failures.delivered(robot)
        for robot in self._order[self._on : self.active]:
            self._starting.add(robot)
            self._await(robot, now + self._start_ups[robot]())
        self._on = self.active

    def _begin(self, now: float, robot: int, page: int) -> None:
        self._carried[robot] = page
        self._await(robot, self._access_ends[robot](now, page))

    def _await(self, robot: int, time: float) -> None:
        alarm = self._awaited[robot] = Alarm(self._clock, self._arrive, robot)
        self._clock.at(time, _DELIVERY + robot, alarm)

    def _arrive(self, alarm: Alarm) -> None:
        robot, now = alarm.index, alarm.time
        if self._awaited.get(robot) is not alarm:
            return
        page = self._carried[robot]
        if robot in self._starting:
            self._starting.discard(robot)
        elif (another := self._next_page(now, robot, page)) is not None:
            self._begin(now, robot, another)
            return
        else:
            del self._awaited[robot]
            load = self._source.deliver(now, page, self._access_ends[robot].same)
            self._buffer.deliver(now, (load,), robot)
            if self._failures:
                self._failures.delivered(robot)
        if rules.is_heard(self._places[robot], self._on):
            self._begin(now, robot, self._source.next_page(now))

    def _next_page(self, now: float, robot: int, page: int) -> int | None:
        """The page of the next access, if this one failed; None: it did not."""
        return self._failures.next_page(now, robot, page) if self._failures else None


class SwitchedRobots:
    """Robots switched on one at a time and never recalled (talim2001).

    A robot is switched off by its own delivery, accepted or lost. Then, and at a service
    completion, the lowest-numbered idle robot is switched on if fewer are active than the target
    of the level, both counted after the event. An access begins when its robot is switched on; a
    robot whose access fails goes on with another one.

    Parameters
    ----------
    targets : sequence of sequence of int
        Targets by level, one row per service phase (a single row where phases do not count).
    access_ends : mapping int -> callable
        For the number of each robot, what draws when its access ends.
    row_of_targets : callable
        Which row counts at a time and a level.
    source : PageSource
    log_event : callable, optional
    failures : Failures, optional
        Which accesses fail; none, where it is left out.
    class_of : sequence of int
        The class of each robot; empty where there are no classes.
    """

    def __init__(
        self,
        clock: Clock,
        buffer: Buffer,
        targets: Sequence[Sequence[int]],
        access_ends: Mapping[int, AccessEnd],
        row_of_targets: Callable[[float, int], int],
        source: PageSource,
        log_event: LogEvent | None = None,
        failures: Failures | None = None,
        class_of: Sequence[int] = (),
    ) -> None:
        self._clock = clock
        self._buffer = buffer
        self._targets = targets
        self._access_ends = access_ends
        self._row_of_targets = row_of_targets
        self._source = source
        self._log_event = log_event
        self._failures = failures
        self._carried = dict.fromkeys(access_ends, -1)
        self._alarms = {robot: Alarm(clock, self._arrive, robot) for robot in access_ends}
        self._idle: list[int] = []
        self._class_of = class_of
        self.active = len(access_ends)
        self._active_of = [class_of.count(each) for each in sorted(set(class_of))]
        self._active_since = self._robots_time = 0.0
        self._time_of = [0.0 for _ in self._active_of]
        buffer.service_completed = self._reconsider

    def start(self) -> None:
        """Begin the first accesses, at time 0: every available robot is active."""
        for robot in self._access_ends:
            self._begin_access(0.0, robot, self._source.next_page(0.0))

    def _begin_access(self, now: float, robot: int, page: int) -> None:
        self._carried[robot] = page
        end = self._access_ends[robot](now, page)
        self._clock.at(end, _DELIVERY + robot, self._alarms[robot])

    def _count(self, now: float, step: int, robot: int) -> None:
        """Close the integrals of the active robots, then change their number by a robot's."""
        self._close(now)
        self.active += step
        if self._class_of:
            self._active_of[self._class_of[robot]] += step

    def _close(self, now: float) -> None:
        lasted = now - self._active_since
        self._robots_time += self.active * lasted
        for each, active in enumerate(self._active_of):
            self._time_of[each] += active * lasted
        self._active_since = now

    def _arrive(self, alarm: Alarm) -> None:
        now = alarm.time
        robot = alarm.index
        page = self._carried[robot]
        another = self._failures.next_page(now, robot, page) if self._failures else None
        if another is not None:
            self._begin_access(now, robot, another)
            return
        self._rest(robot)
        self._count(now, -1, robot)
        load = self._source.deliver(now, page, self._access_ends[robot].same)
        self._buffer.deliver(now, (load,), robot)
        if self._failures:
            self._failures.delivered(robot)
        self._reconsider(now)

    def _rest(self, robot: int) -> None:
        """A robot is switched off."""
        heappush(self._idle, robot)

    def _next_robot(self, now: float) -> int | None:
        """The robot that is switched on now and leaves those that rest; None: nobody is."""
        level = self._buffer.level
        row = self._row_of_targets(now, level)
        wanted = self._idle and rules.switches_on(self.active, self._targets[row][level])
        return heappop(self._idle) if wanted else None

    def _reconsider(self, now: float) -> None:
        robot = self._next_robot(now)
        if robot is None:
            return
        self._count(now, 1, robot)
        self._begin_access(now, robot, self._source.next_page(now))
        if self._log_event:
            self._log_event(now, "switch-on", robot, None)

    def limit(self, now: float, active_at: Sequence[int]) -> None:
        """Nothing: no intervention limits robots that are never recalled."""

    def end_warmup(self, now: float) -> None:
        """Forget what was counted so far: the warm-up is over."""
        self._active_since = now
        self._robots_time = 0.0
        self._time_of = [0.0 for _ in self._active_of]

    def robots_time(self, now: float, level_time: Sequence[float]) -> float:  # noqa: ARG002  # same call for all fleets
        """Time integral of the active robots since the end of the warm-up."""
        self._close(now)
        return self._robots_time

    def class_time(self) -> tuple[float, ...] | None:
        """That of each class, when it was closed last; None where there are no classes."""
        return tuple(self._time_of) if self._class_of else None

    @property
    def switched_on(self) -> int | None:
        """None: their switches have no price."""
        return None


class ChosenRobots(SwitchedRobots):
    """Robots switched on one at a time, of a class that the state says.

    Parameters
    ----------
    choices : ndarray of int, shape (service phases or 1, levels, combinations)
        As `scenarios.choices.choices_of`.
    steps : sequence of int
        By how much one robot more of each class moves the place of a combination.
    """

    def __init__(self, choices: Any, steps: Sequence[int], *args: Any, **others: Any) -> None:
        super().__init__(*args, **others)
        self._choices = choices.tolist()
        self._steps = steps
        self._idle_of: list[list[int]] = [[] for _ in steps]

    def _rest(self, robot: int) -> None:
        """A robot is switched off."""
        heappush(self._idle_of[self._class_of[robot]], robot)

    def _next_robot(self, now: float) -> int | None:
        """The robot that is switched on now and leaves those that rest; None: nobody is."""
        level = self._buffer.level
        row = self._row_of_targets(now, level)
        chosen = self._choices[row][level][rules.place_of(self._active_of, self._steps)]
        return None if chosen < 0 else heappop(self._idle_of[chosen])


class PoliteRobots(_Accessing):
    """Robots that all work, and wait where no host may be accessed.

    A robot for which there is no page asks again when the next host becomes free; no time of an
    access is drawn meanwhile. Those that wait count as active.

    Parameters
    ----------
    spacing : HostSpacing
        Which page a robot fetches, and when it may.
    log_event : callable, optional
        Hears of the start of each access.
    """

    def __init__(
        self,
        clock: Clock,
        buffer: Target,
        rule: ActiveRobots,
        access_ends: Mapping[int, AccessEnd],
        source: PageSource,
        spacing: HostSpacing,
        log_event: LogEvent | None = None,
    ) -> None:
        super().__init__(clock, buffer, rule, access_ends, source)
        self._spacing = spacing
        self._log_event = log_event

    def start(self) -> None:
        """Every robot asks for its first page at time 0, the lower one first."""
        for robot in self._access_ends:
            self._clock.at(0.0, _DELIVERY + robot, Alarm(self._clock, self._arrive, robot))

    def _arrive(self, alarm: Alarm) -> None:
        robot = alarm.index
        now = alarm.time
        page = self._carried[robot]
        if page >= 0:
            load = self._source.deliver(now, page, self._access_ends[robot].same)
            self._buffer.deliver(now, (load,), robot)
        page = self._carried[robot] = self._spacing.next_page(now)
        if page < 0:
            self._clock.at(self._spacing.next_release, _DELIVERY + robot, alarm)
            return
        if self._log_event:
            self._log_event(now, "access", robot, page)
        self._clock.at(self._access_ends[robot](now, page), _DELIVERY + robot, alarm)


class DueRobots(_Accessing):
    """Robots that rest while no page is due.

    Of the active robots that rest, the first in the order of activation takes a due page. One that
    is switched off during an access ends it and delivers: what was fetched is not thrown away.

    Parameters
    ----------
    places : mapping int -> int
        The place of each robot in the order of activation.
    frontier : Frontier
    given : DueRules
    intervals, first : sequence of float
        Of each page the interval, and when it is due for the first time.
    draws : mapping int -> callable
        For the number of each robot, a function that draws a uniform number between 0 and 1: an
        access fails where it is below the probability of that. Empty where none fails.
    probability : float
    log_event : callable, optional
    """

    def __init__(
        self,
        clock: Clock,
        buffer: Target,
        rule: ActiveRobots,
        places: Mapping[int, int],
        access_ends: Mapping[int, AccessEnd],
        source: PageSource,
        frontier: Frontier,
        given: DueRules,
        intervals: Sequence[float],
        first: Sequence[float],
        draws: Mapping[int, Callable[[], float]],
        probability: float,
        log_event: LogEvent | None = None,
    ) -> None:
        super().__init__(clock, buffer, rule, access_ends, source)
        self.frontier = frontier
        self._given = given
        self._places = places
        self._intervals = intervals
        self._first = first
        self._draws = draws
        self._probability = probability
        self._log_event = log_event
        self._idle = sorted((place, robot) for robot, place in places.items())
        self._alarms = {robot: Alarm(clock, self._arrive, robot) for robot in access_ends}
        self._began = dict.fromkeys(access_ends, 0.0)
        self._timed_out = dict.fromkeys(access_ends, False)
        self._pause = [0.0] * len(intervals)
        self._delivering = False
        buffer.level_changed = self._dispatch

    def start(self) -> None:
        """Wait for the first page to fall due."""
        for page, time in enumerate(self._first):
            self._await(page, time)

    def _await(self, page: int, time: float) -> None:
        """The page falls due then; inf: never."""
        if time < math.inf:
            self._clock.at(time, _FALLS_DUE + page, Alarm(self._clock, self._fall_due, page))

    def limit(self, now: float, active_at: Sequence[int]) -> None:
        """Change the number of active robots at each level from now on."""
        super().limit(now, active_at)
        self._dispatch(now)

    def end_warmup(self, now: float) -> None:
        """Forget what was counted so far: the warm-up is over."""
        super().end_warmup(now)
        self.frontier.end_warmup(now)

    def _fall_due(self, alarm: Alarm) -> None:
        self.frontier.add(alarm.time, alarm.index)
        if self._log_event:
            self._log_event(alarm.time, "due", None, alarm.index)
        self._dispatch(alarm.time)

    def _dispatch(self, now: float) -> None:
        """Robots that rest take the due pages, while there are such robots and such pages."""
        if self._delivering:
            return
        self._rule.follow(now)
        while self._idle and rules.is_heard(self._idle[0][0], self.active):
            page = self.frontier.take(now)
            if page < 0:
                return
            self._begin(now, heappop(self._idle)[1], page)

    def _begin(self, now: float, robot: int, page: int) -> None:
        self._carried[robot] = page
        self._began[robot] = now
        if self._log_event:
            self._log_event(now, "access", robot, page)
        end, latest = self._access_ends[robot](now, page), now + self._given.timeout
        self._timed_out[robot] = end > latest
        self._clock.at(min(end, latest), _DELIVERY + robot, self._alarms[robot])
        release = self.frontier.release_of(page)
        if release > now:
            order = _FALLS_DUE + len(self._intervals)
            self._clock.once(release, order, lambda alarm: self._dispatch(alarm.time))

    def _arrive(self, alarm: Alarm) -> None:
        robot, now = alarm.index, alarm.time
        page = self._carried[robot]
        if self._fails(robot):
            if self._log_event:
                self._log_event(now, "failure", robot, page)
            given = self._given.first, self._given.factor, self._given.most
            self._pause[page] = rules.next_pause(self._pause[page], *given)
        else:
            self._pause[page] = 0.0
            self._delivering = True
            load = self._source.deliver(now, page, self._access_ends[robot].same)
            self._buffer.deliver(now, (load,), robot)
            self._delivering = False
        self._end(now, robot)
        heappush(self._idle, (self._places[robot], robot))
        self._dispatch(now)

    def _end(self, now: float, robot: int) -> None:
        """An access ends; its page is due again some time."""
        page = self._carried[robot]
        self.frontier.end(now)
        again = rules.next_due(
            now,
            self._began[robot],
            self._intervals[page],
            self._pause[page],
            self._given.from_start,
        )
        self._await(page, again)

    def _fails(self, robot: int) -> bool:
        """Whether an access that ends now failed; where some may, a number is drawn for each."""
        failed = bool(self._draws) and rules.fails(self._probability, self._draws[robot]())
        return failed or self._timed_out[robot]


class ListeningRobots(DueRobots):
    """Robots that rest while no page is due, which a signal may bring about sooner.

    A page is due when its hazard reaches its level, by its age or by a signal. Only the back-off of
    an access that failed no signal ends.

    Parameters
    ----------
    levels : DueLevels
    since : sequence of float
        When the age of each page begins that it has at time 0.
    *args : object
        As of `DueRobots`; intervals are the times after which pages are due by their age alone.
    """

    def __init__(self, levels: DueLevels, since: list[float], *args: Any) -> None:
        super().__init__(*args)
        self._levels = levels
        self._since = since
        self._jump = [0.0] * len(self._since)
        self._awaited: list[Alarm | None] = [None] * len(self._since)

    def _await(self, page: int, time: float) -> None:
        alarm = self._awaited[page] = Alarm(self._clock, self._fall_due, page)
        if time < math.inf:
            self._clock.at(time, _FALLS_DUE + page, alarm)

    def _fall_due(self, alarm: Alarm) -> None:
        if alarm is self._awaited[alarm.index]:
            self._awaited[alarm.index] = None
            super()._fall_due(alarm)

    def _end(self, now: float, robot: int) -> None:
        page = self._carried[robot]
        self._since[page] = self._began[robot] if self._given.from_start else now
        self._jump[page] = 0.0
        super()._end(now, robot)

    def hear(self, now: float, page: int) -> None:
        """A signal is heard."""
        if rules.is_news(now - self._since[page], self._levels.delay):
            self._jump[page] += float(self._levels.worth[page])
        if self._awaited[page] is not None and self._pause[page] == 0.0:
            age = self._levels.age(page, self._jump[page])
            self._await(page, max(self._since[page] + age, now))


class JointRobots(_Ruled):
    """All robots together deliver as a batch Markovian process, one per number of active robots.

    The phase is common and kept at a change of mode; each phase event takes one exponential and
    one uniform, and the exponential is drawn again at a change of mode only.

    Parameters
    ----------
    rule : ActiveRobots
    modes : ndarray, shape (robots + 1, largest batch + 1, order, order)
        D0, D1, … for each number of active robots.
    used : sequence of int
        Numbers of robots that are active at some time.
    first : int
        The number whose stationary law the first phase has.
    stream : Generator
    source : PageSource
        Asked for the page of a delivery at that moment.
    end : callable
        When what takes a time from now on ends.
    """

    def __init__(
        self,
        clock: Clock,
        buffer: Target,
        rule: ActiveRobots,
        modes: Any,
        used: Sequence[int],
        first: int,
        stream: Any,
        source: PageSource,
        end: Callable[[float, float], float],
    ) -> None:
        super().__init__(clock, buffer, rule)
        self._source = source
        self._stream = stream
        self._end = end
        self._order = modes.shape[2]
        self._means = {mode: mean_times(modes[mode]) for mode in used}
        self._next = {mode: joint_events(modes[mode]) for mode in used}
        self._mode = rule.number
        self._phase = stationary_phase(modes[first].sum(axis=0), stream)
        self._pending: Alarm | None = None
        self._in_event = False
        if len(used) > 1:
            buffer.level_changed = self._follow_level

    def limit(self, now: float, active_at: Sequence[int]) -> None:
        """Change the active robots at each level from now on: perhaps another mode."""
        super().limit(now, active_at)
        self._follow_level(now)

    def start(self) -> None:
        """Wait for the first phase event."""
        self._await_event(0.0)

    def _await_event(self, now: float) -> None:
        mean = self._means[self._mode][self._phase]
        if mean is None:
            self._pending = None
            return
        self._pending = Alarm(self._clock, self._change_phase)
        end = self._end(now, rules.draw_exponential(self._stream, mean))
        self._clock.at(end, _DELIVERY, self._pending)

    def _change_phase(self, alarm: Alarm) -> None:
        if alarm is not self._pending:
            return
        now = alarm.time
        chosen = rules.pick(self._next[self._mode][self._phase], self._stream.random())
        batch, self._phase = divmod(chosen, self._order)
        if batch:
            self._in_event = True
            source = self._source
            pages = tuple(source.deliver(now, source.next_page(now)) for _ in range(batch))
            self._buffer.deliver(now, pages)
            self._in_event = False
        self._enter(now, self._wanted(now))
        self._await_event(now)

    def _wanted(self, now: float) -> int:
        self._rule.follow(now)
        return self._rule.number

    def _enter(self, now: float, mode: int) -> None:  # noqa: ARG002  # others count their time
        self._mode = mode

    def _follow_level(self, now: float) -> None:
        mode = self._wanted(now)
        if mode != self._mode and not self._in_event:
            self._enter(now, mode)
            self._await_event(now)
