"""Which cell of a sweep is best, and how sure that is; how the cells differ."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from crawlsim.cli.loading import RunOptions
from crawlsim.cli.output import half_width, number, progress_bar, warn
from crawlsim.cli.sweep_cells import (
    CellFiles,
    Interrupted,
    Record,
    engines_of,
    leave_one_out,
    resolved,
)
from crawlsim.cli.workers import workers
from scenarios import Scenario, ScenarioError
from scenarios.arrays import Array
from scenarios.base import one_of
from scenarios.files import value_text
from scenarios.measures import MEASURES, Subject
from sim.estimates.choosing import LEAST_REPLICATIONS, Choice, Indifference, choose
from sim.estimates.jackknife import jackknife_error, t_quantile
from sim.estimates.paired import Best, Estimated, best_of, paired_difference
from sim.sweep import COLUMNS, Cell, kept, label_of

DIFFERENCES = ("measure", "subject", "against", "difference", "standard_error", "low", "high")

_ESTIMATE = COLUMNS.index("estimate")
_PREDICTED = COLUMNS.index("predicted")

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
        self.key_among(kept(scenario, run(scenario.with_(moment)).leave_one_out))


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
    signed = [Estimated(goal.sign * e.estimate, goal.sign * e.leave_one_out) for e in found]
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


CHOICE = ("measure", "subject", "estimate", "replications", "better_by_at_most", "role")
"""Columns of the table of a choice, after the varied entries."""

_METHOD = "sequential elimination, indifference zone"


@dataclass(frozen=True, slots=True)
class ChosenCell:
    """The chosen cell, and what is known of the others.

    Attributes
    ----------
    goal : Goal
    key : (measure, subject)
    rule : Indifference
        What was asked for.
    choice : Choice
        Among the cells whose measure is defined.
    places : tuple of int
        The numbers of these cells.
    first : int
        Replications of the first stage.
    solved : int or None
        The best cell by the predicted values, where formulas cover every cell.
    """

    goal: Goal
    key: Key
    rule: Indifference
    choice: Choice
    places: tuple[int, ...]
    first: int
    solved: int | None

    @property
    def index(self) -> int:
        """The chosen cell."""
        return self.places[self.choice.index]

    @property
    def estimate(self) -> float:
        """The measure there, over all its replications."""
        return self.goal.sign * self.choice.estimates[self.choice.index]

    @property
    def better_by(self) -> float:
        """By how much another cell may be better, as far as the promise goes."""
        return self.rule.size if self.choice.is_settled else self.choice.margin

    @property
    def shortfall(self) -> str:
        """How the choice falls short of what was asked for."""
        return (
            f"{_name(self)}: not settled within {number(self.rule.size)} by --max-replications "
            f"{self.rule.most}: another cell may be better by {number(self.better_by)}"
        )

    @property
    def within(self) -> list[int]:
        """The other cells whose estimates are no further from the chosen one's than the size."""
        best = self.choice.estimates[self.choice.index]
        near = [each - best <= self.rule.size for each in self.choice.estimates]
        return [
            n for n, is_near in zip(self.places, near, strict=True) if is_near and n != self.index
        ]

    @property
    def rivals(self) -> list[int]:
        """The other cells that may be the best."""
        return [self.places[n] for n in self.choice.rivals]

    def _dropped(self) -> dict[tuple[bool, int], list[int]]:
        """The other cells by whether they were dropped, and after how many replications."""
        found: dict[tuple[bool, int], list[int]] = {}
        choice = self.choice
        for n, count, margin in zip(self.places, choice.counts, choice.margins, strict=True):
            if n != self.index:
                found.setdefault((margin > self.rule.size, count), []).append(n)
        return dict(sorted(found.items()))

    def sentence(self, grid: Sequence[Cell]) -> str:
        """The chosen cell in words."""
        parts = [self._promise(grid)]
        if self.within:
            near = some_cells(grid, self.within)
            parts.append(f"within {number(self.rule.size)} of it by the estimates: {near}")
        for (is_left, count), places in self._dropped().items():
            words = "still undecided after" if is_left else "dropped after"
            parts.append(f"{words} {count} replications: {some_cells(grid, places)}")
        if self.solved is not None:
            same = self.solved == self.index
            parts.append(f"by the formulas {'too' if same else label_of(grid[self.solved])}")
        return "; ".join(parts)

    def _promise(self, grid: Sequence[Cell]) -> str:
        """The cell, its estimate, and what holds with the confidence."""
        count = self.choice.counts[self.choice.index]
        what = "no other cell is better"
        if self.rivals:
            what += f" by more than {number(self.better_by)}"
        words = (
            f"{_name(self)}: {label_of(grid[self.index])}, with {number(self.estimate)} in {count} "
            f"replications; with a probability of at least {100 * self.rule.confidence:g} % {what}"
        )
        if self.choice.is_settled:
            return words
        return f"{words} (--max-replications came before {number(self.rule.size)})"

    def record(self, grid: Sequence[Cell]) -> dict[str, Any]:
        """The choice for JSON."""
        return {
            "measure": self.key[0],
            "subject": self.key[1],
            "cell": dict(grid[self.index].varied),
            "estimate": self.estimate,
            "method": _METHOD,
            "confidence": self.rule.confidence,
            "indifference": self.rule.size,
            "settled": self.choice.is_settled,
            "better_by_at_most": self.choice.margin,
            "first_replications": self.first,
            "solved_cell": None if self.solved is None else dict(grid[self.solved].varied),
            "not_told_apart": [dict(grid[n].varied) for n in self.rivals],
            "within": [dict(grid[n].varied) for n in self.within],
            "cells": [
                {
                    "cell": dict(grid[n].varied),
                    **dict(zip(CHOICE[2:], row[-len(CHOICE[2:]) :], strict=True)),
                }
                for n, row in zip(self.places, self.rows(grid), strict=True)
            ],
        }

    def rows(self, grid: Sequence[Cell]) -> list[tuple[Any, ...]]:
        """Of each cell with a value the varied entries and `CHOICE`."""
        rows = []
        choice = self.choice
        found = zip(choice.estimates, choice.counts, choice.margins, strict=True)
        for place, (value, count, margin) in zip(self.places, found, strict=True):
            better_by = None if place == self.index else max(margin, 0.0)
            numbers = (self.goal.sign * value, count, better_by, self._role(place))
            rows.append((*grid[place].varied.values(), *self.key, *numbers))
        return rows

    def _role(self, place: int) -> str:
        if place == self.index:
            return "best"
        if place in self.rivals:
            return "may be best"
        return "worse"


