"""Times from one delivery of a robot to its next one, where some of its accesses bring nothing.

No scenario file has this law; it follows from that of an access, and is made in
`analytic/index/accesses.py` (`law_between_accesses`, `law_and_failure`).
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
        Probability q < 1 that it fails, independently of its length.
    share : float
        What one that fails takes of its length.
    """

    access: Distribution
    failure: float
    share: float = 1.0

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
    """The mean ``m + a m q / (1 - q)``, with a the share."""
    return transforms.mean_time(law.access) * (1.0 + law.share * law.odds)


def log_transform(law: GeometricSum, s: Array) -> Array:
    """The exponent of ``(1 - q) h / (1 - q g)``: ``l + ln(1 + x)``, x = (1 - g) q / (1 - q).

    Here g is h of a failed access, h(a s).
    """
    failed = transforms.log_transform(law.access, law.share * s)
    return transforms.log_transform(law.access, s) + np.log1p(-law.odds * np.expm1(-failed))


def excess(law: GeometricSum, s: Array) -> Array:
    """Of non-negative terms: ``delta + (delta' + exc(l')) q / (1 - q) + x - ln(1 + x)``.

    With primes of a failed access, at a s.
    """
    failed = transforms.log_transform(law.access, law.share * s)
    shorter = transforms.excess(law.access, law.share * s)
    rounding = transforms.x_minus_log1p(-law.odds * np.expm1(-failed))
    whole = transforms.excess(law.access, s)
    return whole + law.odds * (shorter + transforms.exc(failed)) + rounding


def matrix_transform(law: GeometricSum, generator: Array) -> Array:
    """``(1 - q) (I - q H')^-1 H``, where H is that of one access, H' of one that fails."""
    once = transforms.matrix_transform(law.access, generator)
    failed = once
    if law.share < 1:
        failed = transforms.matrix_transform(law.access, law.share * generator)
    left = np.eye(len(once)) - law.failure * failed
    return (1.0 - law.failure) * np.linalg.solve(left, once)


def shortest(law: GeometricSum) -> float:
    """The least time of one access."""
    return transforms.shortest(law.access)
