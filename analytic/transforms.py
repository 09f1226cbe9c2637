"""Laplace transforms of the scenario's distributions, without cancellation at either end.

For a time X with mean m and s >= 0: ``h = E e^{-sX}``, ``l = -ln h`` and ``delta = s m - l >= 0``,
which is 0 for a constant time only. Each law gives l and delta, to a few ulp relative to
themselves; ``h = e^{-l}`` and ``1 - h = -expm1(-l)`` follow. Where an argument is an array, so is
the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import fractional_matrix_power

from analytic.phase_type import (
    PhaseLaw,
    as_phase_type,
    mean_phases_until,
    moment,
    phases_after,
)
from analytic.refusal import NoAnswerError
from scenarios.arrays import Array
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

_NEAR_ZERO = 1e-10
"""Times the mean: an s at which all but the first two moments vanish."""

_FAINTEST = 1e-120
"""Changes per mean time below which squares may underflow, and only the first order is left."""

_SMALLEST = 1e-300
"""Transforms of phase-type laws below this count as this."""


def transform(law: Distribution, s: ArrayLike) -> Array:
    """The transform ``h = E e^{-sX}``."""
    h: Array = np.exp(-log_transform(law, s))
    return h


def complement(law: Distribution, s: ArrayLike) -> Array:
    """The probability ``1 - h`` that an exponential time of rate s ends first."""
    missed: Array = -np.expm1(-log_transform(law, s))
    return missed


def log_transform(law: Distribution, s: ArrayLike) -> Array:
    """The exponent ``l = -ln E e^{-sX}``."""
    return _known(law).log(law, np.asarray(s, dtype=float))


def excess(law: Distribution, s: ArrayLike) -> Array:
    """The excess ``delta = s E X - l >= 0`` of the exponent's linear part over the exponent.

    Without cancellation: docs/derivations.md, "Transforms without cancellation".
    """
    return _known(law).excess(law, np.asarray(s, dtype=float))


def mean_time(law: Distribution) -> float:
    """The mean E X."""
    return _known(law).mean(law)


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
    """The moments E X and E X²: the variance is ``2 delta / s²`` at small s."""
    mean = mean_time(law)
    s = _NEAR_ZERO / mean
    return mean, mean**2 + 2.0 * float(excess(law, s)) / s**2


def exc(t: ArrayLike) -> Array:
    """The excess ``exc(t) = t - 1 + e^{-t} >= 0``, t of either sign."""
    t = np.asarray(t, dtype=float)
    small = np.clip(t, -0.5, 0.5)
    series = np.zeros_like(small)
    for order in range(15, 2, -1):
        series = (1 - series) * small / order
    result: Array = np.where(np.abs(t) <= 0.5, (1 - series) * small**2 / 2, t + np.expm1(-t))
    return result


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
    result: Array = np.where(small == x, ratio * small - 2 * ratio**3 * series, x - np.log1p(x))
    return result


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
    return _known(law).matrix(law, generator)


# --- exponential, Erlang, gamma --------------------------------------------------------------


def _shape(law: Any) -> float:
    return 1.0 if isinstance(law, Exponential) else float(law.shape)


def _gamma_mean(law: Any) -> float:
    if isinstance(law, Exponential) and law.mean is None:
        return 1.0 / (law.rate or 1.0)
    return float(law.mean)


def _gamma_log(law: Any, s: Array) -> Array:
    result: Array = _shape(law) * np.log1p(s * _gamma_mean(law) / _shape(law))
    return result


def _gamma_excess(law: Any, s: Array) -> Array:
    return _shape(law) * x_minus_log1p(s * _gamma_mean(law) / _shape(law))


def _gamma_matrix(law: Any, generator: Array) -> Array:
    """``(I - T m / k)^-k``; the whole part of k by repeated squaring."""
    whole, part = divmod(_shape(law), 1.0)
    step = np.linalg.inv(np.eye(len(generator)) - generator * (_gamma_mean(law) / _shape(law)))
    result: Array = np.linalg.matrix_power(step, int(whole))
    return result @ np.real(fractional_matrix_power(step, part)) if part else result


# --- constant ---------------------------------------------------------------------------------


def _constant_log(law: Any, s: Array) -> Array:
    result: Array = s * law.value
    return result


def _constant_excess(law: Any, s: Array) -> Array:  # noqa: ARG001  # same call as its siblings
    return np.zeros_like(s)


def _constant_matrix(law: Any, generator: Array) -> Array:
    return phases_after(generator, law.value)


# --- uniform ----------------------------------------------------------------------------------


def _uniform_log(law: Any, s: Array) -> Array:
    """``s (a + b) / 2 - ln(sinh z / z)``, or without the mean: ``s a + ln(2z / (1 - e^{-2z}))``."""
    z = s * (law.high - law.low) / 2
    large = np.maximum(z, 1.0)
    far = s * law.low + np.log(-2 * large / np.expm1(-2 * large))
    result: Array = np.where(z > 1, far, s * (law.low + law.high) / 2 - _uniform_excess(law, s))
    return result


def _uniform_excess(law: Any, s: Array) -> Array:
    """``ln(sinh z / z)``, z = s (b - a) / 2."""
    z = s * (law.high - law.low) / 2
    square = np.minimum(z, 1.0) ** 2
    series = np.zeros_like(z)
    for order in range(10, 0, -1):
        series = (1 + series) * square / (2 * order * (2 * order + 1))
    large = np.maximum(z, 1.0)
    far = large + np.log1p(-np.exp(-2 * large)) - np.log(2 * large)
    result: Array = np.where(z > 1, far, np.log1p(series))
    return result


def _uniform_matrix(law: Any, generator: Array) -> Array:
    """``e^{Ta} ∫_0^w e^{Tu} du / w``."""
    until = mean_phases_until(generator, law.high - law.low)
    result: Array = phases_after(generator, law.low) @ until if law.low else until
    return result


# --- hyperexponential, phase-type --------------------------------------------------------------


def _phases(law: Distribution) -> PhaseLaw:
    phases = as_phase_type(law)
    assert phases is not None
    return phases


def _resolvent(phases: PhaseLaw, s: Array, vector: Array) -> Array:
    """``alpha (s I - T)^{-1} vector`` for every s."""
    matrices = s[..., None, None] * np.eye(len(phases.start)) - phases.generator
    result: Array = np.linalg.solve(matrices, vector) @ phases.start
    return result


def _phases_log(law: Any, s: Array) -> Array:
    """``-ln h`` from whichever of h and 1 - h is the smaller."""
    phases = _phases(law)
    missed = s * _resolvent(phases, s, np.ones(len(phases.start)))
    h = np.maximum(_resolvent(phases, s, phases.exit_rates), _SMALLEST)
    result: Array = np.where(missed < 0.5, -np.log1p(-np.minimum(missed, 0.5)), -np.log(h))
    return result


def _phases_excess(law: Any, s: Array) -> Array:
    """``s² alpha (-T)^{-1} (s I - T)^{-1} 1 - (-u - ln(1 - u))``, u = 1 - h; far out from l."""
    phases = _phases(law)
    mean = _phases_mean(law)
    near = np.minimum(s, 1 / mean)
    ones = np.ones(len(phases.start))
    after = np.linalg.solve(-phases.generator, ones)
    missed = near * _resolvent(phases, near, ones)
    second = near**2 * _resolvent(phases, near, after)
    inner = np.maximum(second - x_minus_log1p(-missed), 0.0)
    result: Array = np.where(s > near, s * mean - _phases_log(law, s), inner)
    return result


def _phases_mean(law: Any) -> float:
    return moment(_phases(law), 1)


def _phases_matrix(law: Any, generator: Array) -> Array:
    """``(alpha ⊗ I) (-(G ⊕ T))^{-1} (g ⊗ I)`` for gap phases G with exit rates g."""
    phases = _phases(law)
    size = np.eye(len(generator))
    joint = np.kron(phases.generator, size) + np.kron(np.eye(len(phases.start)), generator)
    ends = np.linalg.solve(-joint, np.kron(phases.exit_rates[:, None], size))
    result: Array = np.kron(phases.start, size) @ ends
    return result


# --- empirical --------------------------------------------------------------------------------


def _observed(law: Any) -> Array:
    return np.array(law.observations)


def _empirical_mean(law: Any) -> float:
    return float(_observed(law).mean())


def _empirical_log(law: Any, s: Array) -> Array:
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


def _empirical_excess(law: Any, s: Array) -> Array:
    """``ln mean e^{-s (x - m)} = log1p mean exc(s (x - m))``; far out from l."""
    mean = _empirical_mean(law)
    centred = _observed(law) - mean
    near = np.minimum(s, 1 / max(-centred.min(), np.finfo(float).tiny))

    def one(rate: float) -> float:
        return float(np.log1p(exc(rate * centred).mean()))

    inner = np.vectorize(one, otypes=[float])(near)
    result: Array = np.where(s > near, s * mean - _empirical_log(law, s), inner)
    return result


def _empirical_matrix(law: Any, generator: Array) -> Array:
    values, counts = np.unique(_observed(law), return_counts=True)
    result = np.zeros_like(generator)
    for value, count in zip(values.tolist(), counts / counts.sum(), strict=True):
        result += count * (phases_after(generator, value) if value else np.eye(len(generator)))
    return result


class _Law(NamedTuple):
    mean: Callable[[Any], float]
    log: Callable[[Any, Array], Array]
    excess: Callable[[Any, Array], Array]
    matrix: Callable[[Any, Array], Array]


_GAMMA = _Law(_gamma_mean, _gamma_log, _gamma_excess, _gamma_matrix)
_PHASES = _Law(_phases_mean, _phases_log, _phases_excess, _phases_matrix)
_CONSTANT = _Law(lambda law: law.value, _constant_log, _constant_excess, _constant_matrix)
_UNIFORM = _Law(
    lambda law: (law.low + law.high) / 2, _uniform_log, _uniform_excess, _uniform_matrix
)
_EMPIRICAL = _Law(_empirical_mean, _empirical_log, _empirical_excess, _empirical_matrix)

_LAWS: dict[type, _Law] = {
    Deterministic: _CONSTANT,
    Exponential: _GAMMA,
    Erlang: _GAMMA,
    Gamma: _GAMMA,
    Uniform: _UNIFORM,
    Hyperexponential: _PHASES,
    PhaseType: _PHASES,
    Empirical: _EMPIRICAL,
}


def _known(law: Distribution) -> _Law:
    """The functions of a law; a law of another class than these has none."""
    found = _LAWS.get(type(law))
    if found is None:
        raise NoAnswerError(f"the transform of {law.key} times is not known")
    return found
