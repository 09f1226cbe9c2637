"""The index of formulas of open-loop routing, and what they say of a scenario."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from analytic.arrival_process import gap_map, mean_rate
from analytic.formula import Formula, Values
from analytic.phase_type import PhaseLaw, as_phase_type, exponential_rate
from analytic.routing import conditions
from analytic.routing.bounds import linear_bound
from analytic.routing.conditions import servers_of, shares_of
from analytic.routing.losses import (
    gap_law,
    map_loss,
    non_preemptive_loss,
    phase_type_loss,
    random_loss,
    random_non_preemptive_loss,
    renewal_loss,
)
from analytic.routing.spacing import loss_costs
from analytic.routing.visit_formulas import VISIT_FORMULAS
from analytic.routing.words import (
    Loss,
    average_loss,
    cyclic_distances,
    primitive_length,
    server_losses,
)
from analytic.transforms import mean_time, transform
from scenarios import Scenario
from scenarios.sections import Period


def _phase_law(scenario: Scenario, server: int) -> PhaseLaw:
    law = as_phase_type(servers_of(scenario).laws[server])
    assert law is not None
    return law


def _packet_rate(scenario: Scenario) -> float:
    """Packets per unit time."""
    arrivals = servers_of(scenario).arrivals
    law = gap_law(arrivals)
    if law is not None:
        return 1.0 / mean_time(law)
    matrices = gap_map(arrivals)
    assert matrices is not None
    return mean_rate(np.stack(matrices))


def _rows(scenario: Scenario, losses: dict[int, float], total: float) -> Values:
    """All measures, from the fraction lost of each server's packets and of all packets."""
    rate = _packet_rate(scenario)
    for server, loss in losses.items():
        yield "preemption_probability", server, loss
    yield "preemption_probability", "all", total
    yield "arrival_rate", None, rate
    yield "loss_rate", None, rate * total
    yield "throughput", None, rate * (1 - total)


def _mixed(scenario: Scenario, losses: dict[int, float]) -> Values:
    shares = shares_of(scenario)
    total = sum(shares[server] * loss for server, loss in losses.items())
    return _rows(scenario, losses, total)


def _periodic(scenario: Scenario, loss: Loss) -> Values:
    """Equation (6), per server and for all of them."""
    routing = servers_of(scenario).routing
    assert isinstance(routing, Period)
    return _rows(scenario, server_losses(routing.root, loss), average_loss(routing.root, loss))


def _tabulated(scenario: Scenario, values: Callable[[int, list[int]], np.ndarray]) -> Loss:
    """f_m(n) looked up in tables up to the largest distance of each server."""
    routing = servers_of(scenario).routing
    assert isinstance(routing, Period)
    tables = {
        server: values(server, list(range(1, max(own) + 1)))
        for server, own in cyclic_distances(routing.root).items()
    }
    return lambda server, distance: float(tables[server][distance - 1])


def _service_rate(scenario: Scenario, server: int) -> float:
    rate = exponential_rate(servers_of(scenario).laws[server])
    assert rate is not None
    return rate


def _renewal(scenario: Scenario) -> Values:
    law = gap_law(servers_of(scenario).arrivals)
    assert law is not None
    rates = {server: _service_rate(scenario, server) for server in shares_of(scenario)}
    missed = {server: float(transform(law, rate)) for server, rate in rates.items()}
    return _periodic(scenario, lambda server, n: float(renewal_loss(missed[server], n)))


def _map(scenario: Scenario) -> Values:
    matrices = gap_map(servers_of(scenario).arrivals)
    assert matrices is not None
    hidden, marked = matrices
    loss = _tabulated(
        scenario, lambda m, n: map_loss(hidden, marked, _service_rate(scenario, m), n)
    )
    return _periodic(scenario, loss)


def _phase_type(scenario: Scenario) -> Values:
    arrivals = servers_of(scenario).arrivals
    loss = _tabulated(scenario, lambda m, n: phase_type_loss(arrivals, _phase_law(scenario, m), n))
    return _periodic(scenario, loss)


