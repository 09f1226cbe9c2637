"""A policy: all pages in turn, the last one first."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from scenarios.accessing.policy import Indices, Periodic, Shares
from scenarios.base import Count


class Backwards(Periodic):
    """Pages …, 2, 1, 0 in turn, each `times` times."""

    policy: Literal["backwards"]
    times: Annotated[Count, Field(ge=1, le=1000)] = 1

    def cycle_of(self, shares: Shares) -> Indices:
        """One period."""
        return np.repeat(np.arange(len(shares))[::-1], self.times)
