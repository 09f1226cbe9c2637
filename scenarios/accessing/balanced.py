"""Every split between two groups of pages as regular as can be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

from scenarios.accessing.policy import Frequencies, Indices, Planned, Shares

_BLOCK = 1024


class Balanced(Planned):
    """Hajek's most regular splitting, applied again and again down a binary tree of the pages.

    Of the accesses that reach a node, number n goes to its first half iff
    ``floor((n + 1) p + 1/2) > floor(n p + 1/2)``, where p is the first half's part of the node's
    share. Pages are ordered by their share, the largest first: alike pages meet low in the tree.
    """

    policy: Literal["balanced"]
    frequencies: Frequencies = "uniform"

    def plan(self, shares: Shares) -> Iterator[Indices]:
        """Blocks of accesses, sent down the tree level by level."""
        order = np.argsort(-shares, kind="stable")[: np.count_nonzero(shares)]
        levels = _parts_of_first_halves(shares[order])
        reached = [np.zeros(len(parts), dtype=np.intp) for parts in levels]
        length = max(_BLOCK, len(order) // 4)
        while True:
            node = np.zeros(length, dtype=np.intp)
            for parts, counts in zip(levels, reached, strict=True):
                number = counts[node] + _rank_among_equals(node)
                counts += np.bincount(node, minlength=len(counts))
                part = parts[node]
                first = np.floor((number + 1) * part + 0.5) > np.floor(number * part + 0.5)
                node = 2 * node + ~first
            yield order[node]


def _parts_of_first_halves(shares: Shares) -> list[Shares]:
    """For each level of the tree from the root on, p of its nodes; 1 where nothing is beyond."""
    depth = (len(shares) - 1).bit_length()
    weights = np.zeros(2**depth)
    weights[: len(shares)] = shares
    levels: list[Shares] = []
    for _ in range(depth):
        halves = weights.reshape(-1, 2)
        weights = halves.sum(axis=1)
        parts = np.ones(len(weights))
        np.divide(halves[:, 0], weights, out=parts, where=halves[:, 1] > 0)
        levels.append(parts)
    return levels[::-1]


def _rank_among_equals(values: Indices) -> Indices:
    """How many equal values stand before each."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    begins = np.flatnonzero(np.diff(ordered, prepend=-1))
    rank = np.empty(len(values), dtype=np.intp)
    rank[order] = np.arange(len(values)) - np.repeat(begins, np.diff(begins, append=len(values)))
    return rank
