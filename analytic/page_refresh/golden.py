"""What the golden-ratio policy costs: exact distances, limits, and corrected guarantees.

coffman1998, section 5, in the notation of `obsolescence`; ``phi = (1 + sqrt 5) / 2``. The printed
Theorem 5.1 and Corollary 5.1 are false (docs/errata.md); these are the corrected values.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analytic.page_refresh.obsolescence import interaccess_obsolescence
from analytic.transforms import exc, mean_time
from scenarios.arrays import Array
from scenarios.laws import Distribution

GOLDEN = (1.0 + math.sqrt(5.0)) / 2.0
WORST_GOLDEN_RATIO = GOLDEN**5 / 10.0
"""The least upper bound of cost over optimum with ever more, ever slower pages: (19), corrected."""

_GRID = 256
_REFINEMENTS = 60


def golden_distances(counts: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Interaccess distances of each page on a golden cycle, and how often each occurs.

    Parameters
    ----------
    counts : array_like of int, shape (pages,)
        Slots M of each page; they sum to a Fibonacci number F_k.

    Returns
    -------
    (distance, times) : ndarrays, shape (pages, 3)
        Of a page with ``F_m <= M < F_(m+1)``: distance F_(k-m) for M - F_m times, F_(k-m+1) for
        M - F_(m-1) times, F_(k-m+2) for F_(m+1) - M times. Pages without slots have zeros.

    Raises
    ------
    ValueError
        If a count is negative, or their sum is no Fibonacci number.

    Notes
    -----
    Without a list of the slots: the work is that of the pages, whatever the cycle.
    """
    given = np.asarray(counts, dtype=np.int64)
    fibonacci = [0, 1, 1]
    while fibonacci[-1] < given.sum():
        fibonacci.append(fibonacci[-1] + fibonacci[-2])
    if (given < 0).any() or fibonacci[-1] != given.sum():
        raise ValueError("counts must be >= 0 and sum to a Fibonacci number")
    k = len(fibonacci) - 1
    numbers = np.array([*fibonacci, fibonacci[-1] + fibonacci[-2]])
    accessed = given > 0
    m = np.maximum(np.searchsorted(numbers, given, side="right") - 1, 2)
    distance = np.stack([numbers[k - m], numbers[k - m + 1], numbers[k - m + 2]], axis=-1)
    times = np.stack([given - numbers[m], given - numbers[m - 1], numbers[m + 1] - given], axis=-1)
    return np.where(accessed[:, None], distance, 0), np.where(accessed[:, None], times, 0)


def golden_obsolescence(change_rates: ArrayLike, counts: ArrayLike, law: Distribution) -> Array:
    """Obsolescence rates on a golden cycle, shape (pages,): (3) from the exact distances.

    Parameters
    ----------
    change_rates : array_like, shape (pages,)
        Change rates mu.
    counts : array_like of int, shape (pages,)
        Slots of each page; they sum to a Fibonacci number.
    law : Distribution
        Law of one access time.

    Notes
    -----
    coffman1998 (3) at the distances of section 5 (`golden_distances`).
    """
    mu = np.asarray(change_rates, dtype=float)
    given = np.asarray(counts)
    distance, times = golden_distances(given)
    stale = (times * interaccess_obsolescence(mu[:, None], distance, law)).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = stale / (given.sum() * mu * mean_time(law))
    return np.where(mu > 0, np.where(given > 0, rate, 1.0), 0.0)


def golden_limit(change_rates: ArrayLike, shares: ArrayLike, law: Distribution) -> Array:
    """Limit of the obsolescence rates as the golden cycle grows, shape (pages,).

    Parameters
    ----------
    change_rates, shares : array_like, shape (pages,)
        Change rates mu and access frequencies x, > 0.
    law : Distribution
        Law of one access time.

    Notes
    -----
    coffman1998, section 5: per slot, distance F_j occurs with frequency x - phi^-j, F_(j+1) with
    x - phi^(-j-1), F_(j+2) with phi^(1-j) - x. Printed is ``j = floor(ln_phi x)``; it must be
    ``j = -floor(log_phi x)`` (errata).
    """
    mu = np.asarray(change_rates, dtype=float)
    x = np.asarray(shares, dtype=float)
    j = -np.floor(np.log(x) / math.log(GOLDEN) + 1e-12).astype(int)
    fibonacci = np.array([0, 1])
    while len(fibonacci) < j.max(initial=0) + 3:
        fibonacci = np.append(fibonacci, fibonacci[-1] + fibonacci[-2])
    distance = np.stack([fibonacci[j], fibonacci[j + 1], fibonacci[j + 2]], axis=-1)
    often = np.stack([x - GOLDEN**-j, x - GOLDEN ** (-j - 1.0), GOLDEN ** (1.0 - j) - x], axis=-1)
    stale = (often * interaccess_obsolescence(mu[:, None], distance, law)).sum(axis=1)
    rate: Array = stale / (mu * mean_time(law))
    return rate


def many_pages_cost(load: ArrayLike) -> Array:
    """Limit of the least cost, per access, as pages become many and the fastest one slow.

    coffman1998 (17): ``C* / (c0 nu) -> exc(q)`` with q = sum mu / nu fixed and c = c0 mu, for
    access times of any law with a mean. That every rate goes to 0 is not enough (docs/errata.md).
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
    """
    return worst_golden_cost(load)[0] / float(exc(load))
