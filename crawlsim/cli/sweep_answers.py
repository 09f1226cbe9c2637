"""What a sweep says beyond its rows: differences between cells, and which cell is best."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from crawlsim.cli.output import half_width, number
from crawlsim.cli.sweeping import Record
from scenarios import Scenario, ScenarioError
from scenarios.base import one_of
from scenarios.files import value_text
from scenarios.measures import MEASURES, Subject
from sim.estimates.paired import Best, Estimated, best_of, paired_difference
from sim.sweep import COLUMNS, Cell, kept, label_of

DIFFERENCES = ("measure", "subject", "against", "difference", "standard_error", "low", "high")

_ESTIMATE = COLUMNS.index("estimate")
_PREDICTED = COLUMNS.index("predicted")
_HIGH = COLUMNS.index("high")

_FEW = 3
"""Cells that a sentence names."""

_MOMENT = 1e-9
"""A horizon within which nothing need happen."""

Key = tuple[str, Subject]


@dataclass(frozen=True, slots=True)
class Goal:
    """What is to be as small, or as large, as possible.

    Attributes
    ----------
    option : str
        "--minimise" or "--maximise".
    text : str
        As it was given: a measure, with its subject where it has several.
    """

    option: str
    text: str

    @property
    def sign(self) -> int:
        """1 where less is better, -1 where more is."""
        return 1 if self.option == "--minimise" else -1

    @property
    def extreme(self) -> str:
        """What the best value of all is called."""
        return "least" if self.sign > 0 else "greatest"

    def key_among(self, keys: Iterable[Key]) -> Key:
        """The measure and subject that is meant.

        Raises
        ------
        ScenarioError
            If it is none of those that cells are compared by.
        """
        names = {name_of_key(key): key for key in keys}
        found = names.get(self.text) or names.get(f"{self.text} all")
        if found is None:
            allowed = f"must be a measure that cells are compared by: {one_of(self.text, names)}"
            raise ScenarioError(self.option, self.text, allowed)
        return found

    def require(self, scenario: Scenario) -> None:
        """Refuse a scenario that has no such measure, by a simulation of hardly any time."""
        from sim.replicate import run

        moment = {"run.warmup": 0.0, "run.horizon": _MOMENT, "run.replications": 1}
        self.key_among(kept(scenario, run(scenario.with_(moment)).without_each))


def goal_of(minimise: str | None, maximise: str | None) -> Goal | None:
    """The goal that the options give, if any.

    Raises
    ------
    ScenarioError
        If both are given, or one begins with no measure.
    """
    if minimise is not None and maximise is not None:
        raise ScenarioError("--maximise", maximise, "does not go with --minimise")
    text = minimise if maximise is None else maximise
    if text is None:
        return None
    goal = Goal("--minimise" if maximise is None else "--maximise", " ".join(text.split()))
    if goal.text.split(" ")[0] not in MEASURES:
        raise ScenarioError(goal.option, text, f"must be a measure: {one_of(goal.text, MEASURES)}")
    return goal


def name_of_key(key: Key) -> str:
    """A measure, with its subject where it has several."""
    measure, subject = key
    return measure if subject is None else f"{measure} {subject}"


@dataclass(frozen=True, slots=True)
class BestCell:
    """The cell with the least, or the greatest, value of a measure.

    Attributes
    ----------
    goal : Goal
    key : (measure, subject)
    best : Best
        By simulation.
    level : float
        The confidence with which cells are told apart from it.
    estimate, low, high : float
        Of the measure there.
    solved : int or None
        The best cell by the predicted values, where formulas cover every cell.
    predicted : float or None
        The measure there, by formula.
    """

    goal: Goal
    key: Key
    best: Best
    estimate: float
    low: float
    high: float
    solved: int | None
    predicted: float | None = None
    level: float = 0.95

    @property
    def index(self) -> int:
        """The best cell: among those that tie the one that is best by the formulas."""
        tied = (self.best.index, *self.best.ties)
        return self.solved if self.solved in tied else self.best.index

    def sentence(self, grid: Sequence[Cell]) -> str:
        """The best cell in words."""
        return self._of_ties(grid) if self.best.ties else self._of_one(grid)

    @property
    def _goal(self) -> str:
        return f"{self.goal.extreme} {name_of_key(self.key)}"

    def _of_ties(self, grid: Sequence[Cell]) -> str:
        """What the formulas say, and which cells the simulation found all alike."""
        tied = (self.best.index, *self.best.ties)
        seen = "none seen" if self.estimate == 0 else "the same in every replication"
        words = (
            f"{len(tied)} cells tie at {number(self.estimate)}, {seen}: {some_cells(grid, tied)}; "
            "which of them is best the simulation does not tell"
        )
        others = [n for n in self.best.rivals if n not in tied]
        if others:
            words += f"; not told apart from them {some_cells(grid, others)}"
        if self.solved is None or self.predicted is None:
            return f"{self._goal}: {words}"
        best = f"{label_of(grid[self.solved])}, with {number(self.predicted)} by the formulas"
        return f"{self._goal}: {best}; in the simulation {words}"

    def _of_one(self, grid: Sequence[Cell]) -> str:
        half = self.high - self.estimate
        value = f"{number(self.estimate)} ± {half_width(self.estimate, half)}"
        words = f"{self._goal}: {label_of(grid[self.best.index])}, with {value}; "
        words += self._how_sure(grid, is_known=not math.isnan(half))
        if self.solved is not None:
            same = self.solved == self.best.index
            words += f"; by the formulas {'too' if same else label_of(grid[self.solved])}"
        return words

    def _how_sure(self, grid: Sequence[Cell], is_known: bool) -> str:
        """That it is the best of all, or which others may be, each at its level of confidence."""
        others = some_cells(grid, self.best.rivals)
        if not is_known:
            words = "how sure that is cannot be told from one replication"
            return f"{words}; not told apart from {others}" if others else words
        if others:
            return f"with {100 * self.level:g} % confidence the best is this cell or {others}"
        return f"best of all cells with {percent(self.best.confidence)} confidence"

    def record(self, grid: Sequence[Cell]) -> dict[str, Any]:
        """The best cell for JSON."""
        solved = self.solved
        return {
            "measure": self.key[0],
            "subject": self.key[1],
            "cell": dict(grid[self.index].varied),
            "estimate": self.estimate,
            "low": self.low,
            "high": self.high,
            "method": "screening",
            "level": self.level,
            "confidence": self.best.confidence,
            "not_told_apart": [
                dict(grid[n].varied)
                for n in (self.best.index, *self.best.rivals)
                if n != self.index
            ],
            "tied": [
                dict(grid[n].varied) for n in (self.best.index, *self.best.ties) if self.best.ties
            ],
            "solved_cell": None if solved is None else dict(grid[solved].varied),
        }


def some_cells(grid: Sequence[Cell], places: Sequence[int]) -> str:
    """The first of some cells, in words, and how many more."""
    few = ", ".join(f"({label_of(grid[n])})" for n in places[:_FEW])
    return few if len(places) <= _FEW else f"{few} and {len(places) - _FEW} more"


def percent(share: float) -> str:
    """A confidence, rounded down so that it promises nothing more, and never certainty."""
    return f"{min(math.floor(share * 1000), 999) / 10:g} %"


def estimated(record: Record) -> dict[Key, Estimated]:
    """The kept estimates of a cell; an undefined number is nan."""
    estimates = {(row[0], row[1]): row[_ESTIMATE] for row in record["rows"]}
    return {
        (measure, subject): Estimated(_defined(estimates[measure, subject]), _array(values))
        for measure, subject, values in record["without_each"]
    }


def _defined(value: float | None) -> float:
    return math.nan if value is None else value


def _array(values: Sequence[float | None]) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array([_defined(value) for value in values])


def difference_rows(
    grid: Sequence[Cell], records: Sequence[Record], against: int = 0
) -> list[tuple[Any, ...]]:
    """How every cell differs from one of them: varied values, then `DIFFERENCES`.

    Parameters
    ----------
    grid : sequence of Cell
    records : sequence of dict
        As `cell_records`.
    against : int
        The cell that the others are compared with.
    """
    base = estimated(records[against])
    reference = label_of(grid[against])
    rows: list[tuple[Any, ...]] = []
    for place, (cell, record) in enumerate(zip(grid, records, strict=True)):
        if place == against:
            continue
        varied = [value_text(value) for value in cell.varied.values()]
        for key, value in estimated(record).items():
            if key in base:
                found = paired_difference(value, base[key])
                numbers = (found.difference, found.standard_error, found.low, found.high)
                rows.append((*varied, *key, reference, *numbers))
    return rows


def best_cell(goal: Goal, records: Sequence[Record], level: float = 0.95) -> BestCell | None:
    """The cell that is best for a goal; None where no cell has a value.

    Parameters
    ----------
    goal : Goal
    records : sequence of dict
        As `cell_records`.
    level : float
        The confidence with which cells are told apart from it.

    Raises
    ------
    ScenarioError
        If the goal is none of the measures that cells are compared by.
    """
    cells = [estimated(record) for record in records]
    key = goal.key_among(dict.fromkeys(each for cell in cells for each in cell))
    nothing = Estimated(math.nan, np.zeros(0))
    found = [cell.get(key, nothing) for cell in cells]
    signed = [Estimated(goal.sign * e.estimate, goal.sign * e.without_each) for e in found]
    best = best_of(signed, level)
    if best is None:
        return None
    row = _row_of(records[best.index], key)
    estimate, _, low, high = (_defined(value) for value in row[_ESTIMATE : _HIGH + 1])
    solved = best_predicted(records, key, goal.sign)
    predicted = None if solved is None else _row_of(records[solved], key)[_PREDICTED]
    return BestCell(goal, key, best, estimate, low, high, solved, predicted, level)


def _row_of(record: Mapping[str, Any], key: Key) -> Sequence[Any]:
    row: Sequence[Any] = next(row for row in record["rows"] if (row[0], row[1]) == key)
    return row


def best_predicted(records: Sequence[Record], key: Key, sign: int) -> int | None:
    """The cell with the best exact value; None where some cell has none."""
    rows = [
        next((row for row in record["rows"] if (row[0], row[1]) == key), None) for record in records
    ]
    values = [None if row is None else row[_PREDICTED] for row in rows]
    if any(value is None for value in values):
        return None
    return int(np.argmin(sign * np.array(values, dtype=float)))
