"""A list of pages, repeated for ever."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from scenarios.accessing.policy import Indices, Periodic, Shares
from scenarios.base import Count


class Cyclic(Periodic):
    """The pages of `template` in this order, again and again; a page may be absent."""

    policy: Literal["cyclic"]
    template: Annotated[tuple[Count, ...], Field(min_length=1)]

    def cycle_of(self, shares: Shares) -> Indices:  # noqa: ARG002  # the template says it all
        """One period: the template."""
        return np.array(self.template, dtype=np.intp)
