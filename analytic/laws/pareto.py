"""Pareto times of the first kind."""

from __future__ import annotations

import math

import numpy as np

from analytic.machinery.quadrature import excess as excess
from analytic.machinery.quadrature import log_transform as log_transform
from analytic.machinery.quadrature import matrix_transform as matrix_transform
from analytic.machinery.quadrature import poisson_counts as poisson_counts
from analytic.machinery.quadrature import time_weighted_transform as time_weighted_transform
from scenarios.arrays import Array
from scenarios.laws import Pareto


def mean(law: Pareto) -> float:
    """The mean."""
    return law.mean


def variance(law: Pareto) -> float:
    """The variance, infinite up to shape 2."""
    shape = law.shape_parameter
    return law.mean**2 / (shape * (shape - 2)) if shape > 2 else math.inf


def survival(law: Pareto, t: Array) -> Array:
    """The probability that a time is longer than t."""
    return (law.least / np.maximum(t, law.least)) ** law.shape_parameter


def jumps(law: Pareto) -> list[float]:
    """The least time."""
    return [law.least]


def shortest(law: Pareto) -> float:
    """The least time."""
    return law.least


def log_density(law: Pareto, u: Array) -> Array:
    """Exponential of rate ``shape`` from the least time on."""
    shape = law.shape_parameter
    return math.log(shape) - shape * (u - math.log(law.least / law.mean))


def logarithms(law: Pareto) -> tuple[float, float, float]:
    """To the time that is exceeded with probability e^-200."""
    shape = law.shape_parameter
    low = math.log(law.least / law.mean)
    return low, low + 200 / shape, 4 / shape


def mean_beyond(law: Pareto, t: float) -> float:
    """``t shape / (shape - 1)``: the shape is that of the whole law."""
    shape = law.shape_parameter
    return float(t * shape / (shape - 1))