def _random(scenario: Scenario) -> Values:
    arrivals = servers_of(scenario).arrivals
    losses = {
        server: random_loss(arrivals, _phase_law(scenario, server), share)
        for server, share in shares_of(scenario).items()
    }
    return _mixed(scenario, losses)


def _non_preemptive(scenario: Scenario) -> Values:
    servers = servers_of(scenario)
    losses = {}
    for server, share in shares_of(scenario).items():
        law = _phase_law(scenario, server)
        if isinstance(servers.routing, Period):
            word = servers.routing.root
            distances = cyclic_distances(word[: primitive_length(word)])[server]
            losses[server] = non_preemptive_loss(servers.arrivals, law, distances)
        else:
            losses[server] = random_non_preemptive_loss(servers.arrivals, law, share)
    return _mixed(scenario, losses)


def _bound(scenario: Scenario) -> Values:
    servers = servers_of(scenario)
    laws = [_phase_law(scenario, server) for server in range(servers.count)]
    yield "preemption_probability", "all", linear_bound(loss_costs(servers.arrivals, laws)).value


_GIVEN = (conditions.has_servers, conditions.routing_given)

FORMULAS: tuple[Formula, ...] = (
    Formula(
        paper="altman2000",
        number="(6), Example 2.1",
        quantity="packets lost of a periodic routing, independent gaps, exponential services",
        function=renewal_loss,
        kind="exact",
        origin="printed",
        conditions=(
            *_GIVEN,
            conditions.periodic,
            conditions.independent_gaps,
            conditions.exponential_services,
        ),
        evaluate=_renewal,
    ),
    Formula(
        paper="altman2000",
        number="(6), section 5",
        quantity="packets lost of a periodic routing, MMPP or MAP arrivals, exponential services",
        function=map_loss,
        kind="exact",
        origin="printed",
        conditions=(
            *_GIVEN,
            conditions.periodic,
            conditions.gaps_with_phases,
            conditions.exponential_services,
            conditions.one_closed_class,
            conditions.not_locked,
        ),
        evaluate=_map,
    ),
    Formula(
        paper="altman2000",
        number="(6), phase-type services",
        quantity="packets lost of a periodic routing, preemptive phase-type services",
        function=phase_type_loss,
        kind="exact",
        origin="own",
        conditions=(
            *_GIVEN,
            conditions.periodic,
            conditions.some_other_service,
            conditions.preemptive,
            conditions.phase_type_services,
            conditions.one_closed_class,
            conditions.not_locked,
        ),
        evaluate=_phase_type,
    ),
    Formula(
        paper="altman2000",
        number="section 2, random routing",
        quantity="packets lost of a random routing",
        function=random_loss,
        kind="exact",
        origin="own",
        conditions=(
            *_GIVEN,
            conditions.at_random,
            conditions.preemptive_or_exponential,
            conditions.phase_type_services,
            conditions.one_closed_class,
        ),
        evaluate=_random,
    ),
    Formula(
        paper="altman2000",
        number="section 2, non-preemptive",
        quantity="packets lost of a routing, non-preemptive phase-type services",
        function=non_preemptive_loss,
        kind="exact",
        origin="own",
        conditions=(
            *_GIVEN,
            conditions.some_other_service,
            conditions.non_preemptive,
            conditions.phase_type_services,
            conditions.one_closed_class,
            conditions.not_locked,
        ),
        evaluate=_non_preemptive,
    ),
    Formula(
        paper="altman2000",
        number="(6), linear bound",
        quantity="packets lost of the best routing",
        function=linear_bound,
        kind="lower bound",
        origin="own",
        conditions=(
            *_GIVEN,
            conditions.all_losses_by_distance,
            conditions.not_locked,
        ),
        evaluate=_bound,
    ),
    *VISIT_FORMULAS,
)
"""The index: paper, number, quantity, function, kind, conditions."""
