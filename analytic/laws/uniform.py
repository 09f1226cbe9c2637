"""Uniform times."""

from __future__ import annotations

import numpy as np
import scipy

from analytic.machinery.phase_type import mean_phases_until, phases_after
from analytic.machinery.poisson import poisson
from scenarios.arrays import Array
from scenarios.laws import Uniform


def mean(law: Uniform) -> float:
    """The mean."""
    low, high = law.ends
    return (low + high) / 2


def variance(law: Uniform) -> float:
    """A twelfth of the squared width."""
    low, high = law.ends
    return (high - low) ** 2 / 12


def log_transform(law: Uniform, s: Array) -> Array:
    """``s (a + b) / 2 - ln(sinh z / z)``, or without the mean: ``s a + ln(2z / (1 - e^{-2z}))``."""
    low, high = law.ends
    z = s * (high - low) / 2
    large = np.maximum(z, 1.0)
    far = s * low + np.log(-2 * large / np.expm1(-2 * large))
    return np.where(z > 1, far, s * (low + high) / 2 - excess(law, s))


def excess(law: Uniform, s: Array) -> Array:
    """``ln(sinh z / z)``, z = s (b - a) / 2."""
    low, high = law.ends
    z = s * (high - low) / 2
    square = np.minimum(z, 1.0) ** 2
    series = np.zeros_like(z)
    for order in range(10, 0, -1):
        series = (1 + series) * square / (2 * order * (2 * order + 1))
    large = np.maximum(z, 1.0)
    far = large + np.log1p(-np.exp(-2 * large)) - np.log(2 * large)
    return np.where(z > 1, far, np.log1p(series))


def matrix_transform(law: Uniform, generator: Array) -> Array:
    """``e^{Ta} ∫_0^w e^{Tu} du / w``."""
    low, high = law.ends
    until = mean_phases_until(generator, high - low)
    return phases_after(generator, low) @ until if low else until


def survival(law: Uniform, t: Array) -> Array:
    """The probability that a time is longer than t."""
    low, high = law.ends
    result: Array = np.clip((high - t) / (high - low), 0.0, 1.0)
    return result


def jumps(law: Uniform) -> list[float]:
    """Both ends."""
    return list(law.ends)


def shortest(law: Uniform) -> float:
    """The lower end."""
    return law.ends[0]


def poisson_counts(law: Uniform, rate: float, below: int) -> Array:
    """Differences of incomplete gamma functions; of a narrow law by sixteen points."""
    low, high = law.ends
    k = np.arange(below)
    if rate * (high - low) < 1.0:
        nodes, weights = np.polynomial.legendre.leggauss(16)
        times = low + (high - low) * (1 + nodes) / 2
        return weights / 2 @ poisson(rate * times[:, None], k)
    lower = scipy.special.gammainc(k + 1, rate * high) - scipy.special.gammainc(k + 1, rate * low)
    upper = scipy.special.gammaincc(k + 1, rate * low) - scipy.special.gammaincc(k + 1, rate * high)
    result: Array = np.where(k < rate * low, upper, lower) / (rate * (high - low))
    return result
