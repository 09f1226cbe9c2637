"""Poisson and negative binomial probabilities, to 1e-12 for counts up to a million."""

from __future__ import annotations

import math

import numpy as np
import scipy
from numpy.typing import ArrayLike

from scenarios.arrays import Array

_SERIES_FROM = 16.0
_HALF_LOG_TWO_PI = math.log(2.0 * math.pi) / 2


def poisson(mean: ArrayLike, count: ArrayLike) -> Array:
    """The probability ``e^{-m} m^k / k!``.

    Parameters
    ----------
    mean, count : array_like
        m > 0, and whole numbers k >= 0.

    Notes
    -----
    As ``exp(-k (r - 1 - ln r)) / sqrt(2 pi k)``, r = m / k, corrected by the remainder of
    Stirling's formula: logarithms of k! and m^k, which are large, never meet (Loader 2000).
    """
    m = np.asarray(mean, dtype=float)
    k = np.asarray(count, dtype=float)
    some = np.maximum(k, 1.0)
    logarithm = -_deviance(some, m) - (stirling(some) + np.log(some) / 2 + _HALF_LOG_TWO_PI)
    return np.exp(np.where(k > 0, logarithm, -m))


def negative_binomial(shape: float, mean: float, count: ArrayLike) -> Array:
    """The probability of k events if their Poisson mean has a gamma law: its shape, and mean."""
    k = np.asarray(count, dtype=float)
    some = np.maximum(k, 1.0)
    both = shape + some
    share = shape / (shape + mean)
    logarithm = (
        stirling(both)
        - stirling(np.asarray(shape))
        - stirling(some)
        - _deviance(np.asarray(shape), both * share)
        - _deviance(some, both * (mean / (shape + mean)))
        + np.log(shape / (some * both)) / 2
        - _HALF_LOG_TWO_PI
    )
    result: Array = np.exp(np.where(k > 0, logarithm, -shape * np.log1p(mean / shape)))
    return result


def stirling(x: Array) -> Array:
    """The remainder ``ln Γ(x + 1) - (x + 1/2) ln x + x - ln sqrt(2 pi)``, x > 0."""
    large = np.maximum(x, _SERIES_FROM)
    square = 1.0 / large**2
    series = np.zeros_like(large)
    for coefficient in (-691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12):
        series = coefficient + series * square
    small = np.minimum(x, _SERIES_FROM)
    exact = (
        scipy.special.gammaln(small + 1) - (small + 0.5) * np.log(small) + small - _HALF_LOG_TWO_PI
    )
    return np.where(x < _SERIES_FROM, exact, series / large)


def _deviance(x: Array, mean: Array) -> Array:
    """``x ln(x / m) + m - x >= 0``."""
    apart = np.maximum(mean / x, 0.5) - 1.0
    near = x * (apart - np.log1p(apart))
    far = x * np.log(x / mean) + mean - x
    return np.where(mean < x / 2, far, near)
