"""The index of formulas of open-loop routing, and what they say of a scenario."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from analytic.index import page_conditions
from analytic.index.accesses import accessed_pages
from analytic.index.formula import Formula, Statement, Values
from analytic.index.page_rows import changes_found
from analytic.machinery.arrival_process import mean_rate
from analytic.machinery.phase_type import PhaseLaw, as_phase_type, exponential_rate
from analytic.machinery.transforms import mean_time, transform
from analytic.page_refresh.formulas import freshness_measures
from analytic.routing import conditions
from analytic.routing.accesses import access_costs, dependent_obsolescence
from analytic.routing.bounds import linear_bound
from analytic.routing.conditions import servers_of, shares_of, traffic_of
from analytic.routing.given_costs import (
    mean_spacing_costs,
    random_spacing_cost,
    spacing_cost,
    spacing_costs,
)
from analytic.routing.losses import (
    gap_matrices,
    loss_costs,
    map_loss,
    non_preemptive_loss,
    phase_type_loss,
    random_loss,
    random_non_preemptive_loss,
    renewal_loss,
)
from analytic.routing.multimodularity import local_minimum, violations
from analytic.routing.orders import two_servers
from analytic.routing.search import best_word, routing_costs
from analytic.routing.words import (
    Loss,
    average_loss,
    cyclic_distances,
    primitive_length,
    server_losses,
)
from scenarios import Scenario
from scenarios.arrays import Array
from scenarios.model import present
from scenarios.sections import Period, Servers


def _phase_law(servers: Servers, server: int) -> PhaseLaw:
    return present(as_phase_type(servers.laws[server]))


def _service_rate(servers: Servers, server: int) -> float:
    return present(exponential_rate(servers.laws[server]))


def _measures(scenario: Scenario, losses: dict[int, float], total: float) -> Values:
    """All measures, from the fraction lost of each server's packets and of all packets."""
    servers, traffic = servers_of(scenario), traffic_of(scenario)
    law = traffic.law
    if law is not None:
        rate = 1.0 / mean_time(law)
    else:
        rate = mean_rate(np.stack(gap_matrices(traffic.gaps)))
    for server, loss in losses.items():
        yield "preemption_probability", server, loss
    yield "preemption_probability", "all", total
    yield "arrival_rate", None, rate
    yield "loss_rate", None, rate * total
    yield "throughput", None, rate * (1 - total)
    if servers.weights is not None and servers.spacing_cost is None:
        weights = servers.weight_of_each
        yield from _mean_costs(servers, {m: weights[m] * loss for m, loss in losses.items()})


def _mean_costs(servers: Servers, costs: dict[int, float]) -> Values:
    """Mean cost of the packets of each server, and of all with what rises at those never used."""
    shares = shares_of(servers)
    for server, cost in costs.items():
        yield "routing_cost", server, cost
    paid = math.fsum(shares[server] * cost for server, cost in costs.items())
    yield "routing_cost", "all", paid + sum(servers.final_rises[each] for each in servers.unused)


def _mixed(scenario: Scenario, losses: dict[int, float]) -> Values:
    shares = shares_of(servers_of(scenario))
    total = sum(shares[server] * loss for server, loss in losses.items())
    return _measures(scenario, losses, total)


def _word(scenario: Scenario) -> tuple[int, ...]:
    routing = servers_of(scenario).routing
    assert isinstance(routing, Period)
    return routing.root


def _periodic(scenario: Scenario, loss: Loss) -> Values:
    """Equation (6), per server and for all of them."""
    word = _word(scenario)
    return _measures(scenario, server_losses(word, loss), average_loss(word, loss))


def _from_tables(scenario: Scenario, losses: Callable[[int, Any], Array]) -> Values:
    """The same, f_m(n) being computed for all distances of a server at once."""
    tables = {
        server: losses(server, range(1, max(own) + 1))
        for server, own in cyclic_distances(_word(scenario)).items()
    }
    return _periodic(scenario, lambda server, distance: float(tables[server][distance - 1]))


def _renewal(scenario: Scenario) -> Values:
    servers = servers_of(scenario)
    law = present(traffic_of(scenario).law)
    missed = {m: float(transform(law, _service_rate(servers, m))) for m in shares_of(servers)}
    return _periodic(scenario, lambda server, n: float(renewal_loss(missed[server], n)))


