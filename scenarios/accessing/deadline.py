"""The earliest deadline first, so that no page is ever a whole access behind or ahead."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Literal

import numpy as np

from scenarios.accessing.policy import Frequencies, Indices, Planned, Shares

__all__ = ["Deadline"]

_BLOCK = 1024


class Deadline(Planned):
    """Tijdeman's chairman assignment: with n pages no count strays by more than 1 - 1/(2n - 2).

    With s = 1/(2n - 2), access k + 1 of a page with share f may not start before slot (k + s) / f,
    slots counted from 1, and is due at (k + 1 - s) / f; of those that may start the one that is due
    first does, ties to the lower page.
    """

    policy: Literal["deadline"]
    frequencies: Frequencies = "uniform"

    def plan(self, shares: Shares) -> Iterator[Indices]:
        """Blocks from two heaps: accesses that may start by due time, the others by their start."""
        pages = np.flatnonzero(shares > 0).tolist()
        slack = 1.0 / (2 * len(pages) - 2) if len(pages) > 1 else 0.0
        share = shares.tolist()
        later = [(slack / share[page], page, 0) for page in pages]
        heapq.heapify(later)
        ready: list[tuple[float, int, int]] = []
        slot = 0
        while True:
            block = np.empty(_BLOCK, dtype=np.intp)
            for place in range(_BLOCK):
                slot += 1
                while later and (later[0][0] <= slot or not ready):
                    _, page, count = heapq.heappop(later)
                    heapq.heappush(ready, ((count + 1 - slack) / share[page], page, count))
                _, page, count = heapq.heappop(ready)
                heapq.heappush(later, ((count + 1 + slack) / share[page], page, count + 1))
                block[place] = page
            yield block
