"""Conditions of the formulas of open-loop routing, each with the reason where it is not met."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

from analytic.arrival_process import embedded_period, gap_map
from analytic.formula import dependent, obstacles, premise
from analytic.markov import closed_classes
from analytic.phase_type import exponential_rate, phase_count
from analytic.routing.losses import gap_law
from analytic.routing.words import primitive_length
from scenarios import Scenario
from scenarios.laws import Distribution, Empirical, Erlang
from scenarios.sections import Period, Random, Servers

LARGEST_ORDER = 400
"""Joint phases of arrivals and one service up to which the matrices are built."""

MOST_SERVERS = 1000
"""Servers or pages up to which an order is sought."""

MOST_OBSERVED = 20_000
"""Product of joint phases and different observed gaps, each of which needs a matrix."""


def servers_of(scenario: Scenario) -> Servers:
    """The section [servers] of a scenario that has it."""
    assert scenario.servers is not None
    return scenario.servers


def shares_of(scenario: Scenario) -> dict[int, float]:
    """Share of the packets that each server gets, where it gets any."""
    routing = servers_of(scenario).routing
    if isinstance(routing, Period):
        counts = Counter(routing.root)
        length = len(routing.root)
        return {server: counts[server] / length for server in sorted(counts)}
    assert isinstance(routing, Random)
    return {server: share for server, share in enumerate(routing.root) if share > 0}


def _used_laws(scenario: Scenario) -> dict[int, Distribution]:
    """Service laws of the servers that get packets."""
    return {server: servers_of(scenario).laws[server] for server in shares_of(scenario)}


@premise
def has_servers(scenario: Scenario) -> str | None:
    """Packets are routed to servers without buffers."""
    return None if scenario.servers is not None else "there are no [servers]"


@premise
def routing_given(scenario: Scenario) -> str | None:
    """The routing is given, not to be optimised."""
    optimal = scenario.servers is not None and scenario.servers.routing == "optimal"
    return "the routing is still to be optimised" if optimal else None


def periodic(scenario: Scenario) -> str | None:
    """Packets go to the servers in turn, period after period."""
    found = isinstance(servers_of(scenario).routing, Period)
    return None if found else "packets are routed at random"


def at_random(scenario: Scenario) -> str | None:
    """Each packet goes to a server drawn with fixed probabilities."""
    found = isinstance(servers_of(scenario).routing, Random)
    return None if found else "packets are routed in turn"


def independent_gaps(scenario: Scenario) -> str | None:
    """The gaps between packets are independent and of one law."""
    found = gap_law(servers_of(scenario).arrivals) is not None
    return None if found else "gaps between packets depend on a phase"


def gaps_with_phases(scenario: Scenario) -> str | None:
    """Packets arrive as an MMPP or MAP."""
    found = gap_law(servers_of(scenario).arrivals) is None
    return None if found else "gaps between packets are independent"


def one_closed_class(scenario: Scenario) -> str | None:
    """The phase of the arrivals forgets where it started."""
    arrivals = servers_of(scenario).arrivals
    matrices = None if gap_law(arrivals) else gap_map(arrivals)
    if matrices is None:
        return None
    classes = len(closed_classes(sum(matrices, start=np.zeros(1))))
    return None if classes == 1 else f"the arrivals have {classes} closed classes of phases"


@dependent
def not_locked(scenario: Scenario) -> str | None:
    """The period of the routing and the phases of the arrivals do not lock in step."""
    servers = servers_of(scenario)
    matrices = None if gap_law(servers.arrivals) else gap_map(servers.arrivals)
    if matrices is None or not isinstance(servers.routing, Period):
        return None
    own = embedded_period(*matrices)
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
    """Services are of phase type, with at most 400 phases together with those of the arrivals."""
    for server, law in _used_laws(scenario).items():
        phases = phase_count(law)
        if phases is None:
            return f"the service of server {server} is not of phase type ({law.key})"
        order = _arrival_order(scenario) * (phases + 1)
        if order > LARGEST_ORDER:
            return f"{order} joint phases at server {server}; at most {LARGEST_ORDER} are solved"
        if order * _observed_gaps(scenario) > MOST_OBSERVED:
            return f"{order} joint phases for each of {_observed_gaps(scenario)} observed gaps"
    return None


def _arrival_order(scenario: Scenario) -> int:
    """Phases that stand beside those of a service while its matrix over one gap is computed."""
    law = gap_law(servers_of(scenario).arrivals)
    if law is not None:
        return 1 if isinstance(law, Erlang) else phase_count(law) or 1
    matrices = gap_map(servers_of(scenario).arrivals)
    return 1 if matrices is None else len(matrices[0])


def _observed_gaps(scenario: Scenario) -> int:
    """Different gaps of an empirical law; 1 for the others."""
    law = gap_law(servers_of(scenario).arrivals)
    return len(set(law.observations)) if isinstance(law, Empirical) else 1


def preemptive(scenario: Scenario) -> str | None:
    """The packet in service is lost when another one comes."""
    found = servers_of(scenario).discipline == "preemptive"
    return None if found else "a packet that finds its server busy is lost"


def non_preemptive(scenario: Scenario) -> str | None:
    """A packet that finds its server busy is lost."""
    found = servers_of(scenario).discipline == "non-preemptive"
    return None if found else "the packet in service is lost"


def preemptive_or_exponential(scenario: Scenario) -> str | None:
    """The packet in service is lost when another one comes, or services are exponential."""
    if preemptive(scenario) is None or exponential_services(scenario) is None:
        return None
    return "a packet that finds its server busy is lost, and services are not exponential"


@dependent
def all_losses_by_distance(scenario: Scenario) -> str | None:
    """The loss of a packet of any server depends on its distance to the next one alone."""
    count = servers_of(scenario).count
    if count > MOST_SERVERS:
        return f"{count} servers; at most {MOST_SERVERS} are ordered"
    # The conditions look at the servers that get packets: here all of them may.
    everywhere = scenario.with_("servers.routing", {"period": list(range(count))})
    needed = (preemptive_or_exponential, phase_type_services, one_closed_class)
    return ", and ".join(obstacles(needed, everywhere)) or None
