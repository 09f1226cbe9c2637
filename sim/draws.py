"""From a distribution or a process of the scenario to a function that draws the next time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np

from scenarios.distributions import (
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

__all__ = ["TrackedService", "cumulative", "draws_of_process", "phase_tables", "sampler"]

Draw = Callable[[], float]


def cumulative(probabilities: Sequence[float]) -> tuple[float, ...]:
    """Cumulative probabilities, exactly 1 from the last positive one on."""
    sums = list(accumulate(probabilities))
    last = max(index for index, value in enumerate(probabilities) if value > 0)
    return tuple(sums[:last]) + (1.0,) * (len(sums) - last)


def phase_tables(law: PhaseType) -> tuple[Any, Any, Any]:
    """Start, mean times and jumps of a phase-type law, as `rules.draw_phase_type` wants them."""
    means, jumps = [], []
    for phase, row in enumerate(law.T):
        rate = -row[phase]
        onward = [max(entry, 0.0) / rate for entry in row]
        means.append(1.0 / rate)
        jumps.append(cumulative([*onward, max(0.0, 1.0 - sum(onward))]))
    return cumulative(law.alpha), tuple(means), tuple(jumps)


def _exponential(law: Exponential, stream: Any) -> Draw:
    mean = law.mean if law.mean is not None else 1.0 / (law.rate or 1.0)
    return partial(rules.draw_exponential, stream, mean)


def _deterministic(law: Deterministic, stream: Any) -> Draw:  # noqa: ARG001  # same call as its siblings
    return lambda: law.value


def _gamma(law: Gamma | Erlang, stream: Any) -> Draw:
    return partial(rules.draw_gamma, stream, float(law.shape), law.mean / law.shape)


def _uniform(law: Uniform, stream: Any) -> Draw:
    return partial(rules.draw_uniform, stream, law.low, law.high - law.low)


def _hyperexponential(law: Hyperexponential, stream: Any) -> Draw:
    means = tuple(1.0 / rate for rate in law.rates)
    return partial(rules.draw_hyperexponential, stream, cumulative(law.probabilities), means)


def _phase_type(law: PhaseType, stream: Any) -> Draw:
    return partial(rules.draw_phase_type, stream, *phase_tables(law))


def _empirical(law: Empirical, stream: Any) -> Draw:
    return partial(rules.draw_empirical, stream, law.observations)


_SAMPLERS: dict[type, Callable[[Any, Any], Draw]] = {
    Exponential: _exponential,
    Deterministic: _deterministic,
    Gamma: _gamma,
    Erlang: _gamma,
    Uniform: _uniform,
    Hyperexponential: _hyperexponential,
    PhaseType: _phase_type,
    Empirical: _empirical,
}


def sampler(law: Distribution, stream: Any) -> Draw:
    """A function that draws the next time of a distribution from a stream."""
    return _SAMPLERS[type(law)](law, stream)


def draws_of_process(process: Any, stream: Any) -> Draw:
    """A function that draws the successive gaps of a process, or of a distribution.

    Gaps of a Markovian process start interval-stationary: the first phase is drawn from the law
    just after an arrival.
    """
    if isinstance(process, Renewal):
        return sampler(process.gap, stream)
    if isinstance(process, Poisson):
        return partial(rules.draw_exponential, stream, 1.0 / process.rate)
    if isinstance(process, Mmpp):
        arrivals = np.diag(process.rates)
        return MapGaps(np.array(process.Q) - arrivals, arrivals, stream)
    if isinstance(process, Map):
        return MapGaps(np.array(process.D0), np.array(process.D1), stream)
    return sampler(process, stream)


class MapGaps:
    """The successive gaps of a Markovian arrival process, one per call.

    Each step takes one exponential (the time in the phase) and one uniform (what comes next).
    """

    def __init__(self, hidden: Any, arrivals: Any, stream: Any) -> None:
        self._stream = stream
        self._order = len(hidden)
        self._means, self._next = [], []
        for phase in range(self._order):
            rate = -hidden[phase, phase]
            quiet = [hidden[phase, j] if j != phase else 0.0 for j in range(self._order)]
            shares = [*(entry / rate for entry in quiet), *(arrivals[phase] / rate)]
            self._means.append(1.0 / rate)
            self._next.append(cumulative(shares))
        self._phase = interval_stationary_phase(hidden, arrivals, stream)

    def __call__(self) -> float:
        """Draw the next gap."""
        total = 0.0
        while True:
            total += rules.draw_exponential(self._stream, self._means[self._phase])
            chosen = rules.pick(self._next[self._phase], self._stream.random())
            self._phase = chosen % self._order
            if chosen >= self._order:
                return total


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
        self._stream, self._now = stream, now
        self._path: list[tuple[float, int]] = []

    def __call__(self) -> float:
        """Draw the next service, remembering its path."""
        begin, total = self._now(), 0.0
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
