"""Compiled elimination of chains that end, kept as bands.

Imported where it is used only: numba takes its time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from scenarios.kernels import compiled

Floats = NDArray[Any]


@compiled
def eliminate(band: Floats, lower: int, exits: Floats) -> None:
    """Eliminate a chain that ends, from the last state to the first, without a subtraction.

    Parameters
    ----------
    band : ndarray, shape (states, width)
        The rate from i to j stands at ``j - i + lower`` in row i; shares and onward rates stay
        there, and on the diagonal the rates to the states before and of the exit together.
    lower : int
    exits : ndarray, shape (states,)
        Overwritten.

    Notes
    -----
    Grassmann, Taksar and Heyman (1985): no digit is lost however small the exits are beside the
    rates. A state that is never left is given no time: nothing comes there, or nothing else
    matters.
    """
    states, width = band.shape
    for last in range(states - 1, -1, -1):
        left = max(0, last - lower)
        pivot = exits[last]
        for j in range(left, last):
            pivot += band[last, j - last + lower]
        if pivot == 0.0:
            pivot = np.inf
        band[last, lower] = pivot
        for i in range(max(0, last + lower + 1 - width), last):
            rate = band[i, last - i + lower]
            if rate == 0.0:
                continue
            share = rate / pivot
            band[i, last - i + lower] = share
            exits[i] += share * exits[last]
            for j in range(left, last):
                band[i, j - i + lower] += share * band[last, j - last + lower]


@compiled
def substitute(band: Floats, lower: int, totals: Floats) -> None:
    """Total rewards until the end from rewards per unit time, in place, after `eliminate`."""
    states, width = band.shape
    for last in range(states - 1, 0, -1):
        for i in range(max(0, last + lower + 1 - width), last):
            totals[i] += band[i, last - i + lower] * totals[last]
    for state in range(states):
        for j in range(max(0, state - lower), state):
            totals[state] += band[state, j - state + lower] * totals[j]
        totals[state] /= band[state, lower]
