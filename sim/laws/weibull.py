"""Weibull times."""

from __future__ import annotations

import math
from typing import Any

from scenarios.laws import Weibull


def parameters(law: Weibull) -> tuple[float, float]:
    """Power of an exponential time, and scale."""
    return 1.0 / law.shape_parameter, law.scale


def draw(stream: Any, power: float, scale: float) -> float:
    """A Weibull time."""
    return scale * math.pow(stream.standard_exponential(), power)


def draws_and_mean(law: Weibull) -> tuple[float, float]:
    """Numbers drawn for one time, and its mean."""
    return 1.0, law.mean
