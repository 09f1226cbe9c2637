"""What an access costs by how long ago the last one to the same server was: convex laws of that."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from scenarios.base import Keyed, NonNegative, Number, OneKey, Positive, Section
from scenarios.errors import refused

_ROUNDING = 1e-12
"""Of the largest entry: a table that bends down by no more is taken to be convex."""


class Table(Keyed[Annotated[tuple[NonNegative, ...], Field(min_length=1)]]):
    """The costs of the distances 1, 2, …, in accesses.

    Beyond the table costs go on with its last step where that is a rise, and stay as they are
    otherwise, so that they are convex for all distances.
    """

    key = "table"

    @model_validator(mode="after")
    def _valid(self) -> Table:
        costs = self.root
        for n in range(2, len(costs)):
            before = costs[n - 1] - costs[n - 2]
            step = costs[n] - costs[n - 1]
            if step < before - _ROUNDING * max(costs):
                allowed = (
                    f"must be convex: the step to distance {n + 1}, {step:g}, is below the one "
                    f"before it, {before:g}"
                )
                raise refused(allowed, value=costs)
        return self

    @property
    def final_rise(self) -> float:
        """The rise per access to which the cost tends."""
        return max(self.root[-1] - self.root[-2], 0.0) if len(self.root) > 1 else 0.0


class Power(Section):
    """``scale * n ** exponent`` at a distance of n accesses."""

    key: ClassVar[str] = "power"
    scale: Positive
    exponent: Annotated[Number, Field(ge=-10, le=10)]

    @model_validator(mode="after")
    def _valid(self) -> Power:
        if 0 < self.exponent < 1:
            allowed = "must be <= 0 or >= 1: in between the cost is not convex"
            raise refused(allowed, key="exponent", value=self.exponent)
        return self

    @property
    def final_rise(self) -> float:
        """The rise per access to which the cost tends; inf where it grows faster than that."""
        if self.exponent > 1:
            return math.inf
        return self.scale if self.exponent == 1 else 0.0


class Geometric(Section):
    """``first * ratio ** (n - 1)`` at a distance of n accesses."""

    key: ClassVar[str] = "geometric"
    first: Positive
    ratio: Annotated[Positive, Field(lt=1)]
    final_rise: ClassVar[float] = 0.0


class Fading(Section):
    """``scale * exp(-rate * t)`` where the last access was a time t ago."""

    key: ClassVar[str] = "fading"
    scale: Positive
    rate: Positive
    final_rise: ClassVar[float] = 0.0


SpacingCost = Annotated[Table | Power | Geometric | Fading, OneKey(usual="table")]
"""Cost of an access by its distance from the last one: convex, so that bounds hold."""
