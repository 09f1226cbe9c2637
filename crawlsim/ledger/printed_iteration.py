"""The relative value iteration as talim2001 prints it, with its stop, for its own sake.

`experiments.value_iteration` stops when the optimum is known to a given
width. The printed stop is no bound: some printed costs were read off too early.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from analytic.robot_control.switched_queue import SwitchedQueue
from scenarios.arrays import Array

TAU = 0.99999
STOP = 1e-5
REFERENCE = (1, 1, 1)
"""s, q, r: a delivery with one page and one robot; the printed numbers of iterations come out."""


class PrintedIteration(NamedTuple):
    """The cost that is read off at the stop, and the iterations as the paper counts them."""

    cost: float
    iterations: int


def printed_value_iteration(
    queue: SwitchedQueue, starvation: float, most: int = 100_000
) -> PrintedIteration:
    """Cost and number of iterations of talim2001, Proposition 2, started at 0.

    Parameters
    ----------
    queue : SwitchedQueue
        With exponential service and without obsolescence.
    starvation : float
        gamma, in units of a lost page.
    most : int
        Iterations at most.

    Notes
    -----
    On the printed states (q, r, s), s the kind of the event: 0 service, 1 delivery, 2 fictitious.
    Corrected: the transition probabilities (2) and (3), and ``theta = T(h)(x)`` in place of ``tau
    T(h)(x)`` (docs/errata.md).
    """
    values = np.zeros((3, *queue.shape))
    cost = 0.0
    iteration = 0
    stopped = False
    while iteration < most and not stopped:
        applied = _applied(queue, starvation, values)
        cost = float(applied[REFERENCE])
        following = (1 - TAU) * values + TAU * (applied - cost)
        stopped = bool(np.all(np.abs(following - values) <= STOP * np.abs(values)))
        values = following
        iteration = iteration + 1
    return PrintedIteration(cost, iteration + 1)


def _applied(queue: SwitchedQueue, starvation: float, values: Array) -> Array:
    """T(h): one step of cost and the best expectation after it; 0 in states that cannot be."""
    service = queue.levels.service_rates
    deliveries = queue.modes.deliveries
    top = queue.levels.capacity
    rate = deliveries[-1] + service[-1]
    served = service[:, None] / rate
    delivered = deliveries / rate
    mean = served * values[0] + delivered * values[1] + (1 - served - delivered) * values[2]
    mean[0, 0] = np.inf
    best = mean.copy()
    best[:, :-1] = np.minimum(mean[:, :-1], mean[:, 1:])
    result = np.zeros_like(values)
    result[0, 1:] = best[:-1]
    result[1, :, 1:] = best[np.minimum(np.arange(1, top + 2), top), :-1]
    result[1, top] += rate
    result[2] = mean
    result[1:, 0] += starvation
    result[2, 0, 0] = 0.0
    result[1, :, 0] = 0.0
    return result
