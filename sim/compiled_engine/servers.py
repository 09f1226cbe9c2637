"""Parallel servers without buffers as compiled code: the events of `sim.servers`, on arrays."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from scenarios import Scenario
from scenarios.sections import Period, Random
from scenarios.sections import Servers as ServersSection
from sim import rules
from sim.compiled_engine.alarms import Alarms, new_alarms, set_alarm, soonest
from sim.compiled_engine.jit import inner, kernel, loop
from sim.compiled_engine.service import take
from sim.compiled_engine.supply import Supply, rows_of
from sim.compiled_engine.world import Times, record
from sim.streams import stream
from sim.tally import ServersTally, Tally

_SERVER = np.dtype(
    [
        ("busy", np.bool_),
        ("busy_since", np.float64),
        ("busy_time", np.float64),
        ("arrived", np.int64),
        ("lost", np.int64),
        ("served", np.int64),
        ("inside_at_start", np.int64),
    ]
)


class Servers(NamedTuple):
    """Everything about one replication.

    Attributes
    ----------
    state : record
        `arrival`: time of the next packet; `packets`: those that came; `warmup` (inf once it is
        over) and `horizon`.
    server : record array, shape (servers,)
    ends : Alarms
        When each server's service ends.
    times : Times
        Service times, one row per server, then the times between packets.
    period : ndarray of int
        Servers in turn; empty where packets are routed at random.
    cumulative : ndarray of float
        Probabilities of the servers, where packets are routed at random.
    """

    state: Any
    server: Any
    ends: Alarms
    times: Times
    period: Any
    cumulative: Any


def simulate_servers(scenario: Scenario, replication: int, seed: int) -> Tally:
    """One replication."""
    assert scenario.servers is not None
    own = partial(stream, seed, replication)
    run = scenario.run
    services = [own("service", server) for server in range(len(scenario.servers.laws))]
    streams = [*services, own("arrival")]
    supply = _supply(scenario.servers, streams)
    routing = own("routing")
    servers = _refilled(_new_servers(scenario, supply), supply)
    begin_servers(servers)
    while not advance_servers(servers, routing):
        servers = _refilled(servers, supply)
    tally = Tally(window=run.horizon - run.warmup, servers=_tally(servers))
    tally.check(run.horizon, robots=0)
    return tally


def _supply(section: ServersSection, streams: list[Any]) -> Supply:
    processes = [*section.laws, section.arrivals]
    rows = [rows_of(process, own) for process, own in zip(processes, streams, strict=True)]
    return Supply(rows, np.ones(len(rows), dtype=np.int64))


def _refilled(servers: Servers, supply: Supply) -> Servers:
    supply.refill()
    return servers._replace(times=supply.times())


def _new_servers(scenario: Scenario, supply: Supply) -> Servers:
    assert scenario.servers is not None
    section = scenario.servers
    run = scenario.run
    server = np.recarray(len(section.laws), _SERVER)
    server.fill(0)
    routing = section.routing
    none = np.zeros(0)
    preemptive = section.discipline == "preemptive"
    return Servers(
        state=record(
            preemptive=preemptive, arrival=0.0, packets=0, warmup=run.warmup, horizon=run.horizon
        ),
        server=server,
        ends=new_alarms(len(server)),
        times=supply.times(),
        period=np.array(routing.root if isinstance(routing, Period) else [], dtype=np.int64),
        cumulative=np.array(rules.cumulative(routing.root))
        if isinstance(routing, Random)
        else none,
    )


def _tally(servers: Servers) -> ServersTally:
    each: Any = servers.server
    return ServersTally(
        arrived=tuple(each.arrived.tolist()),
        lost=tuple(each.lost.tolist()),
        served=tuple(each.served.tolist()),
        inside_at_start=tuple(each.inside_at_start.tolist()),
        inside_at_end=tuple(each.busy.astype(int).tolist()),
        busy_time=tuple(each.busy_time.tolist()),
    )


@kernel
def begin_servers(servers: Servers) -> None:
    """Time 0: the first packet is on its way."""
    servers.state.arrival = take(servers.times, len(servers.server))


@kernel
def advance_servers(servers: Servers, routing: Any) -> bool:
    """Go on until the horizon (True), or until a block of numbers may be exhausted (False)."""
    return go_on(servers, routing)


@loop
def go_on(servers: Servers, routing: Any) -> bool:
    """The loop of `advance_servers`; every packet takes a number, so that it comes to an end."""
    state = servers.state
    while not servers.times.exhausted[0]:
        first = soonest(servers.ends)
        ends = servers.ends.time[first]
        now = min(ends, state.arrival, state.warmup, state.horizon)
        if ends == now:
            complete(servers, first, now)
        elif state.arrival == now:
            arrive(servers, routing, now)
        elif state.warmup == now:
            end_warmup(servers, now)
        else:
            count_all_busy(servers, now)
            return True
    return False


@inner
def arrive(servers: Servers, routing: Any, now: float) -> None:
    """A packet comes to the server that the routing says, and is served, or one of two is lost."""
    index = route(servers, routing)
    server = servers.server[index]
    server.arrived += 1
    server.lost += server.busy
    if not rules.turns_away(server.busy, servers.state.preemptive):
        if not server.busy:
            server.busy = True
            server.busy_since = now
        set_alarm(servers.ends, index, now + take(servers.times, index))
    servers.state.arrival = now + take(servers.times, len(servers.server))


@inner
def route(servers: Servers, routing: Any) -> int:
    """The server of the packet that comes."""
    packet = servers.state.packets
    servers.state.packets += 1
    if len(servers.period) > 0:
        return servers.period[packet % len(servers.period)]
    return rules.pick(servers.cumulative, routing.random())


@inner
def complete(servers: Servers, index: int, now: float) -> None:
    """A service ends."""
    server = servers.server[index]
    server.served += 1
    count_busy(server, now)
    server.busy = False
    set_alarm(servers.ends, index, np.inf)


@inner
def count_busy(server: Any, now: float) -> None:
    """Close the integral of the time with a packet in service."""
    if server.busy:
        server.busy_time += now - server.busy_since
        server.busy_since = now


@inner
def count_all_busy(servers: Servers, now: float) -> None:
    """The same for all servers."""
    for index in range(len(servers.server)):
        count_busy(servers.server[index], now)


@inner
def end_warmup(servers: Servers, now: float) -> None:
    """Forget what was counted so far: the warm-up is over."""
    servers.state.warmup = np.inf
    for index in range(len(servers.server)):
        server = servers.server[index]
        server.arrived = 0
        server.lost = 0
        server.served = 0
        server.busy_since = now
        server.busy_time = 0.0
        server.inside_at_start = server.busy
