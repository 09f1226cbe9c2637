"""How long a copy has been out of date when its page is accessed again, without cancellation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analytic.arrival_process import gap_map, interval_phases
from analytic.routing.losses import gap_law
from analytic.transforms import exc, excess, lifted, log_transform
from scenarios.arrays import Array
from scenarios.laws import Distribution
from scenarios.processes import ArrivalProcess


def stale_times(arrivals: ArrivalProcess, rate: float, longest: int) -> Array:
    """``E (X_n - S)^+`` for n = 1 … longest, shape (longest,): a sum of positive terms.

    Parameters
    ----------
    arrivals : ArrivalProcess
        Of the ends of accesses; X_n is the time of n of them.
    rate : float
        mu > 0, of the exponential time S until the page changes.
    longest : int

    Notes
    -----
    ``X_n - min(X_n, S)`` on average. Of pages that change rarely it is tiny, and the difference of
    the two means would have no correct digit.
    """
    law = gap_law(arrivals)
    if law is not None:
        return _renewal(law, rate, np.arange(1, longest + 1))
    start, step, counted = _fresh_and_stale(arrivals, rate)
    result: Array = start @ powers(step, counted, longest + 1)[:, 1:]
    return result


def stale_time_at(arrivals: ArrivalProcess, rate: float) -> Callable[[int], float]:
    """``E (X_n - S)^+`` as a function of n, however large."""
    law = gap_law(arrivals)
    if law is not None:
        return lambda n: float(_renewal(law, rate, np.array([n]))[0])
    start, step, counted = _fresh_and_stale(arrivals, rate)
    return lambda n: float(start @ np.linalg.matrix_power(step, n) @ counted)


def _renewal(law: Distribution, rate: float, n: NDArray[np.integer[Any]]) -> Array:
    raised, factor = lifted(law, rate)
    stale = n * excess(law, raised) + exc(n * log_transform(law, raised))
    result: Array = factor * (stale / raised)
    return result


def _fresh_and_stale(arrivals: ArrivalProcess, rate: float) -> tuple[Array, Array, Array]:
    """With dependent gaps: a start, a step over a gap, and what is counted after n of them.

    The states are fresh and stale copies by the phase, and one that takes the stale times.
    ``(mu - D0)^{-1}`` and ``(-D0)^{-1}`` say how long a copy is fresh, and stale, in a gap.
    """
    matrices = gap_map(arrivals)
    assert matrices is not None
    hidden, marked = matrices
    order = len(hidden)
    gap = np.linalg.inv(-hidden)
    fresh = np.linalg.inv(rate * np.eye(order) - hidden)
    stale_after = rate * fresh @ gap
    step = np.zeros((2 * order + 1, 2 * order + 1))
    step[:order, :order] = fresh @ marked
    step[:order, order:-1] = stale_after @ marked
    step[:order, -1] = stale_after.sum(axis=1)
    step[order:-1, order:-1] = gap @ marked
    step[order:-1, -1] = gap.sum(axis=1)
    step[-1, -1] = 1.0
    counted = np.zeros(2 * order + 1)
    counted[-1] = 1.0
    start = np.zeros(2 * order + 1)
    start[:order] = interval_phases(hidden, marked)
    return start, step, counted


def powers(step: Array, last: Array, length: int) -> Array:
    """Columns ``A^k v`` for k = 0 … length - 1, by doubling."""
    columns = last[:, None]
    power = step
    while columns.shape[1] < length:
        columns = np.hstack([columns, power @ columns])
        power = power @ power
    return columns[:, :length]
