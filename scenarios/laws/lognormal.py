"""Lognormal times."""

from __future__ import annotations

import math
from collections.abc import Mapping

from pydantic import model_validator

from scenarios.base import Positive
from scenarios.errors import refused
from scenarios.laws.law import Law, written

_VARIATIONS = (1e-6, 1e6)
"""The least and the largest sd, in means."""


class Lognormal(Law):
    """Time whose logarithm is normal; `mean` and `sd` are those of the time."""

    key = "lognormal"
    mean: Positive
    sd: Positive

    @model_validator(mode="after")
    def _valid(self) -> Lognormal:
        least, largest = _VARIATIONS
        if not least <= self.sd / self.mean <= largest:
            allowed = f"must be between {least:g} and {largest:g} times the mean ({self.mean!r})"
            raise refused(allowed, key="sd", value=self.sd)
        return self

    @property
    def of_logarithm(self) -> tuple[float, float]:
        """Mean and standard deviation of the logarithm."""
        variance = math.log1p((self.sd / self.mean) ** 2)
        return math.log(self.mean) - variance / 2, math.sqrt(variance)

    @classmethod
    def translated(cls, given: Mapping[str, float]) -> str | None:
        """From mean and standard deviation of the logarithm, or its median."""
        if "shape" in given:
            return "it takes no shape: write lognormal = { mean = …, sd = … }, both of the time"
        sigma = given.get("sigma", given.get("s"))
        mu = math.log(given["median"]) if "median" in given else given.get("mu")
        if mu is None and "scale" in given:
            mu = math.log(given["scale"])
        if sigma is None or mu is None or abs(mu) > 200 or sigma > 5:
            return super().translated(given)
        mean = math.exp(mu + sigma**2 / 2)
        sd = mean * math.sqrt(math.expm1(sigma**2))
        return f"mean and sd are those of the time: write {written(cls.key, mean=mean, sd=sd)}"
