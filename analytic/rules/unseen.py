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

from analytic.index.optimum import Best, NoOptimumError
from analytic.robot_control.switched_queue import Rewards, SwitchedQueue
from scenarios.arrays import Array

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


def number_of_lists(queue: SwitchedQueue) -> int:
    """Lists of targets: 1 … available at level 0, 0 … available at the others."""
    available, capacity = queue.modes.available, queue.levels.capacity
    return int(available * (available + 1) ** capacity)


def too_many_lists(
    queue: SwitchedQueue, most: int = MOST_LISTS, work: int = MOST_WORK
) -> str | None:
    """Why not all lists are compared; None where they are.

    Parameters
    ----------
    queue : SwitchedQueue
    most, work : int
        Lists, and lists × (states of a level)³.
    """
    if queue.levels.phases > 1:
        return "lists of targets are compared with one phase of the service only"
    lists = number_of_lists(queue)
    size = queue.modes.number
    if lists > most:
        return f"there are {lists:.3g} lists of targets, limit {most:.0e}"
    if lists * size**3 > work:
        return f"{lists:.3g} lists of targets × ({size} states of a level)³, limit {work:.0e}"
    return None


def best_unseen(queue: SwitchedQueue, costs: Rewards) -> Best[Indices]:
    """The best of all lists of targets, one for all states of the environment.

    Parameters
    ----------
    queue : SwitchedQueue
    costs : Rewards

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
        (queue.gain(queue.towards(np.array(targets)), costs), targets)
        for targets in sorted(map(tuple, every[near].tolist()))
    ]
    cost, targets = min(exact, key=lambda each: each[0])
    return Best(np.array(targets), cost, cost)


class _Blocks:
    """The blocks of rates between the levels, for every target that matters to them."""

    def __init__(self, queue: SwitchedQueue, costs: Rewards) -> None:
        self.queue = queue
        modes = queue.modes
        self.levels, self.size = queue.shape
        robots = np.arange(modes.combinations)
        number, fewer, more = modes.active[:, 0], modes.fewer[:, 0], modes.more[:, 0]
        switched = np.where(number < robots[:, None], more, np.arange(self.size))
        self.served = queue.levels.service_rates[-1] * np.eye(self.size)[switched]
        self.delivered = modes.deliveries[:, None] * np.eye(self.size)[switched[:, fewer]]
        around = np.kron(modes.environment, np.eye(len(robots)))
        self.around = around - np.diag(modes.deliveries)
        self.costs = queue.earned(costs)

    def dropped(self, level: int) -> float:
        """Rate of obsolescence at a level."""
        return self.queue.levels.obsolescence * max(level - 1, 0)

    def own(self, level: int) -> Array:
        """Rates within a level, without what comes back from above, and its diagonal."""
        leaving = self.dropped(level) + (self.queue.levels.service_rates[-1] if level else 0.0)
        return self.around - leaving * np.eye(self.size)

    def rewards(self, level: int) -> Array:
        """Cost and time."""
        return np.stack([self.costs[level], np.ones(self.size)], axis=1)


def _all_costs(queue: SwitchedQueue, costs: Rewards) -> Iterator[tuple[Indices, Array]]:
    """Lists of targets and their costs, part by part."""
    blocks = _Blocks(queue, costs)
    top = blocks.levels - 1
    every = np.arange(queue.modes.combinations)
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
    there = np.flatnonzero(blocks.queue.modes.active[:, 0])
    start = blocks.queue.start
    rates = node.rates[:, there[:, None], there]
    rates += _RESTART * np.diag(np.diag(blocks.own(0))[there])
    rates[:, :, start] = -node.rewards[:, there, 1]
    return np.linalg.solve(rates, -node.rewards[:, there, :1])[:, start, 0]
