"""Change rates from crawls at equal gaps: estimators in closed form, with their exact bias."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from crawlsim.fitting.intervals import shares_by_mid_p
from scenarios.arrays import Array


def cho_garcia_molina(changes: ArrayLike, crawls: ArrayLike, gap: ArrayLike) -> Array:
    """The bias-reduced rate ``-ln((n - X + 1/2) / (n + 1/2)) / gap`` for equal gaps.

    Parameters
    ----------
    changes, crawls : array_like
        X of n gaps ended with a change.
    gap : array_like
    """
    changes = np.asarray(changes, float)
    crawls = np.asarray(crawls, float)
    result: Array = -np.log((crawls - changes + 0.5) / (crawls + 0.5)) / np.asarray(gap, float)
    return result


def equal_gap_interval(
    changes: ArrayLike, crawls: ArrayLike, gap: ArrayLike
) -> tuple[Array, Array]:
    """The 95 % interval of the rate for equal gaps, from that of the share that changed.

    Notes
    -----
    By the mid-P (`shares_by_mid_p`). Exact sums over the binomial law: for 10 to 50 gaps and rate ×
    gap from 0.02 to 3 it covers at least 92.4 %. It covers more than 97 % where fewer than about
    five changes, or gaps without one, are expected: no interval can do else there.
    """
    low, high = shares_by_mid_p(changes, crawls)
    with np.errstate(divide="ignore"):
        lowest: Array = -np.log1p(-low) / np.asarray(gap, float)
        highest: Array = -np.log1p(-high) / np.asarray(gap, float)
    return lowest, highest


def _bias(estimates: Array, x: float) -> float:
    """Relative bias of an estimator of rate × gap, by the exact sum over the number of changes."""
    number = len(estimates) - 1
    seen = np.arange(number + 1)
    ways = special.gammaln(seen + 1) + special.gammaln(number - seen + 1)
    logs = special.gammaln(number + 1) - ways
    weights = np.exp(logs + seen * np.log(-np.expm1(-x)) - (number - seen) * x)
    return float(weights @ estimates / x - 1.0)


def bias_of_cho_garcia_molina(x: float, crawls: int) -> float:
    """Relative bias of `cho_garcia_molina` at rate × gap = x, by an exact binomial sum."""
    return _bias(cho_garcia_molina(np.arange(crawls + 1), crawls, 1.0), x)


def bias_of_naive(x: float, crawls: int) -> float:
    """Relative bias of the naive rate X / (n gap) at rate × gap = x, by an exact binomial sum."""
    return _bias(np.arange(crawls + 1) / crawls, x)
