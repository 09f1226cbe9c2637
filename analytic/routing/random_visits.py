"""What it costs to draw each visit at random, and how that changes with the shares."""

from __future__ import annotations

import numpy as np

from scenarios.arrays import Array

_GONE = -1.0 + 2.0**-53
"""Relative fall of a row that has come to its limit, whose logarithm is still a number."""


def random_costs(table: Array, limits: Array, shares: Array) -> tuple[Array, Array]:
    """``sum_n p² (1 - p)^(n - 1) e(n)`` of each server, and its derivative in p, (servers,) both.

    Parameters
    ----------
    table : ndarray, shape (servers, longest)
        e.
    limits : ndarray, shape (servers,)
        To which e tends.
    shares : ndarray, shape (servers,)
        p. Distances between visits are geometric.

    Notes
    -----
    Beyond the table e is taken to go on to its limit by a constant factor s per slot, that of the
    second half of the table: exact for independent gaps and exponential times. Of a page that
    hardly ever changes the limit itself is far below any cost within reach.
    """
    p = shares[:, None]
    longest = table.shape[1]
    n = np.arange(1, longest + 1)
    missed = (1 - p) ** (n - 1)
    before = np.hstack([np.zeros_like(p), missed[:, :-1]])  # (1 - p)^(n - 2)
    within = (p**2 * missed * table).sum(axis=1)
    rise = ((2 * p * missed - p**2 * (n - 1) * before) * table).sum(axis=1)

    later, steeper = _beyond(table, limits, shares)
    never = (1 - shares) ** longest
    last = missed[:, -1]
    rise += (never - longest * shares * last) * later + shares * never * steeper
    return within + shares * never * later, rise


def _beyond(table: Array, limits: Array, shares: Array) -> tuple[Array, Array]:
    """Mean of e a geometric distance beyond the table, and its derivative in the share.

    ``C + (e(L) - C) p s / (1 - s + p s)``, without the difference of C and e(L) where s is near 1.
    """
    half = table.shape[1] // 2
    last = table[:, -1]
    middle = table[:, half - 1]
    left = last - limits
    left_before = middle - limits
    is_left = (left > 0) & (left_before > 0)
    ratio = np.divide(last - middle, left_before, out=np.zeros_like(last), where=is_left)
    factor = np.log1p(np.maximum(ratio, _GONE)) / (table.shape[1] - half)
    s = np.exp(factor)
    leaves = -np.expm1(factor)
    whole = leaves + shares * s
    goes_on = is_left & (leaves > 0)
    kept = np.divide(shares * s, whole, out=np.ones_like(last), where=goes_on)
    gone = np.divide(leaves, whole, out=np.zeros_like(last), where=goes_on)
    falls = np.divide(s * leaves, whole**2, out=np.zeros_like(last), where=goes_on)
    return last * kept + limits * gone, left * falls
