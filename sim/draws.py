"""What is drawn for a law or a process of the scenario: successive times, and the first phase."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from scenarios.arrays import Array
from scenarios.deliveries import batch_matrices
from scenarios.laws import PhaseType
from scenarios.processes import Map, Mmpp, gap_law
from sim import laws, rules
from sim.laws.phase_type import parameters

Draw = Callable[[], float]


def sampler(process: Any, stream: Any) -> Draw:
    """A function that draws the next time of a law, or the next gap of a process."""
    draw, given = how_to_draw(process, stream)
    return partial(draw, stream, *given)


def how_to_draw(process: Any, stream: Any) -> tuple[Callable[..., float], tuple[Any, ...]]:
    """The draw function of a law or of the gaps of a process, and its parameters.

    A Markovian process starts in a phase drawn from the law just after an arrival.
    """
    law = gap_law(process)
    if law is None:
        return draw_map_gap, ([first_phase(process, stream)], *map_tables(process))
    return laws.how_to_draw(law)


def draw_map_gap(
    stream: Any, phase: list[int], means: Sequence[float], following: Sequence[Sequence[float]]
) -> float:
    """The time to the next arrival of a Markovian process.

    Each step takes one exponential (the time in the phase) and one uniform (what comes next).

    Parameters
    ----------
    stream : Generator
    phase : list of int
        Its one entry is the phase now, and is set to the one just after the arrival.
    means : sequence of float
        Mean time in each phase.
    following : sequence of sequence of float
        Cumulative probabilities of what comes next: first the phases without an arrival, then the
        phases with one.
    """
    order = len(means)
    total = 0.0
    chosen = 0
    while chosen < order:
        total += rules.draw_exponential(stream, means[phase[0]])
        chosen = rules.pick(following[phase[0]], stream.random())
        phase[0] = chosen % order
    return total


def map_tables(process: Mmpp | Map) -> tuple[tuple[float, ...], tuple[tuple[float, ...], ...]]:
    """Mean times and what follows, as `draw_map_gap` wants them."""
    hidden, arrivals = batch_matrices(process)
    means = []
    following = []
    for phase in range(len(hidden)):
        rate = -float(hidden[phase, phase])
        quiet = hidden[phase].copy()
        quiet[phase] = 0.0
        means.append(1.0 / rate)
        following.append(
            rules.cumulative((np.concatenate([quiet, arrivals[phase]]) / rate).tolist())
        )
    return tuple(means), tuple(following)


def first_phase(process: Mmpp | Map, stream: Any) -> int:
    """The phase in which the gaps start: drawn from the law just after an arrival."""
    hidden, arrivals = batch_matrices(process)
    stationary = stationary_phases(hidden + arrivals) if len(hidden) > 1 else None
    after = None if stationary is None else stationary @ arrivals
    return drawn_phase(None if after is None else after / after.sum(), stream)


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
    return drawn_phase(stationary_phases(generator) if len(generator) > 1 else None, stream)


def drawn_phase(law: Array | None, stream: Any) -> int:
    """A phase drawn from a law; phase 0, without a draw, where there is none."""
    if law is None:
        return 0
    sums = np.cumsum(law)
    sums[np.flatnonzero(law)[-1] :] = 1.0
    return rules.pick(sums.tolist(), stream.random())


class TrackedService:
    """A phase-type service whose phase can be asked for while it lasts.

    The draws are those of `sim.laws.phase_type`, in the same order.

    Parameters
    ----------
    law : PhaseType
    stream : Generator
    end : callable
        When what takes a time from now on ends.

    Attributes
    ----------
    announce : callable, optional
        Hears when each phase but the last will end, as soon as a service begins.
    """

    def __init__(self, law: PhaseType, stream: Any, end: Callable[[float, float], float]) -> None:
        self.announce: Callable[[float], None] | None = None
        self._start, self._means, self._jumps = parameters(law)
        self._stream = stream
        self._end = end
        self._path: list[tuple[float, int]] = []

    def __call__(self, begin: float) -> float:
        """Draw when the service that begins now ends, remembering its path."""
        total = 0.0
        self._path.clear()
        phase = rules.pick(self._start, self._stream.random())
        while phase < len(self._means):
            total += rules.draw_exponential(self._stream, self._means[phase])
            self._path.append((self._end(begin, total), phase))
            phase = rules.pick(self._jumps[phase], self._stream.random())
        if self.announce:
            for change, _ in self._path[:-1]:
                self.announce(change)
        return self._path[-1][0]

    def phase(self, now: float) -> int:
        """The phase at a time during the present service."""
        return next((phase for end, phase in self._path if now < end), self._path[-1][1])