def _name(chosen: ChosenCell) -> str:
    return f"{chosen.goal.extreme} {name_of_key(chosen.key)}"


_MOST = 1000
"""Replications at which a cell is given up, unless told otherwise."""

_LOW = COLUMNS.index("low")
_HIGH = COLUMNS.index("high")


def indifference_of(
    size: float | None,
    confidence: float,
    goal: Goal | None,
    grid: Sequence[Cell],
    options: RunOptions,
) -> Indifference | None:
    """What ``--indifference`` asks for, if it is given.

    Raises
    ------
    ScenarioError
        If there is nothing to choose by, or the cells have too few replications to begin with, or
        not all the same number.
    """
    if size is None:
        return None
    option = "--indifference"
    if goal is None:
        raise ScenarioError(option, size, "needs --minimise or --maximise")
    if not math.isfinite(size):
        raise ScenarioError(option, size, "must be finite")
    if options.precision is not None:
        raise ScenarioError(option, size, "does not go with --precision")
    counts = {cell.scenario.run.replications for cell in grid}
    if len(counts) > 1:
        raise ScenarioError(option, size, "does not go with --vary run.replications")
    (first,) = counts
    if first < LEAST_REPLICATIONS:
        allowed = f"must be at least {LEAST_REPLICATIONS} with {option}"
        raise ScenarioError("run.replications", first, allowed)
    most = options.max_replications or max(_MOST, first)
    if most < first:
        allowed = f"must be at least run.replications = {first} with {option}"
        raise ScenarioError("--max-replications", most, allowed)
    return Indifference(size, confidence, most)


def choose_cell(
    goal: Goal,
    rule: Indifference,
    grid: Sequence[Cell],
    records: Sequence[Record],
    files: CellFiles | None,
    options: RunOptions,
    quiet: bool,
) -> ChosenCell | None:
    """The cell that is best for a goal; None where no cell has a value.

    Further replications of the cells that may be the best are simulated, and kept like cells.

    Parameters
    ----------
    goal : Goal
    rule : Indifference
    grid : sequence of Cell
    records : sequence of dict
        As `cell_records`.
    files : CellFiles or None
    options : RunOptions
    quiet : bool

    Raises
    ------
    ScenarioError
        If the goal is none of the measures that cells are compared by, or is undefined in some
        replications of a cell.
    """
    found = [estimated(record) for record in records]
    key = goal.key_among(dict.fromkeys(each for cell in found for each in cell))
    nothing = Estimated(math.nan, np.zeros(0))
    starts = [cell.get(key, nothing) for cell in found]
    places = [n for n, each in enumerate(starts) if not math.isnan(each.estimate)]
    if not places:
        return None
    first = [goal.sign * _values(goal, grid[n], starts[n]) for n in places]
    unseen = [_unseen(records[n], key, starts[n]) for n in places]
    name = grid[0].scenario.name
    stages = Stages(goal, key, grid, files, options)
    with stages.working(), progress_bar(name, quiet, "replications") as progress:

        def more(systems: Sequence[int], start: int, stop: int) -> list[Array]:
            values = stages.values([places[n] for n in systems], start, stop)
            progress(stop, rule.most)
            return [goal.sign * each for each in values]

        choice = choose(first, more, rule, unseen)
    solved = best_predicted(records, key, goal.sign)
    chosen = ChosenCell(goal, key, rule, choice, tuple(places), len(first[0]), solved)
    if not choice.is_settled:
        warn(f"{name}: {chosen.shortfall}")
    return chosen