def _map(scenario: Scenario) -> Values:
    servers = servers_of(scenario)
    D0, D1 = gap_matrices(traffic_of(scenario).gaps)
    return _from_tables(scenario, lambda m, n: map_loss(D0, D1, _service_rate(servers, m), n))


def _phase_type(scenario: Scenario) -> Values:
    servers, gaps = servers_of(scenario), traffic_of(scenario).gaps
    return _from_tables(scenario, lambda m, n: phase_type_loss(gaps, _phase_law(servers, m), n))


def _random(scenario: Scenario) -> Values:
    servers, gaps = servers_of(scenario), traffic_of(scenario).gaps
    losses = {
        server: random_loss(gaps, _phase_law(servers, server), share)
        for server, share in shares_of(servers).items()
    }
    return _mixed(scenario, losses)


def _non_preemptive(scenario: Scenario) -> Values:
    servers, gaps = servers_of(scenario), traffic_of(scenario).gaps
    losses = {}
    for server, share in shares_of(servers).items():
        law = _phase_law(servers, server)
        if isinstance(servers.routing, Period):
            word = servers.routing.root
            distances = cyclic_distances(word[: primitive_length(word)])[server]
            losses[server] = non_preemptive_loss(gaps, law, distances, servers.places[server])
        else:
            losses[server] = random_non_preemptive_loss(gaps, law, share, servers.places[server])
    return _mixed(scenario, losses)


def _spacing(scenario: Scenario) -> Values:
    servers = servers_of(scenario)
    gaps = traffic_of(scenario).gaps
    return _mean_costs(servers, mean_spacing_costs(servers, gaps, shares_of(servers)))


def _bound_of_costs(scenario: Scenario) -> Values:
    yield "routing_cost", "all", linear_bound(routing_costs(scenario)).value


def _bound(scenario: Scenario) -> Values:
    servers, gaps = servers_of(scenario), traffic_of(scenario).gaps
    laws = [_phase_law(servers, server) for server in range(servers.count)]
    yield "preemption_probability", "all", linear_bound(loss_costs(gaps, laws)).value


def _page_obsolescence(scenario: Scenario) -> Values:
    accessed = accessed_pages(scenario)
    word = conditions.period_of(accessed)
    gaps = conditions.accesses(scenario)
    stale = dependent_obsolescence(gaps, accessed.change_rates, word)
    shares = np.bincount(word, minlength=len(stale)) / len(word)
    rates = shares * mean_rate(np.stack(gap_matrices(gaps)))
    found = changes_found(scenario, stale)
    return freshness_measures(scenario, accessed.weights, stale, rates, found)


def _bound_of_pages(scenario: Scenario) -> Values:
    accessed = accessed_pages(scenario)
    arrivals = conditions.accesses(scenario)
    bound = linear_bound(access_costs(arrivals, accessed.change_rates, accessed.weights))
    yield "weighted_obsolescence", None, max(bound.value, 0.0)


_GIVEN = (conditions.has_servers, conditions.routing_given)

_row = partial(Formula, paper="altman2000", kind="exact", origin="own")

