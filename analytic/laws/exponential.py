"""Exponential times."""

from __future__ import annotations

import numpy as np

from analytic.machinery.phase_type import PhaseLaw
from analytic.machinery.transforms import x_minus_log1p
from scenarios.arrays import Array
from scenarios.laws import Exponential


def mean(law: Exponential) -> float:
    """The mean."""
    return law.expected


def log_transform(law: Exponential, s: Array) -> Array:
    """``ln(1 + s m)``."""
    return np.log1p(s * law.expected)


def excess(law: Exponential, s: Array) -> Array:
    """``s m - ln(1 + s m)``."""
    return x_minus_log1p(s * law.expected)


def matrix_transform(law: Exponential, generator: Array) -> Array:
    """``(I - T m)^-1``."""
    return np.linalg.inv(np.eye(len(generator)) - generator * law.expected)


def phase_count(law: Exponential) -> int:  # noqa: ARG001  # same call as its siblings
    """One phase."""
    return 1


def phases(law: Exponential) -> PhaseLaw:
    """One phase."""
    return PhaseLaw(np.ones(1), np.array([[-law.intensity]]))


def poisson_counts(law: Exponential, rate: float, below: int) -> Array:
    """Geometric."""
    expected = rate * law.expected
    return np.exp(-np.log1p(1 / expected) * np.arange(below)) / (1 + expected)
