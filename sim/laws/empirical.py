"""Resampled times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scenarios.laws import Empirical


def parameters(law: Empirical) -> tuple[tuple[float, ...]]:
    """The observations."""
    return (law.observations,)


def draw(stream: Any, values: Sequence[float]) -> float:
    """One of the observations, each with the same probability."""
    index = int(stream.random() * len(values))
    return values[min(index, len(values) - 1)]


def draws_and_mean(law: Empirical) -> tuple[float, float]:
    """Numbers drawn for one time, and its mean."""
    return 1.0, float(np.mean(law.observations))
