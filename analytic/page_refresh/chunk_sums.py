"""Compiled sums over a block of pages, for the best frequencies of very many.

The same as `optimum.PagesInMemory.sum_and_slope`, page by page and with compensated sums: those of
a hundred million pages are right to 1e-15.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from analytic.page_refresh.optimum import SERIES
from scenarios.arrays import Array
from scenarios.kernels import compiled

_COEFFICIENTS = np.array(SERIES[::-1])
_NEAR = 0.25
_FAR = 2.0


@compiled
def inverse_excess_of(v: float) -> Any:
    """As `optimum.inverse_excess`, of one number."""
    root = np.sqrt(2.0 * v)
    if root > _FAR:
        u = v + np.log1p(v + np.log1p(v + np.log1p(v)))
    else:
        u = 0.0
        for coefficient in _COEFFICIENTS:
            u = u * root + coefficient
        if root <= _NEAR:
            return u
    for _ in range(2):
        step = (u - np.log1p(u) - v) * (1.0 + u) / u
        u -= step / (1.0 - step / (2.0 * u * (1.0 + u)))
    return u


@compiled
def missing_exponent_of(
    log_bound: float, taken: float, left: float, ratio: float, gap: float
) -> Any:
    """As `optimum.missing_exponent`, of one page, with ``taken = 1 - e^-V``, ``left = e^-V``."""
    if taken < 0.5 * ratio:
        return -np.log1p(-taken / ratio)
    if gap == 0.0:
        return log_bound
    open_part = left - gap if gap < 0.5 else ratio - taken
    return -np.log(open_part / ratio) if open_part > 0.0 else np.inf


@compiled
def block_sums(log_bound: float, exponent: Array, ratio: Array, gap: Array) -> tuple[float, float]:
    """The sum of ``x = l / u`` over a block, and its derivative by V."""
    taken = -np.expm1(-log_bound)
    left = np.exp(-log_bound)
    total = total_lost = slope = slope_lost = 0.0
    for page in range(len(exponent)):
        v = missing_exponent_of(log_bound, taken, left, ratio[page], gap[page])
        if v == np.inf:
            continue
        u = inverse_excess_of(v)
        share = exponent[page] / u
        term = share - total_lost
        following = total + term
        total_lost = (following - total) - term
        total = following
        term = -share / u * (1.0 + 1.0 / u) * np.exp(v - log_bound) / ratio[page] - slope_lost
        following = slope + term
        slope_lost = (following - slope) - term
        slope = following
    return total, slope


@compiled
def block_shares(log_bound: float, exponent: Array, ratio: Array, gap: Array) -> Array:
    """``l / u`` of every page of a block."""
    taken = -np.expm1(-log_bound)
    left = np.exp(-log_bound)
    shares = np.zeros(len(exponent))
    for page in range(len(exponent)):
        v = missing_exponent_of(log_bound, taken, left, ratio[page], gap[page])
        if v < np.inf:
            shares[page] = exponent[page] / inverse_excess_of(v)
    return shares


@compiled
def block_costs(weight: Array, exponent: Array, shares: Array) -> float:
    """The sum of ``a f exc(l / f)`` over a block; of ``a l`` at f = 0.

    With ``exc(t) = t - 1 + e^-t`` and ``a = c / q`` it is the part of coffman1998, Theorem 3.3,
    that the frequencies change.
    """
    total = lost = 0.0
    for page in range(len(shares)):
        share = shares[page]
        if share > 0.0:
            t = exponent[page] / share
            if t > 0.5:
                excess = t + np.expm1(-t)
            else:
                excess = 0.0
                for order in range(15, 2, -1):
                    excess = (1.0 - excess) * t / order
                excess = (1.0 - excess) * t * t / 2.0
            part = share * excess
        else:
            part = exponent[page]
        term = weight[page] * part - lost
        following = total + term
        lost = (following - total) - term
        total = following
    return total
