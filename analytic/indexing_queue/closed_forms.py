"""Closed forms of the indexing queue with exponential accesses, service and patience."""

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
        K, pages that the buffer holds, the one in service included.

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


def birth_death_levels(births: Array, service: float, obsolescence: float, capacity: int) -> Array:
    """Level probabilities where pages enter at a rate given by the level.

    Parameters
    ----------
    births : ndarray, shape (capacity + 1,)
        Deliveries per unit time at each level; those at the top are lost.
    service : float
        Service rate.
    obsolescence : float
        Rate at which each waiting page becomes obsolete; 0: never.
    capacity : int
        Pages that the buffer holds, the one in service included.

    Notes
    -----
    avrachenkov2011, section 3 with one phase everywhere: deaths ``service + (n - 1) ·
    obsolescence`` from level n, since the page in service cannot become obsolete.
    """
    deaths = service + obsolescence * np.arange(float(capacity))
    return birth_death(list(births[:capacity]), list(deaths))
