"""Phase-type times."""

from __future__ import annotations

from pydantic import model_validator

from scenarios.base import Matrix, Vector
from scenarios.laws.law import Law
from scenarios.validity import (
    check_every_phase_reaches,
    check_probabilities,
    check_square,
    check_subgenerator,
    exits,
)


class PhaseType(Law):
    """Time to absorption of a Markov chain with start vector `alpha` and sub-generator `T`."""

    key = "phase-type"
    alpha: Vector
    T: Matrix

    @model_validator(mode="after")
    def _valid(self) -> PhaseType:
        check_probabilities("alpha", self.alpha)
        check_square("T", self.T, len(self.alpha))
        check_subgenerator("T", self.T)
        check_every_phase_reaches("T", self.T, exits(self.T), "absorption")
        return self
