"""Exponential times."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import model_validator

from scenarios.base import Positive
from scenarios.errors import refused
from scenarios.laws.law import Law, written


class Exponential(Law):
    """Exponential time, by its mean or its rate."""

    key = "exponential"
    one_of = (("mean", "rate"),)
    mean: Positive | None = None
    rate: Positive | None = None

    @model_validator(mode="after")
    def _one_parameter(self) -> Exponential:
        if (self.mean is None) == (self.rate is None):
            raise refused("must have exactly one of the keys mean or rate")
        return self

    @property
    def expected(self) -> float:
        """The mean, also where the rate is given."""
        return 1.0 / (self.rate or 1.0) if self.mean is None else self.mean

    @property
    def intensity(self) -> float:
        """The rate, also where the mean is given."""
        return 1.0 / (self.mean or 1.0) if self.rate is None else self.rate

    @classmethod
    def translated(cls, given: Mapping[str, float]) -> str | None:
        """From a scale."""
        if set(given) not in ({"scale"}, {"value"}):
            return super().translated(given)
        return f"write {written(cls.key, mean=next(iter(given.values())))}"
