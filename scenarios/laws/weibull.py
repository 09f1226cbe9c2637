"""Weibull times."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from scenarios.base import Positive
from scenarios.laws.exponential import Exponential
from scenarios.laws.law import ROUNDING, ByShapeOrSd, Law, written

_HALVINGS = 100
"""More than a number has digits."""


class Weibull(ByShapeOrSd, Law):
    """Power of an exponential time: ``P(X > x) = exp(-(x / scale)^shape)``."""

    key = "weibull"
    shapes = (0.05, 1000.0)
    shape: Annotated[Positive, Field(ge=0.05, le=1000.0)] | None = None

    @staticmethod
    def shape_with(variation: float) -> float:
        """The shape by bisection: the variation falls in it."""
        spread = math.log1p(variation * variation)
        low, high = math.log(1e-4), math.log(1e2)  # of the inverse of the shape
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            power = math.exp(middle)
            found = math.lgamma(1.0 + 2.0 * power) - 2.0 * math.lgamma(1.0 + power)
            low, high = (middle, high) if found < spread else (low, middle)
        return math.exp(-(low + high) / 2)

    @property
    def simplest(self) -> Law:
        """Exponential with shape 1."""
        is_exponential = abs(self.shape_parameter - 1.0) <= ROUNDING
        return Exponential(mean=self.mean) if is_exponential else self

    @property
    def scale(self) -> float:
        """The time that is exceeded with probability 1/e."""
        return self.mean / math.gamma(1.0 + 1.0 / self.shape_parameter)

    @classmethod
    def translated(cls, given: Mapping[str, float]) -> str | None:
        """From a scale."""
        shape = given.get("shape", given.get("k"))
        scale = given.get("scale", given.get("lambda"))
        if shape is None or scale is None or shape < cls.shapes[0]:
            return super().translated(given)
        mean = scale * math.gamma(1.0 + 1.0 / shape)
        return f"write {written(cls.key, mean=mean, shape=shape)}"
