"""Laws without a closed transform: integrals over the logarithm of the time.

The file of such a law has, beside `mean`, `survival` and `variance`,

log_density(law, u)
    Logarithm of the density of ``U = ln(X / E X)`` at u.
logarithms(law)
    The least and the largest u that matter (to 1e-87), and a width over which the density is as
    smooth as ``exp(-x)`` is over an octave of x: sixteen points give its integral.
mean_beyond(law, t)
    ``E[X | X > t]``, of a law whose mean lies beyond the largest u to an extent that matters.

Gauss's rule of sixteen points on panels of at most an octave; every octave has the same points, so
that a matrix exponential follows from the octave below by one product.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from analytic.laws import function_of
from analytic.machinery.phase_type import phases_after_doubled
from analytic.machinery.poisson import poisson
from analytic.machinery.transforms import exc, mean_time
from scenarios.arrays import Array
from scenarios.laws import Distribution

_OCTAVE = math.log(2.0)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)

_NEGLIGIBLE = 1e-18
"""Probability of the times at either end that a matrix transform leaves out."""

_LINEAR = 1e-9
"""Times this small beside 1/s and the mean are replaced by their mean."""


_VANISHED = 60.0
"""Times this large beside 1/s are replaced by theirs: ``e^{-sx}`` is 0."""


_FEW = 64
_BLOCK = 4.0
_SMOOTH = 2.5
_REACH = 9.5
"""Blocks of Poisson probabilities: the first, and the length of the others in deviations of the
count; widths of panels, and times looked at, in deviations of the logarithm of the time that
explains a count."""


class Points(NamedTuple):
    """Times and probabilities, which give the expectation of any smooth function of ln X."""

    times: Array
    weights: Array


class Octaves(NamedTuple):
    """The same, shape (octaves, points), up to a time `end`."""

    times: Array
    weights: Array
    end: float


@lru_cache(maxsize=32)
def octaves(law: Distribution, finest: float = _OCTAVE) -> Octaves:
    """The points of a law, an octave a row.

    Parameters
    ----------
    law : Distribution
    finest : float
        Width in ln x over which the integrands are smooth.
    """
    low, high, smooth = _own(law, "logarithms")
    rows = max(1, math.ceil((high - low) / _OCTAVE))
    span = _OCTAVE if rows > 1 else high - low
    panels = math.ceil(span / min(smooth, finest) - 1e-9)
    width = span / panels
    first = low + width * (np.arange(panels)[:, None] + (1.0 + _NODES) / 2).ravel()
    u = first + span * np.arange(rows)[:, None]
    weights = np.exp(_own(law, "log_density", u)) * np.tile(_WEIGHTS * width / 2, panels)
    mean = mean_time(law)
    end = mean * math.exp(low + span * rows)
    return Octaves(mean * np.exp(u), weights / weights.sum(), end)


def points(law: Distribution, least: float, largest: float) -> Points:
    """Few points with which ``E e^{-sX}`` and its excess are known for a range of s.

    Parameters
    ----------
    law : Distribution
    least, largest : float
        The range of s.
    """
    grid = octaves(law)
    times, weights = grid.times.ravel(), grid.weights.ravel()
    if beyond := function_of(law, "mean_beyond"):
        times = np.append(times, beyond(law, grid.end))
        weights = np.append(weights, _own(law, "survival", grid.end))
    small = times < _LINEAR * min(1.0 / largest, mean_time(law)) if largest else times < 0
    large = times > _VANISHED / least if least else times > times[-1]
    kept = ~(small | large)
    lumps = [each for each in (small, large) if weights[each].sum() > 0]
    shares = np.array([weights[each].sum() for each in lumps])
    middles = np.array([weights[each] @ times[each] for each in lumps]) / shares
    return Points(np.append(times[kept], middles), np.append(weights[kept], shares))


def log_transform(law: Distribution, s: Array) -> Array:
    """The exponent of the transform."""
    return log_transform_of(_points_for(law, s), s)


def excess(law: Distribution, s: Array) -> Array:
    """The excess of its linear part."""
    return excess_of(_points_for(law, s), mean_time(law), s)


def _points_for(law: Distribution, s: Array) -> Points:
    positive = s[s > 0]
    least, largest = (positive.min(), positive.max()) if positive.size else (0.0, 0.0)
    return points(law, float(least), float(largest))


def log_transform_of(law: Points, s: Array) -> Array:
    """From the smallest time on: ``s x_0 - ln E e^{-s (X - x_0)}``."""
    least = law.times.min()
    further = law.times - least

    def one(rate: float) -> float:
        missed = float(-np.expm1(-rate * further) @ law.weights)
        if missed < 0.5:
            return float(rate * least - np.log1p(-missed))
        return float(rate * least - np.log(np.exp(-rate * further) @ law.weights))

    result: Array = np.vectorize(one, otypes=[float])(s)
    return result


def excess_of(law: Points, mean: float, s: Array) -> Array:
    """``ln E e^{-s (X - m)} = log1p E exc(s (X - m))``; far out from l."""
    centred = law.times - mean
    near = np.minimum(s, 1 / max(-centred.min(), np.finfo(float).tiny))

    def one(rate: float) -> float:
        return float(np.log1p(exc(rate * centred) @ law.weights))

    inner = np.vectorize(one, otypes=[float])(near)
    return np.where(s > near, s * mean - log_transform_of(law, s), inner)


def matrix_transform(law: Distribution, generator: Array) -> Array:
    """The mean of ``e^{TX}``; an octave higher by one product."""
    grid = octaves(law)
    return _averaged(generator, grid.times, grid.weights)


def time_weighted_transform(law: Distribution, generator: Array) -> Array:
    """The mean of ``X e^{TX}``."""
    grid = octaves(law)
    return _averaged(generator, grid.times, grid.weights * grid.times)


def poisson_counts(law: Distribution, rate: float, below: int) -> Array:
    """Block by block: each has its times, in a range of a few deviations of their logarithm."""
    result = np.empty(below)
    first = 0
    while first < below:
        last = min(first + max(_FEW, int(_BLOCK * math.sqrt(first))), below)
        fineness = 2 ** ((last - 1).bit_length() / 2)  # at least the inverse of a deviation
        grid = octaves(law, _SMOOTH / fineness)
        times = grid.times.ravel()
        reach = math.exp(_REACH / math.sqrt(max(first, 1)))
        ends = (first / rate / reach if first >= _FEW else 0.0, (last + _REACH**2) / rate * reach)
        near = slice(*np.searchsorted(times, ends))
        counts = np.arange(first, last)
        result[counts] = poisson(rate * times[near], counts[:, None]) @ grid.weights.ravel()[near]
        first = last
    return result


def _averaged(generator: Array, times: Array, weights: Array) -> Array:
    below = np.cumsum(weights.sum(axis=1)) / weights.sum()
    first, last = np.searchsorted(below, [_NEGLIGIBLE, 1.0 - _NEGLIGIBLE])
    result = np.zeros_like(generator)
    for column, shares in enumerate(weights[first : last + 1].T):
        after = phases_after_doubled(generator, float(times[first, column]))
        for share in shares.tolist():
            result += share * next(after)
    return result


def _own(law: Distribution, name: str, *arguments: Any) -> Any:
    """What a function of the law's own file says."""
    function = function_of(law, name)
    assert function is not None
    return function(law, *arguments)
