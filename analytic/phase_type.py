"""Phase-type distributions: representation of a scenario's law, moments."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scenarios.distributions import (
    Distribution,
    Erlang,
    Exponential,
    Hyperexponential,
    PhaseType,
)

__all__ = ["PhaseLaw", "as_phase_type", "exponential_rate", "moment"]

Array = NDArray[np.floating[Any]]


class PhaseLaw(NamedTuple):
    """Start vector, shape (n,), and sub-generator, shape (n, n), of a phase-type law."""

    start: Array
    generator: Array

    @property
    def exit_rates(self) -> Array:
        """Rates of absorption from each phase, rounding below zero removed."""
        rates: Array = np.maximum(-self.generator.sum(axis=1), 0.0)
        return rates


def exponential_rate(law: Distribution) -> float | None:
    """Rate of an exponential law, however it is written; None for any other law."""
    if isinstance(law, Exponential):
        return law.rate if law.rate is not None else 1.0 / (law.mean or 1.0)
    phases = as_phase_type(law)
    if phases is None:
        return None
    rates = phases.exit_rates
    alike = np.allclose(rates, rates[0], rtol=1e-12, atol=0.0)
    return float(rates[0]) if alike else None


def as_phase_type(law: Distribution) -> PhaseLaw | None:
    """The phase-type representation of a law, or None where it has none."""
    if isinstance(law, Exponential):
        rate = law.rate if law.rate is not None else 1.0 / (law.mean or 1.0)
        return PhaseLaw(np.ones(1), np.array([[-rate]]))
    if isinstance(law, Erlang):
        rate = law.shape / law.mean
        steps = np.diag(np.full(law.shape, -rate)) + np.diag(np.full(law.shape - 1, rate), 1)
        return PhaseLaw(np.eye(law.shape)[0], steps)
    if isinstance(law, Hyperexponential):
        return PhaseLaw(np.array(law.probabilities), -np.diag(law.rates))
    if isinstance(law, PhaseType):
        return PhaseLaw(np.array(law.alpha), np.array(law.T))
    return None


def moment(law: PhaseLaw, order: int) -> float:
    """The moment E X^order: ``order! · start · (-generator)^-order · 1``."""
    vector: Array = np.ones(len(law.start))
    for _ in range(order):
        vector = np.linalg.solve(-law.generator, vector)
    return float(math.factorial(order) * law.start @ vector)
