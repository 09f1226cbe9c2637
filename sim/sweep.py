"""The cells of a sweep: every combination of some entries of a scenario, and the rows of each.

`crawlsim/cli/sweep_cells.py` keeps those that are done, and goes on with the others.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import product
from typing import Any, NamedTuple

from scenarios import Results, Scenario, ScenarioError
from scenarios.files import value_text
from scenarios.measures import PREDICTED_ONLY, Subject

_LARGEST = 10_000
_NUMBER = r"([+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)"
_RANGE = re.compile(rf"{_NUMBER}\.\.{_NUMBER}(?:\.\.{_NUMBER})?", re.ASCII)
_BEGINS_A_RANGE = re.compile(r"[+-]?\d[\d.eE+-]*?\.\.", re.ASCII)
_RANGE_IN_A_LIST = re.compile(r"\[[^\"']*\.\.[^\"']*")
_FEW_SUBJECTS = 6
_WHOLE = (None, "all")

Key = tuple[str, Subject]


class Row(NamedTuple):
    """One number of one cell: a line of ``sweep.csv`` after the varied entries.

    Attributes
    ----------
    measure, subject
        Which number.
    estimate, standard_error, low, high : float
        By simulation, with the ends of the 95 % interval; nan where undefined.
    replications : int
    predicted : float or None
        By formula, where one is exact.
    source : str or None
        Of the formula.
    """

    measure: str
    subject: Subject
    estimate: float
    standard_error: float
    low: float
    high: float
    replications: int
    predicted: float | None
    source: str | None


COLUMNS = Row._fields


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination of the varied entries, and the scenario it gives."""

    varied: Mapping[str, Any]
    scenario: Scenario


def split_values(text: str) -> list[str]:
    """The values of ``v1,v2,…``; commas inside brackets, braces and quotes do not split."""
    values = [""]
    depth = 0
    quote = ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter in "[{":
            depth += 1
        elif letter in "]}":
            depth -= 1
        if letter == "," and depth == 0 and not quote:
            values.append("")
        else:
            values[-1] += letter
    return [value.strip() for value in values]


def label_of(cell: Cell) -> str:
    """The varied entries of a cell in words."""
    return ", ".join(f"{key} = {value_text(value)}" for key, value in cell.varied.items())


def parse_vary(
    options: Sequence[str], parse: Callable[[str], Any], asked_by: str = "--vary"
) -> dict[str, list[Any]]:
    """The varied entries and their values.

    Parameters
    ----------
    options : sequence of str
        Each ``key=v1,v2,…``, where ``2..5`` stands for 2, 3, 4, 5, and ``1..9..2`` for every other
        number from 1 to 9; with decimals the step must be given.
    parse : callable
        From the text of a value to the value.
    asked_by : str
        What a refusal names.

    Raises
    ------
    ScenarioError
        If an option is not of this form, or a key or a value appears twice.
    """
    varied: dict[str, list[Any]] = {}
    for option in options:
        key, sign, text = option.partition("=")
        key = key.strip()
        values = split_values(text)
        if not sign or not key or not all(values):
            raise ScenarioError(asked_by, option, "must be KEY=VALUE,VALUE,…")
        if key in varied:
            raise ScenarioError(asked_by, option, f"{key} is varied twice")
        written = (_range_or_value(value, option, asked_by) for value in values)
        varied[key] = [parse(each) for some in written for each in some]
        if again := [one for n, one in enumerate(varied[key]) if one in varied[key][:n]]:
            raise ScenarioError(asked_by, option, f"{again[0]!r} appears twice")
    return varied


def _range_or_value(text: str, option: str, asked_by: str) -> list[str]:
    """The numbers of ``first..last`` or ``first..last..step``; all other texts as they are.

    Raises
    ------
    ScenarioError
        If it begins like a range and is none, or has more numbers than a sweep may have cells.
    """
    if _RANGE_IN_A_LIST.fullmatch(text):
        allowed = f"{text}: only numbers have ranges; write each list: KEY=[0,1],[1,0]"
        raise ScenarioError(asked_by, option, allowed)
    if not _BEGINS_A_RANGE.match(text):
        return [text]
    match = _RANGE.fullmatch(text)
    if match is None:
        allowed = f"{text}: a range must be FIRST..LAST or FIRST..LAST..STEP, all of them numbers"
        raise ScenarioError(asked_by, option, allowed)
    texts = [each for each in match.groups() if each is not None]
    whole = all(re.fullmatch(r"[+-]?\d+", each) for each in texts)
    if len(texts) < 3 and not whole:
        raise ScenarioError(asked_by, option, f"{text}: with decimals a range needs a step")
    first, last, step = map(Decimal, [*texts, "1"][:3])
    if step == 0 or (last - first) / step < 0:
        raise ScenarioError(asked_by, option, f"{text}: no step of {step} leads there")
    count = int((last - first) / step) + 1
    if count > _LARGEST:
        allowed = f"{text}: {count} numbers, and at most {_LARGEST} are allowed"
        raise ScenarioError(asked_by, option, allowed)
    numbers = [first + index * step for index in range(count)]
    return [str(int(each)) if whole else f"{float(each)!r}" for each in numbers]


