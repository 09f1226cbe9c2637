"""Textbook queues of several servers: M/M/c/K, and the formulas of Erlang and Palm.

Loads are in Erlang: arrival rate times mean service, so that `load / servers` is the utilisation.
"""

from __future__ import annotations

import math

import numpy as np

from analytic.machinery.markov import birth_death
from scenarios.arrays import Array

_NEGLIGIBLE = 1e-17
"""Share of the largest term below which the rest of a series is left out."""


def mmck_levels(load: float, servers: int, capacity: int) -> Array:
    """Level probabilities of M/M/c/K: ``p_n / p_(n-1) = load / min(n, c)``.

    Parameters
    ----------
    load : float
        Arrival rate times mean service.
    servers : int
        c
    capacity : int
        K, pages that the buffer holds, those in service included.

    Returns
    -------
    ndarray, shape (capacity + 1,)

    Notes
    -----
    Kleinrock, Queueing Systems I (1975), section 3.2 with the rates of 3.4 up to level K.
    """
    deaths = np.minimum(np.arange(1.0, capacity + 1), servers)
    return birth_death([load] * capacity, list(deaths))


def loss_system_levels(deliveries: Array, mean: float) -> Array:
    """Level probabilities of M(n)/G/c/c: ``p_n / p_(n-1) = lambda_(n-1) mean / n``.

    Parameters
    ----------
    deliveries : ndarray, shape (c + 1,)
        Delivery rate at each level; at c pages are lost.
    mean : float
        Of the services.

    Notes
    -----
    The law of the service does not matter beyond its mean (Sevastyanov, 1957), whatever the rates
    are at the levels: docs/theory/other-queues.md.
    """
    return birth_death(list(deliveries[:-1]), list(np.arange(1.0, len(deliveries)) / mean))


def erlang_b(load: float, servers: int) -> float:
    """Probability that all servers of M/G/c/c are busy, hence of a loss.

    Notes
    -----
    Kleinrock (1975), section 3.5; for any law of the service with the same mean (Sevastyanov,
    1957). By the recursion ``1 / B_c = 1 + (c / load) / B_(c-1)``, which adds positive terms only.
    """
    if load == 0:
        return 0.0
    inverse = 1.0
    for busy in range(1, servers + 1):
        inverse = 1.0 + inverse * busy / load
    return 1.0 / inverse


def erlang_c(load: float, servers: int) -> float:
    """Probability that a page waits in M/M/c without a limit; 1 where the load is too high.

    Notes
    -----
    Kleinrock (1975), section 3.4: ``C = B / (1 - rho (1 - B))``, rho = load / servers.
    """
    utilisation = load / servers
    if utilisation >= 1:
        return 1.0
    blocked = erlang_b(load, servers)
    return blocked / (1.0 - utilisation * (1.0 - blocked))


def mean_sojourn_without_limit(arrivals: float, service: float, servers: int) -> float:
    """Mean time in M/M/c without a limit, ``C / (c mu - lambda) + 1 / mu``; inf if overloaded.

    An upper bound for the accepted pages of M/M/c/K: given that it is below K, the level is the
    smaller the lower K is.
    """
    free = servers * service - arrivals
    if free <= 0:
        return math.inf
    return erlang_c(arrivals / service, servers) / free + 1.0 / service


def erlang_a_throughput(
    arrivals: float, service: float, obsolescence: float, servers: int
) -> float:
    """Pages indexed per unit time in M/M/c+M: exponential patience, and no limit.

    An upper bound for the same queue with a capacity: its level is the smaller one.

    Notes
    -----
    Palm, Research on telephone traffic (1957); Garnett, Mandelbaum and Reiman (2002), "Erlang A":
    births at the arrival rate, deaths ``min(n, c) mu + (n - c)^+ theta``. The sum over the levels
    is cut where a geometric bound on its rest is negligible.
    """
    total, busy, weight, level = 1.0, 0.0, 1.0, 0
    while True:
        level += 1
        deaths = min(level, servers) * service + max(level - servers, 0) * obsolescence
        weight *= arrivals / deaths
        total += weight
        busy += weight * min(level, servers)
        ratio = arrivals / (deaths + obsolescence)
        if level > servers and ratio < 1 and weight * ratio / (1 - ratio) < _NEGLIGIBLE * total:
            return service * busy / total
        if total > 1e250:
            total, busy, weight = total / 1e250, busy / 1e250, weight / 1e250
