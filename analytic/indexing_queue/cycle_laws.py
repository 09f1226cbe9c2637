"""The distribution of the busy cycle: from one arrival to an empty system to the next."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import coo_array, csr_array
from scipy.special import gammainc

from analytic.indexing_queue.chain import QueueChain, rate_blocks
from scenarios.arrays import Array

LARGEST_CYCLE_CHAIN = 3000
"""States of a chain whose cycle times are given."""

MOST_CYCLE_JUMPS = 200_000
"""Jumps up to the longest time, at the largest rate of a state."""


class _Absorption(NamedTuple):
    """The chain between two arrivals to an empty system.

    Attributes
    ----------
    moves : csr_array, shape (states, states)
        Rates that do not end the cycle, transposed: from column to row.
    ends : ndarray, shape (states,)
        Rates at which it ends; positive at level 0 only.
    begins : ndarray, shape (states,)
        Cycles that begin in each state per unit time.
    """

    moves: csr_array
    ends: Array
    begins: Array


def cycle_rate(chain: QueueChain, stationary: Array) -> float:
    """Busy cycles per unit time; the mean cycle time is one divided by it."""
    return float(_absorption(chain, stationary).begins.sum())


def cycle_speed(chain: QueueChain, stationary: Array) -> float:
    """Largest rate out of a state: the jumps per unit time of `cycle_cdf`."""
    found = _absorption(chain, stationary)
    return float((found.moves.sum(axis=0) + found.ends).max())


def cycle_cdf(chain: QueueChain, stationary: Array, times: ArrayLike) -> Array:
    """Distribution function ``P(C <= t)`` of the time between two arrivals to an empty system.

    Parameters
    ----------
    chain : QueueChain
        Of at most 3000 states.
    stationary : ndarray, shape (states,)
        Stationary probabilities.
    times : array_like
        t >= 0.

    Returns
    -------
    ndarray
        Of the shape of `times`; nan where the system is never empty or never ceases to be.

    Raises
    ------
    ValueError
        If the chain is larger, or more than 200,000 jumps are expected in a time.

    Notes
    -----
    The cycle is of phase type: it begins in the state after an arrival to an empty system, in
    proportion to the rates of these arrivals (docs/distributions.md), and is absorbed by the next.
    Uniformisation, as in `sojourn_cdf`: nothing is subtracted.
    """
    points = np.asarray(times, dtype=float)
    found = _absorption(chain, stationary)
    total = found.begins.sum()
    if total <= 0:
        return np.full(points.shape, math.nan)
    out = np.asarray(found.moves.sum(axis=0)) + found.ends
    rate = float(out.max())
    expected = rate * float(points.max(initial=0.0))
    if expected > MOST_CYCLE_JUMPS:
        raise ValueError(
            f"{expected:.3g} jumps are expected up to time {points.max():g}; "
            f"must be at most {MOST_CYCLE_JUMPS}"
        )
    shares = np.zeros(points.shape)
    state = found.begins / total
    stays = 1 - out / rate
    for jump in range(1 + math.ceil(expected + 9 * math.sqrt(expected) + 30)):
        shares += gammainc(jump + 1, rate * points) * float(state @ found.ends) / rate
        state = found.moves @ state / rate + state * stays
    return shares


def _absorption(chain: QueueChain, stationary: Array) -> _Absorption:
    if chain.states > LARGEST_CYCLE_CHAIN:
        raise ValueError(f"{chain.states} states; must be at most {LARGEST_CYCLE_CHAIN}")
    starts = chain.starts
    begins = np.zeros(chain.states)
    ends = np.zeros(chain.states)
    rows = []
    columns = []
    rates = []
    for origin, target, block in rate_blocks(chain):
        if origin == 0 and target > 0:
            ends[: starts[1]] += block.sum(axis=1)
            begins[starts[target] : starts[target + 1]] += stationary[: starts[1]] @ block
            continue
        here, there = np.nonzero(block)
        rates.append(block[here, there])
        rows.append(there + starts[target])
        columns.append(here + starts[origin])
    return _Absorption(_sparse(chain.states, rates, rows, columns), ends, begins)


def _sparse(states: int, rates: list[Array], rows: list[Any], columns: list[Any]) -> csr_array:
    """The rates as a matrix, without its diagonal, which has no meaning."""
    rate, row, column = map(np.concatenate, (rates, rows, columns))
    moves = row != column
    entries = rate[moves], (row[moves], column[moves])
    return coo_array(entries, shape=(states, states)).tocsr()
