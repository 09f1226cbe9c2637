"""What a formula, its prediction and a statement are."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from numbers import Real
from typing import Any, Literal, get_args

from analytic.index.names import called
from analytic.machinery.refusal import NoAnswerError
from scenarios import MEASURES, Scenario
from scenarios.base import nearest
from scenarios.measures import Subject

Kind = Literal["exact", "lower bound", "upper bound", "asymptotic", "approximation"]

Origin = Literal["printed", "corrected", "re-derived", "own"]

Condition = Callable[[Scenario], str | None]
"""Gives the reason why a formula does not cover a scenario, or None; its docstring's first line
is the condition in words. It never raises: a `NoAnswerError` inside is the reason."""

_PREMISES: set[Condition] = set()
_DEPENDENT: set[Condition] = set()


def premise(condition: Condition) -> Condition:
    """Mark a condition that says what kind of system a formula is about.

    The others are asked only where it holds; they may read the section that it asks for.
    """
    _PREMISES.add(condition)
    return condition


def dependent(condition: Condition) -> Condition:
    """Mark a condition that relies on those before it in a row: on a size, say, or a solution.

    It is asked only where they hold.
    """
    _DEPENDENT.add(condition)
    return condition


class Reasons:
    """What conditions say of one scenario; each is asked once, however many formulas share it.

    Parameters
    ----------
    scenario : Scenario

    Attributes
    ----------
    scenario : Scenario
    """

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self._said: dict[Condition, str | None] = {}

    def __call__(self, condition: Condition) -> str | None:
        """The reason of a condition, None where it holds."""
        if condition not in self._said:
            try:
                self._said[condition] = condition(self.scenario)
            except NoAnswerError as refusal:
                self._said[condition] = str(refusal)
        return self._said[condition]

    def behind(self, conditions: Iterable[Condition], reasons: Iterable[str]) -> list[Condition]:
        """The conditions that were asked and gave one of the reasons."""
        given = set(reasons)
        return [each for each in conditions if self._said.get(each) in given]


SHARE_OF_TIME = "robots.unchanged.share_of_time"

AS_LONG = f"accesses to unchanged pages are shorter ({SHARE_OF_TIME})"
"""Why no formula holds but those that say `shorter_accesses_too`."""


def is_shortened(scenario: Scenario) -> bool:
    """Whether how long an access takes depends on what it finds, of pages that are known."""
    unchanged = scenario.robots.unchanged if scenario.robots else None
    return unchanged is not None and unchanged.shortens and unchanged.share is None


def shorter_accesses_too(scenario: Scenario) -> str | None:  # noqa: ARG001  # as every condition
    """Accesses to unchanged pages may be shorter."""
    return None


def obstacles(conditions: Iterable[Condition], reasons: Reasons) -> Iterator[str]:
    """Everything that stands against a formula, each reason once.

    Of a system of another kind only that it is one; otherwise the reason of every condition that
    does not hold and could be asked.
    """
    conditions = tuple(conditions)
    if is_shortened(reasons.scenario) and shorter_accesses_too not in conditions:
        yield AS_LONG
        return
    said: set[str] = set()
    for given in _premises_first(tuple(conditions)):
        if said:
            return  # a system of another kind
        for condition in given:
            if said and condition in _DEPENDENT:
                continue
            reason = reasons(condition)
            if reason is not None and reason not in said:
                said.add(reason)
                yield reason


@cache
def _premises_first(conditions: tuple[Condition, ...]) -> tuple[tuple[Condition, ...], ...]:
    """Premises, and the others."""
    return tuple(
        tuple(each for each in conditions if (each in _PREMISES) == premises)
        for premises in (True, False)
    )


def is_covered(conditions: Iterable[Condition], scenario: Scenario) -> bool:
    """Whether a scenario meets all conditions."""
    return reason_against(conditions, scenario) is None


def reason_against(conditions: Iterable[Condition], scenario: Scenario) -> str | None:
    """All reasons why conditions do not hold, or None."""
    return "; ".join(obstacles(conditions, Reasons(scenario))) or None


def fails_a_premise(conditions: Iterable[Condition], reasons: Reasons) -> bool:
    """Whether the formula is about systems of another kind."""
    return any(reasons(each) is not None for each in _premises_first(tuple(conditions))[0])


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
            raise ValueError(f"{self.measure!r} is not a measure{nearest(self.measure, MEASURES)}")
        if self.kind not in get_args(Kind):
            raise ValueError(f"kind {self.kind!r} must be one of {', '.join(get_args(Kind))}")
        if not isinstance(self.value, Real) or not math.isfinite(self.value):
            raise ValueError(
                f"the value of {self.measure}, {self.value!r}, must be a finite number"
            )


class _Row:
    """What all rows of the index say of themselves."""

    __slots__ = ()
    paper: str
    number: str
    latex: str

    @property
    def source(self) -> str:
        """Paper and number, by which a prediction names it."""
        return f"{self.paper} {self.number}"

    @property
    def name(self) -> str:
        """As a textbook calls it."""
        return called(self.source)

    @property
    def symbols(self) -> dict[str, str]:
        """What the symbols of the statement stand for, as LaTeX and in words."""
        from analytic.index.notation import symbols_of

        return symbols_of(self.latex, self.paper)


@dataclass(frozen=True, slots=True)
class Formula(_Row):
    """One row of the index of formulas.

    Parameters
    ----------
    paper, number : str
        Key of the bibliography, and the number of the equation or theorem there.
    quantity : str
        What it gives, in words.
    latex : str
        The statement, in the symbols of its paper (`analytic.index.notation`).
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
    over_time : bool
        Whether it holds for a system that interventions change; of such a one no other is given.
    """

    paper: str
    number: str
    quantity: str
    latex: str
    function: Callable[..., Any]
    kind: Kind
    origin: Origin
    conditions: tuple[Condition, ...]
    evaluate: Callable[[Scenario], Values]
    over_time: bool = False

    def reason_against(self, scenario: Scenario) -> str | None:
        """All reasons why the formula does not cover the scenario, or None."""
        return reason_against(self.conditions, scenario)

    def predict(self, scenario: Scenario) -> list[Prediction]:
        """The predictions for a scenario that meets the conditions; undefined values left out.

        Raises
        ------
        NoAnswerError
            If the mathematics refuses; the text is the reason.
        """
        return [
            Prediction(measure, subject, float(value), self.kind, self.source)
            for measure, subject, value in self.evaluate(scenario)
            if math.isfinite(value)
        ]


@dataclass(frozen=True, slots=True)
class Statement(_Row):
    """A row of the index that predicts no measure: an identity, a bound, an algorithm.

    Parameters
    ----------
    paper, number, quantity, latex, function, origin, conditions
        As of a `Formula`.
    kind : str
        As of a `Formula`, or "algorithm".
    """

    paper: str
    number: str
    quantity: str
    latex: str
    function: Callable[..., Any]
    kind: Kind | Literal["algorithm"]
    origin: Origin
    conditions: tuple[Condition, ...] = ()
