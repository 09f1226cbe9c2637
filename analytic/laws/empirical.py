"""Resampled times."""

from __future__ import annotations

import numpy as np

from analytic.machinery.phase_type import phases_after
from analytic.machinery.poisson import poisson
from analytic.machinery.quadrature import Points, excess_of, log_transform_of
from scenarios.arrays import Array
from scenarios.laws import Empirical

_LEAST = 1e-300
"""In place of a mean of 0."""


def _observed(law: Empirical) -> Points:
    values = np.array(law.observations)
    return Points(values, np.full(len(values), 1 / len(values)))


def mean(law: Empirical) -> float:
    """The mean."""
    return float(_observed(law).times.mean())


def variance(law: Empirical) -> float:
    """That of the observations."""
    return float(np.var(law.observations))


def log_transform(law: Empirical, s: Array) -> Array:
    """The exponent of the transform."""
    return log_transform_of(_observed(law), s)


def excess(law: Empirical, s: Array) -> Array:
    """The excess of its linear part."""
    return excess_of(_observed(law), mean(law), s)


def matrix_transform(law: Empirical, generator: Array) -> Array:
    """The mean over the observations."""
    values, counts = np.unique(law.observations, return_counts=True)
    result = np.zeros_like(generator)
    for value, count in zip(values.tolist(), counts / counts.sum(), strict=True):
        result += count * (phases_after(generator, value) if value else np.eye(len(generator)))
    return result


def survival(law: Empirical, t: Array) -> Array:
    """The share of the observations that are longer than t."""
    seen = np.sort(law.observations)
    return 1.0 - np.searchsorted(seen, t, side="right") / len(seen)


def jumps(law: Empirical) -> list[float]:
    """The observations."""
    return sorted(set(law.observations))


def shortest(law: Empirical) -> float:
    """The least observation."""
    return min(law.observations)


def poisson_counts(law: Empirical, rate: float, below: int) -> Array:
    """The mean over the observations."""
    values, counts = np.unique(law.observations, return_counts=True)
    result = np.zeros(below)
    for value, share in zip(values.tolist(), counts / counts.sum(), strict=True):
        result += share * poisson(max(rate * value, _LEAST), np.arange(below))
    return result
