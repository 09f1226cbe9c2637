"""What a formula and its prediction are."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from scenarios import Scenario
from scenarios.measures import Subject

__all__ = ["Condition", "Formula", "Kind", "Prediction", "Values"]

Kind = Literal["exact", "lower bound", "upper bound", "asymptotic", "approximation"]

Condition = Callable[[Scenario], str | None]
"""Gives the reason why a formula does not cover a scenario, or None; its docstring's first line
is the condition in words."""

Values = Iterable[tuple[str, Subject, float]]


@dataclass(frozen=True, slots=True)
class Prediction:
    """A predicted number: what it is about, its value, what kind of value, and its source.

    Public, so that a formula of one's own can be compared with a simulation.
    """

    measure: str
    subject: Subject
    value: float
    kind: Kind
    source: str


@dataclass(frozen=True, slots=True)
class Formula:
    """One row of the index of formulas.

    Attributes
    ----------
    paper, number : str
        Key of the bibliography, and the number of the equation or theorem there.
    quantity : str
        What it gives, in words.
    function : callable
        The mathematics, callable with numbers and arrays.
    kind : str
        "exact", a bound, "asymptotic" or "approximation".
    conditions : tuple of callables
        Each gives a reason why the formula does not cover a scenario, or None.
    evaluate : callable
        From a scenario that meets the conditions to (measure, subject, value) rows.
    """

    paper: str
    number: str
    quantity: str
    function: Callable[..., Any]
    kind: Kind
    conditions: tuple[Condition, ...]
    evaluate: Callable[[Scenario], Values]

    @property
    def source(self) -> str:
        """Paper and number, as shown beside a prediction."""
        return f"{self.paper} {self.number}"

    def reason_against(self, scenario: Scenario) -> str | None:
        """The first reason why the formula does not cover the scenario, or None."""
        reasons = (condition(scenario) for condition in self.conditions)
        return next((reason for reason in reasons if reason is not None), None)

    def predict(self, scenario: Scenario) -> list[Prediction]:
        """The predictions for a scenario that meets the conditions; undefined values left out."""
        return [
            Prediction(measure, subject, float(value), self.kind, self.source)
            for measure, subject, value in self.evaluate(scenario)
            if math.isfinite(value)
        ]
