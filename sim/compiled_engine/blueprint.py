"""What all replications of a search engine have in common, worked out once for all of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from scenarios import Scenario
from scenarios.activation import Free, Switching
from scenarios.arrays import Array
from scenarios.law_points import LawPoints
from scenarios.laws import Exponential, Uniform
from scenarios.model import present
from scenarios.sections import PageSize
from sim import rules
from sim.compiled_engine.building import (
    largest_batch,
    law_of_first_phase,
    new_parts,
    other_laws,
)
from sim.compiled_engine.random_numbers import (
    RandomNumbers,
    Rows,
    repeated_pages,
    rows_of,
    rows_of_robots,
)
from sim.compiled_engine.seeding import Streams
from sim.engine_inputs import (
    first_signals,
    keeps_refresh_times,
    laws_of_robots,
    looks_ahead,
    places_of_robots,
    robots_at_levels,
    service_by_phase,
    share_of_time,
)

_UNIT = Exponential(mean=1.0)
_UNIFORM = Uniform(low=0.0, high=1.0)


class Blueprint:
    """A search engine as it is before any number is drawn.

    Parameters
    ----------
    scenario : Scenario
    points : LawPoints or None
        Where distributions are to be compared.

    Attributes
    ----------
    heard : dict of int to int
        Robots that are ever heard, with their places in the order of activation.
    fewest : int
        Pages that must lie ready before compiled code goes on.
    parts : Parts
        What each world is a copy of.
    law_of_first_phase : ndarray of float, or None
        Of joint deliveries.
    repeated : Repeated or None
        The pages to access, where they are the same in all replications.
    active_at : list of int
        Active robots at every level, where their number depends on nothing else.
    is_refreshed : bool
        Whether one robot brings all its pages straight into the index, whatever their hosts.
    is_queue : bool
        Whether robots that never rest deliver to one server, and nothing else happens.
    """

    def __init__(self, scenario: Scenario, points: LawPoints | None) -> None:
        fleet = present(scenario.model.fleet)  # only servers and probing do without
        self.scenario = scenario
        self.points = points
        self._robots = present(scenario.robots)
        self._may_fail = fleet.failing is not None
        self.heard = places_of_robots(scenario)
        self._batch = largest_batch(scenario.robots)
        needed = rules.LOOKAHEAD if looks_ahead(scenario) else self._batch
        self.fewest = 2 * (len(self.heard) + needed)
        self._laws = laws_of_robots(scenario, self.heard)
        self.parts = new_parts(scenario, self.heard, points)
        self.law_of_first_phase = law_of_first_phase(scenario)
        self.repeated = repeated_pages(scenario, self.fewest)
        self.active_at = robots_at_levels(scenario)
        self.is_refreshed = self._find_whether_refreshed()
        self.is_queue = self._find_whether_queue()

    def _find_whether_refreshed(self) -> bool:
        plain = self._robots.host_spacing is None and not self._may_fail
        model = self.scenario.model
        plain = plain and model.frontier is None and model.commits is None
        plain = plain and model.hearing is None and not keeps_refresh_times(self.scenario)
        plain = plain and share_of_time(self.scenario) == 1
        return self.scenario.buffer is None and len(self.heard) == 1 and plain

    def _find_whether_queue(self) -> bool:
        scenario = self.scenario
        queue = scenario.model.queue
        if queue is None or scenario.model.pages is not None:
            return False
        robots = self._robots
        by_level = not isinstance(scenario.activation, Free | Switching)
        by_level = by_level and scenario.model.hysteresis is None
        never_rest = robots.deliveries is None and by_level
        plain = not self._may_fail and robots.environment is None
        drawn = not self.parts.service.tracked and queue.gathers is None and queue.retrial is None
        return never_rest and plain and queue.discipline.is_ordered and queue.servers == 1 and drawn

    def access_times(self, streams: Streams) -> RandomNumbers:
        """One row per robot, one more where accesses may fail, and one where robots start."""
        rows: list[Rows] = []
        for gaps, robots in self._laws:
            rows += rows_of_robots(gaps, streams, "access", robots)
        if self._may_fail:
            rows += rows_of_robots(_UNIFORM, streams, "failure", list(self.heard))
        hysteresis = self.scenario.model.hysteresis
        if hysteresis is not None and hysteresis.start_up is not None:
            rows += rows_of_robots(hysteresis.start_up, streams, "start-up", list(self.heard))
        in_all = sum(len(each.states) for each in rows)
        return RandomNumbers(rows, np.ones(in_all, dtype=np.int64))

    def signal_times(self, streams: Streams) -> tuple[RandomNumbers, tuple[Array, Array]] | None:
        """Gaps between signals of mean 1, and their delays; and the first ones of all pages.

        None where robots hear none.
        """
        hearing = self.scenario.model.hearing
        if hearing is None:
            return None
        gaps, delays = streams.stream("signal"), streams.stream("signal delay")
        first = first_signals(self.scenario, gaps)
        rows = [rows_of(_UNIT, gaps), rows_of(hearing.delay or _UNIT, delays)]
        return RandomNumbers(rows, np.array([1, int(hearing.delay is not None)])), first

    def indexing_times(self, streams: Streams, service: Any, change: Any) -> RandomNumbers:
        """Services and obsolescence timers; times between changes where there is no buffer.

        The first ones are drawn from the stream `service`, the last ones from `change`.
        """
        queue = self.scenario.model.queue
        if queue is None:
            return RandomNumbers([rows_of(_UNIT, change)], np.array([int(self.is_refreshed)]))
        timer = queue.timer or _UNIT
        at_once = min(queue.servers, self._batch)
        by_page = isinstance(queue.service, PageSize)
        drawn = not by_page and not service_by_phase(self.scenario) is not None
        needs = [at_once * int(drawn), self._batch * int(queue.timer is not None)]
        patience = streams.stream("obsolescence")
        rows = [rows_of(_UNIT if by_page else queue.service, service), rows_of(timer, patience)]
        for source, law in other_laws(queue).items():
            if law is None:
                continue
            rows.append(rows_of(law, streams.stream(source)))
            at_once = self._batch
            if source == "page of a batch" and queue.batch is not None:
                in_service = queue.servers * queue.batch.most
                at_once = min(in_service, queue.waiting_places + self._batch)
            needs.append(at_once)
        return RandomNumbers(rows, np.array(needs))


_known: list[Blueprint] = []


def blueprint_of(scenario: Scenario, points: LawPoints | None) -> Blueprint:
    """That of a scenario; the last one is kept for the replication that comes next.

    Parameters
    ----------
    scenario : Scenario
    points : LawPoints or None
    """
    for known in _known:
        if known.scenario is scenario and known.points is points:
            return known
    made = Blueprint(scenario, points)
    _known[:] = [made]  # not returned from there, where another thread may have put its own
    return made
