"""Erlang times: gamma times of a whole shape, with phases."""

from __future__ import annotations

import numpy as np

from analytic.laws.gamma import excess as excess
from analytic.laws.gamma import log_transform as log_transform
from analytic.laws.gamma import matrix_transform as matrix_transform
from analytic.laws.gamma import mean as mean
from analytic.laws.gamma import poisson_counts as poisson_counts
from analytic.laws.gamma import survival as survival
from analytic.laws.gamma import variance as variance
from analytic.machinery.phase_type import MOST_PHASES, PhaseLaw
from scenarios.laws import Erlang


def phase_count(law: Erlang) -> int:
    """As many phases as the shape."""
    return law.shape


def phases(law: Erlang) -> PhaseLaw | None:
    """Phases of one rate, one after the other; None where their matrix would be too large."""
    if law.shape > MOST_PHASES:
        return None
    rate = law.shape / law.mean
    steps = np.diag(np.full(law.shape, -rate)) + np.diag(np.full(law.shape - 1, rate), 1)
    return PhaseLaw(np.eye(law.shape)[0], steps)
