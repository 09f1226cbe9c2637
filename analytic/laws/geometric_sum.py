"""Times from one delivery of a robot to its next one, where some of its accesses fail.

No scenario file has this law; it follows from that of an access.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analytic.machinery import transforms
from scenarios.arrays import Array
from scenarios.laws import Distribution


@dataclass(frozen=True)
class GeometricSum:
    """Accesses one after the other up to the first that does not fail.

    Attributes
    ----------
    access : Distribution
        Law of one access.
    failure : float
        Probability q < 1 that it fails, independently of how long it takes.
    """

    access: Distribution
    failure: float

    @property
    def simplest(self) -> GeometricSum:
        """Itself: it has no other name."""
        return self

    @property
    def key(self) -> str:
        """What messages call it."""
        return f"repeated {self.access.key}"

    @property
    def odds(self) -> float:
        """Failed accesses per delivery: q / (1 - q)."""
        return self.failure / (1.0 - self.failure)


def mean(law: GeometricSum) -> float:
    """The mean ``m / (1 - q)``."""
    return transforms.mean_time(law.access) / (1.0 - law.failure)


def log_transform(law: GeometricSum, s: Array) -> Array:
    """The exponent of ``(1 - q) h / (1 - q h)``: ``l + ln(1 + x)``, x = (1 - h) q / (1 - q)."""
    once = transforms.log_transform(law.access, s)
    return once + np.log1p(-law.odds * np.expm1(-once))


def excess(law: GeometricSum, s: Array) -> Array:
    """Of non-negative terms: ``delta + (delta + exc(l)) q / (1 - q) + x - ln(1 + x)``."""
    once = transforms.log_transform(law.access, s)
    delta = transforms.excess(law.access, s)
    rounding = transforms.x_minus_log1p(-law.odds * np.expm1(-once))
    return delta + law.odds * (delta + transforms.exc(once)) + rounding


def matrix_transform(law: GeometricSum, generator: Array) -> Array:
    """``(1 - q) H (I - q H)^-1``, where H is that of one access."""
    once = transforms.matrix_transform(law.access, generator)
    left = np.eye(len(once)) - law.failure * once
    return (1.0 - law.failure) * np.linalg.solve(left, once)


def shortest(law: GeometricSum) -> float:
    """The least time of one access."""
    return transforms.shortest(law.access)
