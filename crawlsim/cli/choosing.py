"""The best cell of a sweep within an indifference: replications for those that may be it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import numpy as np

from crawlsim.cli.cell_files import CellFiles
from crawlsim.cli.options import RunOptions
from crawlsim.cli.output import progress_bar, warn
from crawlsim.cli.sweep_answers import Goal, Key, best_predicted, estimated
from crawlsim.cli.sweep_chosen import ChosenCell
from crawlsim.cli.sweeping import Interrupted, Record, engines_of, resolved, without_each
from crawlsim.cli.workers import workers
from scenarios import Scenario, ScenarioError
from scenarios.arrays import Array
from sim.estimates.choosing import LEAST_REPLICATIONS, Indifference, choose
from sim.estimates.jackknife import jackknife_error, t_quantile
from sim.estimates.paired import Estimated
from sim.sweep import COLUMNS, Cell, label_of

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
    count = len(found.without_each)
    values: Array = count * found.estimate - (count - 1) * found.without_each
    if not np.isfinite(values).all():
        where = f"is undefined in some replications of {label_of(cell)}"
        allowed = f"{where}; a longer run.horizon defines it"
        raise ScenarioError(goal.option, goal.text, allowed)
    return values


def _unseen(record: Record, key: Key, found: Estimated) -> float:
    """The standard deviation of a share that every replication shows alike, as 0 for example.

    Where nothing was seen, the interval of the estimate says how much may be there all the same.
    """
    if jackknife_error(found.without_each) > 0:
        return 0.0
    row = next(row for row in record["rows"] if (row[0], row[1]) == key)
    count = len(found.without_each)
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
        for measure, subject, each in without_each(scenario, results):
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
