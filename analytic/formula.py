"""What a formula and its prediction are."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from numbers import Real
from typing import Any, Literal, get_args

from scenarios import MEASURES, Scenario
from scenarios.measures import Subject

__all__ = ["ORIGINS", "Condition", "Formula", "Kind", "Origin", "Prediction", "Values"]

Kind = Literal["exact", "lower bound", "upper bound", "asymptotic", "approximation"]

Origin = Literal["printed", "corrected", "re-derived", "own"]

ORIGINS: dict[Origin, str] = {
    "printed": "as the paper has it.",
    "corrected": "the paper's is wrong or incomplete; docs/errata.md says what was changed.",
    "re-derived": "not legible in the text of the paper at hand; derived anew from the model "
    "that its words describe (docs/derivations.md).",
    "own": "a result of this project; its proof is in the docstring or in docs/.",
}
"""Where a formula comes from, as words for a reader."""

Condition = Callable[[Scenario], str | None]
"""Gives the reason why a formula does not cover a scenario, or None; its docstring's first line
is the condition in words."""

Values = Iterable[tuple[str, Subject, float]]


@dataclass(frozen=True, slots=True)
class Prediction:
    """A predicted number: what it is about, its value, what kind of value, and its source.

    Public, so that a formula of one's own can be compared with a simulation.

    Parameters
    ----------
    measure : str
        A key of `scenarios.MEASURES`.
    subject : int, str or None
        A page, level or server; a class of pages; None for measures of the whole system.
    value : float
    kind : str
        "exact", "lower bound", "upper bound", "asymptotic" or "approximation".
    source : str
        Paper and number, as shown beside the value.

    Raises
    ------
    ValueError
        If there is no such measure or kind, or the value is not a finite number.
    """

    measure: str
    subject: Subject
    value: float
    kind: Kind
    source: str

    def __post_init__(self) -> None:
        """Refuse what could never be compared."""
        if self.measure not in MEASURES:
            near = get_close_matches(str(self.measure), MEASURES, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ValueError(f"{self.measure!r} is not a measure{hint}")
        if self.kind not in get_args(Kind):
            raise ValueError(f"kind {self.kind!r} must be one of {', '.join(get_args(Kind))}")
        if not isinstance(self.value, Real) or not math.isfinite(self.value):
            raise ValueError(
                f"the value of {self.measure}, {self.value!r}, must be a finite number"
            )


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
    origin : str
        Whether the paper prints it so: a key of `ORIGINS`.
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
    origin: Origin
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
