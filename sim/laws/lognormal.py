"""Lognormal times."""

from __future__ import annotations

import math
from typing import Any

from scenarios.laws import Lognormal


def parameters(law: Lognormal) -> tuple[float, float]:
    """Mean and standard deviation of the logarithm."""
    return law.of_logarithm


def draw(stream: Any, mu: float, sigma: float) -> float:
    """A lognormal time."""
    return math.exp(mu + sigma * stream.standard_normal())


def draws_and_mean(law: Lognormal) -> tuple[float, float]:
    """Numbers drawn for one time, and its mean."""
    return 1.0, law.mean
