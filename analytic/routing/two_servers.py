"""The best order for two servers or pages: one of the first, then some of the second."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from analytic.routing.bounds import slopes
from analytic.routing.spacing import SpacingCosts
from analytic.routing.words import Word

MOST_LETTERS = 100_000
"""Slots of a block that is written out."""


class TwoServers(NamedTuple):
    """What the block rule says.

    Attributes
    ----------
    word : tuple of int
        The best word; with a longer block than 100,000 slots the best of those that are not.
    cost : float
        Of the word, per slot.
    length : int or None
        Of the best block, however long; None: one server only.
    bound : float
        Cost of the best block, which no order is below.
    """

    word: Word
    cost: float
    length: int | None
    bound: float


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
    Proof in docs/derivations.md: blocks cost ``e_1(n) + e_2(2) + (n - 2) e_2(1)`` whatever stands
    beside them, so that one length is best; any stationary arrivals. It replaces the proof
    by Theorem 4.4, which is false for the periodic cost (`experiments.multimodularity`).
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
    return min((_with_rare(costs, rare) for rare in (0, 1)), key=lambda each: each.bound)


def _with_rare(costs: SpacingCosts, rare: int) -> TwoServers:
    """The best block with one of the two as the server that is visited once."""
    often = 1 - rare
    length = block_length(costs.tilted[rare], float(costs.limits[rare]), costs.tilted[often])
    if length is None and costs.beyond:
        length = _length_beyond(costs, rare)
    best = _block_cost(costs, rare, length)
    if length is None or length <= MOST_LETTERS:
        return TwoServers(_block(rare, length), best, length, best)
    shown = min((None, MOST_LETTERS), key=lambda each: _block_cost(costs, rare, each))
    return TwoServers(_block(rare, shown), _block_cost(costs, rare, shown), length, best)


def _block(rare: int, length: int | None) -> Word:
    """The block from where it is the first in alphabetical order."""
    often = 1 - rare
    return (often,) if length is None else tuple(sorted((rare, *(length - 1) * (often,))))


def _block_cost(costs: SpacingCosts, rare: int, length: int | None) -> float:
    """Cost per slot: ``(e_1(n) + e_2(2) + (n - 2) e_2(1)) / n``, of pages with g in place of e."""
    once = costs.between(1 - rare, 1)
    twice = costs.between(1 - rare, 2)
    if length is None:
        return costs.of((1 - rare,))
    return costs.outside + (costs.between(rare, length) + twice + (length - 2) * once) / length


def _length_beyond(costs: SpacingCosts, rare: int) -> int | None:
    """The length of the best block that is longer than the table; None if there is none.

    D_1 never increases, so that it is bracketed by doubling and found by halving.
    """
    threshold = 2 * costs.between(1 - rare, 1) - costs.between(1 - rare, 2)
    if costs.limits[rare] >= threshold:
        return None

    def is_reached(n: int) -> bool:
        here = costs.entry(rare, n)
        after = costs.entry(rare, n + 1)
        return here + n * (here - after) <= threshold

    low = costs.longest - 1
    high = costs.longest
    while not is_reached(high):
        low = high
        high = 2 * high
        if high > _FARTHEST:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_reached(middle) else (middle, high)
    return high


_FARTHEST = 2**50
"""Distances up to which a block is looked for; 1 / n is far below rounding there."""
