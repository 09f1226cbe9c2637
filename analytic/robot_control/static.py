"""A fixed number of robots: cost, starvation and loss (talim2001, section 4)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
        K, pages that the buffer holds, the one in service included.

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
        K, pages that the buffer holds, the one in service included.
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
        K, pages that the buffer holds, the one in service included.
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
    return np.asarray(starvation) * static_starvation(load, capacity) + loss
