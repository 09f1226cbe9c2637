"""The optimal target rule where service is exponential and pages do not become obsolete.

The same optimum as `analytic.decision_process.policy_iteration` on the same queue, by the structure
of its chains (`analytic.robot_control.elimination`): for a million states in seconds.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analytic.robot_control.controlled_queue import ControlledQueue, Rewards
from scenarios.arrays import Array

Indices = NDArray[np.integer[Any]]

_TIE = 1e-13
_MOST = 200


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


def is_covered(queue: ControlledQueue) -> bool:
    """Whether service has one phase and pages do not become obsolete."""
    return queue.phases == 1 and queue.obsolescence == 0


def _rates(queue: ControlledQueue) -> Array:
    return np.array([queue.access, queue.service_rates[-1]])


def _columns(queue: ControlledQueue, rewards: list[Rewards]) -> tuple[Array, Array]:
    """Time and the rewards, as `elimination` takes them."""
    time = Rewards(np.ones(queue.places), np.zeros(queue.places))
    fixed = np.stack([each.fixed for each in (time, *rewards)])
    return fixed, np.stack([each.per_robot for each in (time, *rewards)])


def target_gains(queue: ControlledQueue, targets: Indices, rewards: list[Rewards]) -> Array:
    """Rewards per unit time of a target rule, shape (len(rewards),).

    Parameters
    ----------
    queue : ControlledQueue
        With exponential service and without obsolescence.
    targets : ndarray of int, shape (levels,)
        Not increasing, the first at least 1.
    rewards : list of Rewards
        All digits of the gains hold where none is negative.
    """
    from analytic.robot_control.elimination import gains

    found: Array = gains(targets.astype(np.int64), _rates(queue), *_columns(queue, rewards))[1:]
    return found


def target_drift(queue: ControlledQueue, rewards: Rewards, values: Array) -> Array:
    """``L V`` of `analytic.decision_process` for values of the shape (available + 1, levels).

    The entry of the empty queue without a robot, where nothing can happen, is not a number.
    """
    access, service = _rates(queue)
    robots = np.arange(queue.available + 1)
    best = values.copy()
    np.minimum(values[:-1], values[1:], out=best[:-1])
    best[0, 0] = values[1, 0]
    drift: Array = np.ascontiguousarray(rewards.over(robots).T)
    drift[:, 1:] += service * (best[:, :-1] - values[:, 1:])
    above = np.minimum(np.arange(1, queue.places + 1), queue.capacity)
    drift[1:] += access * robots[1:, None] * (best[:-1, above] - values[1:])
    drift[0, 0] = np.nan
    return drift


def _improved(values: Array, targets: Indices) -> Indices:
    """Targets that are best for the values; what is as good as the best stays as it was."""
    gain = np.diff(values, axis=0)
    tie = _TIE * float(np.max(np.abs(values)))
    robots = np.arange(len(gain))[:, None]
    on = (gain < -tie) | ((gain <= tie) & (robots < targets))
    on[0, 0] = True
    longest = np.logical_and.accumulate(on, axis=0).sum(axis=0)
    return np.minimum.accumulate(longest)


def best_targets(
    queue: ControlledQueue,
    rewards: Rewards,
    targets: Indices | None = None,
    *,
    tolerance: float = 0.0,
) -> TargetSolution:
    """The optimal targets, by policy iteration among target rules.

    Parameters
    ----------
    queue : ControlledQueue
        With exponential service and without obsolescence.
    rewards : Rewards
        The cost per unit time.
    targets : ndarray of int, shape (levels,), optional
        Where to begin; otherwise so many robots that the load is one.
    tolerance : float
        Stop when the bounds are no farther apart; 0: when no target changes.

    Notes
    -----
    An improved rule is cut to targets that do not increase with the level; that the rule found is
    optimal among all is what the bounds say, whatever the cut did.
    """
    from analytic.robot_control.elimination import values as evaluated

    rates = _rates(queue)
    columns = _columns(queue, [rewards])
    if targets is None:
        balanced = min(max(int(rates[1] / rates[0]), 1), queue.available)
        targets = np.full(queue.places, balanced)
    best = TargetSolution(targets, np.inf, np.empty(0), -np.inf, np.inf, 0)
    iteration = 0
    better = targets
    while iteration < _MOST and (iteration == 0 or not np.array_equal(better, targets)):
        targets = better
        iteration = iteration + 1
        gain, values = evaluated(targets.astype(np.int64), queue.available, rates, *columns)
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
