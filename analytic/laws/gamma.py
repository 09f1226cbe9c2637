"""Gamma times, Erlang times among them."""

from __future__ import annotations

import numpy as np
import scipy

from analytic.machinery.poisson import negative_binomial
from analytic.machinery.transforms import x_minus_log1p
from scenarios.arrays import Array
from scenarios.laws import Erlang, Gamma


def mean(law: Gamma | Erlang) -> float:
    """The mean."""
    return law.mean


def variance(law: Gamma | Erlang) -> float:
    """``m² / k``."""
    return law.mean**2 / law.shape_parameter


def log_transform(law: Gamma | Erlang, s: Array) -> Array:
    """``k ln(1 + s m / k)``."""
    return law.shape_parameter * np.log1p(s * law.mean / law.shape_parameter)


def excess(law: Gamma | Erlang, s: Array) -> Array:
    """``k (x - ln(1 + x))``, x = s m / k."""
    return law.shape_parameter * x_minus_log1p(s * law.mean / law.shape_parameter)


def matrix_transform(law: Gamma | Erlang, generator: Array) -> Array:
    """``(I - T m / k)^-k``; the whole part of k by repeated squaring."""
    whole, part = divmod(law.shape_parameter, 1.0)
    step = np.linalg.inv(np.eye(len(generator)) - generator * (law.mean / law.shape_parameter))
    result: Array = np.linalg.matrix_power(step, int(whole))
    return result @ np.real(scipy.linalg.fractional_matrix_power(step, part)) if part else result


def survival(law: Gamma | Erlang, t: Array) -> Array:
    """The probability that a time is longer than t."""
    return scipy.special.gammaincc(law.shape_parameter, law.shape_parameter * t / law.mean)


def poisson_counts(law: Gamma | Erlang, rate: float, below: int) -> Array:
    """Negative binomial."""
    return negative_binomial(law.shape_parameter, rate * law.mean, np.arange(below))
