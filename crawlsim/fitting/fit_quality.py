"""How well a fitted law goes with its observations, and what is said of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

from crawlsim.fitting.hyper_erlang import HyperErlang
from scenarios.arrays import Array

_SURE = 1e-3
_POOR = 0.05
_AT_ONCE = 1 << 20  # the law takes some numbers per value and branch


class Quality(NamedTuple):
    """Kolmogorov-Smirnov distance of a law to the observations, and its p-value.

    Attributes
    ----------
    distance : float
        Largest difference between the distribution functions.
    p_value : float
        As if the law were given beforehand: it is somewhat too large, what it rejects is rejected.
    """

    distance: float
    p_value: float

    @property
    def poor(self) -> bool:
        """Whether the law is off by more than chance, and by so much that it matters."""
        return self.p_value < _SURE and self.distance > _POOR


def quality_of(observations: Array, law: HyperErlang) -> Quality:
    """The Kolmogorov-Smirnov test; equal observations are one step of their whole height."""
    values, counts = np.unique(observations, return_counts=True)
    until = np.cumsum(counts) / len(observations)
    before = until - counts / len(observations)
    parts = np.array_split(np.arange(len(values)), len(values) // _AT_ONCE + 1)
    under = 1.0 - np.concatenate([law.survival(values[part]) for part in parts])
    distance = float(max((until - under).max(), (under - before).max()))
    root = np.sqrt(len(observations))
    p_value = special.kolmogorov((root + 0.12 + 0.11 / root) * distance)
    return Quality(distance, float(p_value))


def quality_words(quality: Quality, most_phases: int) -> str:
    """The figure, and a warning where the fit is poor."""
    seen = f"Kolmogorov-Smirnov distance {quality.distance:.2g}, p = {quality.p_value:.2g}"
    if not quality.poor:
        return f"The law goes with the observations: {seen}."
    return (
        f"The fit is poor: {seen}. No law of at most {most_phases} phases that was tried is near; "
        "moments can be right all the same, but probabilities of single sizes are not."
    )
