"""Mixtures of exponential times."""

from __future__ import annotations

import math
from collections.abc import Mapping

from pydantic import model_validator

from scenarios.base import Positive, Vector
from scenarios.laws.exponential import Exponential
from scenarios.laws.law import Law, any_sd, sd_of, written
from scenarios.validity import check_length, check_probabilities


class Hyperexponential(Law):
    """Exponential time whose rate is drawn first."""

    key = "hyperexponential"
    probabilities: Vector
    rates: tuple[Positive, ...]

    @model_validator(mode="after")
    def _valid(self) -> Hyperexponential:
        check_probabilities("probabilities", self.probabilities)
        check_length("rates", self.rates, len(self.probabilities), "probability")
        return self

    @property
    def simplest(self) -> Law:
        """Exponential where all rates that can be drawn are equal."""
        drawn = [
            rate
            for rate, probability in zip(self.rates, self.probabilities, strict=True)
            if probability > 0
        ]
        return Exponential(rate=drawn[0]) if len(set(drawn)) == 1 else self

    @classmethod
    def translated(cls, given: Mapping[str, float]) -> str | None:
        """From a mean and a standard deviation: balanced means (Tijms 2003, B.2)."""
        mean = given.get("mean")
        sd = sd_of(given)
        if mean is None or sd is None:
            return None
        if sd <= mean:
            return f"the sd of hyperexponential times is above the mean; {any_sd(mean, sd)}"
        squared = (sd / mean) ** 2
        tilt = math.sqrt((squared - 1.0) / (squared + 1.0))
        shares = [(1.0 + tilt) / 2, (1.0 - tilt) / 2]
        law = written(cls.key, probabilities=shares, rates=[2.0 * p / mean for p in shares])
        return f"three parameters are needed; with balanced means: {law}"
