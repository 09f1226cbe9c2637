"""Mixtures of exponential times."""

from __future__ import annotations

import numpy as np

from analytic.machinery.phase_type import PhaseLaw
from scenarios.laws import Hyperexponential


def phase_count(law: Hyperexponential) -> int:
    """One phase per rate."""
    return len(law.probabilities)


def phases(law: Hyperexponential) -> PhaseLaw:
    """One of the phases only."""
    return PhaseLaw(np.array(law.probabilities), -np.diag(law.rates))
