"""The cells of a sweep: those that are done are read, the others computed and kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from typing import Any

import click

from crawlsim.cli.cell_files import CellFiles
from crawlsim.cli.decisions import decision_of, is_to_decide
from crawlsim.cli.foresight import say_how_long
from crawlsim.cli.options import RunOptions
from crawlsim.cli.output import progress_bar, warn
from crawlsim.cli.results import run_record
from crawlsim.cli.simulating import simulate_as_asked
from crawlsim.cli.warmups import with_warmup
from crawlsim.cli.workers import workers
from scenarios import Results, Scenario
from scenarios.measures import Subject
from sim.sweep import COLUMNS, Cell, kept, label_of, rows_of

DECISION = "decision"

Record = dict[str, Any]
Row = tuple[Any, ...]

_NUMBERS = slice(COLUMNS.index("estimate"), COLUMNS.index("high") + 1)


def decisions(grid: Sequence[Cell]) -> tuple[str, ...]:
    """One more column where an activation or a routing is decided on the way."""
    sought = any(is_to_decide(cell.scenario) for cell in grid)
    return (DECISION,) if sought else ()


class Interrupted(KeyboardInterrupt):
    """Stopped by the user; the text says what is kept."""


def cell_records(
    name: str,
    grid: Sequence[Cell],
    options: RunOptions,
    files: CellFiles | None,
    quiet: bool,
    require: Callable[[Scenario], None] | None = None,
) -> list[Record]:
    """What came out of every cell, in the order of the grid.

    Everything that is still to be computed is resolved, and refused if need be, before anything is
    written. A cell is kept as soon as it is done.

    Parameters
    ----------
    name : str
        Of the sweep, for its progress bar.
    grid : sequence of Cell
    options : RunOptions
    files : CellFiles or None
        Where finished cells are kept; None keeps nothing.
    quiet : bool
    require : callable, optional
        Refuses the scenario of the first cell that is to be computed, before it is.
    """
    records = files.finished() if files else {}
    if records:
        found = f"{len(records)} of {len(grid)} cells are there already and not computed again"
        click.echo(f"{name}: {found}", err=True)
    left = {n: cell for n, cell in enumerate(grid) if n not in records}
    to_do = resolved(left, options.warmup)
    if to_do and require:
        require(next(iter(to_do.values())).scenario)
    engines = engines_of(to_do, options)
    say_how_long([cell.scenario for cell in to_do.values()], options, name)
    try:
        with workers(options, engines) as executor, progress_bar(name, quiet, "cells") as progress:
            for number, cell in to_do.items():
                records[number] = _record(grid[number], cell, options, executor)
                if files:
                    files.keep(number, records[number])
                progress(len(records), len(grid))
    except KeyboardInterrupt:
        if files is None or not records:
            raise
        kept = f"{len(records)} of {len(grid)} cells are in {files.folder}"
        raise Interrupted(f"{kept}; the same command goes on with the others") from None
    _say_what_falls_short(name, grid, records)
    return [records[number] for number in range(len(grid))]


def _say_what_falls_short(name: str, grid: Sequence[Cell], records: Mapping[int, Record]) -> None:
    """The cells that did not reach their precision, now or when they were computed."""
    for number in sorted(records):
        if words := records[number]["shortfall"]:
            warn(f"{name}, {label_of(grid[number])}: {words}")


def resolved(cells: Mapping[int, Cell], warmup: str | None) -> dict[int, Cell]:
    """The cells as they are simulated: with everything optimal decided, and their warm-ups."""
    from analytic import resolve

    return {
        n: Cell(cell.varied, with_warmup(resolve(cell.scenario), warmup, quiet=True))
        for n, cell in cells.items()
    }


def engines_of(cells: Mapping[int, Cell], options: RunOptions) -> list[str]:
    """The engines that simulate some cells."""
    from sim.replicate import engine_for

    return [engine_for(cell.scenario, options.engine) for cell in cells.values()]


def _record(asked: Cell, cell: Cell, options: RunOptions, executor: Executor | None) -> Record:
    """One cell, simulated and, unless it is not wanted, solved."""
    from analytic import exact_values

    scenario = cell.scenario
    predictions = exact_values(scenario) if options.solve else {}
    results, shortfall = simulate_as_asked(
        scenario, options, executor, f"{scenario.name}, {label_of(cell)}", quiet=True
    )
    rows = [row[len(cell.varied) :] for row in rows_of(cell, results, predictions)]
    return {
        "varied": dict(cell.varied),
        DECISION: decision_of(asked.scenario, scenario),
        "run": run_record(results) | {"warmup": scenario.run.warmup},
        "shortfall": shortfall,
        "rows": rows,
        "without_each": without_each(scenario, results),
    }


def without_each(scenario: Scenario, results: Results) -> list[tuple[str, Subject, list[float]]]:
    """What the errors of differences between cells are made of."""
    keys = kept(scenario, results.without_each)
    return [(*key, list(results.without_each[key])) for key in keys]


def rows_from(grid: Sequence[Cell], records: Sequence[Record]) -> list[Row]:
    """The tidy rows of all cells: varied values, `COLUMNS`, and the decision where one was made.

    They are the same whether a cell was computed just now or read from its file.
    """
    further = decisions(grid)
    rows = []
    for cell, record in zip(grid, records, strict=True):
        ends = [record[column] for column in further]
        for row in record["rows"]:
            numbers = [math.nan if value is None else value for value in row[_NUMBERS]]
            last = row[_NUMBERS.stop :]
            rows.append((*cell.varied.values(), *row[:2], *numbers, *last, *ends))
    return rows
