"""Sources, their updates, and the monitors that probe them (eckstein2005), put together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

from scenarios import Scenario
from scenarios.model import present
from scenarios.rates import PiecewiseConstant
from scenarios.sections import Probing
from sim import rules
from sim.clock import Alarm, Clock
from sim.event_log import Log
from sim.rates import Cycle, cycle, integral, mark, reached
from sim.streams import stream
from sim.tally import ProbingTally, SourcesTally, Tally


class Probed(NamedTuple):
    """One source of a scenario: its rates, and when it is probed."""

    updates: Cycle
    importance: Cycle
    times: tuple[float, ...]


def probed_sources(scenario: Scenario) -> tuple[Probed, ...]:
    """Every source of a scenario, with its probe times."""
    monitor = present(scenario.model.monitor)
    equally_spaced = () if monitor.is_settled else _equally_spaced(monitor.asked)
    return tuple(
        Probed(_cycle(each.updates), _cycle(each.importance), each.times or equally_spaced)
        for each in monitor.sources
    )


def probing_tally(scenario: Scenario, counted: Sequence[ProbingTally]) -> Tally:
    """The checked tally of a replication, from what was counted of each source."""
    monitor = present(scenario.model.monitor)
    end = monitor.asked.horizon
    if monitor.is_shared:
        tally = Tally(window=end, sources=SourcesTally.of(counted))
    else:
        tally = Tally(window=end, probing=counted[0])
    tally.check(end, 0)
    return tally


def _equally_spaced(asked: Probing) -> tuple[float, ...]:
    count, horizon = present(asked.probes), asked.horizon
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
    source : int
        Its number among several.
    """

    def __init__(
        self,
        clock: Clock,
        rate: Cycle,
        stream: Any,
        happened: Callable[[float], None],
        source: int = 0,
    ) -> None:
        self._clock = clock
        self._order = rules.tie_order(rules.UPDATE, source)
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
        self._clock.at(reached(self._rate, self._expected), self._order, alarm)

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
    source : int
        Its number among several.
    """

    def __init__(
        self,
        clock: Clock,
        times: Sequence[float],
        importance: Cycle,
        log_event: Callable[[float, str, int], None] | None = None,
        source: int = 0,
    ) -> None:
        self._clock = clock
        self._order = rules.tie_order(rules.QUERY, source)
        self._times = times
        self._importance = importance
        self._log_event = log_event
        self._pending: list[float] = []
        self._probes = self._seen = 0
        self._cost = self._fresh_time = self._last = 0.0

    def start(self) -> None:
        """Wait for the first probe."""
        self._clock.at(self._times[0], self._order, Alarm(self._clock, self._probe))

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
            self._clock.at(self._times[self._probes], self._order, alarm)

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


class ProbedSources:
    """The components of one replication: one path of [0, horizon].

    Parameters
    ----------
    scenario : Scenario
    replication, seed : int
        They select the random streams, one for each source.
    log : Log, optional
        Receives every event.
    """

    def __init__(self, scenario: Scenario, replication: int, seed: int, log: Log | None) -> None:
        self._scenario = scenario
        self._replication = replication
        self.clock = Clock()
        self.end = present(scenario.model.monitor).asked.horizon
        self._pairs = [
            self._put_together(source, probed, seed, log)
            for source, probed in enumerate(probed_sources(scenario))
        ]

    def _put_together(
        self, source: int, probed: Probed, seed: int, log: Log | None
    ) -> tuple[Updates, Monitor]:
        """One source and its monitor."""
        number = present(self._scenario.model.monitor).sources[source].number
        written = partial(self._write, log, number) if log else None
        monitor = Monitor(self.clock, probed.times, probed.importance, written, source)
        own = stream(seed, self._replication, "update", source)
        return Updates(self.clock, probed.updates, own, monitor.update, source), monitor

    def run(self) -> Tally:
        """Run from time 0 to the horizon."""
        self.start()
        self.clock.run_to(self.end)
        counted = [monitor.tally(updates.count) for updates, monitor in self._pairs]
        return probing_tally(self._scenario, counted)

    def start(self) -> None:
        """Set everything going, at time 0."""
        for updates, monitor in self._pairs:
            updates.start()
            monitor.start()

    def _write(self, log: Log, page: int | None, now: float, event: str, pending: int) -> None:
        log.add((self._replication, now, event, None, page, pending, 0))


def _cycle(rate: PiecewiseConstant) -> Cycle:
    return cycle(rate.breaks, rate.values, rate.period)
