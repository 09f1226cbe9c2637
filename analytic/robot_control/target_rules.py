"""Target rules: their measures, and the best one where service is exponential without obsolescence.

The optimum is that of `analytic.machinery.decision_process.policy_iteration` on the same queue,
here by the structure of its chains (`analytic.robot_control.elimination`):
for a million states in seconds.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analytic.robot_control.switched_queue import (
    Measures,
    Rewards,
    SwitchedQueue,
    measures_of_chain,
)
from scenarios.arrays import Array

Indices = NDArray[np.integer[Any]]

_IMBALANCE = 1e-8
"""Largest difference of flows in and out, relatively, that rounding explains."""

_MOST_LEVELS = 3 * 10**9
"""Multiplications for the probability of every level; of longer queues they are left out."""

_TIE = 1e-13
"""Options whose values differ by less, relatively to the largest value, are equally good."""

_MOST = 200
"""Iterations at most."""


def measures_of_targets(queue: SwitchedQueue, targets: Indices) -> Measures:
    """Measures of a target rule.

    Parameters
    ----------
    queue : SwitchedQueue
    targets : ndarray of int, shape (levels,)
        The first at least 1.

    Raises
    ------
    ValueError
        If the chain has several closed classes.

    Notes
    -----
    Exact identity, asserted: access · mean_active = loss_rate + obsolescence_rate + throughput.
    Where `is_covered` and the targets do not increase, by elimination without a
    subtraction, and the largest number that recurs is ``min(targets[0], targets[1] + 1)``: with as
    many robots as the target of level 1 a service at level 1 still adds one, once.
    """
    if is_covered(queue) and not np.any(np.diff(targets) > 0):
        measures = _by_elimination(queue, targets)
    else:
        measures = measures_of_chain(queue, queue.generator(queue.towards(targets)))
    delivered = queue.modes.rates[0] * measures.mean_active
    ended = measures.loss_rate + measures.obsolescence_rate + measures.throughput
    imbalance = abs(delivered - ended)
    assert imbalance <= _IMBALANCE * max(delivered, 1e-300), imbalance
    return measures


def _by_elimination(queue: SwitchedQueue, targets: Indices) -> Measures:
    rates = ("starvation", "loss", "obsolescence", "served", "robots", "level")
    parts = [*map(queue.counted.__getitem__, rates), queue.sojourn]
    shares = []
    if queue.levels.number**3 * int(targets[0]) <= _MOST_LEVELS:
        nothing = queue.rewards()
        shares = [nothing._replace(level=each) for each in np.eye(queue.levels.number)]
    gains = target_gains(queue, targets, [*parts, *shares])
    starved, lost, obsolete, served, active, level, sojourn = gains[: len(parts)].tolist()
    return Measures(
        starvation=starved,
        loss_rate=lost,
        obsolescence_rate=obsolete,
        throughput=served,
        active=np.array([active]),
        mean_in_system=level,
        response=sojourn / served if served > 0 else math.nan,
        fewest=int(targets[-1]),
        most=int(min(targets[0], targets[1] + 1)),
        levels=gains[len(parts) :],
        occasions=np.empty(0),
    )


class TargetSolution(NamedTuple):
    """A target rule, its cost, and the bounds of the optimum over all rules.

    Attributes
    ----------
    targets : ndarray of int, shape (levels,)
    gain : float
        Cost per unit time of the rule.
    values : ndarray, shape (available + 1, levels)
        Relative values, by the number of active robots and the level.
    lower, upper : float
    iterations : int
    """

    targets: Indices
    gain: float
    values: Array
    lower: float
    upper: float
    iterations: int


def is_covered(queue: SwitchedQueue) -> bool:
    """Whether service has one phase and pages do not become obsolete."""
    return queue.levels.phases == 1 and queue.levels.obsolescence == 0


def _rates(queue: SwitchedQueue) -> Array:
    return np.array([queue.modes.rates[0], queue.levels.service_rates[-1]])


def _columns(queue: SwitchedQueue, rewards: list[Rewards]) -> tuple[Array, Array]:
    """Time and the rewards, as `elimination` takes them."""
    every = [queue.rewards(level=1.0), *rewards]
    (access,) = queue.modes.rates
    per_robot = [access * each.delivery + each.robots for each in every]
    return np.stack([each.level for each in every]), np.stack(per_robot)


def target_gains(queue: SwitchedQueue, targets: Indices, rewards: list[Rewards]) -> Array:
    """Rewards per unit time of a target rule, shape (len(rewards),).

    Parameters
    ----------
    queue : SwitchedQueue
        With exponential service and without obsolescence.
    targets : ndarray of int, shape (levels,)
        Not increasing, the first at least 1.
    rewards : list of Rewards
        All digits of the gains hold where none is negative.
    """
    from analytic.robot_control.elimination import gains

    return gains(targets.astype(np.int64), _rates(queue), *_columns(queue, rewards))[1:]


def target_drift(queue: SwitchedQueue, rewards: Rewards, values: Array) -> Array:
    """``L V`` of `analytic.machinery.decision_process`; values have shape (available + 1, levels).

    The entry of the empty queue without a robot, where nothing can happen, is not a number.
    """
    access, service = _rates(queue)
    robots = queue.modes.active
    best = values.copy()
    np.minimum(values[:-1], values[1:], out=best[:-1])
    best[0, 0] = values[1, 0]
    drift: Array = np.ascontiguousarray(queue.earned(rewards).T)
    drift[:, 1:] += service * (best[:, :-1] - values[:, 1:])
    above = np.minimum(queue.levels.pages + 1, queue.levels.capacity)
    drift[1:] += access * robots[1:] * (best[:-1, above] - values[1:])
    drift[0, 0] = np.nan
    return drift


def _improved(values: Array, targets: Indices) -> Indices:
    """Targets that are best for the values; a target as good as the best is kept."""
    gain = np.diff(values, axis=0)
    tie = _TIE * float(np.max(np.abs(values)))
    robots = np.arange(len(gain))[:, None]
    on = (gain < -tie) | ((gain <= tie) & (robots < targets))
    on[0, 0] = True
    longest = np.logical_and.accumulate(on, axis=0).sum(axis=0)
    return np.minimum.accumulate(longest)


def best_targets(
    queue: SwitchedQueue,
    rewards: Rewards,
    targets: Indices | None = None,
    *,
    tolerance: float = 0.0,
) -> TargetSolution:
    """The optimal targets, by policy iteration among target rules.

    Parameters
    ----------
    queue : SwitchedQueue
        With exponential service and without obsolescence.
    rewards : Rewards
        The cost per unit time.
    targets : ndarray of int, shape (levels,)
        Where to begin.
    tolerance : float
        Stop when the bounds are no farther apart; 0: when no target changes.

    Notes
    -----
    An improved rule is cut to targets that do not increase with the level; whether the result is
    optimal among all rules is what the bounds say, whatever the cut did.
    """
    from analytic.robot_control.elimination import values as evaluated

    rates = _rates(queue)
    columns = _columns(queue, [rewards])
    if targets is None:
        balanced = min(max(int(rates[1] / rates[0]), 1), queue.modes.available)
        targets = np.full(queue.levels.number, balanced)
    best = TargetSolution(targets, np.inf, np.empty(0), -np.inf, np.inf, 0)
    iteration = 0
    better = targets
    while iteration < _MOST and (iteration == 0 or not np.array_equal(better, targets)):
        targets = better
        iteration += 1
        gain, values = evaluated(targets.astype(np.int64), queue.modes.available, rates, *columns)
        drift = target_drift(queue, rewards, values)
        lower = max(best.lower, float(np.nanmin(drift)))
        if gain <= best.gain:
            upper = min(float(gain), float(np.nanmax(drift)))
            best = TargetSolution(targets, float(gain), values, lower, upper, iteration)
        best = best._replace(lower=lower, iterations=iteration)
        if best.upper - lower <= tolerance:
            break
        better = _improved(values, targets)
    return best
