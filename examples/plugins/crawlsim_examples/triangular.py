"""A law, all three parts of it in one file: triangular times from 0, the density highest at 0."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from analytic.machinery.phase_type import phases_after
from scenarios.arrays import Array
from scenarios.base import Positive
from scenarios.laws.law import Law


class Triangular(Law):
    """Times up to `longest`, whose density falls to 0 along a line."""

    key = "triangular"
    longest: Positive


# What simulations draw: as a file of sim/laws.


def parameters(law: Triangular) -> tuple[float]:
    """The longest time."""
    return (law.longest,)


def draw(stream: Any, longest: float) -> float:
    """Such a time, by inversion of ``P(X > t) = (1 - t / longest)^2``."""
    return longest * (1.0 - math.sqrt(stream.random()))


def draws_and_mean(law: Triangular) -> tuple[float, float]:
    """Numbers drawn for one time, and its mean."""
    return 1.0, law.longest / 3.0


# What formulas compute: as a file of analytic/laws.


def mean(law: Triangular) -> float:
    """The mean."""
    return law.longest / 3.0


def variance(law: Triangular) -> float:
    """The variance."""
    return law.longest**2 / 18.0


def survival(law: Triangular, t: Array) -> Array:
    """The probability that a time is longer than t."""
    return np.clip(1.0 - np.asarray(t) / law.longest, 0.0, 1.0) ** 2


def jumps(law: Triangular) -> tuple[float, ...]:
    """Where the survival is not smooth."""
    return (law.longest,)


def log_transform(law: Triangular, s: Array) -> Array:
    """The exponent of the transform, by quadrature."""
    times, weights = _points(law)
    return -np.log1p(np.expm1(-s[..., None] * times) @ weights)


def excess(law: Triangular, s: Array) -> Array:
    """What the mean leaves of it."""
    return s * mean(law) - log_transform(law, s)


def matrix_transform(law: Triangular, generator: Array) -> Array:
    """The mean of the phases after such a time, by quadrature."""
    parts = [w * phases_after(generator, t) for t, w in zip(*_points(law), strict=True)]
    return np.sum(parts, axis=0)


def _points(law: Triangular) -> tuple[Array, Array]:
    """Times and their probabilities, by Gauss and Legendre's rule."""
    places, weights = np.polynomial.legendre.leggauss(40)
    shares = (places + 1.0) / 2.0
    return law.longest * shares, weights * (1.0 - shares)
