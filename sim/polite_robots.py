"""Robots that leave every host alone for a while after each access."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sim import rules
from sim.buffer import Buffer
from sim.clock import Alarm, Clock
from sim.loads import Chosen, DirectIndex
from sim.turns import PoliteTurns

Note = Callable[[float, str, int | None, int | None], None]

_DELIVERY = rules.tie_order(rules.DELIVERY, 0)


class PoliteRobots:
    """Robots that all work, and wait where no host may be accessed.

    A robot for which there is no page asks again when the next host becomes free; no time of an
    access is drawn meanwhile.

    Parameters
    ----------
    trips : sequence of callable
        For each robot, a function that draws its next access time.
    loads : Chosen
        What the robots bring.
    turns : PoliteTurns
        Which page a robot takes, and when it may.
    note : callable, optional
        Hears of the start of each access.
    """

    def __init__(
        self,
        clock: Clock,
        buffer: Buffer | DirectIndex,
        trips: Sequence[Callable[[], float]],
        loads: Chosen,
        turns: PoliteTurns,
        note: Note | None = None,
    ) -> None:
        self._clock = clock
        self._buffer = buffer
        self._trips = trips
        self._loads = loads
        self._turns = turns
        self._note = note
        self._carried = [-1] * len(trips)
        self.active = len(trips)

    def start(self) -> None:
        """Every robot asks for its first page at time 0, the lower one first."""
        for robot in range(len(self._trips)):
            self._clock.at(0.0, _DELIVERY + robot, Alarm(self._clock, self._arrive, robot))

    def _arrive(self, alarm: Alarm) -> None:
        robot = alarm.index
        now = alarm.time
        page = self._carried[robot]
        if page >= 0:
            self._buffer.deliver(now, (self._loads.bring(now, page),), robot)
        page = self._carried[robot] = self._turns.take(now)
        if page < 0:
            self._clock.at(self._turns.next_release, _DELIVERY + robot, alarm)
            return
        if self._note:
            self._note(now, "access", robot, page)
        self._clock.at(now + self._trips[robot](), _DELIVERY + robot, alarm)

    def cut(self, now: float) -> None:
        """Nothing is counted here: all robots are active, those that wait included."""

    def robots_time(self, now: float, level_time: Sequence[float]) -> float:  # noqa: ARG002  # same call for all fleets
        """Time integral of the active robots since the cut."""
        return rules.time_of_robots(level_time, [self.active] * len(level_time))
