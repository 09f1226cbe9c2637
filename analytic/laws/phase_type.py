"""Phase-type times; what holds for every law with phases."""

from __future__ import annotations

import numpy as np

from analytic.machinery.phase_type import PhaseLaw, as_phase_type, moment, phases_after
from analytic.machinery.transforms import x_minus_log1p
from scenarios.arrays import Array
from scenarios.laws import Distribution, PhaseType
from scenarios.model import present

_SMALLEST = 1e-300
"""Transforms below this count as this."""

_KNOTS = 500
"""Times at which the survival is computed; between them its logarithm is interpolated."""


def phase_count(law: PhaseType) -> int:
    """As many phases as it is given by."""
    return len(law.alpha)


def phases(law: PhaseType) -> PhaseLaw:
    """As it is given."""
    return PhaseLaw(np.array(law.alpha), np.array(law.T))


def _form(law: Distribution) -> PhaseLaw:
    return present(as_phase_type(law))


def _resolvent(form: PhaseLaw, s: Array, vector: Array) -> Array:
    """``alpha (s I - T)^{-1} vector`` for every s."""
    matrices = s[..., None, None] * np.eye(len(form.start)) - form.generator
    return np.linalg.solve(matrices, vector) @ form.start


def mean(law: Distribution) -> float:
    """The mean."""
    return moment(_form(law), 1)


def variance(law: Distribution) -> float:
    """From the first two moments."""
    return moment(_form(law), 2) - mean(law) ** 2


def log_transform(law: Distribution, s: Array) -> Array:
    """``-ln h`` from whichever of h and 1 - h is the smaller."""
    form = _form(law)
    missed = s * _resolvent(form, s, np.ones(len(form.start)))
    h = np.maximum(_resolvent(form, s, form.exit_rates), _SMALLEST)
    return np.where(missed < 0.5, -np.log1p(-np.minimum(missed, 0.5)), -np.log(h))


def excess(law: Distribution, s: Array) -> Array:
    """``s² alpha (-T)^{-1} (s I - T)^{-1} 1 - (-u - ln(1 - u))``, u = 1 - h; far out from l."""
    form = _form(law)
    m = mean(law)
    near = np.minimum(s, 1 / m)
    ones = np.ones(len(form.start))
    after = np.linalg.solve(-form.generator, ones)
    missed = near * _resolvent(form, near, ones)
    second = near**2 * _resolvent(form, near, after)
    inner = np.maximum(second - x_minus_log1p(-missed), 0.0)
    return np.where(s > near, s * m - log_transform(law, s), inner)


def matrix_transform(law: Distribution, generator: Array) -> Array:
    """``(alpha ⊗ I) (-(G ⊕ T))^{-1} (g ⊗ I)`` for gap phases G with exit rates g."""
    form = _form(law)
    size = np.eye(len(generator))
    joint = np.kron(form.generator, size) + np.kron(np.eye(len(form.start)), generator)
    ends = np.linalg.solve(-joint, np.kron(form.exit_rates[:, None], size))
    return np.kron(form.start, size) @ ends


def survival(law: Distribution, t: Array) -> Array:
    """The probability that a time is longer than t; of many, its logarithm linear between knots."""
    form = _form(law)
    positive = t[t > 0]
    if not len(positive):
        return np.ones_like(t)
    least = float(positive.min())
    most = float(positive.max())
    knots = np.unique(positive)
    if len(knots) > _KNOTS:
        knots = np.union1d(np.geomspace(least, most, _KNOTS), np.linspace(least, most, _KNOTS))
    after = (phases_after(form.generator, knot) for knot in knots.tolist())
    longer = [float((form.start @ matrix).sum()) for matrix in after]
    logarithms = np.log(np.maximum(longer, np.finfo(float).tiny))
    return np.exp(np.interp(t, np.append(0.0, knots), np.append(0.0, logarithms)))


def poisson_counts(law: Distribution, rate: float, below: int) -> Array:
    """``alpha R^k (L I - T)^{-1} t`` with ``R = L (L I - T)^{-1}``."""
    form = _form(law)
    step = np.linalg.inv(rate * np.eye(len(form.start)) - form.generator)
    ends = step @ form.exit_rates
    result = np.empty(below)
    phase = form.start
    for count in range(below):
        result[count] = phase @ ends
        phase = rate * (phase @ step)
    return result
