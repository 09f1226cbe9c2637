"""Mixtures of other laws."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import model_validator

from scenarios.base import Vector
from scenarios.errors import refused
from scenarios.laws.law import Law
from scenarios.text import counted
from scenarios.validity import check_probabilities

if TYPE_CHECKING:
    Component = Law  # every law but this one: `scenarios.laws` knows them


class Mixture(Law):
    """Time whose law is drawn first, from those `of` which it is a mixture."""

    key = "mixture"
    probabilities: Vector
    of: tuple[Component, ...]

    @model_validator(mode="after")
    def _valid(self) -> Mixture:
        check_probabilities("probabilities", self.probabilities)
        if len(self.of) != len(self.probabilities):
            allowed = f"must have {counted(len(self.probabilities), 'law')}, one per probability"
            raise refused(allowed, key="of")
        return self

    @property
    def simplest(self) -> Law:
        """The law that is drawn for certain, or that all are."""
        drawn = {
            law.simplest
            for probability, law in zip(self.probabilities, self.of, strict=True)
            if probability
        }
        return drawn.pop() if len(drawn) == 1 else self

    @property
    def tail_index(self) -> float:
        """That of the heaviest law which is ever drawn."""
        drawn = zip(self.probabilities, self.of, strict=True)
        return min(law.tail_index for probability, law in drawn if probability)
