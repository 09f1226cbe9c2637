"""The periodic regime: what a system is like that the same interventions have changed forever."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import scipy

from analytic.machinery.markov import LARGEST_DENSE, closed_classes, stationary
from analytic.machinery.refusal import NoAnswerError
from analytic.transient.queue import QueueOverTime
from scenarios import Scenario
from scenarios.arrays import Array
from scenarios.timeline import Piece

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_MULTIPLE = 1e-9
"""Relative; a period is a multiple of another one up to the rounding of both."""

_LEFT = 1e-13
"""Largest change of the regime from one period to the next."""

_MOST_PERIODS = 2000


def period_of(scenario: Scenario) -> float:
    """The common period of all interventions.

    Raises
    ------
    NoAnswerError
        If there is none.
    """
    every = scenario.model.timeline.periods
    if not every:
        raise NoAnswerError("there are no [[interventions]]")
    if None in every:
        raise NoAnswerError("an intervention does not repeat: there is no periodic regime")
    periods = [each for each in every if each is not None]
    period = max(periods)
    for each in periods:
        times = period / each
        if abs(times - round(times)) > _MULTIPLE * times:
            raise NoAnswerError(
                f"the longest period, {period:g}, is not a multiple of another one, {each:g}"
            )
    return period


def one_period(scenario: Scenario) -> tuple[Piece, ...]:
    """The pieces of (0, period] after all interventions have begun, on a clock from 0."""
    period = period_of(scenario)
    timeline = scenario.model.timeline
    first = period * math.ceil(max(timeline.begins) / period)
    later = timeline.between(first, first + period)
    ends = [*(each.end - first for each in later[:-1]), period]
    return tuple(
        replace(each, begin=begin, end=end)
        for each, begin, end in zip(later, [0.0, *ends], ends, strict=False)
    )


def periodic_start(queue: QueueOverTime) -> Array:
    """Distribution at position 0 of the periodic regime of a queue.

    The row p with ``p P = p``, P the product of the pieces' exponentials. Of a small chain by
    state reduction; of a large one by Krylov's method for ``(1 - P) d = p P - p``, without P.

    Raises
    ------
    NoAnswerError
        If the regime depends on the start, or the iteration does not converge.
    """
    timeline = one_period(queue.scenario)
    generators = [queue.chain_in(piece).generator for piece in timeline]
    first = queue.start()
    _require_one_class(sum(generators[1:], start=generators[0]), first)

    def next_period(rows: Array) -> Array:
        for piece in timeline:
            rows = queue.chain_in(piece).transitions.move(rows, piece.end - piece.begin).after
        return rows

    states = len(first)
    if states <= LARGEST_DENSE:
        products = np.stack([next_period(row) for row in np.eye(states)])
        return stationary(products, int(np.argmax(first)))
    change = scipy.sparse.linalg.LinearOperator(
        (states, states), lambda row: row - next_period(row), dtype=float
    )
    row = next_period(first)
    for _ in range(_MOST_PERIODS // 100):
        missing = next_period(row) - row
        if np.abs(missing).sum() <= _LEFT:
            return row
        step, _ = scipy.sparse.linalg.gmres(
            change, missing, rtol=1e-10, atol=_LEFT / 10, restart=50, maxiter=2
        )
        row = np.maximum(row + step, 0.0)
        row /= row.sum()
    raise NoAnswerError("the iteration for the periodic regime does not converge")


def _require_one_class(generator: Array | csr_array, start: Array) -> None:
    """Refuse a chain that may end in several classes: with the settings of all pieces together."""
    reached = {
        tuple(states.tolist())
        for state in np.flatnonzero(start)
        for states in closed_classes(generator, int(state))
    }
    if len(reached) > 1:
        raise NoAnswerError(f"its chain has {len(reached)} closed classes, and remembers its start")
