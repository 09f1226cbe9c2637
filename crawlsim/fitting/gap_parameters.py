"""Mean, variation and correlations of the gaps between deliveries, with their intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crawlsim.fitting.intervals import NORMAL_95, Parameter
from crawlsim.fitting.stretches import correlation_of_stretches, of_stretches
from scenarios.arrays import Array

_LAGS = 6
_STRETCHES = 10

FEWEST_GAPS = 1000
"""Gaps from which on their moments have intervals."""


def lag_correlations(gaps: Array, lags: int = _LAGS) -> Array:
    """Correlations of gaps 1, 2, … apart, shape (lags,)."""
    centred = gaps - gaps.mean()
    variance = centred @ centred
    return np.array([centred[lag:] @ centred[:-lag] / variance for lag in range(1, lags + 1)])


def gap_parameters(gaps: Array) -> list[Parameter]:
    """Mean, variation and lag correlation of the gaps; intervals from a thousand gaps on.

    Notes
    -----
    Below, phases that last for twenty gaps make intervals from the gaps alone cover as little as
    0.7, and nothing in the gaps says so.
    """
    mean = float(gaps.mean())
    now = gaps[:-1] / mean
    then = gaps[1:] / mean
    averaged = (now, then, now**2, now * then)

    def variation(m: Array) -> float:
        return float(m[2] / m[0] ** 2 - 1.0)

    def correlation(m: Array) -> float:
        return float((m[3] - m[0] * m[1]) / (m[2] - m[0] ** 2))

    if len(gaps) < FEWEST_GAPS:
        means = np.array([each.mean() for each in averaged])
        found = {
            "mean_gap": mean,
            "squared_coefficient_of_variation_of_gaps": variation(means),
            "lag_correlation": correlation(means),
        }
        return [Parameter(name, None, value, np.nan, np.nan) for name, value in found.items()]
    estimates = {
        "mean_gap": of_stretches((gaps,), lambda m: float(m[0]), _STRETCHES),
        "squared_coefficient_of_variation_of_gaps": of_stretches(averaged, variation, _STRETCHES),
        "lag_correlation": correlation_of_stretches(averaged, correlation, 2 * _STRETCHES),
    }
    return [
        Parameter(name, None, each.value, each.low, each.high, each.error)
        for name, each in estimates.items()
    ]


def is_chance(moments: Sequence[Parameter], gaps: int) -> bool:
    """Whether the lag correlation's interval holds 0; of few gaps, that of independent ones."""
    lag = next(each for each in moments if each.name == "lag_correlation")
    if np.isnan(lag.low):
        return bool(abs(lag.estimate) < NORMAL_95 / np.sqrt(gaps))
    return bool(lag.low <= 0.0 <= lag.high)