FORMULAS: tuple[Formula, ...] = (
    _row(
        number="(6), Example 2.1",
        quantity="packets lost of a periodic routing, independent gaps, exponential services",
        latex=r"g=\frac{1}{n}\sum_m\sum_jf_m(\delta_j^m),\qquad f_m(k)=h(\mu_m)^k,\qquad "
        r"h(\mu_m)=\mathbb{E}\,e^{-\mu_m\tau}",
        function=renewal_loss,
        origin="printed",
        conditions=(
            *_GIVEN,
            conditions.periodic,
            conditions.no_waiting_places,
            conditions.independent_gaps,
            conditions.exponential_services,
        ),
        evaluate=_renewal,
    ),
    _row(
        number="(6), section 5",
        quantity="packets lost of a periodic routing, MMPP or MAP arrivals, exponential services",
        latex=r"g=\frac{1}{n}\sum_m\sum_jf_m(\delta_j^m),\qquad "
        r"f_m(k)=q\left[(\mu_mI-C)^{-1}D\right]^k\mathbf{e}",
        function=map_loss,
        origin="printed",
        conditions=(
            *_GIVEN,
            conditions.periodic,
            conditions.no_waiting_places,
            conditions.gaps_with_phases,
            conditions.exponential_services,
            conditions.one_closed_class,
            conditions.not_locked,
        ),
        evaluate=_map,
    ),
    _row(
        number="(6), phase-type services",
        quantity="packets lost of a periodic routing, preemptive phase-type services",
        latex=r"g=\frac{1}{n}\sum_m\sum_jf_m(\delta_j^m),\qquad "
        r"f_m(k)=(q\otimes\alpha_m)\left[-(C\oplus T_m)^{-1}(D\otimes I)\right]^k\mathbf{e}",
        function=phase_type_loss,
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
    _row(
        number="section 2, random routing",
        quantity="packets lost of a random routing",
        latex=r"g=\sum_mp_m\ell_m,\qquad \ell_m=p_m\,(q\otimes\alpha_m)\,A_m"
        r"\left(I-(1-p_m)A_m\right)^{-1}\mathbf{e},\qquad A_m=-(C\oplus T_m)^{-1}(D\otimes I)",
        function=random_loss,
        conditions=(
            *_GIVEN,
            conditions.at_random,
            conditions.no_waiting_places,
            conditions.preemptive_or_exponential,
            conditions.phase_type_services,
            conditions.one_closed_class,
        ),
        evaluate=_random,
    ),
    _row(
        number="section 2, non-preemptive",
        quantity="packets lost of a routing, non-preemptive phase-type services",
        latex=r"\ell_m=\frac{1}{n_m}\sum_{j=1}^{n_m}\pi_j\mathbf{b},\qquad "
        r"\pi_{j+1}=\pi_jE_mA_m^{\delta_j^m},\qquad\pi_{n_m+1}=\pi_1,\qquad\pi_1\mathbf{e}=1",
        function=non_preemptive_loss,
        conditions=(
            *_GIVEN,
            conditions.no_waiting_places,
            conditions.some_other_service,
            conditions.non_preemptive,
            conditions.phase_type_services,
            conditions.one_closed_class,
            conditions.not_locked,
        ),
        evaluate=_non_preemptive,
    ),
    _row(
        number="section 2, waiting places",
        quantity="packets lost of a routing to servers at which some may wait",
        latex=r"\ell_m=\frac{1}{n_m}\sum_{j=1}^{n_m}\pi_j\mathbf{b},\qquad "
        r"\pi_{j+1}=\pi_jE_mA_m^{\delta_j^m},\qquad\pi_{n_m+1}=\pi_1,\qquad\pi_1\mathbf{e}=1",
        function=non_preemptive_loss,
        conditions=(
            *_GIVEN,
            conditions.waiting_places,
            conditions.phase_type_services,
            conditions.one_closed_class,
            conditions.not_locked,
        ),
        evaluate=_non_preemptive,
    ),
    _row(
        number="(6), linear bound",
        quantity="packets lost of the best routing",
        latex=r"g\ge\min\limits_{\sum_mx_m=1}\ \sum_m\varphi_m(x_m),\qquad "
        r"\varphi_m\left(\frac{1}{k}\right)=\frac{f_m(k)}{k},\qquad \varphi_m(0)=0,\qquad"
        r"\text{straight between}",
        function=linear_bound,
        kind="lower bound",
        conditions=(
            *_GIVEN,
            conditions.all_losses_by_distance,
            conditions.not_locked,
        ),
        evaluate=_bound,
    ),
    _row(
        number="(6), spacing costs",
        quantity="mean cost of a packet of a periodic routing, costs by distance",
        latex=r"g=\frac{1}{n}\sum_m\sum_jf_m(\delta_j^m)+\sum_{m\ \text{never used}}a_m",
        function=spacing_cost,
        conditions=(
            *_GIVEN,
            conditions.has_spacing_costs,
            conditions.periodic,
            conditions.fading_forgets_its_start,
            conditions.costs_not_locked,
        ),
        evaluate=_spacing,
    ),
    _row(
        number="section 2, random routing, spacing costs",
        quantity="mean cost of a packet of a random routing, costs by distance",
        latex=r"g=\sum_mp_m\sum_{k\ge1}p_m\left(1-p_m\right)^{k-1}f_m(k)"
        r"+\sum_{m\ \text{never used}}a_m",
        function=random_spacing_cost,
        conditions=(
            *_GIVEN,
            conditions.has_spacing_costs,
            conditions.at_random,
            conditions.fading_forgets_its_start,
        ),
        evaluate=_spacing,
    ),
    _row(
        number="(6), linear bound of given costs",
        quantity="mean cost of a packet of the best routing, costs by distance or weighted losses",
        latex=r"g\ge\sum_ma_m+\min\limits_{\sum_mx_m=1}\ \sum_m\varphi_m(x_m),\qquad "
        r"\varphi_m\left(\frac{1}{k}\right)=\frac{f_m(k)}{k}-a_m,\qquad \varphi_m(0)=0",
        function=spacing_costs,
        kind="lower bound",
        conditions=(
            *_GIVEN,
            conditions.has_packet_costs,
            conditions.all_costs_by_distance,
            conditions.costs_not_locked,
        ),
        evaluate=_bound_of_costs,
    ),
    _row(
        number="section 6",
        quantity="obsolescence rates under a periodic schedule, dependent access times",
        latex=r"r_m=1-\frac{1}{n\,\mu_m\,\mathbb{E}\tau}\sum_j\left(1-f_m(\delta_j^m)\right),"
        r"\qquad f_m(k)=q\left[(\mu_mI-C)^{-1}D\right]^k\mathbf{e}",
        function=dependent_obsolescence,
        origin="printed",
        conditions=(
            *conditions.OPEN_LOOP,
            page_conditions.resolved_frequencies,
            page_conditions.periodic_policy,
            conditions.dependent_accesses,
            conditions.accesses_not_locked,
        ),
        evaluate=_page_obsolescence,
    ),
    _row(
        number="section 6, linear bound",
        quantity="weighted obsolescence of the best schedule, any weights and access times",
        latex=r"\sum_mc_mr_m\ge\min\limits_{\sum_mx_m=1}\ \sum_m\varphi_m(x_m),\qquad "
        r"\varphi_m\left(\frac{1}{k}\right)=c_m\left(1-\frac{1-f_m(k)}{k\,\mu_m\,\mathbb{E}\tau}"
        r"\right),\qquad\varphi_m(0)=c_m",
        function=linear_bound,
        kind="lower bound",
        conditions=(
            *conditions.OPEN_LOOP,
            conditions.few_pages,
            conditions.long_run,
            conditions.accesses_not_locked,
        ),
        evaluate=_bound_of_pages,
    ),
)
"""The index: paper, number, quantity, function, kind, conditions."""

_statement = partial(Statement, paper="altman2000", kind="algorithm")

STATEMENTS: tuple[Statement, ...] = (
    _statement(
        number="Theorem 3.1",
        quantity="a periodic order of least cost, with a bound below every order",
        latex=r"g^*=\min\limits_{n,\,\delta}\ \frac{1}{n}\sum_m\sum_jf_m(\delta_j^m)"
        r"\ge\min\limits_{\sum_mx_m=1}\ \sum_m\varphi_m(x_m)",
        function=best_word,
        origin="own",
    ),
    _statement(
        number="section 5.1",
        quantity="the best order of two servers: one packet to the slower, all others to the other",
        latex=r"g^*=\min\limits_{n\ge2}\ \frac{f_1(n)+f_2(2)+(n-2)\,f_2(1)}{n}",
        function=two_servers,
        origin="own",
    ),
    _statement(
        number="(5)",
        quantity="where the inequality of multimodular functions fails",
        latex=r"G(x+b_i)+G(x+b_j)\ge G(x)+G(x+b_i+b_j),\quad i\ne j,\qquad "
        r"b_0=-e_1,\quad b_i=e_i-e_{i+1},\quad b_n=e_n",
        function=violations,
        kind="exact",
        origin="printed",
    ),
    _statement(
        number="Theorem 4.2",
        quantity="where a walk to the best neighbour ends",
        latex=r"G(x)\le G\left(x+\sum\limits_{i\in F}b_i\right)\text{ for every }F"
        r"\ \Longrightarrow\ G(x)=\min\limits_yG(y)\quad\text{for multimodular }G",
        function=local_minimum,
        origin="printed",
    ),
)
"""What else the paper says; the finite graphs and the block rule are proofs of ours."""
