"""One replication of a search engine in compiled code: supplied, run, and tallied."""

from __future__ import annotations

from dataclasses import fields
from functools import partial
from typing import Any

import numpy as np

from scenarios import Scenario
from scenarios.activation import Free, Switching
from scenarios.choices import tells_classes_apart
from scenarios.law_points import LawPoints
from scenarios.laws import Exponential, Uniform
from scenarios.sections import PageSize
from sim import rules
from sim.compiled_engine.building import largest_batch, new_world
from sim.compiled_engine.crowd import new_crowd
from sim.compiled_engine.events import advance, begin, begin_deliveries, finish
from sim.compiled_engine.queue import advance_queue
from sim.compiled_engine.refresh import begin_refresh, begin_refreshed, refresh
from sim.compiled_engine.supply import Rows, Supply, rows_of, rows_of_robots, sequence_of
from sim.compiled_engine.world import Buffer, Course, Pages
from sim.environment import Path, draw_path
from sim.law_counter import laws_tally
from sim.layout import (
    end_of_run,
    laws_of_robots,
    places_of_robots,
    robots_at_levels,
    robots_may_wait,
    service_by_phase,
)
from sim.sojourn_times import sojourns_tally
from sim.streams import stream
from sim.tally import (
    AgesTally,
    BufferTally,
    ClientsTally,
    CourseTally,
    LawsTally,
    PagesTally,
    SojournsTally,
    Tally,
)

_UNIT = Exponential(mean=1.0)
_UNIFORM = Uniform(low=0.0, high=1.0)

