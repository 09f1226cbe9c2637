"""Robots, activation and buffer put together for one replication."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from scenarios import Scenario
from scenarios import deliveries as joint
from scenarios.activation import Static, Switching, Threshold
from scenarios.sections import Buffer as BufferSection
from sim import rules
from sim.buffer import Buffer, BufferRules
from sim.clock import Alarm, Clock
from sim.draws import TrackedService, draws_of_process, sampler
from sim.event_log import EventLog
from sim.robots import FreeRobots, JointRobots, Robots, SwitchedRobots
from sim.streams import stream
from sim.tally import Tally

__all__ = ["ADMISSION", "SearchEngine"]

ADMISSION = {"partial": rules.PARTIAL, "reject": rules.REJECT, "complete": rules.COMPLETE}
"""Admissions of the scenario file as `rules.admitted` knows them."""


class SearchEngine:
    """The components of one replication, wired together.

    Parameters
    ----------
    scenario : Scenario
    replication, seed : int
        They select the random streams.
    log : EventLog, optional
        Receives every event.
    """

    def __init__(
        self, scenario: Scenario, replication: int, seed: int, log: EventLog | None
    ) -> None:
        assert scenario.robots is not None
        assert scenario.buffer is not None
        self._scenario, self._section = scenario, scenario.buffer
        self._available = scenario.robots.available
        self._stream = partial(stream, seed, replication)
        self._log = log
        self._note = self._write if log else None
        self._replication = replication
        self._clock = Clock()
        self._service: TrackedService | None = None
        self._buffer = Buffer(self._clock, self._buffer_rules(self._section), self._note)
        self._robots = self._fleet()
        self._tally: Tally | None = None

    def run(self) -> Tally:
        """Run from time 0 to the horizon, counting from the end of the warm-up."""
        run = self._scenario.run
        self._robots.start()
        self._clock.once(run.warmup, rules.tie_order(rules.WARMUP, 0), self._cut)
        end = Alarm(self._clock, self._finish)
        self._clock.at(run.horizon, rules.tie_order(rules.HORIZON, 0), end)
        self._clock.run(until=end)
        assert self._tally is not None
        self._tally.check(run.horizon, self._available)
        return self._tally

    def _cut(self, alarm: Alarm) -> None:
        self._buffer.cut(alarm.time)
        self._robots.cut(alarm.time)

    def _finish(self, alarm: Alarm) -> None:
        counted = self._buffer.tally(alarm.time)
        self._tally = Tally(
            window=alarm.time - self._scenario.run.warmup,
            buffer=counted,
            robots_time=self._robots.robots_time(alarm.time, counted.level_time),
        )

    def _write(self, now: float, event: str, robot: int | None, page: int | None) -> None:
        assert self._log is not None
        level, active = self._buffer.level, self._robots.active
        self._log.add((self._replication, now, event, robot, page, level, active))

    def _buffer_rules(self, section: BufferSection) -> BufferRules:
        capacity = section.waiting_places + 1
        extra = self._largest_batch() - 1 if section.admission == "complete" else 0
        law = section.obsolescence
        return BufferRules(
            capacity=capacity,
            top=capacity + extra,
            admission=ADMISSION[section.admission],
            newest_first=section.discipline == "lifo",
            push_out=section.when_full == "push-out",
            service=self._service_draw(section),
            obsolescence=(
                None if isinstance(law, str) else sampler(law, self._stream("obsolescence"))
            ),
        )

    def _service_draw(self, section: BufferSection) -> Callable[[], float]:
        rule, own = self._scenario.activation, self._stream("service")
        if isinstance(rule, Switching) and len(rule.targets) > 1:
            self._service = TrackedService(section.service, own, lambda: self._clock.now)  # type: ignore[arg-type]  # several rows of targets need a phase-type service
            return self._service
        return sampler(section.service, own)

    def _largest_batch(self) -> int:
        assert self._scenario.robots is not None
        deliveries = self._scenario.robots.deliveries
        return 1 if deliveries is None else joint.as_modes(deliveries).shape[1] - 1

    def _fleet(self) -> Robots:
        """The robots, as the scenario has them delivered and activated."""
        assert self._scenario.robots is not None
        robots, rule = self._scenario.robots, self._scenario.activation
        if robots.deliveries is not None:
            modes = joint.as_modes(robots.deliveries)
            own = self._stream("delivery")
            return JointRobots(self._clock, self._buffer, self._active_at(), modes, own)
        if isinstance(rule, Switching):
            phase = self._service.phase if self._service else lambda _now: 0
            trips = self._trips(self._available)
            return SwitchedRobots(self._clock, self._buffer, rule.targets, trips, phase, self._note)
        active_at = self._active_at()
        return FreeRobots(self._clock, self._buffer, active_at, self._trips(max(active_at)))

    def _trips(self, robots: int) -> list[Callable[[], float]]:
        assert self._scenario.robots is not None
        law = self._scenario.robots.access_time
        return [draws_of_process(law, self._stream("access", robot)) for robot in range(robots)]

    def _active_at(self) -> list[int]:
        """Active robots at every level, under a static or threshold rule."""
        rule, levels = self._scenario.activation, range(self._buffer.top + 1)
        if isinstance(rule, Threshold):
            return [rules.threshold_robots(level, rule.robots, rule.at) for level in levels]
        robots = rule.robots if isinstance(rule, Static) else self._available
        return [robots for _ in levels]
