"""What a sweep says beyond its rows: differences between cells, and which cell is best."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scenarios import ScenarioError
from scenarios.base import listed
from scenarios.files import value_text
from scenarios.measures import Subject
from sim.cli.output import number
from sim.cli.sweeping import Record
from sim.estimates.paired import Best, Estimated, best_of, paired_difference
from sim.sweep import COLUMNS, Cell

__all__ = ["DIFFERENCES", "BestCell", "best_cell", "check_measure", "difference_rows", "label_of"]

DIFFERENCES = ("measure", "subject", "difference", "standard_error", "low", "high")

_ESTIMATE, _PREDICTED = COLUMNS.index("estimate"), COLUMNS.index("predicted")

Key = tuple[str, Subject]


@dataclass(frozen=True, slots=True)
class BestCell:
    """The cell with the least value of a measure.

    Attributes
    ----------
    measure : str
    best : Best
        By simulation.
    estimate, low, high : float
        Of the measure there.
    solved : int or None
        The cell with the least predicted value, where formulas cover every cell.
    """

    measure: str
    best: Best
    estimate: float
    low: float
    high: float
    solved: int | None

    def sentence(self, grid: Sequence[Cell]) -> str:
        """The best cell in words."""
        half = self.high - self.estimate
        words = (
            f"least {self.measure}: {label_of(grid[self.best.index])}, with {number(self.estimate)}"
            f" ± {number(half)}; best of all cells with a confidence of at least "
            f"{_percent(self.best.confidence)}"
        )
        if rivals := self.best.rivals:
            few = ", ".join(f"({label_of(grid[n])})" for n in rivals[:3])
            more = f" and {len(rivals) - 3} more" if len(rivals) > 3 else ""
            words += f"; not told apart from {few}{more}"
        if self.solved is not None:
            same = self.solved == self.best.index
            words += f"; by the formulas {'too' if same else label_of(grid[self.solved])}"
        return words

    def record(self, grid: Sequence[Cell]) -> dict[str, Any]:
        """The best cell for JSON."""
        solved = self.solved
        return {
            "measure": self.measure,
            "cell": dict(grid[self.best.index].varied),
            "estimate": self.estimate,
            "low": self.low,
            "high": self.high,
            "confidence": self.best.confidence,
            "not_told_apart": [dict(grid[n].varied) for n in self.best.rivals],
            "solved_cell": None if solved is None else dict(grid[solved].varied),
        }


def label_of(cell: Cell) -> str:
    """The varied entries of a cell in words."""
    return ", ".join(f"{key} = {value_text(value)}" for key, value in cell.varied.items())


def _percent(share: float) -> str:
    """A confidence, rounded down so that it promises nothing more, and never certainty."""
    return f"{min(math.floor(share * 1000), 999) / 10:g} %"


def check_measure(name: str, records: Sequence[Record]) -> None:
    """Raise `ScenarioError` for a measure that no cell has as a whole."""
    known = dict.fromkeys(
        measure
        for record in records
        for measure, subject, _ in record["without_each"]
        if subject is None
    )
    if name not in known:
        raise ScenarioError(
            "--minimise", name, f"must be a measure of the whole system: {listed(known)}"
        )


def _estimated(record: Record) -> dict[Key, Estimated]:
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
    base = _estimated(records[against])
    rows: list[tuple[Any, ...]] = []
    for number_, (cell, record) in enumerate(zip(grid, records, strict=True)):
        if number_ == against:
            continue
        varied = [value_text(value) for value in cell.varied.values()]
        for key, estimated in _estimated(record).items():
            if key in base:
                found = paired_difference(estimated, base[key])
                numbers = (found.difference, found.standard_error, found.low, found.high)
                rows.append((*varied, *key, *numbers))
    return rows


def best_cell(measure: str, records: Sequence[Record]) -> BestCell | None:
    """The cell with the least value of a measure of the whole system; None if it has none.

    Parameters
    ----------
    measure : str
    records : sequence of dict
        As `cell_records`.
    """
    key: Key = (measure, None)
    nothing = Estimated(math.nan, np.zeros(0))
    best = best_of([_estimated(record).get(key, nothing) for record in records])
    if best is None:
        return None
    row = _row_of(records[best.index], key)
    numbers = [_defined(value) for value in row[_ESTIMATE:_PREDICTED]]
    return BestCell(
        measure, best, numbers[0], numbers[2], numbers[3], _least_predicted(records, key)
    )


def _row_of(record: Mapping[str, Any], key: Key) -> Sequence[Any]:
    row: Sequence[Any] = next(row for row in record["rows"] if (row[0], row[1]) == key)
    return row


def _least_predicted(records: Sequence[Record], key: Key) -> int | None:
    """The cell with the least exact value; None where some cell has none."""
    rows = [
        next((row for row in record["rows"] if (row[0], row[1]) == key), None) for record in records
    ]
    values = [None if row is None else row[_PREDICTED] for row in rows]
    if any(value is None for value in values):
        return None
    return int(np.argmin(np.array(values, dtype=float)))
