"""Uniform times."""

from __future__ import annotations

from pydantic import model_validator

from scenarios.base import NonNegative, Positive
from scenarios.errors import refused
from scenarios.laws.law import Law


class Uniform(Law):
    """Uniform time between `low` and `high`."""

    key = "uniform"
    low: NonNegative
    high: Positive

    @model_validator(mode="after")
    def _ordered(self) -> Uniform:
        if self.high <= self.low:
            raise refused(f"must be > low ({self.low!r})", key="high", value=self.high)
        return self