_NEVER_DRAWN_FROM = np.random.Generator(np.random.PCG64(0))
"""Where compiled code takes a stream that the scenario has no use for: to set one up takes time."""


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
        assert scenario.robots is not None  # only servers and probing do without
        self._scenario = scenario
        self._robots = scenario.robots
        self._points = points if scenario.buffer else None
        self._run = seed, replication
        self._stream = partial(stream, seed, replication)
        self._service = self._stream_for("service", scenario.buffer)
        self._obsolescence = self._stream_for("obsolescence", scenario.buffer)
        self._change = self._stream_for("change", scenario.pages)
        self._delivery = self._stream_for("delivery", self._robots.deliveries)
        self._query = self._stream_for("query", scenario.clients)
        self._heard = places_of_robots(scenario)
        self._batch = largest_batch(scenario.robots)
        self._access, self._indexing = self._access_times(), self._indexing_times()
        needed = rules.LOOKAHEAD if robots_may_wait(scenario) else self._batch
        fewest = 2 * (len(self._heard) + needed)
        accessing = self._stream_for("accessing", scenario.pages)
        self._sequence = sequence_of(scenario, accessing, fewest)
        self._world = new_world(
            scenario,
            self._access,
            self._indexing,
            self._delivery,
            self._heard,
            self._path(),
            self._points,
            self._is_simple,
        )

    def run(self) -> Tally:
        """Run from time 0 to the horizon, counting from the end of the warm-up."""
        if self._scenario.pages is not None:
            first = begin_refreshed if self._is_simple else begin
            first(self._world, self._change, self._query)
        self._refill()
        if self._is_queue:
            age_at_end = self._queue()
        else:
            if self._is_simple:
                self._refresh()
            else:
                self._advance()
            age_at_end = float(finish(self._world))
        tally = self._tally(age_at_end)
        tally.check(self._scenario.run.horizon, self._robots.available)
        self._access.release()
        self._indexing.release()
        return tally

    def _stream_for(self, source: str, section: Any) -> Any:
        """The stream of a source, where the scenario has what is drawn from it."""
        return _NEVER_DRAWN_FROM if section is None else self._stream(source)

    @property
    def _is_simple(self) -> bool:
        """Whether one robot brings all its pages straight into the index, whatever their hosts."""
        plain = self._robots.host_spacing is None and self._robots.failure is None
        return self._scenario.buffer is None and len(self._heard) == 1 and plain

    @property
    def _is_queue(self) -> bool:
        """Whether robots that never rest deliver to one server, and nothing else happens."""
        scenario = self._scenario
        section = scenario.buffer
        if section is None or scenario.pages is not None:
            return False
        robots = self._robots
        never_rest = robots.deliveries is None and not isinstance(
            scenario.activation, Free | Switching
        )
        plain = robots.failure is None and robots.environment is None
        first_in = section.discipline == "fifo" and section.when_full == "lose-new"
        drawn = not self._world.service.tracked
        return never_rest and plain and first_in and section.servers == 1 and drawn

    def _path(self) -> Path | None:
        """That of the robots' environment, where they have one."""
        environment = self._robots.environment
        if environment is None:
            return None
        return draw_path(environment, self._stream("environment"), end_of_run(self._scenario))

    def _advance(self) -> None:
        begin_deliveries(self._world, self._delivery)
        streams = self._change, self._query, self._delivery, self._service
        while not advance(self._world, *streams):
            self._refill()

    def _queue(self) -> float:
        crowd = new_crowd(len(self._heard))
        while not advance_queue(self._world, crowd):
            self._refill()
        return float(self._world.run.age_at_end)

    def _refresh(self) -> None:
        begin_refresh(self._world)
        while not refresh(self._world, self._query):
            self._refill()

    def _refill(self) -> None:
        """Fill up all blocks of numbers."""
        self._access.refill()
        self._indexing.refill()
        pages = self._world.pages
        sequence, pages.state.used = self._sequence.after(pages.sequence, pages.state.used)
        self._world = self._world._replace(
            access=self._access.times(),
            indexing=self._indexing.times(),
            pages=pages._replace(sequence=sequence),
        )

    def _access_times(self) -> Supply:
        """One row per robot, and where accesses may fail another one that says which do."""
        rows: list[Rows] = []
        for access_time, robots in laws_of_robots(self._robots, self._heard):
            rows += rows_of_robots(access_time, *self._run, "access", robots)
        if self._robots.failure is not None:
            rows += rows_of_robots(_UNIFORM, *self._run, "failure", list(self._heard))
        in_all = sum(len(each.states) for each in rows)
        return Supply(rows, np.ones(in_all, dtype=np.int64))

    def _indexing_times(self) -> Supply:
        """Services and obsolescence timers; times between changes where there is no buffer."""
        section = self._scenario.buffer
        if section is None:
            return Supply([rows_of(_UNIT, self._change)], np.array([int(self._is_simple)]))
        timers = not isinstance(section.obsolescence, str)
        timer = section.obsolescence if timers else _UNIT
        at_once = min(section.servers, self._batch)
        by_page = isinstance(section.service, PageSize)
        drawn = not by_page and not service_by_phase(self._scenario) is not None
        needs = [at_once * int(drawn), self._batch * int(timers)]
        service = rows_of(_UNIT if by_page else section.service, self._service)
        return Supply([service, rows_of(timer, self._obsolescence)], np.array(needs))

    def _tally(self, age_at_end: float) -> Tally:
        world = self._world
        scenario = self._scenario
        window = end_of_run(scenario) - scenario.run.warmup
        queries = world.clients.state
        clients = ClientsTally(int(queries.queries), int(queries.stale))
        observed = scenario.run.observe is not None
        return Tally(
            window=window,
            robots_time=self._robots_time(window),
            class_time=self._class_time(),
            buffer=_buffer_tally(world.buffer, age_at_end) if scenario.buffer else None,
            pages=_pages_tally(world.pages) if scenario.pages else None,
            ages=_ages_tally(world.pages) if scenario.pages and scenario.buffer else None,
            clients=clients if scenario.clients else None,
            sojourns=_sojourns_tally(world.buffer) if scenario.buffer else None,
            laws=None if self._points is None else self._laws_tally(self._points),
            course=_course_tally(world.course) if world.course is not None and observed else None,
        )

    def _laws_tally(self, points: LawPoints) -> LawsTally:
        laws = self._world.buffer.laws
        assert laws is not None
        return laws_tally(points, laws.counts.tolist(), laws.levels.tolist())

    def _robots_time(self, window: float) -> float:
        if isinstance(self._scenario.activation, Free | Switching):
            return float(self._world.robots.state.robots_time)
        if self._world.course is not None:
            return float(self._world.course.state.robots_time)
        level_time = self._world.buffer.level_time if self._scenario.buffer else [window]
        return float(rules.time_of_robots(level_time, robots_at_levels(self._scenario)))

    def _class_time(self) -> tuple[float, ...] | None:
        """Time integral of the active robots of each class, where they are told apart."""
        if not tells_classes_apart(self._robots, self._scenario.activation):
            return None
        return tuple(self._world.robots.time_of.tolist())


def _buffer_tally(buffer: Buffer, age_at_end: float) -> BufferTally:
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
        age_at_end=age_at_end,
        level_time=tuple(buffer.level_time.tolist()),
    )


def _sojourns_tally(buffer: Buffer) -> SojournsTally:
    return sojourns_tally(buffer.times, buffer.ended.tolist(), int(buffer.fixed.octave))


def _course_tally(course: Course) -> CourseTally:
    names = (field.name for field in fields(CourseTally))
    return CourseTally(**{name: getattr(course, name) for name in names})


def _pages_tally(pages: Pages) -> PagesTally:
    page: Any = pages.page
    return PagesTally(np.array(page.deliveries), np.array(page.stale_time))


def _ages_tally(pages: Pages) -> AgesTally:
    age: Any = pages.age
    return AgesTally(np.array(age.time))
