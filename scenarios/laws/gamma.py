"""Gamma times."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from scenarios.base import Positive
from scenarios.laws.erlang import Erlang
from scenarios.laws.law import ROUNDING, ByShapeOrSd, Law, written


class Gamma(ByShapeOrSd, Law):
    """Gamma time with any positive shape, or by its standard deviation: shape (mean / sd)²."""

    key = "gamma"
    shapes = (1e-3, 1e6)
    shape: Annotated[Positive, Field(ge=1e-3, le=1e6)] | None = None

    @staticmethod
    def shape_with(variation: float) -> float:
        """The inverse of the squared coefficient of variation."""
        return 1.0 / variation / variation

    @property
    def simplest(self) -> Law:
        """Erlang, or exponential, with a whole shape."""
        shape = self.shape_parameter
        if shape < 1.0 - ROUNDING or abs(shape - round(shape)) > ROUNDING * shape:
            return self
        return Erlang(shape=round(shape), mean=self.mean).simplest

    @classmethod
    def translated(cls, given: Mapping[str, float]) -> str | None:
        """From a scale, or a rate."""
        shape = given.get("shape", given.get("alpha", 0.0))
        rate = given.get("rate", given.get("beta", math.inf))
        scale = given.get("scale", given.get("theta", 1.0 / rate))
        if not shape or not scale:
            return super().translated(given)
        return f"write {written(cls.key, shape=shape, mean=shape * scale)}"
