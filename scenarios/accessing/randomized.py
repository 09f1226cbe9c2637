"""Independent random choices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

from scenarios.accessing.policy import Frequencies, Indices, InSequence, Shares

_BLOCK = 1024

_FEW = 6
"""Up to this many pages, to compare with all of them is quickest (measured: three pages in 4
instead of 10 ns an access)."""

_SLOTS_EACH = 4
"""Slots of a guide table for each page: with fewer, more pages have to be searched for."""

_MOST_SLOTS = 2**20
"""Slots of a table beyond which there is one for each page."""


class Randomized(InSequence):
    """Each access draws its page by `frequencies`, independently (coffman1998, section 4)."""

    policy: Literal["randomized"]
    frequencies: Frequencies = "uniform"

    def sequence(self, shares: Shares, stream: np.random.Generator) -> Iterator[Indices]:
        """Pages drawn one by one: one uniform each, by the cumulative shares."""
        cumulative = np.cumsum(shares)
        cumulative[np.flatnonzero(shares)[-1] :] = 1.0
        choose = _by_comparison if len(cumulative) <= _FEW else _by_guide_table
        return choose(cumulative, stream)


def _by_comparison(cumulative: Shares, stream: np.random.Generator) -> Iterator[Indices]:
    """The page of a uniform is how many cumulative shares it has reached."""
    while True:
        uniforms = stream.random(_BLOCK)
        chosen = np.zeros(_BLOCK, dtype=np.int64)
        for share in cumulative[:-1]:
            chosen += uniforms >= share
        yield chosen


def _by_guide_table(cumulative: Shares, stream: np.random.Generator) -> Iterator[Indices]:
    """The first page of its slot, mostly; others are searched for (after Chen and Asau, 1974).

    Times a power of two, shares stay what they are to the last digit.
    """
    pages = 1 << (len(cumulative) - 1).bit_length()
    slots = max(pages, min(_SLOTS_EACH * pages, _MOST_SLOTS))
    ends = np.ceil(cumulative * slots).astype(np.int64)
    first = np.cumsum(np.bincount(ends, minlength=slots))
    while True:
        uniforms = stream.random(_BLOCK)
        chosen = first[(uniforms * slots).astype(np.int64)]
        others = np.flatnonzero(cumulative[chosen] <= uniforms)
        chosen[others] = np.searchsorted(cumulative, uniforms[others], side="right")
        yield chosen
