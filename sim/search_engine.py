"""Pages, robots, activation, buffer and clients put together for one replication."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from scenarios import Scenario
from scenarios.activation import Free, Switching
from scenarios.choices import choices_of, class_sizes, steps_of
from scenarios.deliveries import modes_of
from scenarios.fleet import class_of_each
from scenarios.interventions import FACTORS
from scenarios.law_points import LawPoints
from scenarios.laws import Distribution, Exponential
from scenarios.model import Batch, Queue, Rest, present
from scenarios.page_data import PageData, host_spacings, page_service_times
from scenarios.page_groups import only_sums
from scenarios.sections import PageSize
from sim import rules
from sim.active_robots import ActiveByLevel, ActiveByThresholds, ActiveRobots
from sim.batches import BatchBuffer, BatchRules
from sim.buffer import Buffer, BufferRules
from sim.clients import Clients
from sim.clock import Alarm, Clock
from sim.course import Course
from sim.draws import TrackedService, sampler
from sim.engine_inputs import (
    begin_of_ages,
    buffer_flags,
    counts_found,
    counts_unchanged,
    due_after,
    due_rules,
    end_of_run,
    first_commit,
    first_due,
    first_signals,
    horizon_octave,
    keeps_delays,
    keeps_refresh_times,
    laws_of_robots,
    levels_of,
    limits_over_time,
    means_of_signals,
    modes_in_use,
    over_time,
    pages_of_frontier,
    places_of_robots,
    query_sums,
    robots_at_levels,
    robots_when_empty,
    service_by_phase,
    share_of_time,
    silent_rates,
    some_indexers_stop,
    told_apart,
    top_level,
)
from sim.environment import Path, as_lists, draw_path
from sim.event_log import Log
from sim.failures import Failures
from sim.frontier import Frontier
from sim.host_spacing import HostSpacing
from sim.law_counter import LawCounter
from sim.limited_indexers import LimitedBuffer
from sim.orbit import Orbit
from sim.page_classes import PageClasses
from sim.page_source import AnonymousPages, ChosenPages, PageSource, sequence_blocks
from sim.pages import DirectIndex, Load, PageChanges, Pages
from sim.rests import RestingBuffer, RestRules
from sim.robots import (
    AccessEnd,
    ChosenRobots,
    DueRobots,
    FreeRobots,
    JointRobots,
    ListeningRobots,
    PoliteRobots,
    Robots,
    StartedRobots,
    SwitchedRobots,
)
from sim.robots_by_phase import FreeRobotsByPhase, JointRobotsByPhase, QueueState
from sim.sojourn_times import TimeCounter
from sim.speeds import end_at_full_speed, end_of_work, piece_at, speed_over_time
from sim.streams import stream
from sim.tally import Tally

if TYPE_CHECKING:
    from sim.signals import Signals


class SearchEngine:
    """The components of one replication, wired together.

    Parameters
    ----------
    scenario : Scenario
    replication, seed : int
        They select the random streams.
    log : Log, optional
        Receives every event.
    points : LawPoints, optional
        Where distributions are to be compared.
    """

    def __init__(
        self,
        scenario: Scenario,
        replication: int,
        seed: int,
        log: Log | None,
        points: LawPoints | None = None,
    ) -> None:
        self._scenario = scenario
        self._section = present(scenario.robots)  # only servers and probing do without
        self._replication = replication
        self._stream = partial(stream, seed, replication)
        self._log_event = partial(self._write, log) if log else None
        self.clock = Clock()
        self.end = end_of_run(scenario)
        self._environment = self._path()
        self._ends = {effect: self._end_at_speed(effect) for effect in FACTORS}
        self._service: TrackedService | None = None
        self._signals = self._all_signals()
        self._pages, self._laws = self._all_pages(), self._law_counter(points)
        self._changes = self._all_changes()
        self._classes, self._orbit = self._classes_of_pages(), self._pages_in_orbit()
        self._buffer = self._target()
        self._failing: Failures | None = None
        self._counts_unchanged = counts_unchanged(scenario)
        self._robots = self._fleet()
        self._clients = self._all_clients()
        self._course = self._observer()

    def run(self) -> Tally:
        """Run from time 0 to the horizon, counting from the end of the warm-up."""
        self.start()
        self.clock.run_to(self.end)
        tally = self._tally(self.end)
        tally.check(self._scenario.run.horizon, self._section.available)
        return tally

    @property
    def buffer(self) -> Buffer | None:
        """The buffer, if there is one."""
        return self._buffer if isinstance(self._buffer, Buffer) else None

    @property
    def frontier(self) -> Frontier | None:
        """The pages that are due, where pages fall due."""
        return self._robots.frontier if isinstance(self._robots, DueRobots) else None

    def start(self) -> None:
        """Set everything going, at time 0."""
        if self._changes:
            self._changes.start()
        if self._signals:
            self._signals.start()
        self._robots.start()
        if self._clients:
            self._clients.start()
        self._follow_limits()
        if self._course:
            self._course.start()
        warmup = self._scenario.run.warmup
        self.clock.once(warmup, rules.tie_order(rules.WARMUP, 0), self._end_warmup)

    def _end_at_speed(self, effect: str) -> Callable[[float, float], float]:
        """Says when what takes a time ends, at the speed that something else gives it."""
        if self._environment is not None and effect == "robot_speed":
            return partial(end_of_work, self._environment.speed)
        if not self._scenario.interventions:
            return end_at_full_speed
        return partial(end_of_work, speed_over_time(*over_time(self._scenario, effect)))

    def _path(self) -> Path | None:
        """That of the robots' environment, where they have one."""
        environment = self._section.environment
        if environment is None:
            return None
        return as_lists(draw_path(environment, self._stream("environment"), self.end))

    def _follow_limits(self) -> None:
        """Tell the robots, and the indexers, when at most this many are active."""
        limits = limits_over_time(self._scenario)
        robots, indexers = limits.robots, limits.indexers
        active = {limit: robots_at_levels(self._scenario, limit) for limit in set(robots)}

        def change(alarm: Alarm) -> None:
            index = alarm.index
            if robots[index] != robots[index - 1]:
                self._robots.limit(alarm.time, active[robots[index]])
            if isinstance(self._buffer, LimitedBuffer):
                self._buffer.let_work(alarm.time, indexers[index])

        for index, begin in enumerate(limits.begins[1:], start=1):
            self.clock.once(begin, rules.tie_order(rules.CHANGE, 0), change, index)

    def _observer(self) -> Course | None:
        if self._scenario.run.observe is None:
            return None
        return Course(
            self.clock,
            self._scenario,
            self.buffer,
            self._robots,
            self._pages,
            self._clients,
            self.frontier,
        )

    def _end_warmup(self, alarm: Alarm) -> None:
        if self._course:
            self._course.end_warmup()
        self._robots.end_warmup(alarm.time)
        if self._failing:
            self._failing.count = 0
        self._buffer.end_warmup(alarm.time)
        if self._orbit:
            self._orbit.end_warmup(alarm.time)
        if self._pages:
            self._pages.end_warmup(alarm.time)
        if self._clients:
            self._clients.end_warmup()

    def _tally(self, now: float) -> Tally:
        window = now - self._scenario.run.warmup
        queue = self._buffer.tally(now) if isinstance(self._buffer, Buffer) else None
        level_time = queue.level_time if queue else (window,)
        robots_time = self._robots.robots_time(now, level_time)
        return Tally(
            window=window,
            robots_time=robots_time,
            class_time=self._robots.class_time(),
            switched_on=self._robots.switched_on,
            unchanged=self._failing.count if self._counts_unchanged and self._failing else None,
            buffer=queue,
            batches=self._buffer.batches(now) if isinstance(self._buffer, BatchBuffer) else None,
            orbit=self._orbit.tally(now) if self._orbit else None,
            rests=self._buffer.rests(now) if isinstance(self._buffer, RestingBuffer) else None,
            page_classes=self._classes.tally() if self._classes else None,
            pages=self._pages.tally(now) if self._pages else None,
            ages=self._pages.ages(now) if self._pages and queue else None,
            frontier=self.frontier.tally(now) if self.frontier else None,
            clients=self._clients.tally() if self._clients else None,
            sojourns=self._buffer.sojourns() if isinstance(self._buffer, Buffer) else None,
            delays=self.frontier.delays() if self.frontier else None,
            refresh_times=self._pages.refresh_times() if self._pages else None,
            laws=self._laws.tally() if self._laws else None,
            course=self._course.tally() if self._course else None,
        )

    def _write(self, log: Log, now: float, event: str, robot: int | None, page: int | None) -> None:
        level = self._buffer.level
        active = self._robots.active
        log.add((self._replication, now, event, robot, page, level, active))

    def _law_counter(self, points: LawPoints | None) -> LawCounter | None:
        if points is None or self._scenario.buffer is None:
            return None
        return LawCounter(points, top=top_level(self._scenario))

    def _all_pages(self) -> Pages | None:
        section = self._scenario.model.pages
        if section is None:
            return None
        changes = self._stream("change"), self._ends["change_factor"]
        counter = None
        if keeps_refresh_times(self._scenario):
            counter = partial(TimeCounter, horizon_octave(self._scenario))
        return Pages(
            silent_rates(self._scenario).tolist(),
            *changes,
            self._commits(),
            counter,
            not only_sums(self._scenario),
            counts_found(self._scenario),
            self._signals.next_changes if self._signals else None,
        )

    def _all_signals(self) -> Signals | None:
        """The signals that the robots hear; None: they listen to none."""
        hearing, section = self._scenario.model.hearing, self._scenario.model.pages
        if hearing is None or section is None:
            return None
        from sim.signals import Signals

        delay, own = hearing.delay, self._stream("signal")
        return Signals(
            self.clock,
            means_of_signals(section.signals),
            first_signals(self._scenario, own),
            own,
            self._ends["change_factor"],
            None if delay is None else sampler(delay, self._stream("signal delay")),
            self._log_event,
        )

    def _commits(self) -> Callable[[float], float] | None:
        """When what is indexed at a time can be searched; None: at once."""
        commits = self._scenario.model.commits
        if commits is None:
            return None
        phase = first_commit(commits, self._stream("commit"))
        return lambda now: rules.next_commit(now, commits.interval, phase)

    def _all_changes(self) -> PageChanges | None:
        section = self._scenario.model.pages
        if section is None or self._pages is None or self._log_event is None:
            return None
        return PageChanges(
            self.clock,
            self._pages,
            silent_rates(self._scenario).tolist(),
            self._stream("further change"),
            self._ends["change_factor"],
            self._log_event,
            self.end,
        )

    def _all_clients(self) -> Clients | None:
        rate = self._scenario.model.query_rate
        pages = self._scenario.model.pages
        if rate is None or pages is None or self._pages is None:
            return None
        own = self._stream("query")
        return Clients(
            self.clock,
            self._pages,
            rate,
            query_sums(pages),
            own,
            self._ends["query_factor"],
            self._log_event,
        )

    def _target(self) -> Buffer | DirectIndex:
        """Where deliveries go: the buffer, or straight into the index."""
        queue = self._scenario.model.queue
        if queue is None:
            return DirectIndex(present(self._pages), self._log_event)
        others = self._pages, self._log_event, self._laws, self._classes, self._orbit
        given = self.clock, self._buffer_rules(queue), *others
        if some_indexers_stop(self._scenario):
            speed = speed_over_time(*over_time(self._scenario, "service_speed"))
            return LimitedBuffer(speed, limits_over_time(self._scenario).indexers[0], *given)
        if queue.gathers is None:
            return Buffer(*given)
        batches = self._batch_rules(queue, queue.gathers)
        if queue.rest is None:
            return BatchBuffer(batches, *given)
        return RestingBuffer(self._rest_rules(queue.rest), batches, *given)

    def _pages_in_orbit(self) -> Orbit | None:
        """Where pages are that found no room; None: such pages are lost."""
        queue = self._scenario.model.queue
        if queue is None or queue.retrial is None:
            return None
        law = Exponential(rate=queue.retrial.rate)
        return Orbit(self.clock, queue.retrial.most, sampler(law, self._stream("retrial")))

    def _rest_rules(self, rest: Rest) -> RestRules:
        vacation, set_up = rest.vacation, None
        if rest.set_up is not None:
            draw = sampler(rest.set_up, self._stream("set-up"))
            set_up = _drawn_end(self._ends["service_speed"], draw)
        away = None if vacation is None else sampler(vacation, self._stream("vacation"))
        return RestRules(rest.resume_at, away, set_up)

    def _classes_of_pages(self) -> PageClasses | None:
        """Which pages are indexed before others; None: which they are does not matter."""
        queue, pages = self._scenario.model.queue, self._scenario.model.pages
        if queue is None or queue.classes is None:
            return None
        of_page = pages.classes.tolist() if pages else ()
        return PageClasses(queue.classes, of_page, self._stream("class"))

    def _batch_rules(self, queue: Queue, batch: Batch) -> BatchRules:
        """Says when the service of a batch ends: a draw, and where pages add to it one for each."""
        end = self._ends["service_speed"]
        draw = sampler(queue.service, self._stream("service"))
        more = None
        if batch.per_page is not None:
            more = sampler(batch.per_page, self._stream("page of a batch"))

        def end_of_batch(now: float, pages: int) -> float:
            length = draw()
            if more is not None:
                for _ in range(pages):
                    length += more()
            return end(now, length)

        return BatchRules(batch.most, batch.least, batch.wait, end_of_batch)

    def _buffer_rules(self, queue: Queue) -> BufferRules:
        timer = queue.timer
        return BufferRules(
            **buffer_flags(queue),
            top=top_level(self._scenario),
            octave=horizon_octave(self._scenario),
            service=self._service_end(queue.service),
            obsolescence=None if timer is None else sampler(timer, self._stream("obsolescence")),
        )

    def _service_end(self, service: Distribution | PageSize) -> Callable[[float, Load], float]:
        """Says when the indexing of a page ends: its length is drawn, or given by the page."""
        end = self._end_of_services()
        if isinstance(service, PageSize):
            times = page_service_times(service, present(self._scenario.model.pages)).tolist()
            return lambda now, load: end(now, times[load.page])  # type: ignore[union-attr]  # where there are pages, each load is one
        drawn = self._end_of_service(service)
        return lambda now, _load: drawn(now)

    def _end_of_services(self) -> Callable[[float, float], float]:
        """When a service of a length ends that starts now; where some may stop, that length."""
        if some_indexers_stop(self._scenario):
            return lambda _now, length: length
        return self._ends["service_speed"]

    def _end_of_service(self, law: Distribution) -> Callable[[float], float]:
        own = self._stream("service")
        end = self._end_of_services()
        phases = service_by_phase(self._scenario)
        if phases is not None:
            self._service = TrackedService(phases, own, end)
            return self._service
        return _drawn_end(end, sampler(law, own))

    def _page_source(self) -> PageSource:
        section = self._scenario.model.pages
        policy = self._scenario.model.accessing
        if section is None or self._pages is None or policy is None:
            return AnonymousPages()
        sequence = self._scenario.model.sequence
        own = self._stream("accessing")
        blocks = iter(()) if sequence is None else sequence_blocks(sequence, section, own)
        if self._signals is None or self._scenario.model.frontier is not None:
            return ChosenPages(blocks, self._pages)
        return self._listening_source(self._signals, blocks, self._pages)

    def _listening_source(
        self, signals: Signals, blocks: Iterator[Any], pages: Pages
    ) -> PageSource:
        """Which page next, by the signals that were heard."""
        from sim.compiled_engine.crawl_values import crawl_values_of
        from sim.signals import MostValuable, SignalledFirst

        if self._scenario.model.sequence is None:
            source: MostValuable | SignalledFirst
            source = MostValuable(crawl_values_of(self._scenario), pages)
        else:
            source = SignalledFirst(blocks, pages)
        signals.heard = source.hear
        return source

    def _fleet(self) -> Robots:
        """The robots, as the scenario has them delivered and activated."""
        robots = self._section
        rule = self._scenario.activation
        source = self._page_source()
        if isinstance(rule, Switching):
            return self._switched_fleet(rule, source)
        if isinstance(rule, Free):
            return self._fleet_by_phases(rule, source)
        _, limits = over_time(self._scenario, "robots")
        active = self._active_robots(robots_at_levels(self._scenario, limits[0]))
        if robots.deliveries is not None:
            return JointRobots(
                self.clock,
                self._buffer,
                active,
                modes_of(robots.deliveries, rule),
                modes_in_use(self._scenario),
                robots_when_empty(self._scenario),
                self._stream("delivery"),
                source,
                self._ends["robot_speed"],
            )
        times = self._access_ends()
        section = self._scenario.model.pages
        if self._scenario.model.frontier is not None and section is not None:
            return self._due_fleet(active, times, section, source)
        if robots.host_spacing is not None and section is not None:
            least = host_spacings(robots, section).tolist()
            spacing = HostSpacing(partial(source.next_page, 0.0), section.hosts.tolist(), least)
            return PoliteRobots(
                self.clock, self._buffer, active, times, source, spacing, self._log_event
            )
        failures = self._failures(times, source)
        places = places_of_robots(self._scenario)
        hysteresis = self._scenario.model.hysteresis
        if hysteresis is not None and hysteresis.start_up is not None:
            assert isinstance(self._buffer, Buffer)
            law = hysteresis.start_up
            starts = {robot: sampler(law, self._stream("start-up", robot)) for robot in times}
            return StartedRobots(
                self.clock, self._buffer, active, places, times, source, starts, failures
            )
        return FreeRobots(self.clock, self._buffer, active, places, times, source, failures)

    def _active_robots(self, active_at: list[int]) -> ActiveRobots:
        """What says how many of the robots are active; it hears of the levels where it has to."""
        given = self._scenario.model.hysteresis
        if given is None or not isinstance(self._buffer, Buffer):
            return ActiveByLevel(self._buffer, active_at)
        rule = ActiveByThresholds(self._buffer, active_at, given)
        self._buffer.level_changed = rule.follow
        return rule

    def _due_fleet(
        self,
        active: ActiveRobots,
        times: dict[int, AccessEnd],
        section: PageData,
        source: PageSource,
    ) -> Robots:
        """Robots that rest while no page is due."""
        given = due_rules(self._scenario)
        policy = present(self._scenario.model.frontier).policy
        intervals = due_after(policy, section).tolist()
        spaced = self._section.host_spacing is not None
        frontier = Frontier(
            given,
            intervals,
            section.priorities.tolist(),
            section.hosts.tolist() if spaced else [],
            host_spacings(self._section, section).tolist(),
            pages_of_frontier(self._scenario),
            horizon_octave(self._scenario) if keeps_delays(self._scenario) else None,
        )
        failing = present(self._scenario.model.fleet).failing
        draws = {each: self._stream("failure", each).random for each in times} if failing else {}
        first = first_due(self._scenario, self._stream("due"))
        fleet = (
            self.clock,
            self._buffer,
            active,
            places_of_robots(self._scenario),
            times,
            source,
            frontier,
            given,
            intervals,
            first.tolist(),
            draws,
            failing.probability if failing else 0.0,
            self._log_event,
        )
        if self._signals is None:
            return DueRobots(*fleet)
        since = begin_of_ages(self._scenario, first).tolist()
        robots = ListeningRobots(levels_of(policy, section), since, *fleet)
        self._signals.heard = robots.hear
        return robots

    def _switched_fleet(self, rule: Switching, source: PageSource) -> Robots:
        """Robots that are switched on one at a time."""
        assert isinstance(self._buffer, Buffer)
        robots = self._section
        times = self._access_ends()
        given = (
            self.clock,
            self._buffer,
            rule.targets,
            times,
            self._row_of_targets(),
            source,
            self._log_event,
            self._failures(times, source),
            class_of_each(robots),
        )
        if rule.choices is None:
            return SwitchedRobots(*given)
        steps = steps_of(class_sizes(robots)).tolist()
        return ChosenRobots(choices_of(robots, rule), steps, *given)

    def _row_of_targets(self) -> Callable[[float, int], int]:
        """Says which list of targets counts at a time and a level."""
        path, service = self._environment, self._service
        states, phases = told_apart(self._scenario)

        def row(now: float, level: int) -> int:
            state = path.states[piece_at(path.speed, now)] if path and states > 1 else 0
            phase = service.phase(now) if service and phases > 1 and level else 0
            return rules.row_of_tables(state, phase, phases)

        return row if states * phases > 1 else lambda _now, _level: 0

    def _fleet_by_phases(self, rule: Free, source: PageSource) -> Robots:
        """Robots of whom the level and the phases say how many are active."""
        assert isinstance(self._buffer, Buffer)
        state = QueueState(self.clock, self._buffer, self._service)
        deliveries = self._section.deliveries
        if deliveries is None:
            times = self._access_ends()
            failures = self._failures(times, source)
            places = places_of_robots(self._scenario)
            return FreeRobotsByPhase(state, rule.root, places, times, source, failures)
        return JointRobotsByPhase(
            state,
            rule.root,
            modes_of(deliveries, rule),
            modes_in_use(self._scenario),
            rule.when_empty,
            self._stream("delivery"),
            source,
            self._ends["robot_speed"],
        )

    def _access_ends(self) -> dict[int, AccessEnd]:
        end = self._ends["robot_speed"]
        share = share_of_time(self._scenario)
        return {
            robot: AccessEnd(
                end,
                sampler(law, self._stream("access", robot)),
                self._is_unchanged(robot) if share < 1 else None,
                share,
            )
            for law, robots in laws_of_robots(self._scenario, places_of_robots(self._scenario))
            for robot in robots
        }

    def _is_unchanged(self, robot: int) -> Callable[[float, int], bool]:
        """Whether a page is unchanged when a robot's access to it starts."""
        if self._pages is not None:
            return self._pages.is_unchanged
        fails = self._draw_of_failure(robot)
        return lambda _now, _page: fails()

    def _draw_of_failure(self, robot: int) -> Callable[[], bool]:
        failing = present(present(self._scenario.model.fleet).failing)
        draw = self._stream("failure", robot).random
        return lambda: rules.fails(failing.probability, draw())

    def _failures(self, times: Mapping[int, AccessEnd], source: PageSource) -> Failures | None:
        """Which accesses of these robots fail, where some may."""
        failing = self._scenario.model.fleet.failing if self._scenario.model.fleet else None
        if failing is None:
            return None
        fails: dict[int, Callable[[], bool]] = {
            robot: partial(getattr, end, "same")
            if failing.share_of_time < 1
            else self._draw_of_failure(robot)
            for robot, end in times.items()
        }
        name = "unchanged" if self._counts_unchanged else "failure"
        self._failing = Failures(failing.retries, fails, source, self._log_event, name)
        return self._failing


def _drawn_end(
    end: Callable[[float, float], float], draw: Callable[[], float]
) -> Callable[[float], float]:
    """When what starts now ends, of a length that is drawn then."""
    return lambda now: end(now, draw())
