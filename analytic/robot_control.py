"""How many robots feed a finite indexing queue: the static problem (talim2001)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analytic import conditions
from analytic.active_robots import robots_at
from analytic.formula import Formula, Values
from scenarios import Scenario

__all__ = ["FORMULAS", "static_cost", "static_loss_rate", "static_starvation"]

Array = NDArray[np.floating[Any]]


def _sum_of_powers(load: Array, capacity: int) -> Array:
    total: Array = (load[..., None] ** np.arange(capacity + 1.0)).sum(axis=-1)
    return total


def _either_side_of_one(load: ArrayLike) -> tuple[NDArray[np.bool_], Array, Array]:
    """Where the load is above 1, the load cut off at 1, and the inverse of one above 1."""
    rho = np.asarray(load, dtype=float)
    return rho > 1, np.minimum(rho, 1.0), 1.0 / np.maximum(rho, 1.0)


def static_starvation(load: ArrayLike, capacity: int) -> Array:
    """Starvation probability of M/M/1/K: ``S = 1 / (1 + rho + … + rho^K)``.

    Parameters
    ----------
    load : array_like
        rho = robots × access rate / service rate.
    capacity : int
        K, the places with the one in service.

    Notes
    -----
    talim2001, section 4 (before (9)).
    """
    above, low, inverse = _either_side_of_one(load)
    tail = inverse**capacity / _sum_of_powers(inverse, capacity)
    return np.where(above, tail, 1 / _sum_of_powers(low, capacity))


def static_loss_rate(load: ArrayLike, capacity: int, service: float) -> Array:
    """Pages lost per unit time by M/M/1/K: ``L = mu rho^(K+1) / (1 + rho + … + rho^K)``.

    Parameters
    ----------
    load : array_like
        rho = robots × access rate / service rate.
    capacity : int
        K, the places with the one in service.
    service : float
        mu, the service rate.

    Notes
    -----
    talim2001, section 4 (before (9)).
    """
    above, low, inverse = _either_side_of_one(load)
    full = low ** (capacity + 1) / _sum_of_powers(low, capacity)
    overload = np.asarray(load, dtype=float) / _sum_of_powers(inverse, capacity)
    return service * np.where(above, overload, full)


def static_cost(load: ArrayLike, capacity: int, service: float, starvation: ArrayLike) -> Array:
    """Cost of a fixed number of robots: ``C = gamma S + L``.

    Parameters
    ----------
    load : array_like
        rho = robots × access rate / service rate.
    capacity : int
        K, the places with the one in service.
    service : float
        mu, the service rate.
    starvation : array_like
        gamma, the price of starvation in units of a lost page.

    Notes
    -----
    talim2001 (9): ``(1 - rho)(gamma + mu rho^(K+1)) / (1 - rho^(K+1))``; at rho = 1
    ``(gamma + mu) / (K + 1)``. Written with the sum of powers, which is safe at rho = 1.
    """
    loss = static_loss_rate(load, capacity, service)
    cost: Array = np.asarray(starvation) * static_starvation(load, capacity) + loss
    return cost


def _parameters(scenario: Scenario) -> tuple[float, int, float]:
    """Load, K and service rate."""
    access, service, capacity = conditions.poisson_parameters(scenario)
    return access * robots_at(scenario)(0) / service, capacity, service


def _static(scenario: Scenario) -> Values:
    load, capacity, service = _parameters(scenario)
    yield "starvation_probability", None, float(static_starvation(load, capacity))
    yield "loss_rate", None, float(static_loss_rate(load, capacity, service))


def _cost(scenario: Scenario) -> Values:
    load, capacity, service = _parameters(scenario)
    price, costs = scenario.costs.loss, scenario.costs
    if price > 0:
        cost = price * static_cost(load, capacity, service, costs.starvation / price)
    else:
        cost = costs.starvation * static_starvation(load, capacity)
    yield "control_cost", None, float(cost)


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
