"""Robots of whom level, arrival phase and service phase say how many are active."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sim import rules
from sim.active_robots import ActiveByLevel, ActiveTime
from sim.buffer import Buffer
from sim.clock import Clock
from sim.draws import TrackedService
from sim.failures import Failures
from sim.page_source import PageSource
from sim.robots import AccessEnd, FreeRobots, JointRobots

Table = Sequence[Sequence[Sequence[int]]]
"""Robots by level, arrival phase and service phase; level 0 has one service phase."""

_SERVICE = rules.tie_order(rules.SERVICE, 0)


class QueueState:
    """What a rule of level and phases looks at, apart from the phase of the deliveries.

    Parameters
    ----------
    clock : Clock
    buffer : Buffer
    service : TrackedService or None
        None where no rule asks for its phase.
    """

    def __init__(self, clock: Clock, buffer: Buffer, service: TrackedService | None) -> None:
        self.clock = clock
        self.buffer = buffer
        self._service = service

    def number(self, table: Table, arrival_phase: int, now: float) -> int:
        """Robots that are to be active."""
        level = self.buffer.level
        phase = self._service.phase(now) if self._service and level else 0
        return table[level][arrival_phase][phase]

    def tell(self, action: Callable[[float], None]) -> None:
        """Call an action whenever the level or the phase of the service has changed."""
        self.buffer.level_changed = action
        if self._service:
            self._service.announce = lambda change: self.clock.once(
                change, _SERVICE, lambda alarm: action(alarm.time)
            )


class FreeRobotsByPhase(FreeRobots):
    """Robots with exponential accesses of their own; the state just before a delivery decides."""

    def __init__(
        self,
        state: QueueState,
        table: Table,
        places: Mapping[int, int],
        access_ends: Mapping[int, AccessEnd],
        source: PageSource,
        failures: Failures | None = None,
    ) -> None:
        nobody = ActiveByLevel(state.buffer, ())
        super().__init__(state.clock, state.buffer, nobody, places, access_ends, source, failures)
        self._state = state
        self._table = table
        self._time = ActiveTime(table[0][0][0])
        state.tell(self._follow)

    @property
    def active(self) -> int:
        """Number of active robots now."""
        return self._state.number(self._table, 0, self._clock.now)

    def _follow(self, now: float) -> None:
        self._time.change(now, self._state.number(self._table, 0, now))

    def end_warmup(self, now: float) -> None:
        """Forget what was counted so far: the warm-up is over."""
        self._time.restart(now)

    def robots_time(self, now: float, level_time: Sequence[float]) -> float:  # noqa: ARG002  # same call for all fleets
        """Time integral of the active robots since the end of the warm-up."""
        return self._time.until(now)


class JointRobotsByPhase(JointRobots):
    """Joint deliveries, whose mode may change with their own phase, too."""

    def __init__(
        self,
        state: QueueState,
        table: Table,
        modes: Any,
        used: Sequence[int],
        first: int,
        stream: Any,
        source: PageSource,
        end: Callable[[float, float], float],
    ) -> None:
        rule = ActiveByLevel(state.buffer, [first])
        super().__init__(state.clock, state.buffer, rule, modes, used, first, stream, source, end)
        self._state = state
        self._table = table
        self._mode = table[0][self._phase][0]
        self._time = ActiveTime(self._mode)
        state.tell(self._follow_level)

    @property
    def active(self) -> int:
        """Number of active robots now."""
        return self._wanted(self._clock.now)

    def _wanted(self, now: float) -> int:
        return self._state.number(self._table, self._phase, now)

    def _enter(self, now: float, mode: int) -> None:
        super()._enter(now, mode)
        self._time.change(now, mode)

    def end_warmup(self, now: float) -> None:
        """Forget what was counted so far: the warm-up is over."""
        self._time.restart(now)

    def robots_time(self, now: float, level_time: Sequence[float]) -> float:  # noqa: ARG002  # same call for all fleets
        """Time integral of the active robots since the end of the warm-up."""
        return self._time.until(now)
