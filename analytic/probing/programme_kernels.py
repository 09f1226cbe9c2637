"""Compiled: the dynamic programme and the moves of eckstein2005."""

from __future__ import annotations

from typing import Any

import numpy as np

from analytic.probing.descent import interval
from analytic.probing.kernels import Grid, add_link
from analytic.probing.profile import Cells
from scenarios.kernels import compiled, part

Array = Any


@compiled
def least_cost(grid: Grid, probes: int, apart: int) -> tuple[float, Array]:
    """Least cost of exactly this many probes `apart` slots apart, and their slots: O(n N**2).

    eckstein2005 Algorithms 1, 2 and 4, corrected: (14) adds up a row of K from its diagonal,
    without a subtraction; exactly n probes, so that D(0, N) = 0 and D(0, i) is infinite before.
    """
    slots = len(grid.cost)
    best = np.full((probes + 1, slots + 1), np.inf)
    following = np.zeros((probes + 1, slots + 1), np.int32)
    best[0, slots] = 0.0
    row = np.zeros(slots + 1)
    for i in range(slots - apart, -1, -1):
        total = seen = 0.0
        for j in range(i, slots):
            total += grid.cost[j] + seen * grid.importance[j]
            seen += grid.updates[j]
            row[j + 1] = total
        for m in range(1, probes + 1):
            for j in range(i + apart, slots + 1):
                value = row[j] + best[m - 1, j]
                if value < best[m, i]:
                    best[m, i] = value
                    following[m, i] = j
    return best[probes, 0], _followed(following, probes)


@part
def _followed(following: Array, probes: int) -> Array:
    """The path from 0 along the successors with fewer and fewer probes left (Algorithm 2)."""
    path = np.zeros(probes + 1, np.int64)
    for k in range(probes):
        path[k + 1] = following[probes - k, path[k]]
    return path


@compiled
def least_cost_by_layers(grid: Grid, probes: int, apart: int) -> tuple[float, Array]:
    """The same as `least_cost` in O(n N): one lower envelope for each number of probes."""
    slots = len(grid.cost)
    following = np.zeros((probes + 1, slots + 1), np.int32)
    last = np.full(slots + 1, np.inf)
    last[slots] = 0.0
    free = np.zeros(slots + 1)
    for m in range(1, probes + 1):
        best = np.full(slots + 1, np.inf)
        add_link(grid, apart, (probes - m) * apart, free, last, best, following[m])
        last = best
    return last[0], _followed(following, probes)


@compiled
def least_costs(grid: Grid, probes: int, apart: int) -> Array:
    """Least costs of exactly 1, 2, … probes, by the same layers, of which only the last is kept."""
    slots = len(grid.cost)
    following = np.zeros(slots + 1, np.int32)
    last = np.full(slots + 1, np.inf)
    last[slots] = 0.0
    free = np.zeros(slots + 1)
    costs = np.empty(probes)
    for m in range(probes):
        best = np.full(slots + 1, np.inf)
        add_link(grid, apart, 0, free, last, best, following)
        last = best
        costs[m] = last[0]
    return costs


@part
def _gain(cells: Cells, times: Array, k: int, mu: float, spacing: float) -> float:
    """What a mu-move saves; move 2 i is that of probe i to the left, 2 i + 1 to the right."""
    i = k // 2
    now = times[k // 2]
    moved = _moved_to(times, k, mu, spacing)
    saved = 0.0
    for time, sign in ((now, 1.0), (moved, -1.0)):
        saved += sign * interval(cells, times[i - 1], time)[2]
        saved += sign * interval(cells, time, times[i + 1])[2]
    return saved


@part
def _moved_to(times: Array, k: int, mu: float, spacing: float) -> float:
    """Where a mu-move takes a probe: that share of the way to its neighbour."""
    i = k // 2
    goal = times[i - 1] + spacing if k % 2 == 0 else times[i + 1] - spacing
    return mu * goal + (1 - mu) * times[i]


@compiled
def mu_moves(
    cells: Cells,
    times: Array,
    mu: float,
    spacing: float,
    least: float,
    most: int,
) -> int:
    """Make the mu-move that saves most while it saves `least`, `most` times at most; how often."""
    count = 0
    end = 2 * len(times) - 2
    gains = np.full(end, -np.inf)
    for k in range(2, end):
        gains[k] = _gain(cells, times, k, mu, spacing)
    while count < most:
        k = int(np.argmax(gains))
        if not gains[k] >= least:
            break
        times[k // 2] = _moved_to(times, k, mu, spacing)
        count += 1
        for near in range(max(2 * (k // 2) - 2, 2), min(2 * (k // 2) + 4, end)):
            gains[near] = _gain(cells, times, near, mu, spacing)
    return count
