"""All pages in turn."""

from __future__ import annotations

from typing import Literal

import numpy as np

from scenarios.accessing.policy import Indices, Periodic, Shares


class RoundRobin(Periodic):
    """Pages 0, 1, 2, … in turn."""

    policy: Literal["round-robin"]

    def cycle_of(self, shares: Shares) -> Indices:
        """One period: each page once."""
        return np.arange(len(shares))
