"""Compiled loops: freshness of the index, page by page, and costs of many policies.

Imported where it is used only: numba takes its time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from analytic.machinery.elimination import eliminate, substitute
from scenarios.kernels import compiled, part

Floats = NDArray[Any]

_LARGEST_WEIGHT = 1e200
"""Products of rates are scaled down above this."""


@part
def _add_moved(band: Floats, lower: int, factor: float, values: Floats, into: Floats) -> None:
    """``into += factor * band @ values``."""
    states, width = band.shape
    for state in range(states):
        for j in range(max(0, state - lower), min(states, state - lower + width)):
            into[state] += factor * band[state, j - state + lower] * values[j]


@compiled
def total_rewards(
    bands: Floats, lower: int, factors: Floats, exits: Floats, rewards: Floats
) -> None:
    """Expected total rewards until the exit from many chains, and their derivatives.

    Parameters
    ----------
    bands : ndarray, shape (kinds, states, width)
        Rates of the kinds of moves: that from i to j stands at ``j - i + lower`` in row i. Those on
        the diagonal are not used.
    lower : int
    factors : ndarray, shape (orders, chains, kinds)
        What each kind is multiplied by in each chain, and the derivatives of that, by a parameter
        on which the rate out of each state does not depend.
    exits : ndarray, shape (chains, states)
        Overwritten.
    rewards : ndarray, shape (orders, chains, states)
        Per unit time, and their derivatives, at most two; overwritten with the totals.
    """
    for chain in range(len(exits)):
        band = np.zeros(bands.shape[1:])
        for kind in range(len(bands)):
            band += factors[0, chain, kind] * bands[kind]
        eliminate(band, lower, exits[chain])
        for order in range(len(rewards)):
            totals = rewards[order, chain]
            for times in range(1, order + 1):
                choices = order if times == 1 else 1  # binomial coefficients of Leibniz' rule
                for kind in range(len(bands)):
                    factor = choices * factors[times, chain, kind]
                    if factor != 0.0:
                        before = rewards[order - times, chain]
                        _add_moved(bands[kind], lower, factor, before, totals)
            substitute(band, lower, totals)


@part
def _birth_death(rises: Floats, service: float, stationary: Floats) -> None:
    """Stationary distribution of the levels by products, scaled as they grow."""
    stationary[0] = 1.0
    for level in range(1, len(stationary)):
        stationary[level] = stationary[level - 1] * rises[level - 1] / service
        if stationary[level] > _LARGEST_WEIGHT:
            stationary[: level + 1] /= stationary[level]
    stationary /= stationary.sum()


@compiled
def birth_death_costs(
    deliveries: Floats,
    service: float,
    prices: Floats,
    changes: Floats,
    shares: Floats,
    weights: Floats,
    waits: Floats,
) -> Floats:
    """Price of loss, starvation, response, deliveries and staleness, shape (policies,).

    Parameters
    ----------
    deliveries : ndarray, shape (policies, levels)
        Their rates.
    service : float
    prices : ndarray, shape (4,)
        Of a lost page, of starvation, of the mean response, and of a delivery.
    changes, shares, weights : ndarray, shape (kinds,)
        Change rates, shares of the deliveries, and prices of the staleness of the pages.
    waits : ndarray, shape (levels, kinds)
        Probability that a page changes before its copy is indexed, delivered at each level.

    Notes
    -----
    The linear systems of `obsolescence_rates` are tridiagonal; those of all pages are eliminated
    together.
    """
    policies, levels = deliveries.shape
    top = levels - 1
    costs = np.empty(policies)
    level = np.arange(levels)
    stationary = np.empty(levels)
    pivots = np.empty((levels, len(changes)))
    totals = np.empty((levels, len(changes)))
    for policy in range(policies):
        rises = deliveries[policy]
        _birth_death(rises, service, stationary)
        cost = prices[0] * rises[top] * stationary[top] + prices[1] * stationary[0]
        cost += prices[3] * (rises * stationary).sum()
        if prices[2] > 0.0:
            served = service * (1.0 - stationary[0])
            inside = (level * stationary).sum()
            cost += prices[2] * inside / served if served > 0.0 else np.nan
        for kind in range(len(changes)):
            pivots[top, kind] = totals[top, kind] = changes[kind]
        for n in range(top, 0, -1):
            for kind in range(len(changes)):
                exits = pivots[n, kind]
                pivots[n, kind] += service
                share = rises[n - 1] * (1.0 - shares[kind]) / pivots[n, kind]
                enters = rises[n - 1] * shares[kind]
                pivots[n - 1, kind] = changes[kind] + enters + share * exits
                totals[n - 1, kind] = (
                    changes[kind] + enters * waits[n - 1, kind] + share * totals[n, kind]
                )
        for n in range(levels):
            for kind in range(len(changes)):
                if n > 0:
                    totals[n, kind] += service * totals[n - 1, kind]
                totals[n, kind] /= pivots[n, kind]
                cost += weights[kind] * stationary[n] * totals[n, kind]
        costs[policy] = cost
    return costs
