"""Parallel servers, fed by open-loop routing (altman2000), put together."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial

from scenarios import Scenario
from scenarios.model import present
from scenarios.sections import Period, Random
from scenarios.sections import Servers as ServersSection
from sim import rules
from sim.clock import Alarm, Clock
from sim.draws import sampler
from sim.engine_inputs import SpacingLaw, is_preemptive, spacing_laws
from sim.event_log import Log, LogEvent
from sim.streams import stream
from sim.tally import ServersTally, Tally

Draw = Callable[[], float]
SpacingCost = Callable[[int, float], float]
"""What an access costs at a distance in accesses, and a time, from the last one."""

_SERVICE = rules.tie_order(rules.SERVICE, 0)
_ARRIVAL = rules.tie_order(rules.DELIVERY, 0)


class Server:
    """One server: it holds the packet in service, and as many more as it has places.

    A packet that finds it busy waits where a place is free; its service is drawn when it begins.
    Where none is, it takes the place of the one in service, which is lost, and has a service of its
    own; or, if the discipline is not preemptive, it is lost itself and has none.

    Parameters
    ----------
    clock : Clock
    index : int
        Its number.
    draw : callable
        Draws the next service time.
    preemptive : bool
    log_event : callable, optional
        Writes the event log: time, event, server, running number of the packet.
    spacing_cost : callable, optional
        What a packet costs by its distance from the one sent here before.
    places : int
        Packets that may wait.
    """

    def __init__(
        self,
        clock: Clock,
        index: int,
        draw: Draw,
        preemptive: bool,
        log_event: LogEvent | None = None,
        spacing_cost: SpacingCost | None = None,
        places: int = 0,
    ) -> None:
        self._clock = clock
        self._index = index
        self._draw = draw
        self._preemptive = preemptive
        self._log_event = log_event
        self._end = Alarm(clock, self._complete, index)
        self._packet = -1
        self.places = places
        self._waiting = deque[int]()
        self._spacing_cost = spacing_cost
        self._last_packet = -1
        self._last_time = 0.0
        self.busy = False
        self._start_counting(0.0)

    def arrive(self, now: float, packet: int) -> None:
        """A packet comes: it is served, or one of two is lost."""
        self.arrived += 1
        self._count_distance(now, packet)
        lost = -1
        if rules.may_wait(self.busy, len(self._waiting), self.places):
            self._waiting.append(packet)
        elif rules.turns_away(self.busy, self._preemptive):
            lost = packet
        else:
            if self.busy:
                lost = self._packet
                # The alarm of the service that is lost still goes off, and nobody heeds it.
                self._end = Alarm(self._clock, self._complete, self._index)
            self._start(now, packet)
        self.lost += lost >= 0
        if self._log_event:
            self._log_event(now, "arrival", self._index, packet)
            if lost >= 0:
                self._log_event(now, "loss", self._index, lost)

    def _count_distance(self, now: float, packet: int) -> None:
        if self._last_packet >= 0:
            self.spaced += 1
            if self._spacing_cost:
                distance = packet - self._last_packet
                self.spacing_cost += self._spacing_cost(distance, now - self._last_time)
        self._last_packet = packet
        self._last_time = now

    def _start(self, now: float, packet: int) -> None:
        if not self.busy:
            self.busy = True
            self._busy_since = now
        self._packet = packet
        self._clock.at(now + self._draw(), _SERVICE + self._index, self._end)

    def _complete(self, alarm: Alarm) -> None:
        if alarm is not self._end:
            return
        self.served += 1
        done = self._packet
        self._count_busy(alarm.time)
        if self._waiting:
            self._start(alarm.time, self._waiting.popleft())
        else:
            self.busy = False
        if self._log_event:
            self._log_event(alarm.time, "service", self._index, done)

    @property
    def inside(self) -> int:
        """Packets in service and waiting."""
        return self.busy + len(self._waiting)

    def _count_busy(self, now: float) -> None:
        if self.busy:
            self._busy_time += now - self._busy_since
            self._busy_since = now

    def _start_counting(self, now: float) -> None:
        self.arrived = self.lost = self.served = self.spaced = 0
        self.spacing_cost = 0.0
        self._busy_since = now
        self._busy_time = 0.0
        self.inside_at_start = self.inside

    def end_warmup(self, now: float) -> None:
        """Forget what was counted so far: the warm-up is over."""
        self._start_counting(now)

    def busy_time(self, now: float) -> float:
        """Time with a packet in service since the end of the warm-up."""
        self._count_busy(now)
        return self._busy_time


def _cost_of(law: SpacingLaw, distance: int, elapsed: float) -> float:
    return rules.spacing_cost(law.law, law.first, law.second, law.table, distance, elapsed)


class Traffic:
    """Packets that arrive one by one and are sent to servers without looking at them.

    Parameters
    ----------
    clock : Clock
    gap : callable
        Draws the next time between packets.
    route : callable
        Server of the packet with a running number, 0 for the first.
    servers : sequence of Server
    """

    def __init__(
        self, clock: Clock, gap: Draw, route: Callable[[int], int], servers: Sequence[Server]
    ) -> None:
        self._clock = clock
        self._gap = gap
        self._route = route
        self._servers = servers
        self._next = 0

    def start(self) -> None:
        """Wait for the first packet."""
        self._clock.at(self._gap(), _ARRIVAL, Alarm(self._clock, self._arrive))

    def _arrive(self, alarm: Alarm) -> None:
        packet = self._next
        self._next = self._next + 1
        self._servers[self._route(packet)].arrive(alarm.time, packet)
        self._clock.at(alarm.time + self._gap(), _ARRIVAL, alarm)


class ParallelServers:
    """The components of one replication, wired together.

    Parameters
    ----------
    scenario : Scenario
    replication, seed : int
        They select the random streams.
    log : Log, optional
        Receives every event.
    """

    def __init__(self, scenario: Scenario, replication: int, seed: int, log: Log | None) -> None:
        section, traffic = present(scenario.servers), present(scenario.model.traffic)
        self._run = scenario.run
        self._replication = replication
        self._stream = partial(stream, seed, replication)
        self.clock = Clock()
        self.end = scenario.run.horizon
        self._log_event = partial(self._write, log) if log else None
        self._servers = self._all_servers(section, is_preemptive(traffic))
        gap = sampler(traffic.gaps, self._stream("arrival"))
        self._traffic = Traffic(self.clock, gap, self._route(section), self._servers)

    def run(self) -> Tally:
        """Run from time 0 to the horizon, counting from the end of the warm-up."""
        self.start()
        self.clock.run_to(self.end)
        tally = self._tally(self.end)
        tally.check(self.end, robots=0)
        return tally

    def start(self) -> None:
        """Set everything going, at time 0."""
        self._traffic.start()
        self.clock.once(self._run.warmup, rules.tie_order(rules.WARMUP, 0), self._end_warmup)

    def _all_servers(self, section: ServersSection, preemptive: bool) -> list[Server]:
        costs = [partial(_cost_of, law) for law in spacing_laws(section)]
        servers = []
        for index, law in enumerate(section.laws):
            draw = sampler(law, self._stream("service", index))
            cost = costs[index] if costs else None
            places = section.places[index]
            servers.append(
                Server(self.clock, index, draw, preemptive, self._log_event, cost, places)
            )
        return servers

    def _route(self, section: ServersSection) -> Callable[[int], int]:
        routing = section.routing
        if isinstance(routing, Period):
            word = routing.root
            return lambda packet: word[packet % len(word)]
        assert isinstance(routing, Random)
        sums = rules.cumulative(routing.root)
        own = self._stream("routing")
        return lambda packet: rules.pick(sums, own.random())  # noqa: ARG005  # drawn, not counted

    def _end_warmup(self, alarm: Alarm) -> None:
        for server in self._servers:
            server.end_warmup(alarm.time)

    def _tally(self, now: float) -> Tally:
        each = self._servers
        counted = ServersTally(
            arrived=tuple(server.arrived for server in each),
            lost=tuple(server.lost for server in each),
            served=tuple(server.served for server in each),
            inside_at_start=tuple(server.inside_at_start for server in each),
            inside_at_end=tuple(server.inside for server in each),
            busy_time=tuple(server.busy_time(now) for server in each),
            spaced=tuple(server.spaced for server in each),
            spacing_cost=tuple(server.spacing_cost for server in each),
            places=tuple(server.places for server in each),
        )
        return Tally(window=now - self._run.warmup, servers=counted)

    def _write(
        self, log: Log, now: float, event: str, server: int | None, packet: int | None
    ) -> None:
        level = sum(each.inside for each in self._servers)
        log.add((self._replication, now, event, server, packet, level, 0))
