"""The best order for two servers or pages: one of the first, then some of the second."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analytic.routing.bounds import slopes
from analytic.routing.spacing import SpacingCosts
from analytic.routing.words import Word, least_rotation

__all__ = ["TwoServers", "block_length", "two_servers"]

Array = NDArray[np.floating[Any]]


class TwoServers(NamedTuple):
    """The best word, its cost per slot, and how long its block is (None: one server only)."""

    word: Word
    cost: float
    length: int | None


def block_length(rare: ArrayLike, limit: float, often: ArrayLike) -> int | None:
    """The length n of the best block ``(1, 2, …, 2)``; None if server 1 is best never used.

    Parameters
    ----------
    rare : array_like
        ``e_1(1), e_1(2), …``, convex.
    limit : float
        C_1, to which they tend.
    often : array_like
        ``e_2(1), e_2(2)``, at least.

    Returns
    -------
    int or None
        The least n >= 2 with ``D_1(n) <= 2 e_2(1) - e_2(2)``; there is none where C_1 is not below
        that, which is also said where the given distances do not reach it.

    Notes
    -----
    Catalogue of altman2000, section 2: blocks cost ``e_1(n) + e_2(2) + (n - 2) e_2(1)`` whatever
    stands beside them, so that one length is best; any stationary arrivals. It replaces the proof
    by Theorem 4.4, which is false for the periodic cost (`analytic.routing.multimodularity`).
    """
    first, second = (float(each) for each in np.asarray(often, dtype=float)[:2])
    threshold = 2 * first - second
    if limit >= threshold:
        return None
    reached = slopes(rare)[0, 1:] <= threshold  # D(2), D(3), …
    return int(np.argmax(reached)) + 2 if reached.any() else None


def two_servers(costs: SpacingCosts) -> TwoServers:
    """The best word of two servers or pages, for any stationary arrivals.

    Parameters
    ----------
    costs : SpacingCosts
        Convex, of two servers.

    Raises
    ------
    ValueError
        If there are not two, or their costs are not convex in the distance.
    """
    if costs.count != 2:
        raise ValueError(f"costs of {costs.count} servers; must be of 2")
    if not costs.is_convex:
        raise ValueError("costs are not convex in the distance")
    found = []
    for rare in (0, 1):
        often = 1 - rare
        length = block_length(costs.table[rare], float(costs.limits[rare]), costs.table[often])
        word = (often,) if length is None else (rare, *(length - 1) * (often,))
        found.append(TwoServers(least_rotation(word), costs.of(word), length))
    return min(found, key=lambda each: each.cost)
