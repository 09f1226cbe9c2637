"""The most urgent page next: the greatest of many growing numbers, slot after slot.

Which page is the most urgent in each of a block of slots is found among its contenders: the pages
that are the most urgent at its start, as many as it has slots, and those whose urgency outgrows
them all before its end. Nobody else can win, since in each slot one of the former has not been
accessed yet. Contenders of a block hand on those of its quarters, so that the work for one access
grows with the logarithm of the number of pages. Ties go to the lower page.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Urgency", "most_urgent"]

Numbers = NDArray[np.floating[Any]]
Indices = NDArray[np.intp]

_SHORTEST = 64
"""Slots of a block whose urgencies are written out, slot by slot."""


class Urgency(Protocol):
    """How urgent each page is; it grows with time, and falls when the page is accessed."""

    pages: int

    def at(self, pages: Indices, slot: Any) -> Numbers:
        """Urgencies of some pages in a slot, or in a column of slots."""

    def afterwards(self, pages: Indices, slots: int) -> Numbers:
        """Urgencies that many slots after an access, from 1 on, row by row; or what they lose."""

    def start_again(self, below: Numbers, afterwards: Numbers) -> None:
        """Correct a page's urgencies in the slots below that of its access."""

    def access(self, pages: Indices, slots: Indices) -> None:
        """The pages were accessed in these slots, in this order."""


def most_urgent(urgency: Urgency) -> Iterator[Indices]:
    """The most urgent page of each slot, from slot 0 on, in blocks without end."""
    everyone = np.arange(urgency.pages)
    length = max(_SHORTEST, urgency.pages // 8)
    first = 0
    while True:
        yield _chosen(urgency, everyone, first, length)
        first += length


def _chosen(urgency: Urgency, pages: Indices, first: int, length: int) -> Indices:
    """The pages of `length` slots, among these."""
    contenders = _contenders(urgency, pages, first, length)
    if length <= _SHORTEST:
        return _slot_by_slot(urgency, contenders, first, length)
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
    found: Indices = pages[stays]
    return found


def _slot_by_slot(urgency: Urgency, pages: Indices, first: int, length: int) -> Indices:
    """The greatest of each row of a table, kept up to date."""
    slots = np.arange(first, first + length)
    table = urgency.at(pages, slots[:, None])
    afterwards = urgency.afterwards(pages, length)
    winners = np.empty(length, dtype=np.intp)
    for place, row in enumerate(table):
        column = int(row.argmax())
        winners[place] = column
        below = table[place + 1 :, column]
        urgency.start_again(below, afterwards[: len(below), column])
    chosen = pages[winners]
    urgency.access(chosen, slots)
    return chosen
