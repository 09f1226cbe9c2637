"""Mixtures of exponential times."""

from __future__ import annotations

from pydantic import model_validator

from scenarios.base import Positive, Vector
from scenarios.errors import refused
from scenarios.laws.law import Law
from scenarios.validity import check_probabilities


class Hyperexponential(Law):
    """Exponential time whose rate is drawn first."""

    key = "hyperexponential"
    probabilities: Vector
    rates: tuple[Positive, ...]

    @model_validator(mode="after")
    def _valid(self) -> Hyperexponential:
        check_probabilities("probabilities", self.probabilities)
        if len(self.rates) != len(self.probabilities):
            allowed = f"must have {len(self.probabilities)} entries, one per probability"
            raise refused(allowed, key="rates", value=self.rates)
        return self
