"""Parallel servers as compiled code: the events of `sim.servers`, on arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from scenarios import Scenario
from scenarios.model import present
from scenarios.sections import Period, Random
from scenarios.sections import Servers as ServersSection
from sim import rules
from sim.compiled_engine.alarms import Alarms, new_alarms, set_alarm, soonest
from sim.compiled_engine.jit import inner, kernel, loop
from sim.compiled_engine.random_numbers import RandomNumbers, rows_of
from sim.compiled_engine.records import record, record_type, records
from sim.compiled_engine.seeding import Streams
from sim.compiled_engine.times import Times, take
from sim.engine_inputs import is_preemptive, spacing_laws
from sim.tally import ServersTally, Tally

_SPACING = record_type(
    [
        ("law", np.int64),
        ("first", np.float64),
        ("second", np.float64),
        ("begins", np.int64),
        ("ends", np.int64),
    ]
)
"""Of a table the part of all tables that is the server's own."""

_SERVER = record_type(
    [
        ("busy", np.bool_),
        ("busy_since", np.float64),
        ("busy_time", np.float64),
        ("arrived", np.int64),
        ("lost", np.int64),
        ("served", np.int64),
        ("inside_at_start", np.int64),
        ("places", np.int64),
        ("waiting", np.int64),
        ("last_packet", np.int64),
        ("last_time", np.float64),
        ("spaced", np.int64),
        ("spacing_cost", np.float64),
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
    spacing : record array, shape (servers,)
        What packets cost by their distances; empty where these have no cost.
    tables : ndarray of float
        The tables of all servers, one after the other.
    """

    state: Any
    server: Any
    ends: Alarms
    times: Times
    period: Any
    cumulative: Any
    spacing: Any
    tables: Any


def simulate_servers(scenario: Scenario, replication: int, seed: int) -> Tally:
    """One replication."""
    laws, gaps = present(scenario.servers).laws, present(scenario.model.traffic).gaps
    own = Streams(seed, replication).stream
    run = scenario.run
    rows = [rows_of(law, own("service", server)) for server, law in enumerate(laws)]
    rows.append(rows_of(gaps, own("arrival")))
    random_numbers = RandomNumbers(rows, np.ones(len(rows), dtype=np.int64))
    routing = own("routing")
    servers = _new_servers(scenario, random_numbers)
    random_numbers.refill()
    begin_servers(servers)
    while not advance_servers(servers, routing):
        random_numbers.refill()
    tally = Tally(window=run.window, servers=_tally(servers))
    tally.check(run.horizon, robots=0)
    return tally


def _new_servers(scenario: Scenario, random_numbers: RandomNumbers) -> Servers:
    section, traffic = present(scenario.servers), present(scenario.model.traffic)
    run = scenario.run
    server = records(len(section.laws), _SERVER)
    server.last_packet = -1
    server.places = section.places
    spacing, tables = _spacing(section)
    routing = section.routing
    none = np.zeros(0)
    preemptive = is_preemptive(traffic)
    return Servers(
        state=record(
            preemptive=preemptive, arrival=0.0, packets=0, warmup=run.warmup, horizon=run.horizon
        ),
        server=server,
        ends=new_alarms(len(server)),
        times=random_numbers.times,
        period=np.array(routing.root if isinstance(routing, Period) else [], dtype=np.int64),
        cumulative=np.array(rules.cumulative(routing.root))
        if isinstance(routing, Random)
        else none,
        spacing=spacing,
        tables=tables,
    )


def _spacing(section: ServersSection) -> tuple[Any, Any]:
    """The laws of the spacing costs, and all tables as one array."""
    laws = spacing_laws(section)
    spacing = records(len(laws), _SPACING)
    ends = np.cumsum([len(law.table) for law in laws], dtype=np.int64)
    for index, law in enumerate(laws):
        begins = ends[index] - len(law.table)
        spacing[index] = (law.law, law.first, law.second, begins, ends[index])
    return spacing, np.concatenate([np.zeros(0), *(law.table for law in laws)])


def _tally(servers: Servers) -> ServersTally:
    each: Any = servers.server
    return ServersTally(
        arrived=tuple(each.arrived.tolist()),
        lost=tuple(each.lost.tolist()),
        served=tuple(each.served.tolist()),
        inside_at_start=tuple(each.inside_at_start.tolist()),
        inside_at_end=tuple((each.busy + each.waiting).tolist()),
        busy_time=tuple(each.busy_time.tolist()),
        spaced=tuple(each.spaced.tolist()),
        spacing_cost=tuple(each.spacing_cost.tolist()),
        places=tuple(each.places.tolist()),
    )


@kernel
def begin_servers(servers: Servers) -> None:
    """Time 0: the first packet is on its way."""
    servers.state.arrival = take(servers.times, len(servers.server))


@kernel
def advance_servers(servers: Servers, routing: Any) -> bool:
    """Go on until the horizon (True), or until a block of numbers may be used up (False)."""
    return go_on(servers, routing)


@loop
def go_on(servers: Servers, routing: Any) -> bool:
    """The loop of `advance_servers`; every packet takes a number, so that it comes to an end."""
    state = servers.state
    while not servers.times.used_up[0]:
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
    """A packet comes to the server that the routing says: it is served, waits, or one is lost."""
    index = route(servers, routing)
    server = servers.server[index]
    server.arrived += 1
    count_distance(servers, index, now)
    if rules.may_wait(server.busy, server.waiting, server.places):
        server.waiting += 1
    else:
        server.lost += server.busy
        if not rules.turns_away(server.busy, servers.state.preemptive):
            if not server.busy:
                server.busy = True
                server.busy_since = now
            set_alarm(servers.ends, index, now + take(servers.times, index))
    servers.state.arrival = now + take(servers.times, len(servers.server))


@inner
def count_distance(servers: Servers, index: int, now: float) -> None:
    """What the packet that has just been routed costs by its distance from the server's last."""
    server = servers.server[index]
    packet = servers.state.packets - 1
    if server.last_packet >= 0:
        server.spaced += 1
        if len(servers.spacing) > 0:
            own = servers.spacing[index]
            server.spacing_cost += rules.spacing_cost(
                own.law,
                own.first,
                own.second,
                servers.tables[own.begins : own.ends],
                packet - server.last_packet,
                now - server.last_time,
            )
    server.last_packet = packet
    server.last_time = now


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
    if server.waiting > 0:
        server.waiting -= 1
        set_alarm(servers.ends, index, now + take(servers.times, index))
    else:
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
        server.spaced = 0
        server.spacing_cost = 0.0
        server.busy_since = now
        server.busy_time = 0.0
        server.inside_at_start = server.busy + server.waiting
