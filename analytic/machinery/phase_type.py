"""Phase-type distributions: representation of a scenario's law, moments, phases in time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np

from analytic.laws import function_of
from analytic.machinery.markov import until_exit
from scenarios.arrays import Array
from scenarios.laws import Distribution, Erlang

MOST_PHASES = 4096
"""Phases of a law up to which its matrix is written down: 128 MB."""

_TERMS = 22
"""Jumps of a chain in a time of at most one jump on average; more have probability 1e-22."""


class PhaseLaw(NamedTuple):
    """Start vector, shape (n,), and sub-generator, shape (n, n), of a phase-type law."""

    start: Array
    generator: Array

    @property
    def exit_rates(self) -> Array:
        """Rates of absorption from each phase, rounding below zero removed."""
        return np.maximum(-self.generator.sum(axis=1), 0.0)


def exponential_rate(law: Distribution) -> float | None:
    """Rate of an exponential law, however it is written; None for any other law."""
    if isinstance(law, Erlang) and law.shape > 1:  # seen without its matrix
        return None
    phases = as_phase_type(law)
    if phases is None:
        return None
    rates = phases.exit_rates
    alike = np.allclose(rates, rates[0], rtol=1e-12, atol=0.0)
    return float(rates[0]) if alike else None


def phase_count(law: Distribution) -> int | None:
    """Number of phases of a law, or None where it is not of phase type; nothing is built."""
    count = function_of(law, "phase_count")
    return None if count is None else count(law)


def has_phases(law: Distribution) -> bool:
    """Whether there is a phase-type form to reckon with, without building it."""
    return 1 <= (phase_count(law) or 0) <= MOST_PHASES


def as_phase_type(law: Distribution) -> PhaseLaw | None:
    """The phase-type representation of a law; None where it has none, or too large a one.

    An Erlang law of more than `MOST_PHASES` phases is too large; all others are written out in the
    scenario.
    """
    phases = function_of(law, "phases")
    return None if phases is None else phases(law)


def moment(law: PhaseLaw, order: int) -> float:
    """The moment E X^order: ``order! · start · (-generator)^-order · 1``, without a subtraction."""
    vector: Array = np.ones((1, len(law.start), 1))
    for _ in range(order):
        vector = until_exit(law.generator[None].copy(), law.exit_rates[None], vector)
    return float(math.factorial(order) * law.start @ vector[0, :, 0])


def phases_after(generator: Array, time: float) -> Array:
    """The matrix ``e^{Tt}``: probabilities of the phases after a time.

    Parameters
    ----------
    generator : ndarray, shape (n, n)
        T, a generator or sub-generator.
    time : float
        t.

    Notes
    -----
    Jumps of the uniformised chain over a short time, doubled again and again. Nothing is
    subtracted and each row keeps its probability, however stiff the chain and long the time.
    """
    return next(phases_after_doubled(generator, time))


def phases_after_doubled(generator: Array, time: float) -> Iterator[Array]:
    """The matrices ``e^{Tt}``, ``e^{2Tt}``, ``e^{4Tt}``, …, each by one product more."""
    size = len(generator)
    after = _doubled(generator, time)[0]
    while True:
        yield after[:size, :size]
        after = _stochastic(after @ after)


def mean_phases_until(generator: Array, time: float) -> Array:
    """The matrix ``(1/t) ∫_0^t e^{Tu} du``: probabilities of the phases at a uniform time up to t.

    Parameters and accuracy are those of `phases_after`.
    """
    size = len(generator)
    return _doubled(generator, time)[1][:size, :size]


def _doubled(generator: Array, time: float) -> tuple[Array, Array]:
    """Phases after the time, and averaged until then; absorption is a phase more."""
    size = len(generator)
    full = np.zeros((size + 1, size + 1))
    full[:size, :size] = generator
    full[:size, size] = np.maximum(-generator.sum(axis=1), 0.0)
    rate = float(np.max(-np.diag(full)))
    doublings = max(0, math.ceil(math.log2(max(rate, 1e-300)) + math.log2(time)))
    return next(islice(doubled_times(full, math.ldexp(time, -doublings)), doublings, None))


def doubled_times(generator: Array, time: float) -> Iterator[tuple[Array, Array]]:
    """The matrices ``e^{Qt}`` and ``(1/t) ∫_0^t e^{Qu} du``, then those of 2t, 4t and so on.

    Parameters
    ----------
    generator : ndarray, shape (n, n)
        Q, with its diagonal.
    time : float
        t; at most one jump on average from any state.
    """
    after, during = _short(generator, float(np.max(-np.diag(generator))), time)
    while True:
        yield after, during
        during = _stochastic((during + after @ during) / 2)
        after = _stochastic(after @ after)


def _short(full: Array, rate: float, time: float) -> tuple[Array, Array]:
    """The same for a time of at most one jump on average, by counting jumps."""
    jump = np.eye(len(full)) + (full / rate if rate else 0.0)
    mean = rate * time
    power = np.eye(len(full))
    after = np.zeros_like(full)
    during = np.zeros_like(full)
    weights = [math.exp(-mean) * mean**count / math.factorial(count) for count in range(2 * _TERMS)]
    for count in range(_TERMS):
        later = math.fsum(weights[count + 1 :])
        after += weights[count] * power
        during += (later / mean if mean else float(count == 0)) * power
        power = power @ jump
    return _stochastic(after), _stochastic(during)


def _stochastic(matrix: Array) -> Array:
    return matrix / matrix.sum(axis=1, keepdims=True)
