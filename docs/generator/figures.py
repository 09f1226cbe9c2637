"""The figures of the pages of results: their numbers, and what they show in words."""

from __future__ import annotations

import csv
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from crawlsim.report.words import of_entry
from generator.markdown import code, plain

FOLDER = Path(__file__).parents[1] / "pictures" / "theory"
NUMBERS = FOLDER / "numbers.csv"
TIMES = " times"
"""Ends the name of a list whose numbers are all multiplied."""

WITHOUT = {
    "formula-avrachenkov2011-section-3-idle-server": "a simulation shows the same number under "
    "the name of another measure, the starvation probability",
    "formula-avrachenkov2011-section-3-accesses-to-unchanged-pages": "the share is one of the "
    "file's",
    "formula-coffman1998-section-2": "its access times are constant, so that every run gives the "
    "same number and there is no interval",
    "formula-coffman1998-section-2-over-the-window": "the accesses are those of one plan, so that "
    "every run gives nearly the same number",
    "formula-courses-queue-recovery": "a simulation does not look for the moment of recovery",
    "formula-pipeline-decomposition": "each of its points would take minutes",
    "formula-pipeline-end-to-end-cost-approximately": "each of its points would take minutes",
}
"""Pages of formulas without a figure, and why; pages of statements have none."""

_SINGULAR = {"obsolescence_rate": "page", "crawl_rate": "page", "crawl_frequency": "page"}
_SINGULAR |= {"index_age": "page", "level_probability": "level", "preemption_probability": "server"}
_SINGULAR |= {"routing_cost": "server", "loss_probability": "class"}
_SINGULAR |= {"obsolescence_probability": "class"}


class Number(NamedTuple):
    """One number by theory, and the 95 % interval of the simulation."""

    formula: str
    source: str
    time_unit: str
    changed: str
    to: float
    measure: str
    subject: str
    kind: str
    theory: float
    simulated: float
    low: float
    high: float

    @property
    def line(self) -> tuple[str, str, str]:
        """What the numbers of one line have in common."""
        return self.source, self.kind, self.subject

    @property
    def subject_words(self) -> str:
        """Of what it is a number: a page, a level, a class of pages."""
        singular = _SINGULAR.get(self.measure, "")
        return f"{singular} {self.subject}".strip() if self.subject.isdigit() else self.subject


@cache
def figures() -> dict[str, list[Number]]:
    """The numbers of each figure, by the label of its page."""
    with NUMBERS.open(encoding="utf-8", newline="") as file:
        numbers = [_number(row) for row in csv.DictReader(file)]
    return {label: list(each) for label, each in groupby(numbers, lambda one: one.formula)}


def _number(row: dict[str, str]) -> Number:
    texts = {"formula", "source", "time_unit", "changed", "measure", "subject", "kind"}
    return Number(**{key: row[key] if key in texts else float(row[key]) for key in row})  # type: ignore[arg-type]


def changed_words(number: Number) -> str:
    """What is changed, with its unit: the label of an axis."""
    words = of_entry(number.changed.removesuffix(TIMES), number.time_unit)
    return f"{words}, times those of the file" if number.changed.endswith(TIMES) else words


def figure_of(label: str) -> str:
    """The figure of a page with its caption, or why there is none; empty for a statement.

    Parameters
    ----------
    label : str
        Of the page.
    """
    if label in WITHOUT:
        return f"There is no figure: {WITHOUT[label]}\\."
    numbers = figures().get(label)
    if numbers is None:
        return ""
    kinds = " and ".join(dict.fromkeys(map(_kind_words, numbers)))
    caption = (
        f"{plain(kinds[0].upper() + kinds[1:])} as a line; points: simulations with 95 % "
        f"intervals, of the system below with other values of {_changed_as_code(numbers[0])}\\."
    )
    return f"![{plain(alternative_of(numbers))}](/pictures/theory/{label}.png)\n\n{caption}"


def alternative_of(numbers: list[Number]) -> str:
    """What a figure shows, for those who do not see it."""
    first = numbers[0]
    line = [each for each in numbers if each.line == first.line]
    what = f"{first.measure.replace('_', ' ')} {first.subject_words}".strip()
    ends = (
        f"from {line[0].theory:.3g} at {line[0].to:g} to {line[-1].theory:.3g} at {line[-1].to:g}"
    )
    return f"{what} against {changed_words(first)}: {_kind_words(first)} {ends}, with simulations"


def _kind_words(number: Number) -> str:
    return "theory" if number.kind == "exact" else number.kind


def _changed_as_code(number: Number) -> str:
    if number.changed.endswith(TIMES):
        return f"{code(number.changed.removesuffix(TIMES))}, all multiplied by one number"
    return code(number.changed)
