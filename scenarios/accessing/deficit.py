"""The page that is furthest behind its share next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np

from scenarios.accessing.policy import Frequencies, Indices, Planned, Shares
from scenarios.accessing.urgency import Numbers, most_urgent

__all__ = ["Deficit"]


class Deficit(Planned):
    """In slot t = 1, 2, … the page with the largest ``share t - accesses``, ties to the lower."""

    policy: Literal["deficit"]
    frequencies: Frequencies = "uniform"

    def plan(self, shares: Shares) -> Iterator[Indices]:
        """The page with the largest deficit in each slot."""
        return most_urgent(_Deficits(shares))


class _Deficits:
    """How many accesses each page is behind."""

    def __init__(self, shares: Shares) -> None:
        self.pages = len(shares)
        self._shares, self._accesses = shares, np.zeros(self.pages, dtype=np.intp)

    def at(self, pages: Indices, slot: Any) -> Numbers:
        """Deficits of some pages in a slot, or in a column of slots, counted from 0."""
        deficits: Numbers = self._shares[pages] * (slot + 1) - self._accesses[pages]
        return deficits

    def afterwards(self, pages: Indices, slots: int) -> Numbers:
        """One access less behind in every slot."""
        return np.ones((slots, len(pages)))

    def start_again(self, below: Numbers, afterwards: Numbers) -> None:
        """One access less behind in every slot below."""
        below -= afterwards

    def access(self, pages: Indices, slots: Indices) -> None:  # noqa: ARG002  # same call as for indices
        """The pages were accessed."""
        np.add.at(self._accesses, pages, 1)
