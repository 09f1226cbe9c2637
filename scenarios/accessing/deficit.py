"""The page that is furthest behind its share next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

from scenarios.accessing.policy import Frequencies, Indices, Planned, Shares
from scenarios.accessing.urgency import Urgency, most_urgent


class Deficit(Planned):
    """In slot t = 1, 2, … the page with the largest ``share t - accesses``, ties to the lower."""

    policy: Literal["deficit"]
    frequencies: Frequencies = "uniform"

    def plan(self, shares: Shares) -> Iterator[Indices]:
        """The page with the largest deficit in each slot."""
        none = np.zeros(len(shares), dtype=np.intp)
        return most_urgent(Urgency("deficit", (shares,), none))