def _values(goal: Goal, cell: Cell, found: Estimated) -> Array:
    """The jackknife's pseudo-value of each replication: their mean is the jackknife's estimate.

    Raises
    ------
    ScenarioError
        If one is undefined.
    """
    count = len(found.leave_one_out)
    values: Array = count * found.estimate - (count - 1) * found.leave_one_out
    if not np.isfinite(values).all():
        where = f"is undefined in some replications of {label_of(cell)}"
        allowed = f"{where}; a longer run.horizon defines it"
        raise ScenarioError(goal.option, goal.text, allowed)
    return values


def _unseen(record: Record, key: Key, found: Estimated) -> float:
    """The standard deviation of a share that every replication shows alike, as 0 for example.

    Where nothing was seen, the interval of the estimate says how much may be there all the same.
    """
    if jackknife_error(found.leave_one_out) > 0:
        return 0.0
    row = next(row for row in record["rows"] if (row[0], row[1]) == key)
    count = len(found.leave_one_out)
    reach = max(row[_HIGH] - found.estimate, found.estimate - row[_LOW])
    return float(math.sqrt(count) * reach / t_quantile(0.975, count - 1))


@dataclass
class Stages:
    """Further replications of cells: those that are kept are read, the others simulated."""

    goal: Goal
    key: Key
    grid: Sequence[Cell]
    files: CellFiles | None
    options: RunOptions
    _stack: ExitStack = field(default_factory=ExitStack)
    _executors: list[Executor | None] = field(default_factory=list)
    _scenarios: dict[int, Scenario] = field(default_factory=dict)

    @contextmanager
    def working(self) -> Iterator[None]:
        """Workers stay for as long as they may be needed; an interrupt says what is kept."""
        try:
            with self._stack:
                yield
        except KeyboardInterrupt:
            if self.files is None:
                raise
            kept = f"all cells and the further replications so far are in {self.files.folder}"
            raise Interrupted(f"{kept}; the same command goes on with the others") from None

    def values(self, numbers: Sequence[int], start: int, stop: int) -> list[Array]:
        """Of each cell the value of every replication from `start` to before `stop`."""
        return [self._of_cell(number, start, stop) for number in numbers]

    def _of_cell(self, number: int, start: int, stop: int) -> Array:
        record = self.files.stage(number, start, stop) if self.files else None
        if record is None:
            record = self._simulated(number, start, stop)
            if self.files:
                self.files.keep_stage(number, start, stop, record)
        found = {(m, subject): (value, each) for m, subject, value, each in record["estimates"]}
        value, each = found[self.key]
        known = [math.nan if one is None else one for one in (value, *each)]
        return _values(self.goal, self.grid[number], Estimated(known[0], np.array(known[1:])))

    def _simulated(self, number: int, start: int, stop: int) -> Record:
        """The estimates of these replications alone, of all that cells are compared by."""
        from sim.replicate import run

        cell = self.grid[number]
        scenario = self._scenario(number)
        results = run(
            scenario,
            first=start,
            replications=stop - start,
            engine=self.options.engine,
            executor=self._executor(scenario, cell),
        )
        rows = []
        for measure, subject, each in leave_one_out(scenario, results):
            row = results.find(measure, subject)
            assert row is not None
            rows.append((measure, subject, row.estimate, each))
        return {"varied": dict(cell.varied), "first": start, "estimates": rows}

    def _scenario(self, number: int) -> Scenario:
        """The scenario of a cell as it is simulated."""
        if number not in self._scenarios:
            cells = resolved({number: self.grid[number]}, self.options.warmup)
            self._scenarios[number] = cells[number].scenario
        return self._scenarios[number]

    def _executor(self, scenario: Scenario, cell: Cell) -> Executor | None:
        """Workers, from the first replication on that is simulated."""
        if not self._executors:
            engines = engines_of({0: Cell(cell.varied, scenario)}, self.options)
            self._executors.append(self._stack.enter_context(workers(self.options, engines)))
        return self._executors[0]
