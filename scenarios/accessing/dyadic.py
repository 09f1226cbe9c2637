"""Shares rounded to powers of one half, so that every page is accessed at equal distances."""

from __future__ import annotations

import heapq
from typing import Literal

import numpy as np

from scenarios.accessing.policy import Frequencies, Indices, Periodic, Shares

_DEEPEST = 24


class Dyadic(Periodic):
    """Page i in every 2^k-th slot, where 2^-k is its share rounded (`dyadic_levels`).

    The distances are equal, so that the bound of coffman1998 (Theorem 3.3) is attained at the
    rounded shares; what is lost is lost by rounding.
    """

    policy: Literal["dyadic"]
    frequencies: Frequencies = "uniform"

    def cycle_of(self, shares: Shares) -> Indices:
        """One period: as many slots as the rarest page needs, at most 2^24."""
        pages = np.flatnonzero(shares > 0)
        levels = dyadic_levels(shares[pages])
        order = np.argsort(levels, kind="stable")
        depth = int(levels.max())
        cycle = np.empty(2**depth, dtype=np.intp)
        cycle[_bits_reversed(depth)] = np.repeat(pages[order], 2 ** (depth - levels[order]))
        return cycle


def dyadic_levels(shares: Shares) -> Indices:
    """Levels k of positive shares, with sum 2^-k = 1.

    Every share is rounded down to a power of one half, those below 2^-23 counting as that much.
    While the sum is below 1, the page whose share lies highest above its power gets the double, if
    that much is left; some page can always take it, down to the last slot.
    """
    wanted = np.maximum(shares, 2.0 ** (1 - _DEEPEST))
    wanted = wanted / wanted.sum()
    units = (2 ** (_DEEPEST - np.ceil(-np.log2(wanted) - 1e-12).astype(np.intp))).tolist()
    left = 2**_DEEPEST - sum(units)
    heap = [(-x / u, page) for page, (x, u) in enumerate(zip(wanted.tolist(), units, strict=True))]
    heapq.heapify(heap)
    while left > 0:
        negative_ratio, page = heapq.heappop(heap)
        if units[page] <= left:
            left -= units[page]
            units[page] *= 2
            heapq.heappush(heap, (negative_ratio / 2, page))
    return np.array([_DEEPEST + 1 - unit.bit_length() for unit in units], dtype=np.intp)


def _bits_reversed(depth: int) -> Indices:
    """The numbers 0 … 2^depth - 1 with their bits in the opposite order."""
    places = np.zeros(1, dtype=np.intp)
    for _ in range(depth):
        places = np.concatenate([2 * places, 2 * places + 1])
    return places
