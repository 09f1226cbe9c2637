"""How often crawlers visit each page, for comparison with the optimum.

Rates are visits per unit time. A page changes at rate mu and has weight c; x = mu times the time
between two visits, its expected changes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import coo_matrix
from scipy.sparse.linalg import spsolve

from analytic.machinery.transforms import exc
from analytic.page_refresh.optimum import best_random_shares
from scenarios.arrays import Array
from scenarios.laws import Exponential

__all__ = [
    "AdaptiveIntervals",
    "adaptive_changed_share",
    "adaptive_intervals",
    "harmonic_rates",
    "random_visit_rates",
]


_LEAST = -12.0
_MOST = 4.0
"""Logarithms of x between which the law of adaptive intervals is looked for."""
_ROUNDS = 200


def random_visit_rates(rates: ArrayLike, weights: ArrayLike, budget: float) -> Array:
    """Visits per unit time with the least weighted obsolescence, for visits at random times.

    Parameters
    ----------
    rates, weights : array_like, shape (pages,)
        Change rates mu and weights c, >= 0.
    budget : float
        Visits per unit time of all pages together, > 0.

    Raises
    ------
    ValueError
        If a rate or weight is negative or not finite, or the budget is not positive.

    Notes
    -----
    Azar, Horvitz, Lubetzky, Peres, Shahaf, Tractable near-optimal policies for crawling (PNAS,
    2018): ``f = (sqrt(c mu / lambda) - mu)^+``. The same as coffman1998 (12)-(15) for exponential
    times between the visits, by which it is computed here.
    """
    law = Exponential(mean=1.0 / _checked_budget(budget))
    visits: Array = budget * best_random_shares(rates, weights, law)
    return visits


def harmonic_rates(rates: ArrayLike, weights: ArrayLike, budget: float) -> Array:
    """Visits per unit time with the least harmonic cost: every page that matters gets some.

    Parameters
    ----------
    rates, weights : array_like, shape (pages,)
        Change rates mu and weights c, >= 0.
    budget : float
        Visits per unit time of all pages together, > 0.

    Raises
    ------
    ValueError
        If a rate or weight is negative or not finite, or the budget is not positive.

    Notes
    -----
    Kolobov, Peres, Lu, Horvitz, Staying up to date with online content changes using
    reinforcement learning for scheduling (NeurIPS, 2019), without change notices: the least
    ``-sum c ln(f / (f + mu))`` is at ``f = (-mu + sqrt(mu² + 4 c mu s)) / 2``, here as
    ``2 c s / (1 + sqrt(1 + 4 c s / mu))``. Its sum is concave in s, so that Newton's steps from
    ``budget / sum c`` rise to the solution. Pages without changes or weight get no visits; if all
    are such, visits are equal.
    """
    mu = np.asarray(rates, dtype=float)
    c = np.asarray(weights, dtype=float)
    if not (np.isfinite([mu, c]).all() and min(mu.min(), c.min()) >= 0):
        raise ValueError("change rates and weights must be finite and >= 0")
    asked = (mu > 0) & (c > 0)
    if not asked.any():
        return np.full(len(mu), _checked_budget(budget) / len(mu))
    m = mu[asked]
    w = c[asked] / c[asked].max()
    s = _checked_budget(budget) / float(w.sum())
    for _ in range(_ROUNDS):
        root = np.sqrt(1.0 + 4.0 * s * (w / m))
        found = 2.0 * s * w / (1.0 + root)
        step = (budget - float(found.sum())) / float((w / root).sum())
        s += step
        if step <= 1e-15 * s:
            break
    visits = np.zeros(len(mu))
    visits[asked] = found * (budget / found.sum())
    return visits


def _checked_budget(budget: float) -> float:
    if not (math.isfinite(budget) and budget > 0):
        raise ValueError(f"the budget {budget!r} must be a finite number above 0")
    return budget


def adaptive_changed_share(increase: float, decrease: float) -> float:
    """Share of the visits that find a change, where intervals adapt to what was found.

    Parameters
    ----------
    increase, decrease : float
        The interval to the next visit is multiplied by ``1 + increase`` after a visit that found
        no change, and by ``1 - decrease`` after one that did; > 0, and < 1 for the decrease.

    Raises
    ------
    ValueError
        If a factor is out of range.

    Notes
    -----
    In the long run the logarithm of the interval does not drift: ``(1 - p) ln(1 + increase) +
    p ln(1 - decrease) = 0``. So p is the same for every page, however often it changes, and for
    any process of changes for which the interval has a stationary law.
    """
    up, down = _steps(increase, decrease)
    return up / (up + down)


def _steps(increase: float, decrease: float) -> tuple[float, float]:
    """What one visit adds to the logarithm of the interval, and what it takes away."""
    if not (0.0 < increase < math.inf and 0.0 < decrease < 1.0):
        raise ValueError(
            f"increase {increase!r} must be above 0, decrease {decrease!r} between 0 and 1"
        )
    return math.log1p(increase), -math.log1p(-decrease)


@dataclass(frozen=True, slots=True)
class AdaptiveIntervals:
    """The stationary law of an adaptive interval, in expected changes x of the page.

    Attributes
    ----------
    changes : ndarray
        Values of x.
    probabilities : ndarray
        Of the visits after an interval x.
    """

    changes: Array
    probabilities: Array

    @property
    def changes_per_visit(self) -> float:
        """Mean of x: the page is visited at the rate mu over this."""
        return float(self.probabilities @ self.changes)

    @property
    def changed_share(self) -> float:
        """Share of the visits that find a change: ``E (1 - e^-x)``."""
        return float(self.probabilities @ -np.expm1(-self.changes))

    @property
    def obsolescence(self) -> float:
        """Fraction of time for which the copy is out of date: ``E exc(x) / E x``."""
        return float(self.probabilities @ exc(self.changes)) / self.changes_per_visit


def adaptive_intervals(increase: float, decrease: float, points: int = 4000) -> AdaptiveIntervals:
    """The stationary law of the intervals of one page under adaptive visits, for Poisson changes.

    Parameters
    ----------
    increase, decrease : float
        As in `adaptive_changed_share`.
    points : int
        How many values of x.

    Raises
    ------
    ValueError
        If a factor is out of range, or the intervals spread further than the points do.

    Notes
    -----
    The rule knows ratios only, so x has the same law for every page: visits are proportional to
    change rates. ln x goes up by ``ln(1 + increase)`` with probability ``e^-x``, else down by
    ``-ln(1 - decrease)``; a step that ends between two points is shared by them in such a way that
    the mean of ln x is kept, and with it `adaptive_changed_share` exactly. What the sharing does
    to the rest falls with the square of the distance of points. Where 1 + increase and
    1 - decrease are powers of one number the law depends on where the page began.
    """
    up, down = _steps(increase, decrease)
    places = np.linspace(_LEAST, _MOST, points)
    x = np.exp(places)
    gap = float(places[1] - places[0])
    moves = [_shared_step(points, up / gap, np.exp(-x))]
    moves.append(_shared_step(points, -down / gap, -np.expm1(-x)))
    rows, columns, values = (np.concatenate(part) for part in zip(*moves, strict=True))
    chain = coo_matrix((values, (columns, rows)), shape=(points, points)).tocsc()
    anchor = int(np.argmin(np.abs(x - adaptive_changed_share(increase, decrease))))
    others = np.delete(np.arange(points), anchor)
    kept = chain[others][:, others]
    identity = coo_matrix((np.ones(points - 1), (range(points - 1),) * 2)).tocsc()
    weights = np.insert(spsolve(identity - kept, chain[others][:, [anchor]]), anchor, 1.0)
    probabilities = np.maximum(weights, 0.0) / weights.sum()
    if probabilities[: points // 100].sum() + probabilities[-points // 100 :].sum() > 1e-9:
        raise ValueError(f"increase {increase!r} and decrease {decrease!r} spread too far")
    return AdaptiveIntervals(x, probabilities)


def _shared_step(points: int, step: float, chance: Array) -> tuple[Array, Array, Array]:
    """From, to and probability of a move by a number of points that need not be whole."""
    here = np.arange(points)
    target = np.clip(here + step, 0, points - 1)
    below = np.minimum(np.floor(target).astype(int), points - 2)
    share = target - below
    return (
        np.concatenate([here, here]),
        np.concatenate([below, below + 1]),
        np.concatenate([chance * (1.0 - share), chance * share]),
    )
