"""From a distribution or a process of the scenario to a function that draws the next time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np

from scenarios.deliveries import batch_matrices
from scenarios.laws import (
    Deterministic,
    Distribution,
    Empirical,
    Erlang,
    Exponential,
    Gamma,
    Hyperexponential,
    PhaseType,
    Uniform,
)
from scenarios.processes import Map, Mmpp, Poisson, Renewal
from sim import rules
from sim.start_phase import interval_stationary_phase

Draw = Callable[[], float]

Drawing = tuple[Callable[..., float], tuple[Any, ...]]
"""A draw function of `sim.rules` and its parameters, the stream left out."""


def cumulative(probabilities: Sequence[float]) -> tuple[float, ...]:
    """Cumulative probabilities, exactly 1 from the last positive one on."""
    sums = list(accumulate(probabilities))
    last = max(index for index, value in enumerate(probabilities) if value > 0)
    return tuple(sums[:last]) + (1.0,) * (len(sums) - last)


def phase_tables(law: PhaseType) -> tuple[Any, Any, Any]:
    """Start, mean times and jumps of a phase-type law, as `rules.draw_phase_type` wants them."""
    means = []
    jumps = []
    for phase, row in enumerate(law.T):
        rate = -row[phase]
        onward = [max(entry, 0.0) / rate for entry in row]
        means.append(1.0 / rate)
        jumps.append(cumulative([*onward, max(0.0, 1.0 - sum(onward))]))
    return cumulative(law.alpha), tuple(means), tuple(jumps)


def _exponential(law: Exponential) -> Drawing:
    mean = law.mean if law.mean is not None else 1.0 / (law.rate or 1.0)
    return rules.draw_exponential, (mean,)


def _deterministic(law: Deterministic) -> Drawing:
    return rules.draw_constant, (law.value,)


def _gamma(law: Gamma | Erlang) -> Drawing:
    return rules.draw_gamma, (float(law.shape), law.mean / law.shape)


def _uniform(law: Uniform) -> Drawing:
    return rules.draw_uniform, (law.low, law.high - law.low)


def _hyperexponential(law: Hyperexponential) -> Drawing:
    means = tuple(1.0 / rate for rate in law.rates)
    return rules.draw_hyperexponential, (cumulative(law.probabilities), means)


def _phase_type(law: PhaseType) -> Drawing:
    return rules.draw_phase_type, phase_tables(law)


def _empirical(law: Empirical) -> Drawing:
    return rules.draw_empirical, (law.observations,)


_DRAWINGS: dict[type, Callable[[Any], Drawing]] = {
    Exponential: _exponential,
    Deterministic: _deterministic,
    Gamma: _gamma,
    Erlang: _gamma,
    Uniform: _uniform,
    Hyperexponential: _hyperexponential,
    PhaseType: _phase_type,
    Empirical: _empirical,
}


def drawing(law: Distribution) -> Drawing:
    """The rule by which a distribution is drawn, and its parameters after the stream."""
    return _DRAWINGS[type(law)](law)


def sampler(law: Distribution, stream: Any) -> Draw:
    """A function that draws the next time of a distribution from a stream."""
    rule, parameters = drawing(law)
    return partial(rule, stream, *parameters)


def draws_of_process(process: Any, stream: Any) -> Draw:
    """A function that draws the successive gaps of a process, or of a distribution."""
    if isinstance(process, Mmpp | Map):
        return MapGaps(process, stream)
    return sampler(gap_law(process), stream)


def gap_law(process: Any) -> Distribution:
    """The law of the independent gaps of a process, or the distribution itself."""
    if isinstance(process, Renewal):
        return process.gap
    if isinstance(process, Poisson):
        return Exponential(rate=process.rate)
    return process  # type: ignore[no-any-return]  # what is left are distributions


def map_tables(process: Mmpp | Map) -> tuple[tuple[float, ...], tuple[tuple[float, ...], ...]]:
    """Mean times and what follows, as `rules.draw_map_gap` wants them."""
    hidden, arrivals = batch_matrices(process)
    means = []
    following = []
    for phase in range(len(hidden)):
        rate = -float(hidden[phase, phase])
        quiet = hidden[phase].copy()
        quiet[phase] = 0.0
        means.append(1.0 / rate)
        following.append(cumulative((np.concatenate([quiet, arrivals[phase]]) / rate).tolist()))
    return tuple(means), tuple(following)


def first_phase(process: Mmpp | Map, stream: Any) -> int:
    """The phase in which the gaps start: drawn from the law just after an arrival."""
    hidden, arrivals = batch_matrices(process)
    return interval_stationary_phase(hidden, arrivals, stream)


class MapGaps:
    """The successive gaps of a Markovian arrival process, one per call.

    They start interval-stationary (`first_phase`).
    """

    def __init__(self, process: Mmpp | Map, stream: Any) -> None:
        self._stream = stream
        self._tables = map_tables(process)
        self._phase = first_phase(process, stream)

    def __call__(self) -> float:
        """Draw the next gap."""
        gap, self._phase = rules.draw_map_gap(self._stream, self._phase, *self._tables)
        return gap


class TrackedService:
    """A phase-type service whose phase can be asked for while it lasts.

    The draws are those of `rules.draw_phase_type`, in the same order.

    Parameters
    ----------
    law : PhaseType
    stream : Generator
    now : callable
        The present time.
    """

    def __init__(self, law: PhaseType, stream: Any, now: Callable[[], float]) -> None:
        self._start, self._means, self._jumps = phase_tables(law)
        self._stream = stream
        self._now = now
        self._path: list[tuple[float, int]] = []

    def __call__(self) -> float:
        """Draw the next service, remembering its path."""
        begin = self._now()
        total = 0.0
        self._path.clear()
        phase = rules.pick(self._start, self._stream.random())
        while phase < len(self._means):
            total += rules.draw_exponential(self._stream, self._means[phase])
            self._path.append((begin + total, phase))
            phase = rules.pick(self._jumps[phase], self._stream.random())
        return total

    def phase(self, now: float) -> int:
        """The phase at a time during the present service."""
        return next((phase for end, phase in self._path if now < end), self._path[-1][1])
