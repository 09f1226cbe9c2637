"""Rules whose switching curves do not depend on the number of active robots."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_matrix, csr_matrix, diags_array

from analytic.robot_control.switched_queue import Measures, SwitchedQueue, measures_of_chain
from analytic.robot_control.target_rules import (
    measures_of_targets,
)
from scenarios.sections import Costs

Indices = NDArray[np.integer[Any]]


class CurveRule(NamedTuple):
    """The highest levels before a service and before a delivery at which a robot is switched on.

    0 and -1: never. And the cost per unit time.
    """

    service: int
    delivery: int
    cost: float


def generator_of_curves(queue: SwitchedQueue, service: int, delivery: int) -> csr_matrix:
    """The chain on the states of the queue, with curves that are constants.

    Parameters
    ----------
    queue : SwitchedQueue
    service, delivery : int
        A service switches a robot on iff it meets at most `service` pages, a delivery iff it meets
        at most `delivery`; without an active robot a service that empties the queue always does.

    Notes
    -----
    talim2001, section 3, with ``f_0`` and ``f_1`` the same for every number of active robots.
    """
    count = queue.modes.number
    available = queue.modes.available
    robots = np.arange(count)
    rows = []
    columns = []
    data = []
    steps = (-1, 0, 0)
    limits = (delivery, service, -1)
    for matrix, step, limit in zip(queue.levels.moves, steps, limits, strict=True):
        moves = matrix.tocoo()
        on = (queue.levels.pages[moves.row] <= limit)[:, None] & (robots + step < available)
        after = robots + step + on
        after = np.where((moves.col[:, None] == 0) & (after == 0), 1, after)
        rate = moves.data[:, None] * (queue.modes.deliveries if step else np.ones(count))
        rows.append((moves.row[:, None] * count + robots).ravel())
        columns.append((moves.col[:, None] * count + after).ravel())
        data.append(rate.ravel())
    row, column, rate = map(np.concatenate, (rows, columns, data))
    keep = rate > 0
    shape = (queue.states + 1, queue.states + 1)
    full = coo_matrix((rate[keep], (row[keep], column[keep])), shape=shape)
    rates = csr_matrix(csr_matrix(full)[1:, 1:])
    rates = rates - diags_array(rates.diagonal())
    return csr_matrix(rates - diags_array(np.asarray(rates.sum(axis=1)).ravel()))


def best_curves(queue: SwitchedQueue, costs: Costs) -> CurveRule:
    """The best pair of constant curves; every pair is evaluated.

    Pairs whose chain has several closed classes are left out: what they cost depends on the start.
    """
    rules = []
    for service in range(queue.levels.capacity + 1):
        for delivery in range(-1, queue.levels.capacity + 1):
            measures = _measured(queue, service, delivery)
            if measures is not None:
                rules.append(CurveRule(service, delivery, measures.cost(costs)))
    return min(rules, key=lambda rule: rule.cost)


def _measured(queue: SwitchedQueue, service: int, delivery: int) -> Measures | None:
    try:
        return measures_of_chain(queue, generator_of_curves(queue, service, delivery))
    except ValueError:
        return None


def level_targets(queue: SwitchedQueue, level: int) -> Indices:
    """Targets of the rule "switch on iff at most `level` pages are left after the event"."""
    return np.where(queue.levels.pages <= level, queue.modes.available, 0)


def best_level(queue: SwitchedQueue, costs: Costs) -> tuple[int, float]:
    """The best such level, and its cost per unit time.

    The one curve that a scenario file can say: ``service = level + 1``, ``delivery = level - 1``.
    """
    cost_of = {
        level: measures_of_targets(queue, level_targets(queue, level)).cost(costs)
        for level in range(queue.levels.capacity + 1)
    }
    best = min(cost_of, key=lambda level: cost_of[level])
    return best, cost_of[best]
