"""Laplace transforms of the scenario's distributions, without cancellation at either end.

For a time X with mean m and s >= 0: ``h = E e^{-sX}``, ``l = -ln h`` and ``delta = s m - l >= 0``,
which is 0 for a constant time only. Each law gives l and delta, to a few ulp relative to
themselves; ``h = e^{-l}`` and ``1 - h = -expm1(-l)`` follow. Where an argument is an array, so is
the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from analytic.laws import function_of
from analytic.machinery.refusal import NoAnswerError
from scenarios.arrays import Array
from scenarios.laws import Distribution

_NEAR_ZERO = 1e-10
"""Times the mean: an s at which all but the first two moments vanish."""

_RICHARDSON_STEPS = 5
_LARGEST_STEP = 0.02
"""Of an extrapolation, in inverse mean residual times; and how often it is halved, less one."""

_FAINTEST = 1e-120
"""Changes per mean time below which squares may underflow, and only the first order is left."""


def transform(law: Distribution, s: ArrayLike) -> Array:
    """The transform ``h = E e^{-sX}``."""
    return np.exp(-log_transform(law, s))


def complement(law: Distribution, s: ArrayLike) -> Array:
    """The probability ``1 - h`` that an exponential time of rate s ends first."""
    return -np.expm1(-log_transform(law, s))


def log_transform(law: Distribution, s: ArrayLike) -> Array:
    """The exponent ``l = -ln E e^{-sX}``."""
    return _known(law, "log_transform")(law, np.asarray(s, dtype=float))


def excess(law: Distribution, s: ArrayLike) -> Array:
    """The excess ``delta = s E X - l >= 0`` of the exponent's linear part over the exponent.

    Without cancellation: docs/derivations.md, "Transforms without cancellation".
    """
    return _known(law, "excess")(law, np.asarray(s, dtype=float))


def mean_time(law: Distribution) -> float:
    """The mean E X."""
    return float(_known(law, "mean")(law))


def lifted(law: Distribution, rates: ArrayLike) -> tuple[Array, Array]:
    """Change rates whose squares do not underflow, and what they have to be multiplied by.

    The fraction of time for which a copy is out of date is proportional to rates as small as these,
    and never below: ``exc(t) / t²`` decreases. With the product of a weight and this factor as its
    weight a lifted page costs the same to 1e-100, and no more where it is hardly ever visited.
    """
    mu = np.asarray(rates, dtype=float)
    least = _FAINTEST / mean_time(law)
    raised: Array = np.where((mu > 0) & (mu < least), least, mu)
    factor = np.divide(mu, raised, out=np.ones_like(mu), where=raised > 0)
    return raised, factor


def moments(law: Distribution) -> tuple[float, float]:
    """The moments E X and E X²; where it is not known, the variance is ``2 delta / s²`` at small s.

    Infinite where the variance is.
    """
    mean = mean_time(law)
    if (variance := function_of(law, "variance")) is not None:
        return mean, mean**2 + float(variance(law))
    s = _NEAR_ZERO / mean
    return mean, mean**2 + 2.0 * float(excess(law, s)) / s**2


def exc(t: ArrayLike) -> Array:
    """The excess ``exc(t) = t - 1 + e^{-t} >= 0``, t of either sign."""
    t = np.asarray(t, dtype=float)
    small = np.clip(t, -0.5, 0.5)
    series = np.zeros_like(small)
    for order in range(15, 2, -1):
        series = (1 - series) * small / order
    return np.where(np.abs(t) <= 0.5, (1 - series) * small**2 / 2, t + np.expm1(-t))


def x_minus_log1p(x: ArrayLike) -> Array:
    """The excess ``x - ln(1 + x) >= 0``, x > -1.

    With ``r = x / (2 + x)``: ``r x - 2 r³ (1/3 + r²/5 + r⁴/7 + …)``.
    """
    x = np.asarray(x, dtype=float)
    small = np.clip(x, -0.5, 1.0)
    ratio = small / (2 + small)
    series = np.zeros_like(small)
    for odd in range(37, 1, -2):
        series = series * ratio**2 + 1 / odd
    return np.where(small == x, ratio * small - 2 * ratio**3 * series, x - np.log1p(x))


def matrix_transform(law: Distribution, generator: Array) -> Array:
    """The matrix ``E e^{TX}``: probabilities of the phases after a time X.

    Parameters
    ----------
    law : Distribution
        Law of the time X.
    generator : ndarray, shape (n, n)
        T, a generator or sub-generator.

    Notes
    -----
    With T = -s it is the transform ``h(s)``.
    """
    return _known(law, "matrix_transform")(law, generator)


def time_weighted_transform(law: Distribution, generator: Array) -> Array:
    """The matrix ``E X e^{TX}``: of a generator T the derivative of -E e^{(T - s)X} at s = 0.

    By Richardson's extrapolation from ``(E - H) / s`` at s = step / 2^k, with relative errors below
    1e-9, where the law has no way of its own.
    """
    if (known := function_of(law, "time_weighted_transform")) is not None:
        return known(law, generator)
    mean, second = moments(law)
    largest = _LARGEST_STEP * 2.0 * mean / second
    steps = [largest / 2.0**level for level in range(_RICHARDSON_STEPS)]
    eye = np.eye(len(generator))
    reached = matrix_transform(law, generator)
    slopes = [(reached - matrix_transform(law, generator - s * eye)) / s for s in steps]
    for order in range(1, _RICHARDSON_STEPS):
        weight = 2.0**order
        slopes = [
            (weight * finer - coarser) / (weight - 1.0) for coarser, finer in pairwise(slopes)
        ]
    return slopes[0]


def poisson_counts(law: Distribution, rate: float, below: int) -> Array:
    """Probabilities of 0, 1, … Poisson events of a rate during a time X, shape (below,)."""
    return _known(law, "poisson_counts")(law, rate, below)


def survival(law: Distribution, times: ArrayLike) -> Array:
    """The probability that a time X is longer than each of these times, >= 0."""
    return _known(law, "survival")(law, np.asarray(times, dtype=float))


def time_quantile(law: Distribution, share: float) -> float:
    """The least time t with ``P(X <= t) >= share``, by bisection to the last digit.

    Parameters
    ----------
    law : Distribution
    share : float
        Between 0 and 1.
    """

    def enough(time: float) -> bool:
        return float(survival(law, time)) <= 1.0 - share

    if enough(0.0):
        return 0.0
    low, high = 0.0, mean_time(law)
    while not enough(high):
        low, high = high, 2.0 * high
    while low < (middle := (low + high) / 2.0) < high:
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def jumps(law: Distribution) -> list[float]:
    """Times at which the survival is not smooth, ascending."""
    given = function_of(law, "jumps")
    return [] if given is None else given(law)


def shortest(law: Distribution) -> float:
    """A time below which no time X is."""
    given = function_of(law, "shortest")
    return 0.0 if given is None else given(law)


def _known(law: Distribution, name: str) -> Callable[..., Any]:
    """A function of a law; without a file in `analytic.laws` its transform is unsupported."""
    function = function_of(law, name)
    if function is None:
        raise NoAnswerError(f"the transform of {law.key} times is not known")
    return function
