"""Mixtures of other laws."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

import numpy as np
import scipy

from analytic.machinery import transforms
from analytic.machinery.phase_type import PhaseLaw, as_phase_type
from analytic.machinery.phase_type import phase_count as phases_of
from scenarios.arrays import Array
from scenarios.laws import Distribution, Mixture


def _parts(law: Mixture) -> list[tuple[float, Distribution]]:
    """The laws that can be drawn, with their probabilities."""
    parts = zip(law.probabilities, law.of, strict=True)
    return [(probability, each) for probability, each in parts if probability > 0]


def _laws(law: Mixture) -> list[Distribution]:
    return [each for _, each in _parts(law)]


def _mean_of(law: Mixture, values: Iterable[Array]) -> Array:
    shares = zip(_parts(law), values, strict=True)
    return np.asarray(sum(probability * value for (probability, _), value in shares))


def _averaged(function: Callable[[Distribution, Array], Array], law: Mixture, at: Array) -> Array:
    return _mean_of(law, (function(each, at) for each in _laws(law)))


matrix_transform = partial(_averaged, transforms.matrix_transform)
time_weighted_transform = partial(_averaged, transforms.time_weighted_transform)
survival = partial(_averaged, transforms.survival)


def mean(law: Mixture) -> float:
    """The mean of the means."""
    return float(_mean_of(law, (np.array(transforms.mean_time(each)) for each in _laws(law))))


def variance(law: Mixture) -> float:
    """The variance of the means, and the mean of the variances."""
    moments = [transforms.moments(each) for each in _laws(law)]
    own = _mean_of(law, (np.array(second - first**2) for first, second in moments))
    between = _mean_of(law, (np.array((first - mean(law)) ** 2) for first, _ in moments))
    return float(own + between)


def log_transform(law: Mixture, s: Array) -> Array:
    """``-ln E h``, from whichever of h and 1 - h is the smaller."""
    exponents = np.array([transforms.log_transform(each, s) for each in _laws(law)])
    missed = _mean_of(law, -np.expm1(-exponents))
    least = exponents.min(axis=0)
    far = least - np.log(_mean_of(law, np.exp(least - exponents)))
    return np.where(missed < 0.5, -np.log1p(-np.minimum(missed, 0.5)), far)


def excess(law: Mixture, s: Array) -> Array:
    """``log1p E (delta + exc(-t))`` with ``t = delta + s (E X - m)``, m and delta of the one drawn.

    That is ``E e^t``, of whose first order in s nothing is left; far out from l.
    """
    whole = mean(law)
    near = np.minimum(s, 1 / whole)
    own = [transforms.excess(each, near) for each in _laws(law)]
    shifts = [near * (whole - transforms.mean_time(each)) for each in _laws(law)]
    terms = (delta + transforms.exc(-delta - t) for delta, t in zip(own, shifts, strict=True))
    inner = np.log1p(_mean_of(law, terms))
    return np.where(s > near, s * whole - log_transform(law, s), inner)


def jumps(law: Mixture) -> list[float]:
    """Those of the laws."""
    return sorted({time for each in _laws(law) for time in transforms.jumps(each)})


def shortest(law: Mixture) -> float:
    """The least of the laws."""
    return min(transforms.shortest(each) for each in _laws(law))


def phase_count(law: Mixture) -> int | None:
    """The sum of those of the laws; None where one of them has no phases."""
    counts = [phases_of(each) for each in _laws(law)]
    return None if None in counts else sum(count for count in counts if count is not None)


def phases(law: Mixture) -> PhaseLaw | None:
    """Those of the laws, side by side."""
    forms = [as_phase_type(each) for each in _laws(law)]
    known = [form for form in forms if form is not None]
    if len(known) < len(forms):
        return None
    starts = [p * form.start for (p, _), form in zip(_parts(law), known, strict=True)]
    return PhaseLaw(
        np.concatenate(starts), scipy.linalg.block_diag(*(form.generator for form in known))
    )


def poisson_counts(law: Mixture, rate: float, below: int) -> Array:
    """The mean of those of the laws."""
    return _mean_of(law, (transforms.poisson_counts(each, rate, below) for each in _laws(law)))