HOW = 'sweep(system, {"buffer.waiting_places": [1, 2, 3]})'
"""How it is asked for in Python."""


def varied_of(
    vary: Mapping[str, Iterable[Any]] | str, values: Iterable[Any] | None = None
) -> dict[str, list[Any]]:
    """The varied entries and their values, from a mapping, or from a key and its values.

    Raises
    ------
    ScenarioError
        If it is neither, or a key has no list of values.
    """
    given = {vary: values} if isinstance(vary, str) else vary
    if not isinstance(given, Mapping) or not given or (values is not None and given is vary):
        raise ScenarioError("vary", vary, f"must be keys and lists of values: {HOW}")
    varied = {}
    for key, some in given.items():
        if isinstance(some, str | bytes | Mapping) or not isinstance(some, Iterable):
            raise ScenarioError(key, some, f"needs a list of values: {HOW}")
        varied[key] = some.tolist() if hasattr(some, "tolist") else list(some)
        if not varied[key]:
            raise ScenarioError(key, varied[key], f"needs at least one value: {HOW}")
    return varied


def cells(
    scenario: Scenario, varied: Mapping[str, Sequence[Any]], asked_by: str = "--vary"
) -> list[Cell]:
    """All combinations, the last entry varying fastest; every one is checked before any runs.

    Raises
    ------
    ScenarioError
        If a combination is not valid, or there are more than ten thousand.
    """
    count = math.prod(map(len, varied.values()))
    if count > _LARGEST:
        raise ScenarioError(asked_by, f"{count} cells", f"must be at most {_LARGEST}")
    combinations = (dict(zip(varied, each, strict=True)) for each in product(*varied.values()))
    return [Cell(changes, scenario.with_(changes)) for changes in combinations]


def shown(scenario: Scenario, keys: Iterable[Key]) -> list[Key]:
    """The measures and subjects that are shown, the most important first; the files hold all.

    The control cost where there are prices; every subject of a judged measure that has few; where
    nothing is judged, or nothing has few subjects, the measures of the whole system.

    Parameters
    ----------
    scenario : Scenario
    keys : iterable of (measure, subject)
        What was simulated.
    """
    subjects: dict[str, list[Subject]] = {}
    for measure, subject in dict.fromkeys(keys):
        subjects.setdefault(measure, []).append(subject)
    few = [name for name in scenario.judged if len(subjects.get(name, ())) <= _FEW_SUBJECTS]
    priced = ["control_cost"] if scenario.costs.model_fields_set else []
    names = dict.fromkeys([*priced, *(scenario.judged or subjects), *PREDICTED_ONLY])
    chosen = [(n, s) for n in names for s in subjects.get(n, ()) if n in few or s in _WHOLE]
    chosen = chosen or [(n, s) for n in subjects for s in subjects[n] if s in _WHOLE]
    return sorted(chosen, key=lambda key: key[1] not in _WHOLE)


def kept(scenario: Scenario, keys: Iterable[Key]) -> list[Key]:
    """What cells are compared by: what is shown, and all but single pages, levels and servers."""
    every = list(keys)
    chosen = set(shown(scenario, every))
    return [key for key in every if key in chosen or not isinstance(key[1], int)]


def rows_of(
    results: Results, predictions: Mapping[tuple[str, Subject], tuple[float, str]]
) -> Iterator[Row]:
    """Every number of one cell.

    Parameters
    ----------
    results : Results
    predictions : mapping (measure, subject) -> (value, source)
        What the formulas say, where they say something.
    """
    for row in results.estimates:
        predicted, source = predictions.get((row.measure, row.subject), (None, None))
        numbers = (row.estimate, row.standard_error, row.low, row.high, results.count)
        yield Row(row.measure, row.subject, *numbers, predicted, source)
    for measure in PREDICTED_ONLY:
        if (measure, None) in predictions:
            unseen = (math.nan,) * 4
            yield Row(measure, None, *unseen, results.count, *predictions[measure, None])
