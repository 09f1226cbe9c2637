"""Resampled times."""

from __future__ import annotations

import numpy as np

from analytic.phase_type import phases_after
from analytic.transforms import exc
from scenarios.arrays import Array
from scenarios.laws import Empirical


def _observed(law: Empirical) -> Array:
    return np.array(law.observations)


def mean(law: Empirical) -> float:
    """The mean."""
    return float(_observed(law).mean())


def log_transform(law: Empirical, s: Array) -> Array:
    """From the smallest observation on: ``s x_0 - ln mean e^{-s (x - x_0)}``."""
    least = _observed(law).min()
    further = _observed(law) - least

    def one(rate: float) -> float:
        missed = -np.expm1(-rate * further).mean()
        if missed < 0.5:
            return float(rate * least - np.log1p(-missed))
        return float(rate * least - np.log(np.exp(-rate * further).mean()))

    result: Array = np.vectorize(one, otypes=[float])(s)
    return result


def excess(law: Empirical, s: Array) -> Array:
    """``ln mean e^{-s (x - m)} = log1p mean exc(s (x - m))``; far out from l."""
    m = mean(law)
    centred = _observed(law) - m
    near = np.minimum(s, 1 / max(-centred.min(), np.finfo(float).tiny))

    def one(rate: float) -> float:
        return float(np.log1p(exc(rate * centred).mean()))

    inner = np.vectorize(one, otypes=[float])(near)
    result: Array = np.where(s > near, s * m - log_transform(law, s), inner)
    return result


def matrix_transform(law: Empirical, generator: Array) -> Array:
    """The mean over the observations."""
    values, counts = np.unique(_observed(law), return_counts=True)
    result = np.zeros_like(generator)
    for value, count in zip(values.tolist(), counts / counts.sum(), strict=True):
        result += count * (phases_after(generator, value) if value else np.eye(len(generator)))
    return result


def survival(law: Empirical, t: Array) -> Array:
    """The share of the observations that are longer than t."""
    seen = np.sort(_observed(law))
    result: Array = 1.0 - np.searchsorted(seen, t, side="right") / len(seen)
    return result


def jumps(law: Empirical) -> list[float]:
    """The observations."""
    return sorted(set(law.observations))


def shortest(law: Empirical) -> float:
    """The least observation."""
    return min(law.observations)
