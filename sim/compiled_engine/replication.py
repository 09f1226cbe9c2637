"""One replication of a search engine in compiled code: supplied, run, and tallied."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np

from scenarios import Scenario
from scenarios.activation import Switching
from scenarios.choices import tells_classes_apart
from scenarios.environment import Environment
from scenarios.law_points import LawPoints
from scenarios.model import present
from sim import rules
from sim.compiled_engine.blueprint import blueprint_of
from sim.compiled_engine.building import begin_in_phase, copied, new_pages
from sim.compiled_engine.events import advance
from sim.compiled_engine.frontier import frontier_tally
from sim.compiled_engine.kept_times import count_times
from sim.compiled_engine.many_robots import new_many_robots
from sim.compiled_engine.orbit import with_room
from sim.compiled_engine.queue import advance_queue
from sim.compiled_engine.random_numbers import pages_ahead
from sim.compiled_engine.refresh import begin_refreshed, refresh
from sim.compiled_engine.seeding import Streams
from sim.compiled_engine.signals import Signals, grown, new_signals
from sim.compiled_engine.world import Batches, Buffer, Course, Orbit, PageClasses, World
from sim.draws import drawn_phase
from sim.engine_inputs import (
    counts_unchanged,
    end_of_run,
    first_commit,
    first_due,
    horizon_octave,
    keeps_delays,
    keeps_refresh_times,
)
from sim.environment import draw_path
from sim.law_counter import laws_tally
from sim.page_classes import class_tally
from sim.sojourn_times import TimeCounter, sojourns_tally
from sim.tally import (
    AgesTally,
    BatchesTally,
    BufferTally,
    ClientsTally,
    CourseTally,
    LawsTally,
    OrbitTally,
    PageClassesTally,
    PagesTally,
    RestsTally,
    Tally,
    TimesTally,
)

_NEVER_DRAWN_FROM = np.random.Generator(np.random.PCG64(0))
"""Where compiled code takes a stream that the scenario has no use for."""


class Replication:
    """The world of one replication, and the blocks of numbers that it takes.

    Parameters
    ----------
    scenario : Scenario
    replication, seed : int
        They select the random streams.
    points : LawPoints, optional
        Where distributions are to be compared.
    """

    def __init__(
        self, scenario: Scenario, replication: int, seed: int, points: LawPoints | None = None
    ) -> None:
        self._scenario = scenario
        self._blueprint = blueprint_of(scenario, points if scenario.buffer else None)
        self._streams = Streams(seed, replication)
        robots = scenario.robots
        self._service = self._stream_for("service", scenario.model.queue)
        self._change = self._stream_for("change", scenario.model.pages)
        self._delivery = self._stream_for("delivery", robots.deliveries if robots else None)
        self._query = self._stream_for("query", scenario.model.query_rate)
        self._access = self._blueprint.access_times(self._streams)
        self._indexing = self._blueprint.indexing_times(self._streams, self._service, self._change)
        self._signalling = self._blueprint.signal_times(self._streams)
        self._sequence = self._blueprint.repeated or pages_ahead(
            scenario, self._streams.stream("accessing"), self._blueprint.fewest
        )
        due = None
        if scenario.model.frontier is not None:
            due = first_due(scenario, self._streams.stream("due"))
        self._world = World(
            access=self._access.times,
            indexing=self._indexing.times,
            pages=new_pages(scenario, self._blueprint.is_refreshed),
            signals=self._new_signals(due),
            **copied(self._blueprint.parts)._asdict(),
        )
        if robots is not None and robots.environment is not None:
            self._world = self._in_environment(robots.environment)
        if self._world.frontier is not None and due is not None:
            self._world.frontier.calendar.time[: len(due)] = due
        commits = scenario.model.commits
        if commits is not None:
            first = first_commit(commits, self._streams.stream("commit"))
            self._world.pages.commits.phase = first
        self._delays = TimeCounter(horizon_octave(scenario))
        self._refresh_times = TimeCounter(horizon_octave(scenario))
        if robots is not None and robots.deliveries is not None:
            phase = drawn_phase(self._blueprint.law_of_first_phase, self._delivery)
            begin_in_phase(self._world.robots, phase)

    def run(self) -> Tally:
        """Run from time 0 to the horizon, counting from the end of the warm-up."""
        if self._blueprint.is_queue:
            many_robots = new_many_robots(len(self._blueprint.heard))
            self._run(advance_queue, many_robots)
        elif self._blueprint.is_refreshed:
            begin_refreshed(self._world, self._change, self._query)
            self._run(refresh, self._query)
        else:
            self._run(advance, self._change, self._query, self._delivery, self._service)
        tally = self._tally()
        tally.check(self._scenario.run.horizon, present(self._scenario.robots).available)
        self._access.release()
        self._indexing.release()
        if self._signalling is not None:
            self._signalling[0].release()
        return tally

    def _run(self, kernel: Callable[..., bool], *others: Any) -> None:
        """Feed a kernel until it has reached the horizon."""
        self._refill()
        while not kernel(self._world, *others):
            self._refill()

    def _stream_for(self, source: str, section: Any) -> Any:
        """The stream of a source, where the scenario has what is drawn from it."""
        return _NEVER_DRAWN_FROM if section is None else self._streams.stream(source)

    def _in_environment(self, environment: Environment) -> World:
        """The world in which an environment sets the speed of the accesses."""
        stream = self._streams.stream("environment")
        path = draw_path(environment, stream, end_of_run(self._scenario))
        course = present(self._world.course)
        return self._world._replace(course=course._replace(access=path.speed, states=path.states))

    def _new_signals(self, due: Any) -> Signals | None:
        """Where robots listen to signals, before the first one."""
        if self._signalling is None:
            return None
        times, first = self._signalling
        return new_signals(self._scenario, times.times, first, due)

    def _refill(self) -> None:
        """Fill up all blocks of numbers, and make room for signals."""
        self._access.refill()
        self._indexing.refill()
        signals = self._world.signals
        if self._signalling is not None and signals is not None:
            self._signalling[0].refill()
            if len(signals.sender) and not signals.state.free:
                self._world = self._world._replace(signals=grown(signals))
        buffer = self._world.buffer
        if buffer.orbit is not None:
            orbit = with_room(buffer.orbit, len(buffer.load))
            self._world = self._world._replace(buffer=buffer._replace(orbit=orbit))
        pages = self._world.pages
        count_times(pages.refresh_times, self._refresh_times)
        if self._world.frontier is not None:
            count_times(self._world.frontier.delays, self._delays)
        sequence, pages.state.used = self._sequence.after(pages.sequence, pages.state.used)
        if sequence is not pages.sequence:
            self._world = self._world._replace(pages=pages._replace(sequence=sequence))

    def _tally(self) -> Tally:
        world = self._world
        scenario = self._scenario
        window = end_of_run(scenario) - scenario.run.warmup
        queries, page, age = world.clients.state, world.pages.page, world.pages.age
        clients = ClientsTally(int(queries.queries), int(queries.stale))
        counted = page.deliveries, page.stale_time, page.refreshes, world.pages.fetched.found
        deliveries, stale_time, refreshes, found = map(np.array, counted)
        if self._blueprint.is_refreshed and len(found):
            found = found + refreshes
        pages = PagesTally(deliveries, stale_time, refreshes, world.pages.waited, found)
        observed = scenario.run.observe is not None
        return Tally(
            window=window,
            robots_time=self._robots_time(window),
            class_time=self._class_time(),
            switched_on=self._switched_on(),
            unchanged=int(world.robots.state.failed) if counts_unchanged(scenario) else None,
            buffer=_buffer_tally(world) if scenario.buffer else None,
            batches=_batches_tally(world.buffer.batches),
            orbit=_orbit_tally(world.buffer.orbit),
            rests=_rests_tally(world.buffer.batches),
            page_classes=_classes_tally(world.buffer.classes),
            pages=pages if scenario.pages else None,
            ages=AgesTally(np.array(age.time)) if scenario.pages and scenario.buffer else None,
            frontier=frontier_tally(world.frontier) if world.frontier else None,
            clients=clients if scenario.clients else None,
            sojourns=_sojourns_tally(world.buffer) if scenario.buffer else None,
            delays=self._delays_tally(),
            refresh_times=self._refresh_times_tally(),
            laws=self._laws_tally(),
            course=_course_tally(world.course) if world.course is not None and observed else None,
        )

    def _delays_tally(self) -> TimesTally | None:
        frontier = self._world.frontier
        if frontier is None or not keeps_delays(self._scenario):
            return None
        count_times(frontier.delays, self._delays)
        return self._delays.tally()

    def _refresh_times_tally(self) -> TimesTally | None:
        if not keeps_refresh_times(self._scenario):
            return None
        count_times(self._world.pages.refresh_times, self._refresh_times)
        return self._refresh_times.tally()

    def _laws_tally(self) -> LawsTally | None:
        points = self._blueprint.points
        laws = self._world.buffer.laws
        if points is None or laws is None:
            return None
        return laws_tally(points, laws.counts.tolist(), laws.levels.tolist())

    def _robots_time(self, window: float) -> float:
        state = self._world.robots.state
        if isinstance(self._scenario.activation, Switching) or state.is_kept:
            return float(state.robots_time)
        if self._world.course is not None:
            return float(self._world.course.state.robots_time)
        level_time = self._world.buffer.level_time if self._scenario.buffer else [window]
        return float(rules.time_of_robots(level_time, self._blueprint.active_at))

    def _switched_on(self) -> int | None:
        """Robots switched on since the end of the warm-up, where they are counted."""
        counted = self._scenario.model.hysteresis is not None
        return int(self._world.robots.state.switched_on) if counted else None

    def _class_time(self) -> tuple[float, ...] | None:
        """Time integral of the active robots of each class, where they are told apart."""
        robots = self._scenario.robots
        if robots is None or not tells_classes_apart(robots, self._scenario.activation):
            return None
        return tuple(self._world.robots.time_of.tolist())


def _buffer_tally(world: World) -> BufferTally:
    buffer = world.buffer
    state = buffer.state
    return BufferTally(
        delivered=int(state.delivered),
        refused=int(state.refused),
        ended=tuple(buffer.ended.tolist()),
        sojourn=tuple(buffer.sojourn.tolist()),
        sojourn_square=tuple(buffer.square.tolist()),
        inside_at_start=int(state.inside_at_start),
        inside_at_end=int(state.level),
        age_at_start=float(state.age_at_start),
        age_at_end=float(world.run.age_at_end),
        level_time=tuple(buffer.level_time.tolist()),
    )


def _batches_tally(batches: Batches | None) -> BatchesTally | None:
    if batches is None:
        return None
    return BatchesTally(int(batches.state.ended), float(batches.state.busy_time))


def _orbit_tally(orbit: Orbit | None) -> OrbitTally | None:
    if orbit is None:
        return None
    state = orbit.state
    return OrbitTally(
        joined=int(state.joined),
        left=int(state.left),
        time=float(state.time),
        inside_at_start=int(state.inside_at_start),
        inside_at_end=int(state.inside),
    )


def _rests_tally(batches: Batches | None) -> RestsTally | None:
    if batches is None or batches.rest is None:
        return None
    return RestsTally(int(batches.rest.state.resumed), float(batches.rest.state.set_up_time))


def _classes_tally(classes: PageClasses | None) -> PageClassesTally | None:
    if classes is None:
        return None
    return class_tally(classes.refused, classes.ended, classes.sojourn, classes.square)


def _sojourns_tally(buffer: Buffer) -> TimesTally:
    return sojourns_tally(buffer.times, buffer.ended.tolist(), int(buffer.fixed.octave))


def _course_tally(course: Course) -> CourseTally:
    names = (field.name for field in fields(CourseTally))
    return CourseTally(**{name: getattr(course, name) for name in names})
