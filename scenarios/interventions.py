"""Interventions: changes of a system that last for a while, or repeat, or are for good."""

from __future__ import annotations

from typing import Any

from pydantic import model_validator

from scenarios.base import Count, NonNegative, Positive, Section, listed
from scenarios.errors import refused

LIMITS = ("robots", "indexers")
"""Effects of which the least counts where several interventions are in force."""

FACTORS = ("robot_speed", "service_speed", "change_factor", "query_factor")
"""Effects that multiply where several interventions are in force."""

_SLACK = 1e-9
"""Relative; an intervention fills its period if it does so up to the rounding of its times."""


class Intervention(Section):
    """What is changed, from when to when, and how often."""

    at: NonNegative
    until: Positive | None = None
    every: Positive | None = None
    robots: Count | None = None
    indexers: Count | None = None
    robot_speed: NonNegative | None = None
    service_speed: NonNegative | None = None
    change_factor: NonNegative | None = None
    query_factor: NonNegative | None = None

    @model_validator(mode="after")
    def _valid(self) -> Intervention:
        effects = (*LIMITS, *FACTORS)
        if all(getattr(self, effect) is None for effect in effects):
            raise refused(f"must have at least one of the keys {listed(effects)}")
        if self.until is not None and self.until <= self.at:
            raise refused(f"must be > at ({self.at!r})", key="until", value=self.until)
        if self.every is None:
            return self
        if self.until is None:
            raise refused("is missing; every needs it", key="until")
        length = self.until - self.at
        if length > self.every * (1 + _SLACK):
            raise refused(f"must be >= until - at ({length!r})", key="every", value=self.every)
        return self

    @property
    def is_for_good(self) -> bool:
        """Whether it stays in force once it has begun."""
        if self.until is None:
            return True
        return self.every is not None and self.until - self.at >= self.every * (1 - _SLACK)

    def given(self) -> dict[str, Any]:
        """Its effects by name."""
        effects = {effect: getattr(self, effect) for effect in (*LIMITS, *FACTORS)}
        return {effect: value for effect, value in effects.items() if value is not None}
