"""The best list of targets where the environment of the robots is not seen: all lists compared.

The levels are eliminated from the top down. What is left of level q depends on the targets of the
levels q, …, K alone, so that all lists that end alike share their elimination.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analytic.optimum import NoOptimumError
from analytic.robot_control.environment import QueueInEnvironment, cost_in_environment
from scenarios.arrays import Array
from scenarios.sections import Costs

Indices = NDArray[np.integer[Any]]

MOST_LISTS = 10**7
MOST_WORK = 3 * 10**10
"""Lists, and lists × (states of a level)³, up to which all are compared: two minutes (measured)."""

_TOGETHER = 2**21
"""Entries of the matrices that are eliminated at once."""

_RESTART = 1e-10
"""Rate of a return to the start, relative to that at which a state is left: of several closed
classes that of the start counts."""

_NEAR = 1e-6
"""Lists whose cost is relatively so near the best are compared without such returns."""

_MOST_NEAR = 100
"""So many of them at most."""


class UnseenOptimum(NamedTuple):
    """The best list, and its cost per unit time.

    Attributes
    ----------
    targets : ndarray of int, shape (levels,)
    cost : float
    lists : int
        Lists that were compared.
    """

    targets: Indices
    cost: float
    lists: int


class _Node(NamedTuple):
    """What is left of a level for several ends of lists, once the levels above are eliminated.

    Attributes
    ----------
    ends : ndarray of int, shape (lists, levels from this one on)
    rates : ndarray, shape (lists, states, states)
        With the diagonal.
    rewards : ndarray, shape (lists, states, 2)
        Cost and time per visit and unit of time.
    """

    ends: Indices
    rates: Array
    rewards: Array

    def part(self, begin: int, end: int) -> _Node:
        """Some of the ends."""
        return _Node(self.ends[begin:end], self.rates[begin:end], self.rewards[begin:end])


def number_of_lists(queue: QueueInEnvironment) -> int:
    """Lists of targets: 1 … available at level 0, 0 … available at the others."""
    levels, _, active = queue.shape
    return int((active - 1) * active ** (levels - 1))


def too_many_lists(
    queue: QueueInEnvironment, most: int = MOST_LISTS, work: int = MOST_WORK
) -> str | None:
    """Why not all lists are compared; None where they are.

    Parameters
    ----------
    queue : QueueInEnvironment
    most, work : int
        Lists, and lists × (states of a level)³.
    """
    lists = number_of_lists(queue)
    size = queue.shape[1] * queue.shape[2]
    if lists > most:
        return f"there are {lists:.3g} lists of targets, limit {most:.0e}"
    if lists * size**3 > work:
        return f"{lists:.3g} lists of targets × ({size} states of a level)³, limit {work:.0e}"
    return None


def best_unseen(queue: QueueInEnvironment, costs: Costs) -> UnseenOptimum:
    """The best of all lists of targets, one for all states of the environment.

    Parameters
    ----------
    queue : QueueInEnvironment
    costs : Costs
        Without a price of the response.

    Raises
    ------
    NoOptimumError
        If there are too many lists.
    """
    if reason := too_many_lists(queue):
        raise NoOptimumError(f"{reason}; with robots.environment.seen = true there is an answer")
    lists: list[Indices] = []
    values: list[Array] = []
    least = np.inf
    for ends, gains in _all_costs(queue, costs):
        least = min(least, float(gains.min()))
        kept = gains <= least + _NEAR * abs(least)
        lists.append(ends[kept])
        values.append(gains[kept])
    every, gains = np.concatenate(lists), np.concatenate(values)
    order = np.argsort(gains, kind="stable")[:_MOST_NEAR]
    near = order[gains[order] <= least + _NEAR * abs(least)]
    exact = [
        (cost_in_environment(queue, costs, np.tile(targets, (queue.shape[1], 1))), targets)
        for targets in sorted(map(tuple, every[near].tolist()))
    ]
    cost, targets = min(exact, key=lambda each: each[0])
    return UnseenOptimum(np.array(targets), cost, number_of_lists(queue))


class _Blocks:
    """The blocks of rates between the levels, for every target that matters to them."""

    def __init__(self, queue: QueueInEnvironment, costs: Costs) -> None:
        self.queue = queue
        self.levels, around, active = queue.shape
        self.size = around * active
        base = queue.queue
        counts = np.arange(active)
        targets = range(active)
        unchanged = np.eye(around)
        after_service = [_moves(counts, counts + (counts < n)) for n in targets]
        after_delivery = [_moves(counts, counts - 1 + (counts - 1 < n)) for n in targets]
        self.served = base.service_rates[-1] * np.array(
            [np.kron(unchanged, each) for each in after_service]
        )
        access = base.access * np.kron(queue.speeds, counts)
        self.delivered = access[:, None] * np.array(
            [np.kron(unchanged, each) for each in after_delivery]
        )
        self.around = np.kron(queue.generator, np.eye(active)) - np.diag(access)
        given = np.zeros(queue.shape)
        given[queue.index >= 0] = queue.costs_of(costs)
        self.costs = given.reshape(self.levels, self.size)

    def dropped(self, level: int) -> float:
        """Rate of obsolescence at a level."""
        return self.queue.queue.obsolescence * max(level - 1, 0)

    def own(self, level: int) -> Array:
        """Rates within a level, without what comes back from above, and its diagonal."""
        leaving = self.dropped(level) + (self.queue.queue.service_rates[-1] if level else 0.0)
        rates: Array = self.around - leaving * np.eye(self.size)
        return rates

    def rewards(self, level: int) -> Array:
        """Cost and time."""
        return np.stack([self.costs[level], np.ones(self.size)], axis=1)


def _moves(before: Indices, after: Indices) -> Array:
    """A matrix with a one from each number of active robots to the next, where there is one."""
    size = len(before)
    matrix = np.zeros((size, size))
    kept = (after >= 0) & (after < size)
    matrix[before[kept], after[kept]] = 1.0
    return matrix


def _all_costs(queue: QueueInEnvironment, costs: Costs) -> Iterator[tuple[Indices, Array]]:
    """Lists of targets and their costs, part by part."""
    blocks = _Blocks(queue, costs)
    top = blocks.levels - 1
    every = np.arange(queue.shape[2])
    first = _Node(
        every[:, None],
        blocks.own(top) + blocks.delivered[every],
        np.repeat(blocks.rewards(top)[None], len(every), axis=0),
    )
    waiting = [(top, first)]
    most = max(_TOGETHER // blocks.size**2, 1)
    while waiting:
        level, node = waiting.pop()
        if level == 0:
            yield node.ends, _gains(blocks, node)
            continue
        for begin in count(0, most):
            part = node.part(begin, begin + most)
            if not len(part.ends):
                break
            below = _eliminated(blocks, level, part)
            waiting += [(level - 1, each) for each in below]


def _eliminated(blocks: _Blocks, level: int, node: _Node) -> Iterator[_Node]:
    """The nodes of the level below, for each target that it can have."""
    entering = blocks.delivered[node.ends[:, 0]]
    visits = entering @ np.linalg.inv(-node.rates)
    rewards = blocks.rewards(level - 1) + visits @ node.rewards
    own = blocks.own(level - 1)
    dropped = blocks.dropped(level) * np.eye(blocks.size)
    for target in range(int(level == 1), len(blocks.served)):
        ends = np.insert(node.ends, 0, target, axis=1)
        yield _Node(ends, own + visits @ (blocks.served[target] + dropped), rewards)


def _gains(blocks: _Blocks, node: _Node) -> Array:
    """Cost per unit time of each list, from what is left of level 0."""
    there = np.flatnonzero(np.arange(blocks.size) % blocks.queue.shape[2] > 0)
    start = blocks.queue.shape[2] - 2
    rates = node.rates[:, there[:, None], there]
    rates += _RESTART * np.diag(np.diag(blocks.own(0))[there])
    rates[:, :, start] = -node.rewards[:, there, 1]
    gains: Array = np.linalg.solve(rates, -node.rewards[:, there, :1])[:, start, 0]
    return gains
