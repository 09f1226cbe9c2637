"""The mean of a law, and how many numbers it draws, from what it is drawn with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from scenarios.laws import (
    Deterministic,
    Distribution,
    Empirical,
    Erlang,
    Exponential,
    Gamma,
    Hyperexponential,
    PhaseType,
    Uniform,
)
from sim.draws import drawing


def draws_and_mean(law: Distribution) -> tuple[float, float]:
    """Numbers drawn for one time on average, and the mean of that time."""
    return _MEANS[type(law)](*drawing(law)[1])


def _weighted(cumulative: Any, values: Any) -> float:
    return float(np.diff(cumulative, prepend=0.0) @ np.array(values))


def _absorption(start: Any, means: Any, jumps: Any) -> tuple[float, float]:
    """Phases passed through until absorption, and the time that they take."""
    order = len(means)
    moves = np.diff(np.array(jumps), axis=1, prepend=0.0)[:, :order]
    begin = np.diff(start, prepend=0.0)
    visits = np.linalg.solve((np.eye(order) - moves).T, begin)
    return float(visits.sum()), float(visits @ np.array(means))


_MEANS: dict[type, Callable[..., tuple[float, float]]] = {
    Exponential: lambda mean: (1.0, mean),
    Deterministic: lambda value: (1.0, value),
    Gamma: lambda shape, scale: (1.0, shape * scale),
    Erlang: lambda shape, scale: (1.0, shape * scale),
    Uniform: lambda low, width: (1.0, low + width / 2),
    Hyperexponential: lambda sums, means: (1.0, _weighted(sums, means)),
    PhaseType: _absorption,
    Empirical: lambda values: (1.0, float(np.mean(values))),
}
"""Numbers drawn for one time, and its mean, from the parameters with which it is drawn."""
