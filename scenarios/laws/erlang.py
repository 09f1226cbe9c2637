"""Sums of exponential times."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from scenarios.base import Count, Positive
from scenarios.laws.exponential import Exponential
from scenarios.laws.law import Law, any_sd, sd_of, written


class Erlang(Law):
    """Sum of `shape` independent exponential times of equal mean; `mean` is that of the sum."""

    key = "erlang"
    shape: Annotated[Count, Field(ge=1)]
    mean: Positive

    @property
    def shape_parameter(self) -> float:
        """The shape."""
        return float(self.shape)

    @property
    def simplest(self) -> Law:
        """Exponential with shape 1."""
        return Exponential(mean=self.mean) if self.shape == 1 else self

    @classmethod
    def translated(cls, given: Mapping[str, float]) -> str | None:
        """From a standard deviation, a scale or a rate."""
        mean = given.get("mean")
        sd = sd_of(given)
        if mean is not None and sd is not None:
            shape = max(1, round((mean / sd) ** 2)) if mean < 1000 * sd else 1_000_000
            near = f"the nearest is {written(cls.key, shape=shape, mean=mean)}"
            return f"(mean / sd)² would have to be whole: {near}; {any_sd(mean, sd)}"
        steps = given.get("shape", given.get("k", 0.0))
        step = given.get("scale", 1.0 / given.get("rate", math.inf))
        if not steps or not step:
            return None
        return f"mean is that of the sum: write {written(cls.key, shape=steps, mean=steps * step)}"
