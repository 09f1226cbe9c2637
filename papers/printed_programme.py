"""Algorithms 1, 2 and 4 of eckstein2005 as they are printed, with what is wrong in them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from analytic.probing.kernels import Grid
from scenarios.arrays import Array


def cost_matrix(grid: Grid, corrected: bool = False) -> Array:
    """K of Algorithm 4, shape (slots + 1, slots + 1).

    As printed the inner loop begins at i = j - 1: it overwrites ``K[j - 1, j]``, and every A' has a
    slot too many. Corrected it begins at j - 2.
    """
    slots = len(grid.cost)
    cost = np.zeros((slots + 1, slots + 1))
    cost[np.arange(slots), np.arange(1, slots + 1)] = grid.cost
    weights = np.append(grid.importance, 0.0)
    for j in range(slots, corrected, -1):
        wait = 0.0
        for i in range(j - 1 - corrected, -1, -1):
            wait += weights[i + 1]
            cost[i, j] = cost[i, i + 1] + grid.updates[i] * wait + cost[i + 1, j]
    return cost


def read_off(cost: Array, probes: int) -> tuple[float, NDArray[np.int64]]:
    """D(n, 0) of Algorithm 1 on a matrix K, and the slots of Algorithm 2."""
    slots = len(cost) - 1
    allowed = np.where(np.triu(np.ones_like(cost), 1) > 0, cost, np.inf)
    best = allowed[:, slots]
    choices = []
    for _ in range(probes - 1):
        totals = allowed + best
        choices.append(totals.argmin(axis=1))
        best = totals.min(axis=1)
    path = [0]
    for choice in reversed(choices):
        path.append(int(choice[path[-1]]))
    return float(best[0]), np.array([*path[1:], slots])
