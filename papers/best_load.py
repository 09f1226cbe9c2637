"""The best load and the best fixed number of robots by talim2001, Proposition 3 and (10).

`crawlsim optimize --target static` gives the same number, and covers other systems and costs.
"""

from __future__ import annotations

import math

import numpy as np

from analytic.indexing_queue import mm1k_levels
from analytic.robot_control import static_cost


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
    probabilities = mm1k_levels(math.exp(log_load), capacity)
    # A mean near K is K less a small number: both distances are sums without cancellation.
    mean = float(probabilities @ levels)
    room = float(probabilities @ (capacity - levels)) + 1.0
    variance = float(probabilities @ (levels - mean) ** 2)
    value = (capacity + 1) * log_load + math.log(room) - math.log(mean)
    return value, (capacity + 1) * (1 - variance / (mean * room))


def optimal_load(price: float, capacity: int) -> float:
    """The load with the least static cost: the root of ``G(rho) = gamma / mu``.

    Parameters
    ----------
    price : float
        gamma / mu > 0, the price of starvation in pages lost per mean service time.
    capacity : int
        K, pages that the buffer holds, the one in service included.

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
        K, pages that the buffer holds, the one in service included.
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
