"""Uniform times."""

from __future__ import annotations

import math
from collections.abc import Mapping

from pydantic import model_validator

from scenarios.base import NonNegative, Positive
from scenarios.errors import refused
from scenarios.laws.deterministic import Deterministic
from scenarios.laws.law import Law, written


class Uniform(Law):
    """Uniform time between `low` and `high`, or by its mean and standard deviation."""

    key = "uniform"
    one_of = (("low", "mean"), ("low", "sd"), ("high", "mean"), ("high", "sd"))
    low: NonNegative | None = None
    high: Positive | None = None
    mean: Positive | None = None
    sd: Positive | None = None

    @model_validator(mode="after")
    def _ordered(self) -> Uniform:
        given = {name for name in ("low", "high", "mean", "sd") if getattr(self, name) is not None}
        if given not in ({"low", "high"}, {"mean", "sd"}):
            raise refused("must have the keys low and high, or mean and sd")
        low, high = self.ends
        if self.sd is None and high < low:
            raise refused(f"must be >= low ({low!r})", key="high", value=high)
        if self.mean is not None and self.sd is not None:
            largest = self.mean / math.sqrt(3.0)
            if self.sd > largest or high <= low:
                allowed = f"must be at most mean / sqrt(3) = {largest:.6g}, no time being negative"
                raise refused(f"{allowed}, and at least 1e-15 means", key="sd", value=self.sd)
        return self

    @property
    def simplest(self) -> Law:
        """Constant without a width."""
        low, high = self.ends
        return Deterministic(value=high) if low == high else self

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest time."""
        if self.mean is None or self.sd is None:
            return self.low or 0.0, self.high or 0.0
        half = math.sqrt(3.0) * self.sd
        return max(self.mean - half, 0.0), self.mean + half

    @classmethod
    def translated(cls, given: Mapping[str, float]) -> str | None:
        """From ends by other names."""
        low = given.get("min", given.get("minimum", given.get("a")))
        high = given.get("max", given.get("maximum", given.get("b")))
        if low is None or high is None:
            return super().translated(given)
        return f"write {written(cls.key, low=low, high=high)}"
