"""Pareto times."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from scenarios.base import Positive
from scenarios.laws.law import ByShapeOrSd, Law, written

_LARGEST_SHAPE = 1e6


class Pareto(ByShapeOrSd, Law):
    """Pareto time of the first kind: ``P(X > x) = (least / x)^shape`` from the least time on.

    Up to shape 2 the variance is infinite. With a standard deviation the shape is above 2.
    """

    key = "pareto"
    shapes = (2.0 + 1e-9, _LARGEST_SHAPE)
    shape: Annotated[Positive, Field(gt=1.0, le=_LARGEST_SHAPE)] | None = None

    @staticmethod
    def shape_with(variation: float) -> float:
        """``1 + sqrt(1 + mean² / sd²)``."""
        return 1.0 + math.hypot(1.0, 1.0 / variation)

    @property
    def least(self) -> float:
        """The least time."""
        shape = self.shape_parameter
        return self.mean * (shape - 1.0) / shape

    @property
    def tail_index(self) -> float:
        """The shape."""
        return self.shape_parameter

    @classmethod
    def translated(cls, given: Mapping[str, float]) -> str | None:
        """From the least time."""
        names = ("minimum", "min", "low", "least", "xm", "x_m", "scale")
        least = next((given[name] for name in names if name in given), None)
        shape = given.get("shape", given.get("alpha", given.get("a")))
        if shape is not None and shape <= 1.0:
            return "with this shape the mean is infinite; the shape must be > 1"
        if shape is None and least is not None and "mean" in given:
            if given["mean"] <= least:
                return "the least time must be below the mean"
            shape = given["mean"] / (given["mean"] - least)
        if shape is None or (least is None and "mean" not in given):
            return super().translated(given)
        mean = given["mean"] if least is None else least * shape / (shape - 1.0)
        return f"write {written(cls.key, mean=mean, shape=shape)}"
