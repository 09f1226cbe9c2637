"""A fixed number of robots: cost, starvation, loss, and the best number (talim2001, section 4)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analytic.indexing_queue.closed_forms import mm1k_levels
from scenarios.arrays import Array


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


def critical_price(capacity: int, service: float) -> float:
    """The price of starvation at which load one is best: ``gamma(K) = mu (K + 2) / K``.

    Notes
    -----
    talim2001, Proposition 3, which compares gamma with it; the value follows from `optimal_load`'s
    condition at rho = 1, where ``m = K / 2``.
    """
    return service * (capacity + 2) / capacity


def _log_price(log_load: float, capacity: int) -> tuple[float, float]:
    """Logarithm of G at a load, and its slope by the logarithm of the load."""
    levels = np.arange(capacity + 1.0)
    law = mm1k_levels(math.exp(log_load), capacity)
    # A mean near K is K less a small number: both distances are sums without cancellation.
    mean = float(law @ levels)
    room = float(law @ (capacity - levels)) + 1.0
    variance = float(law @ (levels - mean) ** 2)
    value = (capacity + 1) * log_load + math.log(room) - math.log(mean)
    return value, (capacity + 1) * (1 - variance / (mean * room))


def optimal_load(price: float, capacity: int) -> float:
    """The load with the least static cost: the root of ``G(rho) = gamma / mu``.

    Parameters
    ----------
    price : float
        gamma / mu > 0, the price of starvation in pages lost per mean service time.
    capacity : int
        K, the places with the one in service.

    Notes
    -----
    The derivative of talim2001 (9) by rho is zero where ``gamma / mu = G(rho)``, with ``G(rho) =
    rho^(K+1) (K + 1 - m) / m`` and m the mean level of M/M/1/K. In logarithms the slope of G is
    ``(K + 1) (1 - v / (m (K + 1 - m)))`` with v the variance of the level, and ``v <= m (K - m)``:
    G increases from 0 to infinity, the root is unique, and the cost falls before it and rises
    after it. Newton steps, kept inside a bracket.
    """
    target = math.log(price)
    low = high = target / (capacity + 1)
    while _log_price(low, capacity)[0] > target:
        low -= 1.0
    while _log_price(high, capacity)[0] < target:
        high += 1.0
    at = (low + high) / 2
    for _ in range(200):
        value, slope = _log_price(at, capacity)
        low, high = (at, high) if value < target else (low, at)
        step = at + (target - value) / slope
        following = step if low < step < high else (low + high) / 2
        if abs(following - at) <= 1e-15 * max(abs(at), 1.0):
            break
        at = following
    return math.exp(at)


def optimal_number(
    access: float, service: float, capacity: int, starvation: float, available: int
) -> int:
    """The number of robots, 0 … available, with the least static cost; the smaller of two.

    Parameters
    ----------
    access, service : float
        lambda of one robot, and mu.
    capacity : int
        K, the places with the one in service.
    starvation : float
        gamma > 0, the price of starvation in units of a lost page.
    available : int
        Robots at most.

    Notes
    -----
    talim2001 (10): by `optimal_load` the cost falls up to the best load and rises after it, so that
    the best number is next to it on one side or the other.
    """
    load = optimal_load(starvation / service, capacity)
    below = math.floor(min(load * service / access, available))
    numbers = np.array([below, min(below + 1, available)])
    costs = static_cost(numbers * access / service, capacity, service, starvation)
    return int(numbers[int(np.argmin(costs))])
