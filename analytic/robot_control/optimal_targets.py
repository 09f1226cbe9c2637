"""The best targets for a cost per unit time, by whichever solver covers the queue."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analytic.decision_process import evaluate, policy_iteration
from analytic.robot_control.controlled_queue import ControlledQueue, Rewards
from analytic.robot_control.target_rules import best_targets, is_covered

Indices = NDArray[np.integer[Any]]

WIDTH = 1e-10
"""Bounds closer than this are close enough, relatively to the largest cost per unit time of any
state; of optima that are smaller than that it is the digits of the values that are used up."""

MOST_GENERAL = 20_000
"""States, where the structure of the chain is not used: half a minute (measured)."""


class Solved(NamedTuple):
    """Targets by place, their cost per unit time, and a bound below that of every rule."""

    targets: Indices
    cost: float
    lower: float


def solved(queue: ControlledQueue, rewards: Rewards, targets: Indices | None = None) -> Solved:
    """The best targets for a cost per unit time.

    Parameters
    ----------
    queue : ControlledQueue
    rewards : Rewards
    targets : ndarray of int, shape (places,), optional
        Where to begin; otherwise so many robots that the load is one.

    Notes
    -----
    By structure where service is exponential and nothing goes stale; the general solver is asked
    where that leaves the bounds apart, and for every other queue.
    """
    if targets is None:
        balanced = max(int(queue.service_rates.max() / queue.access), 1)
        targets = np.full(queue.places, min(balanced, queue.available))
    if not is_covered(queue):
        return _generally(queue, rewards, targets)
    found = best_targets(queue, rewards, targets)
    largest = float(np.abs(rewards.over(np.arange(queue.available + 1))).max())
    fast = Solved(found.targets, found.gain, found.lower)
    if found.gain - found.lower <= WIDTH * largest or queue.states > MOST_GENERAL:
        return fast
    other = _generally(queue, rewards, fast.targets)
    best = min(fast, other, key=lambda each: each.cost)
    return best._replace(lower=max(fast.lower, other.lower))


def _generally(queue: ControlledQueue, rewards: Rewards, targets: Indices) -> Solved:
    """The same for any queue, by policy iteration on its decision process.

    Should the optimum be no target rule, then the targets that it begins with in each place, with
    their own cost; the bound is that of the optimum.
    """
    process = queue.process(rewards)
    optimum = policy_iteration(process, queue.options_of(targets))
    on = np.logical_and.accumulate(queue.switches_on(optimum.policy)[:, :-1], axis=1)
    found = on.sum(axis=1)
    return Solved(found, evaluate(process, queue.options_of(found)).gain, optimum.lower)
