"""The course of a system: its state at given times, and what is counted between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scenarios import Scenario
from sim import rules
from sim.buffer import Buffer
from sim.clients import Clients
from sim.clock import Alarm, Clock
from sim.engine_inputs import pages_followed, times_to_observe
from sim.frontier import Frontier
from sim.pages import Pages
from sim.robots import Robots
from sim.tally import CourseTally

_OBSERVATION = rules.tie_order(rules.OBSERVATION, 0)


class Course:
    """Observes a replication; what it counts does not depend on the warm-up.

    Parameters
    ----------
    clock : Clock
    scenario : Scenario
    buffer : Buffer or None
    robots : Robots
    pages : Pages or None
    clients : Clients or None
    frontier : Frontier or None
    """

    def __init__(
        self,
        clock: Clock,
        scenario: Scenario,
        buffer: Buffer | None,
        robots: Robots,
        pages: Pages | None,
        clients: Clients | None,
        frontier: Frontier | None,
    ) -> None:
        self._clock = clock
        self._buffer = buffer
        self._robots = robots
        self._pages = pages
        self._clients = clients
        self._frontier = frontier
        times = times_to_observe(scenario)
        self._times = times.tolist()
        self._weights = scenario.model.pages.weights.tolist() if scenario.model.pages else []
        self._followed = pages_followed(scenario, times)
        self._seen = self._totals()
        self._counted = np.zeros(len(self._seen), dtype=np.int64)
        self._level: list[int] = []
        self._active: list[int] = []
        self._waiting: list[int] = []
        self._busy: list[int] = []
        self._stale_weight: list[float] = []
        self._counts: list[Any] = []
        self._stale: list[Sequence[bool]] = []

    def start(self) -> None:
        """Wait for the first observation."""
        self._wait(Alarm(self._clock, self._observe))

    def _wait(self, alarm: Alarm) -> None:
        if alarm.index < len(self._times):
            self._clock.at(self._times[alarm.index], _OBSERVATION, alarm)

    def _totals(self) -> Any:
        """All that is counted, of the system and then of each page, since the warm-up."""
        buffer = self._buffer.counts() if self._buffer else (0,) * 5
        clients = self._clients.counts() if self._clients else (0, 0)
        pages = self._pages.deliveries if self._pages and self._followed else ()
        return np.array([*buffer, *clients, *pages])

    def _count(self) -> None:
        totals = self._totals()
        self._counted += totals - self._seen
        self._seen = totals

    def end_warmup(self) -> None:
        """All counts are about to be set back to 0."""
        self._count()
        self._seen = np.zeros_like(self._seen)

    def _observe(self, alarm: Alarm) -> None:
        now = alarm.time
        self._count()
        self._counts.append(self._counted)
        self._counted = np.zeros_like(self._counted)
        self._level.append(self._buffer.level if self._buffer else 0)
        self._active.append(self._robots.active)
        if self._frontier:
            self._waiting.append(self._frontier.waiting)
            self._busy.append(self._frontier.busy)
        weight = 0.0
        stale = []
        if self._pages:
            for page, its_weight in enumerate(self._weights):
                is_stale = self._pages.is_stale(now, page)
                stale.append(is_stale)
                weight += its_weight if is_stale else 0.0
        self._stale_weight.append(weight)
        self._stale.append(stale[: self._followed])
        alarm.index += 1
        self._wait(alarm)

    def tally(self) -> CourseTally:
        """What was observed."""
        times = len(self._times)
        counts = np.array(self._counts, dtype=np.int64).reshape(times, len(self._seen))
        return CourseTally(
            level=np.array(self._level, dtype=np.int64),
            active=np.array(self._active, dtype=np.int64),
            waiting=np.array(self._waiting, dtype=np.int64),
            busy=np.array(self._busy, dtype=np.int64),
            stale_weight=np.array(self._stale_weight),
            counts=counts[:, : rules.COUNTED],
            stale=np.array(self._stale, dtype=np.bool_).reshape(times, self._followed),
            deliveries=counts[:, rules.COUNTED :].astype(np.int32),
        )
