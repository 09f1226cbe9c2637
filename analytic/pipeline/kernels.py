"""Compiled elimination, page by page: how stale the index is, seen from every state of a queue.

Imported where it is used only: numba takes its time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from analytic.indexing_queue.compiling import compiled

__all__ = ["totals_until_fresh"]

Floats = NDArray[Any]


@compiled
def _eliminate(band: Floats, exits: Floats, pivots: Floats, lower: int) -> None:
    """Eliminate from the last state to the first; shares and onward rates stay in the band.

    Nothing is subtracted (Grassmann, Taksar and Heyman, 1985): no digit is lost however small the
    exits are beside the rates.
    """
    states, width = band.shape
    upper = width - 1 - lower
    for last in range(states - 1, 0, -1):
        left = max(0, last - lower)
        pivot = exits[last]
        for j in range(left, last):
            pivot += band[last, j - last + lower]
        pivots[last] = pivot
        for i in range(max(0, last - upper), last):
            rate = band[i, last - i + lower]
            if rate == 0.0:
                continue
            share = rate / pivot
            band[i, last - i + lower] = share
            exits[i] += share * exits[last]
            for j in range(left, last):
                band[i, j - i + lower] += share * band[last, j - last + lower]
    pivots[0] = exits[0]


@compiled
def _substitute(band: Floats, pivots: Floats, lower: int, found: Floats) -> None:
    """Total rewards from rewards per unit time, in place."""
    states, width = band.shape
    upper = width - 1 - lower
    for last in range(states - 1, 0, -1):
        if found[last] == 0.0:
            continue
        for i in range(max(0, last - upper), last):
            found[i] += band[i, last - i + lower] * found[last]
    for state in range(states):
        total = found[state]
        for j in range(max(0, state - lower), state):
            total += band[state, j - state + lower] * found[j]
        found[state] = total / pivots[state]


@compiled
def _moved(accepted: Floats, coefficients: Floats, lower: int, values: Floats) -> Floats:
    """``sum_k c_k A_k values`` for the rates A_k of deliveries of which k pages enter."""
    states, width = accepted.shape[1:]
    result = np.zeros(states)
    for k in range(len(accepted)):
        if coefficients[k] == 0.0:
            continue
        for state in range(states):
            first, last = max(0, state - lower), min(states, state - lower + width)
            for j in range(first, last):
                rate = accepted[k, state, j - state + lower]
                if rate != 0.0:
                    result[state] += coefficients[k] * rate * values[j]
    return result


@compiled
def totals_until_fresh(
    base: Floats,
    accepted: Floats,
    lower: int,
    exits: Floats,
    misses: Floats,
    rewards: Floats,
    law: Floats,
) -> Floats:
    """Expected total rewards until a copy is in the buffer, and their derivatives by its share.

    Parameters
    ----------
    base : ndarray, shape (states, width)
        Rates of the moves that bring no page, in a band with `lower` places below the diagonal;
        the diagonal is not used.
    accepted : ndarray, shape (largest batch, states, width)
        Rates of the deliveries of which 1, 2, … pages enter.
    lower : int
    exits : ndarray, shape (pages, states)
        Rates at which the search ends: the page changes, or a copy of it enters.
    misses : ndarray, shape (pages, 3, largest batch)
        ``(1 - f)^k``, and minus its derivative by f, and its second derivative.
    rewards : ndarray, shape (pages, orders, states)
        Per unit time, and their derivatives by f.
    law : ndarray, shape (states,)
        Weights of the states in the results.

    Returns
    -------
    ndarray, shape (pages, orders)
    """
    pages, orders, states = rewards.shape
    result = np.empty((pages, orders))
    pivots = np.empty(states)
    for page in range(pages):
        band = base.copy()
        for k in range(len(accepted)):
            band += misses[page, 0, k] * accepted[k]
        left = exits[page].copy()
        _eliminate(band, left, pivots, lower)
        totals = rewards[page].copy()
        for order in range(orders):
            if order == 1:
                totals[1] -= _moved(accepted, misses[page, 1], lower, totals[0])
            elif order == 2:
                totals[2] -= 2.0 * _moved(accepted, misses[page, 1], lower, totals[1])
                totals[2] += _moved(accepted, misses[page, 2], lower, totals[0])
            _substitute(band, pivots, lower, totals[order])
            result[page, order] = law @ totals[order]
    return result
