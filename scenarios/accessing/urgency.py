"""The most urgent page next: the greatest of many growing numbers, slot after slot.

Which page is the most urgent in each of a block of slots is found among its contenders: the pages
that are the most urgent at its start, as many as it has slots, and those whose urgency outgrows
them all before its end. Nobody else can win, since in each slot one of the former has not been
accessed yet. Contenders of a block hand on those of its quarters, so that the work for one access
grows with the logarithm of the number of pages. Ties go to the lower page.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.floating[Any]]
Indices = NDArray[np.intp]
Kind = Literal["whittle", "crawl-value", "deficit"]

_SHORTEST = 64
"""Slots of a block that is searched slot by slot."""


class Urgency:
    """How urgent each page is; it grows with time, and falls when the page is accessed.

    Parameters
    ----------
    kind : str
        The policy whose urgencies they are.
    columns : sequence of ndarray, shape (pages,)
        What it needs of each page.
    past : ndarray of int, shape (pages,)
        The slot of the last access of each page; for deficits, the number of its accesses.
    """

    def __init__(self, kind: Kind, columns: tuple[Numbers, ...], past: Indices) -> None:
        from scenarios.accessing import compiling

        known = ("whittle", "crawl-value", "deficit")
        self._kind = (compiling.WHITTLE, compiling.CRAWL_VALUE, compiling.DEFICIT)[
            known.index(kind)
        ]
        self._code = compiling
        self._numbers = np.ascontiguousarray(np.column_stack(columns))
        self._past = past
        self.pages = len(past)

    def at(self, pages: Indices, slot: int) -> Numbers:
        """Urgencies of some pages in a slot."""
        return self._code.urgencies(self._kind, self._numbers, self._past, pages, slot)

    def block_at(self, first: int) -> int:
        """Slots of the block that begins with a slot.

        Deficits grow from nothing, in proportion to the time: early blocks are short, else
        everyone would be a contender of every one.
        """
        longest = max(_SHORTEST, self.pages // 8)
        return min(longest, max(1, first // 2)) if self._kind == self._code.DEFICIT else longest

    def choose(self, pages: Indices, first: int, length: int) -> Indices:
        """The most urgent of some pages in each slot, which are accessed."""
        chosen = np.empty(length, dtype=np.intp)
        self._code.choose(self._kind, self._numbers, self._past, pages, first, chosen)
        return chosen


def most_urgent(urgency: Urgency) -> Iterator[Indices]:
    """The most urgent page of each slot, from slot 0 on, in blocks without end."""
    everyone = np.arange(urgency.pages)
    first = 0
    while True:
        length = urgency.block_at(first)
        yield _chosen(urgency, everyone, first, length)
        first += length


def _chosen(urgency: Urgency, pages: Indices, first: int, length: int) -> Indices:
    """The pages of `length` slots, among these."""
    contenders = _contenders(urgency, pages, first, length)
    if length <= _SHORTEST:
        return urgency.choose(contenders, first, length)
    quarter = max(_SHORTEST, -(-length // 4))
    starts = range(first, first + length, quarter)
    parts = [
        _chosen(urgency, contenders, start, min(quarter, first + length - start))
        for start in starts
    ]
    return np.concatenate(parts)


def _contenders(urgency: Urgency, pages: Indices, first: int, length: int) -> Indices:
    """Those of the pages that can be the most urgent in one of the slots."""
    if length >= len(pages):
        return pages
    now = urgency.at(pages, first)
    limit = np.partition(now, len(pages) - length)[len(pages) - length]
    stays = (now > limit) | (urgency.at(pages, first + length - 1) > limit)
    tied = np.flatnonzero((now == limit) & ~stays)
    stays[tied[: max(0, length - int(np.count_nonzero(now > limit)))]] = True
    contenders: Indices = pages[stays]
    return contenders
