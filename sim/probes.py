"""A source, its updates, and the monitor that probes it (eckstein2005), put together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from scenarios import Scenario
from scenarios.rates import PiecewiseConstant
from scenarios.sections import Probing, Times
from sim import rules
from sim.clock import Alarm, Clock
from sim.event_log import Log
from sim.rates import Cycle, cycle, integral, mark, reached
from sim.streams import stream
from sim.tally import ProbingTally, Tally

_UPDATE = rules.tie_order(rules.UPDATE, 0)
_PROBE = rules.tie_order(rules.QUERY, 0)


def given_times(probing: Probing) -> tuple[float, ...]:
    """Probe times that are given or equally spaced."""
    if isinstance(probing.policy, Times):
        return probing.policy.root
    assert probing.probes is not None
    count = probing.probes
    horizon = probing.horizon
    return (*(index * horizon / count for index in range(1, count)), horizon)


def largest_wait(times: Sequence[float], importance: Cycle) -> float:
    """The most that one update can cost: the importance of the longest interval of probes."""
    marks = [mark(importance, time) for time in (0.0, *times)]
    return max(integral(importance, *each) for each in pairwise(marks))


class Updates:
    """The source: updates as a Poisson process with a periodic piecewise-constant rate.

    Each update takes one standard exponential, and happens when the integral of the rate from 0
    exceeds the sum of all that were drawn (`rates.reached`).

    Parameters
    ----------
    clock : Clock
    rate : Cycle
    stream : Generator
        The stream "update".
    happened : callable
        Called with the time of every update.
    """

    def __init__(
        self, clock: Clock, rate: Cycle, stream: Any, happened: Callable[[float], None]
    ) -> None:
        self._clock = clock
        self._rate = rate
        self._stream = stream
        self._happened = happened
        self._expected = 0.0
        self.count = 0

    def start(self) -> None:
        """Wait for the first update."""
        self._wait(Alarm(self._clock, self._update))

    def _wait(self, alarm: Alarm) -> None:
        self._expected += rules.draw_exponential(self._stream, 1.0)
        self._clock.at(reached(self._rate, self._expected), _UPDATE, alarm)

    def _update(self, alarm: Alarm) -> None:
        self.count += 1
        self._happened(alarm.time)
        self._wait(alarm)


class Monitor:
    """Probes the source at given times; a probe sees every update since the last one.

    Parameters
    ----------
    clock : Clock
    times : sequence of float
        Increasing.
    importance : Cycle
        What a unit of waiting costs.
    log_event : callable, optional
        Writes the event log: time, event, updates that are pending after it.
    """

    def __init__(
        self,
        clock: Clock,
        times: Sequence[float],
        importance: Cycle,
        log_event: Callable[[float, str, int], None] | None = None,
    ) -> None:
        self._clock = clock
        self._times = times
        self._importance = importance
        self._log_event = log_event
        self._pending: list[float] = []
        self._probes = self._seen = 0
        self._cost = self._fresh_time = self._last = 0.0

    def start(self) -> None:
        """Wait for the first probe."""
        self._clock.at(self._times[0], _PROBE, Alarm(self._clock, self._probe))

    def update(self, now: float) -> None:
        """The source was updated; an update at the very time of a probe comes before it."""
        self._pending.append(now)
        if self._log_event:
            self._log_event(now, "update", len(self._pending))

    def _probe(self, alarm: Alarm) -> None:
        self._probes += 1
        self._fresh_time += (self._pending[0] if self._pending else alarm.time) - self._last
        self._last = alarm.time
        now = mark(self._importance, alarm.time)
        for update in self._pending:
            self._seen += 1
            self._cost += integral(self._importance, mark(self._importance, update), now)
        self._pending.clear()
        if self._log_event:
            self._log_event(alarm.time, "probe", 0)
        if self._probes < len(self._times):
            self._clock.at(self._times[self._probes], _PROBE, alarm)

    def tally(self, updates: int) -> ProbingTally:
        """What was counted, beside the source's own number of updates."""
        return ProbingTally(
            updates=updates,
            probes=self._probes,
            seen=self._seen,
            pending=len(self._pending),
            cost=self._cost,
            fresh_time=self._fresh_time,
            largest_wait=largest_wait(self._times, self._importance),
        )


class ProbedSource:
    """The components of one replication: one path of [0, horizon].

    Parameters
    ----------
    scenario : Scenario
    replication, seed : int
        They select the random stream.
    log : Log, optional
        Receives every event.
    """

    def __init__(self, scenario: Scenario, replication: int, seed: int, log: Log | None) -> None:
        assert scenario.source is not None
        assert scenario.probing is not None
        self._replication = replication
        self.clock = Clock()
        self.end = scenario.probing.horizon
        self._monitor = Monitor(
            self.clock,
            given_times(scenario.probing),
            _cycle(scenario.source.importance),
            partial(self._write, log) if log else None,
        )
        self._updates = Updates(
            self.clock,
            _cycle(scenario.source.updates),
            stream(seed, replication, "update"),
            self._monitor.update,
        )

    def run(self) -> Tally:
        """Run from time 0 to the horizon."""
        self.start()
        self.clock.run_to(self.end)
        tally = Tally(window=self.end, probing=self._monitor.tally(self._updates.count))
        tally.check(self.end, 0)
        return tally

    def start(self) -> None:
        """Set everything going, at time 0."""
        self._updates.start()
        self._monitor.start()

    def _write(self, log: Log, now: float, event: str, pending: int) -> None:
        log.add((self._replication, now, event, None, None, pending, 0))


def _cycle(rate: PiecewiseConstant) -> Cycle:
    return cycle(rate.breaks, rate.values, rate.period)
