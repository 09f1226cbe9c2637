"""The least of a sum of convex functions of one share each, with a certificate."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from analytic.pipeline.random_pages import Slopes
from scenarios.arrays import Array

SlopesOf = Callable[[Array, Array], Slopes]
"""From change rates and shares to obsolescence rates and their derivatives by the shares."""

_ROUNDS = 200
_GAP = 1e-12
"""What the certified gap may be, relative to the cost."""
_TINY = float(np.finfo(float).tiny)


class BestShares(NamedTuple):
    """The best shares, their weighted obsolescence, and a bound below that of all shares."""

    shares: Array
    cost: float
    lower_bound: float


def least_shares(
    slopes: SlopesOf, changes: Array, weights: Array, start: Array | None = None
) -> BestShares:
    """The shares with the least ``sum c r(f)``, each r convex and decreasing in its own share.

    Parameters
    ----------
    slopes : callable
        From change rates and shares to `Slopes`, of any pages.
    changes, weights : ndarray, shape (pages,)
        Change rates mu and weights c, >= 0.
    start : ndarray, shape (pages,), optional
        Shares to begin with; uniform ones otherwise.

    Notes
    -----
    The tangents at any f bound the cost of all shares from below, by ``max g - f g`` with the gains
    ``g = -c r'``. Each round solves the problem with hyperbolas in place of the r, which have their
    slopes and curvatures: ``-c r' = a / (b + f)²``, so that ``f = sqrt(a / multiplier) - b`` or 0.
    Without a buffer they are exact (coffman1998, Lemma 4.1 with exponential accesses). A page gets
    nothing iff its slope at 0 is not above the multiplier.
    """
    asked = (changes > 0) & (weights > 0)
    shares = np.full(len(changes), 1.0 / len(changes)) if start is None else start
    if not asked.any():
        return BestShares(shares, *[float(weights @ slopes(changes, shares).rates)] * 2)
    shares = np.where(asked, shares, 0.0)
    shares /= shares.sum()

    def evaluated(given: Array) -> _Point:
        found = slopes(changes[asked], given)
        c = weights[asked]
        return _Point(given, float(c @ found.rates), -c * found.first, c * found.second)

    best = _descended(evaluated(shares[asked]), evaluated)
    shares[asked] = best.shares
    return BestShares(shares, best.cost, max(best.cost - best.gap, 0.0))


class _Point(NamedTuple):
    shares: Array
    cost: float
    gains: Array
    curvatures: Array

    @property
    def gap(self) -> float:
        """How far below the cost that of the best shares can be."""
        return max(float(self.gains.max() - self.shares @ self.gains), 0.0)


def _descended(best: _Point, evaluated: Callable[[Array], _Point]) -> _Point:
    for _ in range(_ROUNDS):
        if best.gap <= _GAP * best.cost:
            break
        following = _improved(best, evaluated)
        if following is None:
            break
        best = following
    return best


def _improved(point: _Point, evaluated: Callable[[Array], _Point]) -> _Point | None:
    """A better point on the way to the optimum of the hyperbolas, or None."""
    target = _of_hyperbolas(point)
    step = 1.0
    while step > 1e-6:
        following = evaluated(point.shares + step * (target - point.shares))
        if following.cost < point.cost or following.gap < point.gap:
            return following
        step /= 2.0
    return None


def _of_hyperbolas(point: _Point) -> Array:
    """``f = sqrt(a / multiplier) - b``, at least 0, that sum to 1."""
    gains = np.maximum(point.gains, _TINY)
    reach = 2.0 * gains / np.maximum(point.curvatures, _TINY)
    root = np.sqrt(gains) * reach
    offset = reach - point.shares
    order = np.argsort(-root / np.maximum(offset, _TINY), kind="stable")
    sums = np.cumsum(root[order])
    offsets = np.cumsum(offset[order])
    scales = (1.0 + offsets) / sums
    active = np.flatnonzero(root[order] * scales > offset[order])
    scale = scales[active[-1]] if len(active) else scales[0]
    shares = np.maximum(root * scale - offset, 0.0)
    result: Array = shares / shares.sum()
    return result
