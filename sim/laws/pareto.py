"""Pareto times of the first kind."""

from __future__ import annotations

import math
from typing import Any

from scenarios.laws import Pareto


def parameters(law: Pareto) -> tuple[float, float]:
    """The least time, and the inverse of the shape."""
    return law.least, 1.0 / law.shape_parameter


def draw(stream: Any, least: float, power: float) -> float:
    """A Pareto time; `Generator.pareto` of numpy would draw the excess over the least time."""
    return least * math.exp(power * stream.standard_exponential())


def draws_and_mean(law: Pareto) -> tuple[float, float]:
    """Numbers drawn for one time, and its mean."""
    return 1.0, law.mean
