"""Pages fall due, each at a time of its own, and wait for a free robot: a frontier."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, model_validator

from scenarios.accessing.policy import Policy
from scenarios.base import LARGEST, ByType, NonNegative, OneKey, Positive, Shares
from scenarios.columns import Column
from scenarios.errors import refused


def _finite_or_never(interval: float) -> float:
    if LARGEST < interval < math.inf:
        raise refused(f"must be <= {LARGEST:g}, or inf: never")
    return interval


Interval = Annotated[
    float, Field(strict=True, ge=0, allow_inf_nan=True), AfterValidator(_finite_or_never)
]
"""A time; inf: never."""


Intervals = Annotated[
    Literal["optimal"] | Interval | tuple[Interval, ...] | Annotated[Column, OneKey()], ByType()
]
"""A word, one time for all pages, one for each, or a column of a CSV file."""


class Due(Policy):
    """A page is due an interval after its last delivery; robots rest while no page is due.

    `intervals` of pages that are best never accessed are inf. Beside signals there may be `levels`
    instead: a page is due when the time since its last delivery, and for each signal heard since
    then as much more as that is worth, reach its level; where all changes have a signal, time is
    worth nothing, and levels are numbers of signals. The robots have caught up when at most
    `caught_up` pages wait. Quantiles of the delay of accesses are given at `delay_quantiles`.
    """

    policy: Literal["due"]
    one_of: ClassVar[tuple[tuple[str, ...], ...]] = (("intervals", "levels"),)
    intervals: Intervals | None = None
    levels: Intervals | None = None
    budget: Positive | None = None
    order: Literal["first-due", "most-overdue", "priority"] = "first-due"
    first: Literal["spread", "at-once"] = "spread"
    caught_up: NonNegative | None = None
    delay_quantiles: Shares = ()
    counted_from: Literal["delivery", "start"] = Field("delivery", alias="from")

    @model_validator(mode="after")
    def _valid(self) -> Due:
        if (self.intervals is None) == (self.levels is None):
            raise refused("must have exactly one of the keys intervals or levels")
        if self.budget is not None and self.unresolved is None:
            allowed = 'goes with intervals = "optimal" or levels = "optimal"'
            raise refused(allowed, key="budget", value=self.budget)
        return self

    @property
    def unresolved(self) -> str | None:
        """The key of the intervals, or levels, where they are still to be found."""
        if self.intervals == "optimal":
            return "intervals"
        return "levels" if self.levels == "optimal" else None
