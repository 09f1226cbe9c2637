"""Mixtures of exponential times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scenarios.laws import Hyperexponential
from sim import rules


def parameters(law: Hyperexponential) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Cumulative probabilities, and means."""
    return rules.cumulative(law.probabilities), tuple(1.0 / rate for rate in law.rates)


def draw(stream: Any, cumulative: Sequence[float], means: Sequence[float]) -> float:
    """An exponential time whose mean is drawn first."""
    mean = means[rules.pick(cumulative, stream.random())]
    return stream.standard_exponential() * mean


def draws_and_mean(law: Hyperexponential) -> tuple[float, float]:
    """Numbers drawn for one time, and its mean."""
    cumulative, means = parameters(law)
    return 1.0, float(np.diff(cumulative, prepend=0.0) @ np.array(means))
