"""Weibull times."""

from __future__ import annotations

import math

import numpy as np

from analytic.machinery.quadrature import excess as excess
from analytic.machinery.quadrature import log_transform as log_transform
from analytic.machinery.quadrature import matrix_transform as matrix_transform
from analytic.machinery.quadrature import poisson_counts as poisson_counts
from analytic.machinery.quadrature import time_weighted_transform as time_weighted_transform
from scenarios.arrays import Array
from scenarios.laws import Weibull


def mean(law: Weibull) -> float:
    """The mean."""
    return law.mean


def variance(law: Weibull) -> float:
    """The variance."""
    power = 1.0 / law.shape_parameter
    return law.mean**2 * math.expm1(math.lgamma(1 + 2 * power) - 2 * math.lgamma(1 + power))


def survival(law: Weibull, t: Array) -> Array:
    """The probability that a time is longer than t."""
    return np.exp(-((t / law.scale) ** law.shape_parameter))


def log_density(law: Weibull, u: Array) -> Array:
    """Of ``v = k (u - ln(scale / mean))``: ``k exp(v - e^v)``."""
    shape = law.shape_parameter
    v = shape * (u - math.log(law.scale / law.mean))
    return math.log(shape) + v - np.exp(np.minimum(v, 700.0))


def logarithms(law: Weibull) -> tuple[float, float, float]:
    """From e^-200 to 200 times the mean of ``(X / scale)^k``, which is exponential."""
    shape = law.shape_parameter
    scale = math.log(law.scale / law.mean)
    return scale - 200 / shape, scale + math.log(200) / shape, 1.5 / shape
