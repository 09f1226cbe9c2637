"""Lessons: data and text, one file each, so that a lecturer adds one without code."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from pydantic import Field, ValidationError, ValidationInfo, field_validator, model_validator

from analytic import FORMULAS
from crawlsim.explore.mathml import LatexError, mathml
from scenarios import Scenario, ScenarioError, load
from scenarios.base import QUOTE, Section, nearest, one_of
from scenarios.errors import refused
from scenarios.measures import MEASURES, PREDICTED_ONLY, QUANTILE_MEASURES, Subject
from scenarios.messages import first_error
from scenarios.scenario import scenario_from

_LIBRARY = resources.files("crawlsim.explore") / "lessons"

LAWS = (
    "robots.access_time",
    "robots.deliveries",
    "buffer.service",
    "buffer.obsolescence",
    "servers.arrivals",
    "servers.service",
    "page_set.lifetime",
    "page_set.discovery",
)
"""Keys at which another law breaks what a formula assumes, whatever the lesson."""


NOT_SHOWN = (*QUANTILE_MEASURES, *PREDICTED_ONLY, "full_probability", "obsolete_rate")
"""Measures that are not sums over replications, or are only predicted."""

PLACE = "<([^<>]+)>"
"""Where a number is put into a formula, by its name."""


class Choice(Section):
    """One of the values that a knob chooses from."""

    label: str
    value: Any


class Knob(Section):
    """A key of the scenario that the page lets one turn: a number in a range, or a choice."""

    key: str
    label: str
    min: float | None = None
    max: float | None = None
    step: float | None = None
    choices: tuple[Choice, ...] = ()

    def choice_of(self, value: Any) -> Choice | None:
        """The choice that a value is; None: it is none of them."""
        return next((each for each in self.choices if says(each.value, value)), None)


def says(choice: Any, value: Any) -> bool:
    """Whether a value is a choice, which leaves out what it does not change."""
    if isinstance(choice, Mapping) and isinstance(value, Mapping):
        return all(key in value and says(choice[key], value[key]) for key in choice)
    if isinstance(choice, list) and isinstance(value, list):
        return len(choice) == len(value) and all(map(says, choice, value))
    return bool(choice == value)


class Assumption(Section):
    """What the formula assumes, in words, and the key whose other values break it."""

    text: str
    key: str | None = None


class Formula(Section):
    """The formula that predicts the measure, as LaTeX.

    Attributes
    ----------
    source : str
        As `crawlsim solve --json` names it.
    latex : str
        Where it is left out: the statement of the row of `crawlsim formulas` of that source.
    numbers : str
        The same with names in angle brackets where numbers are put in.
    symbols : dict
        What these names stand for: arithmetic with numbers, the names before, keys of the
        scenario file, and predicted measures (``loss_rate``, ``sojourn_time.served``).
    legend : dict
        What the symbols stand for, by their LaTeX. Where it is left out: as in the paper.
    """

    source: str
    latex: str = Field(default="", validate_default=True)
    numbers: str = ""
    symbols: Mapping[str, str] = Field(default_factory=dict)
    legend: Mapping[str, str] = Field(default_factory=dict)

    @field_validator("latex")
    @classmethod
    def _of_the_index(cls, latex: str, info: ValidationInfo) -> str:
        if "source" not in info.data:
            return latex  # its own error is the one to show
        source: str = info.data["source"]
        known = {row.source: row.latex for row in reversed(FORMULAS)}  # the first one of a source
        stated = latex or known.get(source, "")
        if not stated:
            without = f'is missing, and no row of `crawlsim formulas` has the source "{source}"'
            raise refused(without + nearest(source, known, QUOTE))
        return stated

    @field_validator("latex", "numbers", "legend")
    @classmethod
    def _can_be_drawn(cls, latex: str | Mapping[str, str]) -> str | Mapping[str, str]:
        for each in (latex,) if isinstance(latex, str) else latex:
            try:
                mathml(re.sub(PLACE, "1", each) or "1")
            except LatexError as error:
                raise refused(f"is not LaTeX that can be drawn ({error})") from None
        return latex

    @field_validator("symbols")
    @classmethod
    def _can_be_read(cls, symbols: Mapping[str, str]) -> Mapping[str, str]:
        for name, expression in symbols.items():
            try:
                ast.parse(expression, mode="eval")
            except (SyntaxError, ValueError):
                raise refused("is not arithmetic", key=name, value=expression) from None
        return symbols


class Guess(Section):
    """The range in which the guess is asked for; `page/guess.js` says how near it was.

    Where it is asked for in another unit than the measure's, such as per cent above a bound:
    `zero` is the measure at 0 of these units, `one` how much of it one unit is. With `students` it
    is not a value of the measure, but how many of twenty students see the 95 % interval left.
    """

    low: float
    high: float
    unit: str | None = None
    zero: float = 0.0
    one: float = 1.0
    students: bool = False

    @model_validator(mode="after")
    def _is_in_its_unit(self) -> Guess:
        if self.unit and not self.students and "one" not in self.model_fields_set:
            allowed = "is missing; unit needs it: how much of the measure one unit is, 0.01 for %"
            raise refused(allowed, key="one")
        return self


class Lesson(Section):
    """One lesson.

    Attributes
    ----------
    scenario : str or dict
        A library scenario, the path of a file, or the tables of one.
    set : dict
        Changes of it, by key.
    narrow : float
        Half-width of the always-valid band, as a share of the prediction, from which on it says
        that the two agree.
    speed : float
        Replications a second, unless the page asks for others.
    text, after : str
        What is said before the guess, and what would answer it.
    """

    place: int = 1000
    title: str
    question: str
    text: str = ""
    after: str = ""
    scenario: str | dict[str, Any]
    set: Mapping[str, Any] = Field(default_factory=dict)
    measure: str
    subject: Subject = None
    narrow: float = Field(default=0.02, gt=0)
    speed: float = Field(default=20.0, gt=0)
    knobs: tuple[Knob, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    formula: Formula | None = None
    guess: Guess | None = None

    def system(self, folder: str = ".") -> Scenario:
        """The scenario with the changes of the lesson.

        Raises
        ------
        ScenarioError
            If it is not valid.
        """
        if isinstance(self.scenario, str):
            return load(self.scenario, self.set)
        scenario = scenario_from(self.scenario, folder)
        return scenario.with_(self.set) if self.set else scenario

    @property
    def breaking(self) -> tuple[str, ...]:
        """The keys whose other laws, rules or values the formula does not cover."""
        own = (each.key for each in self.assumptions if each.key is not None)
        return tuple(dict.fromkeys((*own, *LAWS)))


class Opened:
    """A lesson with its key and its scenario."""

    def __init__(self, key: str, lesson: Lesson, folder: str = ".") -> None:
        self.key = key
        self.lesson = lesson
        self.scenario = lesson.system(folder)


def lesson_from(entries: dict[str, Any], shown: str) -> Lesson:
    """The lesson that the tables of its file describe.

    Raises
    ------
    ScenarioError
        Naming the key, its value and what is allowed.
    """
    try:
        lesson = Lesson.model_validate(entries)
    except ValidationError as error:
        refusal = first_error(error, Lesson)
        refusal.file = shown
        raise refusal from None
    shown_ones = [name for name in MEASURES if name not in NOT_SHOWN]
    if lesson.measure not in shown_ones:
        allowed = f"must be one of the measures {one_of(lesson.measure, shown_ones)}"
        raise ScenarioError("measure", lesson.measure, allowed, shown)
    return lesson


@cache
def library() -> tuple[Opened, ...]:
    """The lessons that come with the program, in their order."""
    lessons = []
    for entry in _LIBRARY.iterdir():
        if entry.name.endswith(".toml"):
            entries = tomllib.loads(entry.read_text(encoding="utf-8"))
            key = entry.name.removesuffix(".toml")
            lessons.append(Opened(key, lesson_from(entries, entry.name)))
    return tuple(sorted(lessons, key=lambda each: (each.lesson.place, each.key)))
