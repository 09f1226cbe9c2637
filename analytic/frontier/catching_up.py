"""How long robots take to catch up after an outage, with pages as a fluid."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from analytic.machinery.refusal import NoAnswerError
from scenarios.arrays import Array

_STEPS_OF_AN_OUTAGE = 500
_STEPS_OF_A_CYCLE = 20
_MOST_STEPS = 20_000
_MOST_KINDS = 200
"""Different intervals that are followed; of more, those that are near each other are joined."""


class Outage(NamedTuple):
    """How many accesses the robots can begin per unit time, piece by piece.

    Attributes
    ----------
    begins : sequence of float
        When each piece begins, the first when the first intervention does.
    capacities : sequence of float
    released : sequence of float
        Robots that are switched on as it begins, and take a page each at once.
    before : float
        The capacity without interventions.
    ended : float
        When the last intervention ends.
    """

    begins: Sequence[float]
    capacities: Sequence[float]
    released: Sequence[float]
    before: float
    ended: float


def catch_up_time(
    intervals: ArrayLike, counts: ArrayLike, access: float, outage: Outage, enough: float
) -> float:
    """Time from the end of an outage until few enough due pages wait.

    What falls due is what was delivered an interval ago, robots take what fell due first, and no
    more than they can: all of it without chance. A page that is late is due later the next time,
    so that a backlog comes back, smaller, an interval later.

    Parameters
    ----------
    intervals, counts : ndarray, shape (kinds,)
    access : float
        Mean access time.
    outage : Outage
    enough : float
        Pages that may wait.

    Raises
    ------
    NoAnswerError
        If more wait without interventions, or it takes too long.
    """
    away, counts = _joined(np.asarray(intervals, dtype=float), np.asarray(counts, dtype=float))
    cycles = away + access
    late = steady_wait(counts, cycles, outage.before)
    if late * outage.before > enough:
        raise NoAnswerError("without interventions more pages wait than those that may")
    lasted = outage.ended - outage.begins[0]
    step = min(lasted / _STEPS_OF_AN_OUTAGE, float(cycles.min()) / _STEPS_OF_A_CYCLE)
    lags = np.maximum(np.rint(cycles / step).astype(int), 1)
    steady = counts / (cycles + late) * step
    taken = np.empty((_MOST_STEPS, len(counts)))
    line: deque[Array] = deque([steady * late / step])
    waiting = float(line[0].sum())
    kinds = np.arange(len(counts))
    piece = -1
    for place in range(_MOST_STEPS):
        now = outage.begins[0] + place * step
        if now >= outage.ended and waiting <= enough:
            return now - outage.ended
        then = place - lags
        due = np.where(then >= 0, taken[np.maximum(then, 0), kinds], steady)
        line.append(due)
        room = 0.0
        while piece + 1 < len(outage.begins) and outage.begins[piece + 1] <= now:
            piece += 1
            room += outage.released[piece]
        room += step * outage.capacities[piece]
        taken[place] = _take(line, room)
        waiting = max(waiting + float(due.sum()) - float(taken[place].sum()), 0.0)
    raise NoAnswerError("it takes too long to be followed")


def _take(line: deque[Array], room: float) -> Array:
    """As much of the line as there is room for, what fell due first."""
    taken: Array = np.zeros(len(line[0]))
    while line:
        first = float(line[0].sum())
        if first > room:
            share = room / first
            taken += share * line[0]
            line[0] = (1.0 - share) * line[0]
            break
        taken += line.popleft()
        room -= first
    if not line:
        line.append(np.zeros(len(taken)))
    return taken


def _joined(intervals: Array, counts: Array) -> tuple[Array, Array]:
    """At most so many kinds of intervals, those of neighbours replaced by their mean."""
    if len(intervals) <= _MOST_KINDS:
        return intervals, counts
    groups = np.arange(len(intervals)) * _MOST_KINDS // len(intervals)
    number: Array = np.bincount(groups, counts).astype(float)
    return np.bincount(groups, counts * intervals) / number, number


def steady_wait(counts: Array, cycles: Array, capacity: float) -> float:
    """How long pages wait without chance and without interventions."""
    if float((counts / cycles).sum()) <= capacity:
        return 0.0
    if capacity == 0.0:
        return math.inf
    low, high = 0.0, float(counts.sum()) / capacity
    for _ in range(200):
        middle = 0.5 * (low + high)
        asked = float((counts / (cycles + middle)).sum())
        low, high = (middle, high) if asked > capacity else (low, middle)
    return high
