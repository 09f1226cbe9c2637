"""Conditions of the formulas of open-loop routing, each with the reason where it is not met."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

from analytic.index import page_conditions
from analytic.index.accesses import (
    AccessedPages,
    access_law,
    accessed_pages,
    active_accesses,
    is_planned,
)
from analytic.index.conditions import every_access_delivers
from analytic.index.formula import Condition, Reasons, dependent, obstacles, premise
from analytic.machinery.arrival_process import gap_order
from analytic.machinery.markov import closed_classes
from analytic.machinery.phase_type import exponential_rate, phase_count
from analytic.page_refresh.hosts import hosts_never_wait
from analytic.routing.losses import arrival_period, dependent_gaps
from analytic.routing.words import primitive_length
from scenarios import Scenario
from scenarios.laws import Distribution, Empirical, Erlang
from scenarios.model import Gaps, ServerDiscipline, Traffic, present
from scenarios.sections import Period, Random, Servers
from scenarios.spacing_cost import Fading

LARGEST_ORDER = 400
"""Joint phases of arrivals and one service up to which the matrices are built."""

MOST_SERVERS = 1000
"""Servers or pages up to which an order is sought."""

MOST_BOUNDED = 60
"""Pages up to which the linear bound is given beside every schedule."""

MOST_OBSERVED = 20_000
"""Product of joint phases and distinct observed gaps, each of which needs a matrix."""


def servers_of(scenario: Scenario) -> Servers:
    """The section [servers] of a scenario that has one."""
    return present(scenario.servers)


def traffic_of(scenario: Scenario) -> Traffic:
    """What comes to the servers of a scenario that has some."""
    return present(scenario.model.traffic)


def shares_of(servers: Servers) -> dict[int, float]:
    """Share of the packets that each server gets, where it gets any."""
    routing = servers.routing
    if isinstance(routing, Period):
        counts = Counter(routing.root)
        length = len(routing.root)
        return {server: counts[server] / length for server in sorted(counts)}
    assert isinstance(routing, Random)
    return {server: share for server, share in enumerate(routing.root) if share > 0}


def _used_laws(scenario: Scenario) -> dict[int, Distribution]:
    """Service laws of the servers that get packets."""
    servers = servers_of(scenario)
    return {server: servers.laws[server] for server in shares_of(servers)}


@premise
def has_servers(scenario: Scenario) -> str | None:
    """Packets are routed to servers without buffers."""
    traffic = scenario.model.traffic
    if traffic is None:
        return "there are no [servers]"
    known = traffic.discipline in (ServerDiscipline.PREEMPTIVE, ServerDiscipline.NON_PREEMPTIVE)
    return None if known else f'servers have the discipline "{traffic.discipline.value}"'


@premise
def routing_given(scenario: Scenario) -> str | None:
    """The routing is given, not to be optimised."""
    optimal = scenario.servers is not None and scenario.servers.routing == "optimal"
    return "the routing is still to be optimised" if optimal else None


@premise
def has_spacing_costs(scenario: Scenario) -> str | None:
    """Packets have costs by their distances."""
    servers = scenario.servers
    if servers is None:
        return has_servers(scenario)
    given = servers.spacing_cost is not None
    return None if given else "packets have no costs by their distances (servers.spacing_cost)"


@premise
def has_packet_costs(scenario: Scenario) -> str | None:
    """Packets have costs by their distances, or weights."""
    if scenario.servers is None:
        return has_servers(scenario)
    return (
        None
        if scenario.servers.is_costed
        else "packets have no costs of their own (weights or spacing_cost)"
    )


def _fades(scenario: Scenario) -> bool:
    """Whether the cost of some server that gets packets fades in time."""
    costs = servers_of(scenario).spacing_costs
    return any(isinstance(costs[server], Fading) for server in shares_of(servers_of(scenario)))


def fading_forgets_its_start(scenario: Scenario) -> str | None:
    """Where costs fade in time, the phase of the arrivals forgets where it started."""
    return one_closed_class(scenario) if _fades(scenario) else None


@dependent
def costs_not_locked(scenario: Scenario) -> str | None:
    """Where losses or time matter, routing and phases of the arrivals do not lock in step."""
    by_packets = servers_of(scenario).spacing_cost is not None and not _fades(scenario)
    return None if by_packets else not_locked(scenario)


def periodic(scenario: Scenario) -> str | None:
    """Packets go to the servers in turn, period after period."""
    is_periodic = isinstance(servers_of(scenario).routing, Period)
    return None if is_periodic else "packets are routed at random"


def at_random(scenario: Scenario) -> str | None:
    """Each packet goes to a server drawn with fixed probabilities."""
    is_random = isinstance(servers_of(scenario).routing, Random)
    return None if is_random else "packets are routed periodically"


def independent_gaps(scenario: Scenario) -> str | None:
    """The gaps between packets are independent and of one law."""
    return None if traffic_of(scenario).law else "gaps between packets depend on a phase"


def gaps_with_phases(scenario: Scenario) -> str | None:
    """Packets arrive as an MMPP or MAP."""
    return "gaps between packets are independent" if traffic_of(scenario).law else None


def one_closed_class(scenario: Scenario) -> str | None:
    """The phase of the arrivals forgets where it started."""
    classes = _closed_classes(traffic_of(scenario).gaps)
    return None if classes == 1 else f"the arrivals have {classes} closed classes of phases"


def _closed_classes(gaps: Gaps) -> int:
    """Closed classes of the phases; 1 where there are no phases."""
    matrices = dependent_gaps(gaps)
    return 1 if matrices is None else len(closed_classes(matrices[0] + matrices[1]))


@dependent
def not_locked(scenario: Scenario) -> str | None:
    """The period of the routing and the phases of the arrivals do not lock in step."""
    servers = servers_of(scenario)
    if not isinstance(servers.routing, Period):
        return None
    own = arrival_period(traffic_of(scenario).gaps)
    length = primitive_length(servers.routing.root)
    if math.gcd(own, length) == 1:
        return None
    return (
        f"arrivals of period {own} and a routing of period {length} lock in step: "
        "one run depends on its start"
    )


def exponential_services(scenario: Scenario) -> str | None:
    """Services are exponential."""
    laws = _used_laws(scenario).values()
    known = all(exponential_rate(law) is not None for law in laws)
    return None if known else "services are not exponential"


def some_other_service(scenario: Scenario) -> str | None:
    """Some service is not exponential."""
    return None if exponential_services(scenario) else "services are exponential"


def phase_type_services(scenario: Scenario) -> str | None:
    """Services are of phase type, with at most 400 states together with those of the arrivals.

    A state has the packets at the server, too, where some may wait.
    """
    for server, law in _used_laws(scenario).items():
        phases = phase_count(law)
        if phases is None:
            return f"the service of server {server} is not of phase type ({law.key})"
        places = servers_of(scenario).places[server]
        order = _arrival_order(scenario) * (phases * (places + 1) + 1)
        if order > LARGEST_ORDER:
            what = "states of packets and phases" if places else "joint phases"
            return f"{order} {what} at server {server}; at most {LARGEST_ORDER} are solved"
        if order * _observed_gaps(scenario) > MOST_OBSERVED:
            return f"{order} joint phases for each of {_observed_gaps(scenario)} observed gaps"
    return None


def _arrival_order(scenario: Scenario) -> int:
    """Phases of the arrivals in the matrix of one service over one gap."""
    traffic = traffic_of(scenario)
    law = traffic.law
    if law is None:
        return gap_order(traffic.gaps) or 1
    return 1 if isinstance(law, Erlang) else phase_count(law) or 1


def _observed_gaps(scenario: Scenario) -> int:
    """Distinct gaps of an empirical law; 1 for other laws."""
    law = traffic_of(scenario).law
    return len(set(law.observations)) if isinstance(law, Empirical) else 1


def preemptive(scenario: Scenario) -> str | None:
    """The packet in service is lost when another one comes."""
    is_preemptive = traffic_of(scenario).discipline is ServerDiscipline.PREEMPTIVE
    return None if is_preemptive else _at_a_busy_server(scenario)


def _at_a_busy_server(scenario: Scenario) -> str:
    """What befalls a packet that does not interrupt the service of another one."""
    fate = "waits or is lost" if any(servers_of(scenario).places) else "is lost"
    return f"a packet that finds its server busy {fate}"


def non_preemptive(scenario: Scenario) -> str | None:
    """A packet that finds its server busy is lost."""
    is_turned_away = traffic_of(scenario).discipline is ServerDiscipline.NON_PREEMPTIVE
    return None if is_turned_away else "the packet in service is lost"


def preemptive_or_exponential(scenario: Scenario) -> str | None:
    """The packet in service is lost when another one comes, or services are exponential."""
    if preemptive(scenario) is None or exponential_services(scenario) is None:
        return None
    return f"{_at_a_busy_server(scenario)}, and services are not exponential"


def no_waiting_places(scenario: Scenario) -> str | None:
    """No packet waits at a server that gets any."""
    servers = servers_of(scenario)
    waits = any(servers.places[server] for server in shares_of(servers))
    return (
        "packets wait at a server: whether one is lost depends on all before it" if waits else None
    )


def waiting_places(scenario: Scenario) -> str | None:
    """Packets may wait at some server."""
    return None if no_waiting_places(scenario) else "servers have no waiting places"


@dependent
def all_costs_by_distance(scenario: Scenario) -> str | None:
    """What a packet of any server costs depends on its distance from another one alone."""
    servers = servers_of(scenario)
    if servers.spacing_cost is None:
        return all_losses_by_distance(scenario)
    if servers.count > MOST_SERVERS:
        return f"{servers.count} servers; at most {MOST_SERVERS} are ordered"
    fades = any(isinstance(cost, Fading) for cost in servers.spacing_costs)
    return one_closed_class(scenario) if fades else None


@dependent
def all_losses_by_distance(scenario: Scenario) -> str | None:
    """The loss of a packet of any server depends on its distance to the next one alone."""
    count = servers_of(scenario).count
    if count > MOST_SERVERS:
        return f"{count} servers; at most {MOST_SERVERS} are ordered"
    # The conditions look at the servers that get packets: here all of them may get some.
    everywhere = scenario.with_("servers.routing", {"period": list(range(count))})
    needed = (
        no_waiting_places,
        preemptive_or_exponential,
        phase_type_services,
        one_closed_class,
    )
    return ", and ".join(obstacles(needed, Reasons(everywhere))) or None


def accesses(scenario: Scenario) -> Gaps:
    """The times between the ends of accesses of one robot."""
    return access_law(scenario) or active_accesses(scenario)[0][0]


def dependent_accesses(scenario: Scenario) -> str | None:
    """Access times are those of an MMPP or MAP."""
    return "access times are independent" if access_law(scenario) else None


def known_accesses(scenario: Scenario) -> str | None:
    """Access times are independent, or those of an MMPP or MAP that forgets its start."""
    if scenario.robots is None or scenario.robots.deliveries is not None:
        return "deliveries are a joint process"
    if not active_accesses(scenario):
        return "no robot is active"
    if several := page_conditions.working_robots_alike(scenario):
        return several
    classes = _closed_classes(accesses(scenario))
    return None if classes == 1 else f"access times have {classes} closed classes of phases"


def period_of(accessed: AccessedPages) -> list[int]:
    """The page of each access of a period, under a periodic policy."""
    return accessed.cycle.tolist()


def long_run(scenario: Scenario) -> str | None:
    """The accessing policy has a period, or draws its pages: its cost is that of the long run."""
    if is_planned(scenario.model.accessing):
        return "the accessing policy is costed along a finite run, at whose start copies are new"
    return None


@dependent
def accesses_not_locked(scenario: Scenario) -> str | None:
    """The period of the schedule and the phases of the access times do not lock in step."""
    own = arrival_period(accesses(scenario))
    if own == 1 or page_conditions.periodic_policy(scenario) is not None:
        return None
    if page_conditions.resolved_frequencies(scenario) is not None:
        return None  # no schedule yet
    length = primitive_length(period_of(accessed_pages(scenario)))
    if math.gcd(own, length) == 1:
        return None
    return (
        f"access times of period {own} and a schedule of period {length} lock in step: "
        "one run depends on its start"
    )


def few_pages(scenario: Scenario) -> str | None:
    """At most 60 pages, at least one of which changes and has a weight."""
    accessed = accessed_pages(scenario)
    count = accessed.pages.count
    if count > MOST_BOUNDED:
        return f"{count} pages; the linear bound is given up to {MOST_BOUNDED}"
    worth = accessed.change_rates * accessed.weights
    return None if np.any(worth > 0) else "no page changes, or none has a weight"


OPEN_LOOP: tuple[Condition, ...] = (
    page_conditions.has_pages,
    page_conditions.no_buffer,
    page_conditions.robots_always_work,
    page_conditions.one_robot,
    hosts_never_wait,
    every_access_delivers,
    known_accesses,
)
"""One robot accesses pages one after the other, in whatever order."""
