"""Lognormal times."""

from __future__ import annotations

import math

import numpy as np
import scipy

from analytic.machinery.quadrature import excess as excess
from analytic.machinery.quadrature import log_transform as log_transform
from analytic.machinery.quadrature import matrix_transform as matrix_transform
from analytic.machinery.quadrature import poisson_counts as poisson_counts
from analytic.machinery.quadrature import time_weighted_transform as time_weighted_transform
from scenarios.arrays import Array
from scenarios.laws import Lognormal


def mean(law: Lognormal) -> float:
    """The mean."""
    return law.mean


def variance(law: Lognormal) -> float:
    """The variance."""
    return law.sd**2


def survival(law: Lognormal, t: Array) -> Array:
    """The probability that a time is longer than t."""
    mu, sigma = law.of_logarithm
    with np.errstate(divide="ignore"):
        result: Array = scipy.special.ndtr((mu - np.log(t)) / sigma)
    return result


def log_density(law: Lognormal, u: Array) -> Array:
    """Normal with mean ``-sigma² / 2``."""
    sigma = law.of_logarithm[1]
    return -((u / sigma + sigma / 2) ** 2) / 2 - math.log(sigma * math.sqrt(2 * math.pi))


def logarithms(law: Lognormal) -> tuple[float, float, float]:
    """To 20 standard deviations below the mean, and above the mean of the time's weight."""
    sigma = law.of_logarithm[1]
    return -(sigma**2) / 2 - 20 * sigma, sigma**2 / 2 + 20 * sigma, 2.5 * sigma
