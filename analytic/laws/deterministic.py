"""Constant times."""

from __future__ import annotations

import numpy as np

from analytic.machinery.phase_type import phases_after
from analytic.machinery.poisson import poisson
from scenarios.arrays import Array
from scenarios.laws import Deterministic


def mean(law: Deterministic) -> float:
    """The mean."""
    return law.value


def variance(law: Deterministic) -> float:  # noqa: ARG001  # same call as its siblings
    """A constant time does not vary."""
    return 0.0


def log_transform(law: Deterministic, s: Array) -> Array:
    """The exponent of the transform."""
    return s * law.value


def excess(law: Deterministic, s: Array) -> Array:  # noqa: ARG001  # same call as its siblings
    """None: a constant time is its own mean."""
    return np.zeros_like(s)


def matrix_transform(law: Deterministic, generator: Array) -> Array:
    """Probabilities of the phases after the time."""
    return phases_after(generator, law.value)


def survival(law: Deterministic, t: Array) -> Array:
    """The probability that a time is longer than t."""
    return np.where(t < law.value, 1.0, 0.0)


def jumps(law: Deterministic) -> list[float]:
    """The time itself."""
    return [law.value]


def shortest(law: Deterministic) -> float:
    """The time itself."""
    return law.value


def poisson_counts(law: Deterministic, rate: float, below: int) -> Array:
    """Poisson."""
    return poisson(rate * law.value, np.arange(below))
