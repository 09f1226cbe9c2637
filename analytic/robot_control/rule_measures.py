"""Measures of a rule that switches robots on one at a time."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from analytic.decision_process import stationary_law
from analytic.markov import closed_classes
from analytic.robot_control.controlled_queue import ControlledQueue, Rewards
from analytic.robot_control.target_rules import is_covered, target_gains
from scenarios.arrays import Array
from scenarios.sections import Costs

Indices = NDArray[np.integer[Any]]

_IMBALANCE = 1e-8
_MOST_LEVELS = 3 * 10**9
"""Multiplications for the probability of every level; of longer queues they are left out."""


class RuleMeasures(NamedTuple):
    """What a rule does in the long run, per unit time.

    Attributes
    ----------
    starvation, loss_rate, obsolescence_rate, throughput : float
        Fraction of time with an empty queue; pages lost, obsolete, indexed.
    mean_active, mean_in_system : float
    fewest, most : int
        Least and largest number of active robots that recur.
    response : float
        Mean sojourn of the pages that are served.
    levels : ndarray, shape (capacity + 1,), or None
        Level probabilities; None where the queue is too long to have them all.
    """

    starvation: float
    loss_rate: float
    obsolescence_rate: float
    throughput: float
    mean_active: float
    mean_in_system: float
    fewest: int
    most: int
    response: float
    levels: Array | None

    def cost(self, costs: Costs) -> float:
        """The price of it all."""
        terms = (
            (costs.starvation, self.starvation),
            (costs.loss, self.loss_rate),
            (costs.obsolescence, self.obsolescence_rate),
            (costs.robots, self.mean_active),
            (costs.response, self.response),
        )
        return math.fsum(price * term for price, term in terms if price)


def _parts(queue: ControlledQueue) -> list[Rewards]:
    """Rewards whose gains are the first six measures; then the sojourn of the served."""
    empty = {"loss": 0.0, "starvation": 0.0, "obsolescence": 0.0, "robots": 0.0}
    one = {name: queue.rewards(Costs(**(empty | {name: 1.0}))) for name in empty}
    level = Rewards(queue.levels.astype(float), np.zeros(queue.places))
    order = (one["starvation"], one["loss"], one["obsolescence"], queue.served)
    return [*order, one["robots"], level, queue.sojourn]


def _measures(
    queue: ControlledQueue, found: Array, recurrent: tuple[int, int], levels: Array | None
) -> RuleMeasures:
    """The measures, with the identity of flows asserted."""
    starved, lost, obsolete, served, active, level, sojourn = map(float, found)
    delivered = queue.access * active
    imbalance = abs(delivered - lost - obsolete - served)
    assert imbalance <= _IMBALANCE * max(delivered, 1e-300), imbalance
    response = sojourn / served if served > 0 else math.nan
    flows = starved, lost, obsolete, served, active, level
    return RuleMeasures(*flows, *recurrent, response=response, levels=levels)


def measures_of_targets(queue: ControlledQueue, targets: Indices) -> RuleMeasures:
    """Measures of a target rule.

    Parameters
    ----------
    queue : ControlledQueue
    targets : ndarray of int, shape (places,)
        The first at least 1.

    Raises
    ------
    ValueError
        If the chain has several closed classes.

    Notes
    -----
    Exact identity, asserted: access · mean_active = loss_rate + obsolescence_rate + throughput.
    Where `target_rules.is_covered` and the targets do not increase, by elimination without a
    subtraction, and the largest number that recurs is ``min(targets[0], targets[1] + 1)``: with as
    many robots as the target of level 1 a service at level 1 still adds one, once.
    """
    if not is_covered(queue) or np.any(np.diff(targets) > 0):
        return measures_of_chain(queue, queue.generator_of(targets))
    parts = _parts(queue)
    shares = []
    if queue.places**3 * int(targets[0]) <= _MOST_LEVELS:
        unit = np.eye(queue.places)
        shares = [Rewards(row, np.zeros(queue.places)) for row in unit]
    found = target_gains(queue, targets, [*parts, *shares])
    recurrent = int(targets[-1]), int(min(targets[0], targets[1] + 1))
    levels = found[len(parts) :] if shares else None
    return _measures(queue, found[: len(parts)], recurrent, levels)


def measures_of_chain(queue: ControlledQueue, generator: csr_matrix) -> RuleMeasures:
    """Measures of any stationary rule, from the generator of its chain on the states of the queue.

    Raises
    ------
    ValueError
        If the chain has several closed classes.
    """
    law = np.concatenate([[0.0], stationary_law(generator)]).reshape(queue.places, -1)
    robots = np.arange(queue.available + 1)
    found = np.array([float((each.over(robots) * law).sum()) for each in _parts(queue)])
    (recurrent,) = closed_classes(generator)
    active = (recurrent + 1) % (queue.available + 1)
    levels: Array = np.bincount(queue.levels, law.sum(axis=1)).astype(float)
    return _measures(queue, found, (int(active.min()), int(active.max())), levels)
