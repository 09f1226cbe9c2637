"""The two sides of a lesson: what is simulated, and what the formula is evaluated for.

A turned knob, be it a slider or a choice, is a change of a key. A change of a number moves both
sides, unless its key is one of `Lesson.breaking` (`lesson.py`), the keys that the formula makes an
assumption about. There another number, law or rule (`_kind`) breaks the assumption: it moves the
simulated side only. `theory.py` evaluates the assumed side, `live_verdict.py` compares, and
`page/assumptions.js` shows what is broken.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from crawlsim.explore.lesson import Lesson, Opened
from crawlsim.report.words import value_in_words
from scenarios import Scenario, ScenarioError


@dataclass(frozen=True)
class BrokenAssumption:
    """An assumption that what is simulated does not keep, by its key.

    Its two values have the `labels` of the lesson's knob where they are lists of tables.
    """

    key: str
    assumed: Any
    simulated: Any
    labels: tuple[str, str] | None = None

    def record(self) -> dict[str, Any]:
        """For JSON, with a sentence about it."""
        named = ""
        if self.labels is None:
            are_laws = isinstance(self.assumed, Mapping) and isinstance(self.simulated, Mapping)
            named = "" if are_laws else f"{self.key} = "
            assumed, simulated = value_in_words(self.assumed), value_in_words(self.simulated)
        else:
            assumed, simulated = self.labels
        text = f"the formula assumes {named}{assumed}, you simulate {simulated}"
        return {
            "key": self.key,
            "assumed": self.assumed,
            "simulated": self.simulated,
            "text": text,
        }


@dataclass(frozen=True)
class Sides:
    """Both sides, and the assumptions that tell them apart."""

    simulated: Scenario
    assumed: Scenario
    broken: tuple[BrokenAssumption, ...]


def sides_of(opened: Opened, changes: Mapping[str, Any]) -> Sides:
    """Both sides of a lesson that was changed.

    Parameters
    ----------
    opened : Opened
    changes : mapping
        Keys of the scenario file and their values.

    Raises
    ------
    ScenarioError
        If one of the sides is not valid.
    """
    scenario = opened.scenario
    simulated = scenario.with_(_standing(changes))
    keys = [
        key
        for key in opened.lesson.breaking
        if _kind(value_at(simulated, key)) != _kind(value_at(scenario, key))
    ]
    kept = {
        key: value
        for key, value in changes.items()
        if not any(_breaks(scenario, key, value, each) for each in keys)
    }
    assumed = scenario.with_(kept)
    broken = (
        _broken_assumption(opened.lesson, key, value_at(assumed, key), value_at(simulated, key))
        for key in keys
    )
    return Sides(simulated, assumed, tuple(broken))


def _broken_assumption(lesson: Lesson, key: str, assumed: Any, simulated: Any) -> BrokenAssumption:
    knob = next((each for each in lesson.knobs if each.key == key), None)
    labels = None
    if knob is not None and isinstance(simulated, list):
        choices = knob.choice_of(assumed), knob.choice_of(simulated)
        labels = (choices[0].label, choices[1].label) if choices[0] and choices[1] else None
    return BrokenAssumption(key, assumed, simulated, labels)


def _standing(changes: Mapping[str, Any]) -> dict[str, Any]:
    """The changes without those that a later one replaces: the mean of a law, by another law."""
    keys = list(changes)
    return {
        key: value
        for place, (key, value) in enumerate(changes.items())
        if not any(key.startswith(f"{later}.") for later in keys[place + 1 :])
    }


def _breaks(scenario: Scenario, key: str, value: Any, assumption: str) -> bool:
    """Whether a change by itself puts something of another kind where something is assumed."""
    if not f"{key}.".startswith(f"{assumption}.") and not assumption.startswith(f"{key}."):
        return False
    try:
        changed = scenario.with_(key, value)
    except ScenarioError:  # it needs others
        return True
    return bool(_kind(value_at(changed, assumption)) != _kind(value_at(scenario, assumption)))


def value_at(scenario: Scenario, key: str) -> Any:
    """The value of a key, defaults included; None where there is none."""
    value: Any = scenario.model_dump(mode="json", exclude_none=True)
    for part in key.split("."):
        if isinstance(value, Mapping):
            value = value.get(part)
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            value = None
    return value


def _kind(value: Any) -> Any:
    """What may not change at a key: the name of a law or rule, not its parameters; any number."""
    return tuple(value) if isinstance(value, Mapping) else value
