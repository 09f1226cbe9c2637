"""Independent random choices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

from scenarios.accessing.policy import Frequencies, Indices, InSequence, Shares

_BLOCK = 1024


class Randomized(InSequence):
    """Each access draws its page by `frequencies`, independently (coffman1998, section 4)."""

    policy: Literal["randomized"]
    frequencies: Frequencies = "uniform"

    def sequence(self, shares: Shares, stream: np.random.Generator) -> Iterator[Indices]:
        """Pages drawn one by one: one uniform each, by the cumulative shares."""
        cumulative = np.cumsum(shares)
        cumulative[np.flatnonzero(shares)[-1] :] = 1.0
        while True:
            yield np.searchsorted(cumulative, stream.random(_BLOCK), side="right")
