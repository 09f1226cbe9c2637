"""What the golden-ratio policy costs: limits, and corrected guarantees.

coffman1998, section 5, in the notation of `obsolescence`; ``phi = (1 + sqrt 5) / 2``. The printed
Theorem 5.1 and Corollary 5.1 are false (docs/errata.md); these are the corrected values.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from analytic.machinery.transforms import exc
from scenarios.arrays import Array

GOLDEN = (1.0 + math.sqrt(5.0)) / 2.0
WORST_GOLDEN_RATIO = GOLDEN**5 / 10.0
"""The least upper bound of cost over optimum with ever more, ever slower pages: (19), corrected."""

_GRID = 256
_REFINEMENTS = 60


def many_pages_cost(load: ArrayLike) -> Array:
    """Limit of the least cost, per access, as pages become many and the fastest one slow.

    coffman1998 (17): ``C* / (c0 nu) -> exc(q)`` with q = sum mu / nu fixed and c = c0 mu, for
    access times of any law with a mean. That every rate goes to 0 is not enough (docs/errata.md).

    Parameters
    ----------
    load : array_like
        Changes of all pages in a mean access time, q.
    """
    return exc(load)


def worst_golden_cost(load: float) -> tuple[float, float]:
    """Least upper bound of the golden cost per access in that limit, and where it is attained.

    Parameters
    ----------
    load : float
        q = sum mu / nu > 0.

    Returns
    -------
    (cost, s) : floats
        ``max G(q, s)`` over 1 <= s <= phi, and its s.

    Notes
    -----
    coffman1998 (18), corrected: ``G(q, s) = (1 - 1/s) exc(k s) + (1 - 1/(phi s)) exc(k phi s) +
    (phi/s - 1) exc(k phi² s)``, k = q / sqrt 5, at ``s = x phi^j``. Printed is G(q, 1), the mix
    of distances of x = phi^-j, which is the least spread one and no upper bound.
    """
    if not 0 < load < math.inf:
        raise ValueError(f"the load is {load!r}; it must be a finite number > 0")
    low = 1.0
    high = GOLDEN
    for _ in range(_REFINEMENTS):
        grid = np.linspace(low, high, _GRID)
        best = int(np.argmax(_golden_mix(load, grid)))
        low = float(grid[max(best - 1, 0)])
        high = float(grid[min(best + 1, _GRID - 1)])
        if high - low < 1e-12:
            break
    s = (low + high) / 2
    return float(_golden_mix(load, np.array(s))), s


def _golden_mix(load: float, s: Array) -> Array:
    """G(q, s)."""
    k = load / math.sqrt(5.0)
    mix: Array = (
        (1 - 1 / s) * exc(k * s)
        + (1 - 1 / (GOLDEN * s)) * exc(k * GOLDEN * s)
        + (GOLDEN / s - 1) * exc(k * GOLDEN**2 * s)
    )
    return mix


def golden_guarantee(load: float) -> float:
    """Golden cost over optimum, at worst, for many slow pages of that load.

    coffman1998 (19), corrected: at most phi^5 / 10 = 1.1090 (`WORST_GOLDEN_RATIO`), approached as
    the load goes to 0; printed is 2 phi² / 5 = 1.0472.

    Parameters
    ----------
    load : float
        Changes of all pages in a mean access time.
    """
    return worst_golden_cost(load)[0] / float(exc(load))
