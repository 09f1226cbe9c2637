"""How many robots feed a finite indexing queue: the static problem (talim2001)."""

from __future__ import annotations

from analytic import conditions
from analytic.active_robots import robots_at
from analytic.arrival_process import access_rate
from analytic.formula import Formula, Values
from analytic.phase_type import exponential_rate
from scenarios import Scenario

__all__ = ["FORMULAS", "static_cost", "static_loss_rate", "static_starvation"]


def _sum_of_powers(load: float, capacity: int) -> float:
    return sum(load**power for power in range(capacity + 1))


def static_starvation(load: float, capacity: int) -> float:
    """Starvation probability of M/M/1/K: ``S = 1 / (1 + rho + … + rho^K)``.

    Parameters
    ----------
    load : float
        rho = robots × access rate / service rate.
    capacity : int
        K, the places with the one in service.

    Notes
    -----
    talim2001, section 4 (before (9)).
    """
    if load <= 1:
        return 1 / _sum_of_powers(load, capacity)
    inverse = 1 / load
    return float(inverse**capacity / _sum_of_powers(inverse, capacity))


def static_loss_rate(load: float, capacity: int, service: float) -> float:
    """Pages lost per unit time by M/M/1/K: ``L = mu rho^(K+1) / (1 + rho + … + rho^K)``.

    Parameters
    ----------
    load : float
        rho = robots × access rate / service rate.
    capacity : int
        K, the places with the one in service.
    service : float
        mu, the service rate.

    Notes
    -----
    talim2001, section 4 (before (9)).
    """
    if load <= 1:
        return float(service * load ** (capacity + 1) / _sum_of_powers(load, capacity))
    return service * load / _sum_of_powers(1 / load, capacity)


def static_cost(load: float, capacity: int, service: float, starvation: float) -> float:
    """Cost of a fixed number of robots: ``C = gamma S + L``.

    Parameters
    ----------
    load : float
        rho = robots × access rate / service rate.
    capacity : int
        K, the places with the one in service.
    service : float
        mu, the service rate.
    starvation : float
        gamma, the price of starvation in units of a lost page.

    Notes
    -----
    talim2001 (9): ``(1 - rho)(gamma + mu rho^(K+1)) / (1 - rho^(K+1))``; at rho = 1
    ``(gamma + mu) / (K + 1)``. Written with the sum of powers, which is safe at rho = 1.
    """
    loss = static_loss_rate(load, capacity, service)
    return starvation * static_starvation(load, capacity) + loss


def _parameters(scenario: Scenario) -> tuple[float, int, float]:
    """Load, K and service rate."""
    assert scenario.buffer is not None
    assert scenario.robots is not None
    assert scenario.robots.access_time is not None
    access = access_rate(scenario.robots.access_time)
    service = exponential_rate(scenario.buffer.service)
    assert access is not None
    assert service is not None
    arrivals = access * robots_at(scenario)(0)
    return arrivals / service, scenario.buffer.waiting_places + 1, service


def _static(scenario: Scenario) -> Values:
    load, capacity, service = _parameters(scenario)
    yield "starvation_probability", None, static_starvation(load, capacity)
    yield "loss_rate", None, static_loss_rate(load, capacity, service)


def _cost(scenario: Scenario) -> Values:
    load, capacity, service = _parameters(scenario)
    price, costs = scenario.costs.loss, scenario.costs
    if price > 0:
        cost = price * static_cost(load, capacity, service, costs.starvation / price)
    else:
        cost = costs.starvation * static_starvation(load, capacity)
    yield "control_cost", None, cost


_STATIC = (
    conditions.has_buffer,
    conditions.resolved_activation,
    conditions.pages_leave_the_queue_alone,
    conditions.static_robots,
    conditions.poisson_accesses,
    conditions.exponential_service,
    conditions.no_timers,
)

FORMULAS: tuple[Formula, ...] = (
    Formula(
        paper="talim2001",
        number="section 4",
        quantity="starvation probability and loss rate of a fixed number of robots",
        function=static_starvation,
        kind="exact",
        conditions=_STATIC,
        evaluate=_static,
    ),
    Formula(
        paper="talim2001",
        number="(9)",
        quantity="cost of a fixed number of robots",
        function=static_cost,
        kind="exact",
        conditions=(*_STATIC, conditions.priced_by_loss_and_starvation),
        evaluate=_cost,
    ),
)
"""The index: paper, number, quantity, function, kind, conditions."""
