"""The phase in which a Markovian process starts."""

from __future__ import annotations

from typing import Any

import numpy as np

from scenarios.arrays import Array
from sim import rules


def stationary_phases(generator: Array) -> Array | None:
    """The stationary vector of a generator by state reduction; None where it is not unique.

    No subtraction, hence no cancellation (Grassmann, Taksar and Heyman, 1985).
    """
    recurrent = _closed_class(generator)
    if recurrent is None:
        return None
    rates = generator[np.ix_(recurrent, recurrent)].copy()
    size = len(rates)
    for last in range(size - 1, 0, -1):
        rates[:last, last] /= rates[last, :last].sum()
        rates[:last, :last] += np.outer(rates[:last, last], rates[last, :last])
    weights = np.zeros(size)
    weights[0] = 1.0
    for state in range(1, size):
        weights[state] = weights[:state] @ rates[:state, state]
    stationary = np.zeros(len(generator))
    stationary[recurrent] = weights / weights.sum()
    return stationary


def _closed_class(generator: Array) -> list[int] | None:
    """States of the only closed class, or None if there are several."""
    size = len(generator)
    reach = np.eye(size, dtype=bool) | (generator > 0)
    for _ in range(max(size - 1, 1).bit_length()):
        reach = (reach.astype(np.float64) @ reach) > 0
    closed = [i for i in range(size) if all(reach[j, i] for j in range(size) if reach[i, j])]
    mutual = all(reach[i, j] for i in closed for j in closed)
    return closed if mutual else None


def stationary_phase(generator: Array, stream: Any) -> int:
    """A phase drawn from the stationary law; phase 0, without a draw, where it is not unique."""
    if len(generator) == 1:
        return 0
    return _drawn(stationary_phases(generator), stream)


def interval_stationary_phase(hidden: Array, arrivals: Array, stream: Any) -> int:
    """A phase drawn from the law just after an arrival of the process (hidden, arrivals)."""
    if len(hidden) == 1:
        return 0
    stationary = stationary_phases(hidden + arrivals)
    if stationary is None:
        return 0
    after = stationary @ arrivals
    return _drawn(after / after.sum(), stream)


def _drawn(law: Array | None, stream: Any) -> int:
    if law is None:
        return 0
    sums = np.cumsum(law)
    sums[np.flatnonzero(law)[-1] :] = 1.0
    return rules.pick(sums.tolist(), stream.random())
