"""How long a change stays unseen where copies can be searched as soon as they are delivered.

A page is up to date after an access. Its first change then waits for the next access, which comes a
time C after the last one: the change waits for longer than x where it comes more than x before the
access. So of the accesses of a page, ``E(1 - e^{-mu (C - x)^+})`` bring a change that has waited
for longer than x, and of those that bring a change, x = 0, the share

    P(T > x) = E(1 - e^{-mu (C - x)^+}) / E(1 - e^{-mu C}).

Over all pages every such change counts alike: numerators and denominators are summed, each times
the accesses of the page per unit time. Own result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import scipy

from analytic.machinery.transforms import mean_time
from scenarios.accessing.policy import Indices
from scenarios.arrays import Array
from scenarios.laws import Deterministic, Distribution, Erlang, Exponential, Gamma

Unseen = Callable[[Array], Array]
"""From times, one for each page, to the changes of each per unit time that wait for longer."""

_STEPS = 46
"""Halvings of an octave, after which a quantile is known to rounding."""

_SMALL = 1e-300

_RARELY = 1e-5
"""Changes between two accesses below which a difference of probabilities loses its digits."""

_MOST_STEPS = 10_000
_PRECISE = 1e-15


def quantiles(unseen: Unseen, pages: int, shares: Sequence[float]) -> tuple[Array, Array]:
    """Least times that a share of the changes do not wait longer than.

    Parameters
    ----------
    unseen : callable
    pages : int
    shares : sequence of float

    Returns
    -------
    of_all : ndarray, shape (shares,)
        Every change counts alike; nan where none is ever seen.
    of_each : ndarray, shape (pages, shares)
    """
    everyone = np.ones(pages)

    def of_all(times: Array) -> Array:
        return np.array([unseen(times[0] * everyone).sum()])

    whole = [_time_of(of_all, 1.0 - share, 1)[0] for share in shares]
    each = [_time_of(unseen, 1.0 - share, pages) for share in shares]
    return np.array(whole), np.stack(each, axis=1)


def _time_of(unseen: Unseen, share: float, pages: int) -> Array:
    """The times that so large a share of the changes waits for longer than."""
    begun = unseen(np.zeros(pages))
    known = begun > 0
    wanted = share * begun
    high = np.ones(pages)
    while (late := known & (unseen(high) > wanted)).any():
        high = np.where(late, 2.0 * high, high)
    while (early := known & (unseen(high / 2.0) <= wanted) & (high > _SMALL)).any():
        high = np.where(early, high / 2.0, high)
    low = high / 2.0
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        late = unseen(middle) > wanted
        low, high = np.where(late, middle, low), np.where(late, high, middle)
    return np.where(known, high, np.nan)


class Gaps(NamedTuple):
    """Times between the accesses of pages, of a few kinds for each.

    Attributes
    ----------
    page : ndarray of int, shape (gaps,)
    rate : ndarray, shape (gaps,)
        How many there are of each kind, per unit time.
    change_rate : ndarray, shape (gaps,)
        Of the page.
    accesses : ndarray, shape (gaps,)
        Independent access times that make it up.
    longer : ndarray or float
        How many times as long as an access each of these is.
    away : ndarray or float
        A constant time that comes before them.
    """

    page: Indices
    rate: Array
    change_rate: Array
    accesses: Array
    longer: Array | float = 1.0
    away: Array | float = 0.0


def unseen_between(gaps: Gaps, law: Distribution, pages: int) -> Unseen:
    """Changes of each page that wait for long, where access times are constant, or gamma.

    Parameters
    ----------
    gaps : Gaps
    law : Distribution
        Of an access: `has_known_sums`.
    pages : int
    """
    mean = gaps.longer * mean_time(law)
    shape = np.inf if isinstance(law, Deterministic) else _shape(law)

    def brought(times: Array) -> Array:
        if shape == np.inf:
            left = gaps.away + gaps.accesses * mean - times
            return -np.expm1(-gaps.change_rate * np.maximum(left, 0.0))
        return _brought_by_gamma(
            gaps.change_rate, gaps.accesses * shape, shape / mean, times - gaps.away
        )

    def unseen(times: Array) -> Array:
        found: Array = np.bincount(gaps.page, gaps.rate * brought(times[gaps.page]), pages) * 1.0
        return found

    return unseen


def unseen_between_draws(shares: Array, change_rates: Array, access: float) -> Unseen:
    """The same where each access draws its page, and takes a constant time.

    The next access is the n-th with probability ``f (1 - f)^(n - 1)``.

    Parameters
    ----------
    shares, change_rates : ndarray, shape (pages,)
    access : float
    """

    def unseen(times: Array) -> Array:
        first = np.floor(times / access) + 1.0
        later = (1.0 - shares) ** (first - 1.0)
        current = shares * np.exp(-change_rates * (first * access - times))
        still = current / (1.0 - (1.0 - shares) * np.exp(-change_rates * access))
        found: Array = shares / access * later * (1.0 - still)
        return found

    return unseen


def has_known_sums(law: object) -> bool:
    """Whether a sum of access times has a law of the same kind: constants, and gamma times."""
    return isinstance(law, Deterministic | Exponential | Erlang | Gamma)


def _shape(law: Distribution) -> float:
    return law.shape_parameter if isinstance(law, Erlang | Gamma) else 1.0


def _brought_by_gamma(mu: Array, shape: Array, rate: Array | float, times: Array) -> Array:
    """``E(1 - e^{-mu (S - x)^+})`` of a gamma time S: ``Q(k, nu x) - e^{mu x} h^k Q(k, z)``.

    h is ``nu / (nu + mu)``, z is ``(nu + mu) x``, Q the upper incomplete gamma function; before 0
    all of S is left, and ``-x`` more. Where a page hardly changes, its first two moments do.
    """
    later = np.maximum(times, 0.0)
    discount = shape * np.log1p(mu / rate)
    before = -np.expm1(mu * np.minimum(times, 0.0) - discount)
    tails = [scipy.special.gammaincc(shape + order, rate * later) for order in range(3)]
    mean = shape / rate
    over = mean * tails[1] - later * tails[0]
    square = mean * (shape + 1.0) / rate * tails[2] - later * (2.0 * over + later * tails[0])
    rarely = mu * (over - 0.5 * mu * square)
    z = (rate + mu) * later
    far = z > shape + 3.0 * np.sqrt(shape) + 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        near = np.exp(mu * later - discount) * scipy.special.gammaincc(shape, z)
    scale = np.exp(
        scipy.special.xlogy(shape, rate * later) - rate * later - scipy.special.gammaln(shape)
    )
    distant = scale * _tail_fraction(shape, np.where(far, z, shape + 9.0))
    after = tails[0] - np.where(far, distant, near)
    after = np.where(mu * mean < _RARELY, rarely, after)
    brought: Array = np.where(times < 0.0, before, np.maximum(after, 0.0))
    return brought


def _tail_fraction(shape: Array, z: Array) -> Array:
    """``Gamma(k, z) e^z / z^k`` as a continued fraction (Lentz), for z above k."""
    below: Array = z + 1.0 - shape
    other: Array = np.full_like(below, 1.0 / _SMALL)
    inverse: Array = 1.0 / below
    result = inverse.copy()
    for step in range(1, _MOST_STEPS):
        part = -step * (step - shape)
        below = below + 2.0
        inverse = 1.0 / _not_zero(part * inverse + below)
        other = _not_zero(below + part / other)
        factor = other * inverse
        result *= factor
        if np.max(np.abs(factor - 1.0)) < _PRECISE:
            break
    return result


def _not_zero(values: Array) -> Array:
    return np.where(np.abs(values) < _SMALL, _SMALL, values)
