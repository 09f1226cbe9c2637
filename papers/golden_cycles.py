"""What the golden-ratio policy costs by the exact distances of its cycle, and in their limit.

coffman1998, section 5, with ``phi = (1 + sqrt 5) / 2``.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analytic.page_refresh.golden import GOLDEN
from analytic.page_refresh.obsolescence import interaccess_obsolescence
from analytic.transforms import mean_time
from scenarios.arrays import Array
from scenarios.laws import Distribution


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
