"""Bounds on measures as users write them: ``loss_probability <= 0.01``."""

from __future__ import annotations

import math
import operator
import re
from typing import NamedTuple

from scenarios import Scenario, ScenarioError
from scenarios.base import one_of
from scenarios.measures import MEASURES, Subject
from scenarios.plugins import load_installed

_RELATIONS = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt}

_CLASSES = ("served", "obsolete", "accepted", "all")
"""Of pages, whose sojourn times have quantiles."""


class WrittenBound(NamedTuple):
    """What stands on the two sides of a relation, and the relation.

    Attributes
    ----------
    name : str
        A measure, with its subject where it has several.
    relation : str
        "<", "<=", ">" or ">=".
    value : float
    """

    name: str
    relation: str
    value: float

    def __str__(self) -> str:
        return f"{self.name} {self.relation} {self.value:g}"

    @property
    def measure(self) -> str:
        """The measure alone."""
        return self.name.partition(" ")[0]

    @property
    def keys(self) -> tuple[tuple[str, Subject], ...]:
        """The measures and subjects that may be meant, the likeliest first."""
        measure, _, subject = self.name.partition(" ")
        subjects: tuple[Subject, ...] = (subject,) if subject else (None, "all")
        if subject.isascii() and subject.isdigit():
            subjects = (int(subject), subject)
        return tuple((measure, each) for each in subjects)

    def holds(self, value: float) -> bool:
        """Whether a value is within the bound; nan never is."""
        return bool(_RELATIONS[self.relation](value, self.value))

    def is_open(self, low: float, high: float) -> bool:
        """Whether an interval tells nothing: it has values on both sides, or no ends."""
        return math.isnan(low) or math.isnan(high) or self.holds(low) != self.holds(high)


def written_bound(text: str, key: str) -> WrittenBound:
    """The bound that a text states.

    Raises
    ------
    ScenarioError
        With this key, if it states none.
    """
    found = re.fullmatch(r"([^<>=]+)(<=|>=|<|>)(.+)", text)
    try:
        value = float(found[3]) if found else math.nan
    except ValueError:
        value = math.nan
    if found is None or not math.isfinite(value):
        allowed = "must be a measure with a bound, such as 'loss_probability <= 0.01'"
        raise ScenarioError(key, text, allowed)
    return WrittenBound(" ".join(found[1].split()), found[2], value)


def bound_on_measure(text: str, key: str) -> WrittenBound:
    """The bound on a measure that a text states.

    Raises
    ------
    ScenarioError
        With this key, if it states none, or begins with no measure.
    """
    bound = written_bound(text, key)
    require_measure(bound.name, text, key)
    return bound


def require_measure(name: str, text: str, key: str) -> None:
    """Refuse a name, with its subject or without, that begins with no measure.

    Raises
    ------
    ScenarioError
        With this key and text.
    """
    load_installed()
    if name.partition(" ")[0] not in MEASURES:
        raise ScenarioError(key, text, f"must be a measure: {one_of(name, MEASURES)}")


def asks_for_quantile(scenario: Scenario, name: str) -> bool:
    """Whether a measure with its subject is a quantile that the scenario asks for."""
    measure, *words = name.split()
    *whose, share = words or [""]
    if share not in map(repr, scenario.model.quantiles.get(measure, ())):
        return False
    if measure == "sojourn_quantile":
        return whose in [[each] for each in _CLASSES]
    return not whose or (len(whose) == 1 and whose[0].isdecimal())
