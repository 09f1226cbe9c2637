"""Closed forms of the indexing queue with exponential accesses, service and timers."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from analytic.markov import birth_death
from scenarios.arrays import Array


def mm1k_levels(load: ArrayLike, capacity: int) -> Array:
    """Level probabilities of M/M/1/K: ``p_n = load^n / (1 + load + … + load^K)``.

    Parameters
    ----------
    load : array_like
        Arrival rate divided by service rate.
    capacity : int
        K, the places with the one in service.

    Returns
    -------
    ndarray, shape (..., capacity + 1)

    Notes
    -----
    Kleinrock, Queueing Systems I (1975), section 3.6. Above load 1 the sum is taken from the top,
    in powers of 1/load, so that nothing overflows.
    """
    rho = np.asarray(load, dtype=float)[..., None]
    powers = np.arange(capacity + 1.0)
    upwards = np.minimum(rho, 1.0) ** powers
    downwards = (1.0 / np.maximum(rho, 1.0)) ** powers[::-1]
    weights = np.where(rho > 1, downwards, upwards)
    result: Array = weights / weights.sum(axis=-1, keepdims=True)
    return result


def birth_death_levels(births: Array, service: float, stale: float, capacity: int) -> Array:
    """Level probabilities where pages enter at a rate given by the level.

    Parameters
    ----------
    births : ndarray, shape (capacity + 1,)
        Deliveries per unit time at each level; those at the top are lost.
    service : float
        Service rate.
    stale : float
        Rate of the exponential timer of each waiting page; 0: never.
    capacity : int
        Places, the one in service included.

    Notes
    -----
    avrachenkov2011, section 3 with one phase everywhere: deaths ``service + (n - 1) · stale``
    from level n, since the page in service has no timer.
    """
    deaths = service + stale * np.arange(float(capacity))
    return birth_death(list(births[:capacity]), list(deaths))
