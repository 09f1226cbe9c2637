"""Compiled: the slots of an even grid, and the programmes that choose among them.

A grid has the times ``t_j = j T / N``. L, A and U are integrals from 0 to each of them: of lambda,
of a, and of ``a L``, so that ``C(t_i, t_j) = U_j - U_i - L_i (A_j - A_i)``. What couples i and j is
the product ``L_i A_j`` alone: the best j for i is found on the lower envelope of lines in ``L_i``
with slopes ``-A_j``. As i falls, the slopes and the points at which the envelope is
evaluated are monotone, so that a deque holds it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from scenarios.kernels import compiled, part

Array = Any


class Grid(NamedTuple):
    """The slots between the times of a grid: integrals over each, and from 0 to each time.

    Attributes
    ----------
    updates, importance, cost : ndarray, shape (slots,)
        Lambda, A and C of each slot.
    L, A, U : ndarray, shape (slots + 1,)
        Integrals of lambda, a and ``a L`` from 0.
    """

    updates: Array
    importance: Array
    cost: Array
    L: Array
    A: Array
    U: Array


@compiled
def running_sums(parts: Array) -> Array:
    """Sums of the first 0, 1, 2, … numbers, each rounded once or twice (Neumaier's summation)."""
    sums = np.zeros(len(parts) + 1)
    total = 0.0
    lost = 0.0
    for j in range(len(parts)):
        before = total
        total = total + parts[j]
        larger = max(before, parts[j])
        smaller = min(before, parts[j])
        lost += (larger - total) + smaller
        sums[j + 1] = total + lost
    return sums


@compiled
def slot_sums(edges: Array, rates: Array, weights: Array, slots: int) -> Grid:
    """The grid of this many slots on the cells between `edges`, up to the last edge."""
    horizon = edges[-1]
    cell = 0
    updates = np.zeros(slots)
    importance = np.zeros(slots)
    cost = np.zeros(slots)
    for j in range(slots):
        now = j * horizon / slots
        end = (j + 1) * horizon / slots
        while now < end and cell < len(rates):
            until = min(edges[cell + 1], end)
            width = until - now
            more = rates[cell] * width
            wait = weights[cell] * width
            cost[j] += updates[j] * wait + more * wait / 2
            updates[j] += more
            importance[j] += wait
            now = until
            if edges[cell + 1] <= end:
                cell += 1
    L = running_sums(updates)
    A = running_sums(importance)
    return Grid(updates, importance, cost, L, A, running_sums(cost + L[:-1] * importance))


@compiled
def links_cost(grid: Grid, path: Array) -> float:
    """Expected cost of the links of a path 0 = path[0] < … < path[n], without a subtraction."""
    total = 0.0
    for k in range(1, len(path)):
        seen = 0.0
        for j in range(path[k - 1], path[k]):
            total += grid.cost[j] + seen * grid.importance[j]
            seen += grid.updates[j]
    return total


@part
def _add(lines: Array, first: int, end: int, height: float, slope: float) -> int:
    """Put the least steep line so far into the deque, drop those it hides; its index there.

    `lines` has height, slope, and where the line meets the one before it, left of which it is
    lower.
    """
    while end > first:
        before = lines[end - 1]
        if before[1] == slope:
            meet = np.inf if height <= before[0] else -np.inf
        else:
            meet = (before[0] - height) / (before[1] - slope)
        if end - first == 1 or meet < before[2]:
            break
        end -= 1
    if end == first:
        meet = np.inf
    lines[end, 0] = height
    lines[end, 1] = slope
    lines[end, 2] = meet
    return end


@compiled
def chain(grid: Grid, apart: int, prices: Array) -> tuple[Array, Array]:
    """Least costs from each time to the end with any number of links, and the path: O(N).

    `prices` has what a link costs more, by the time at which it begins.
    """
    slots = len(grid.cost)
    following = np.empty(slots + 1, np.int32)
    least = np.full(slots + 1, np.inf)
    least[slots] = 0.0
    add_link(grid, apart, 0, prices, least, least, following)
    return least, _path(following)


@compiled
def add_link(
    grid: Grid, apart: int, lowest: int, prices: Array, later: Array, best: Array, following: Array
) -> None:
    """Write the costs with one link more than `later`, and the next probe of each.

    Where `best` is `later` itself, these are the costs with any number of links.
    """
    slots = len(grid.cost)
    lines = np.empty((slots + 1, 3))
    ends = np.empty(slots + 1, np.int64)
    first = 0
    end = 0
    for i in range(slots - apart, lowest - 1, -1):
        j = i + apart
        if later[j] < np.inf:
            end = _add(lines, first, end, later[j] + grid.U[j], grid.A[j])
            ends[end] = j
            end += 1
        if end > first:
            while first + 1 < end and grid.L[i] <= lines[first + 1, 2]:
                first += 1
            cost = lines[first, 0] - grid.U[i] - grid.L[i] * (lines[first, 1] - grid.A[i])
            best[i] = cost + prices[i]
            following[i] = ends[first]


@part
def _path(following: Array) -> Array:
    """The path from 0 to the end along the successors."""
    end = len(following) - 1
    count = 0
    slot = 0
    while slot < end:
        slot = following[slot]
        count = count + 1
    path = np.zeros(count + 1, np.int64)
    for k in range(count):
        path[k + 1] = following[path[k]]
    return path
