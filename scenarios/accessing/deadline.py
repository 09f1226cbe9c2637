"""The earliest deadline first, so that no page is ever a whole access behind or ahead."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

from scenarios.accessing.policy import Frequencies, Indices, Planned, Shares

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
        from scenarios.accessing.compiling import by_deadlines

        pages = np.flatnonzero(shares > 0)
        accesses, later, ready = np.zeros((3, len(pages)), dtype=np.intp)
        state = np.zeros(3, dtype=np.intp)
        length = max(_BLOCK, len(pages) // 8)
        while True:
            block = np.empty(length, dtype=np.intp)
            by_deadlines(shares[pages], accesses, later, ready, state, block)
            yield pages[block]
