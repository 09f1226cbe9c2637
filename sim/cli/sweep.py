"""The command `sweep`: a grid of what-ifs, simulated and solved."""

from __future__ import annotations

from functools import partial
from typing import Any

import click
import rich
from rich.markup import escape
from rich.table import Table

from scenarios import Scenario, ScenarioError, dumps
from scenarios.activation import Optimal
from scenarios.files import parse_value, value_text
from scenarios.measures import Subject
from sim.cli.decisions import decision_of
from sim.cli.folder import own_folder, place_of, write_files
from sim.cli.options import RunOptions, load_scenarios, run_options, single_scenario_options
from sim.cli.output import (
    add_columns,
    csv_text,
    number,
    print_json,
    progress_bar,
    show_table,
)
from sim.cli.results import file_names, provenance, run_record
from sim.cli.simulating import simulate_one
from sim.cli.tables import OPTIONAL_COLUMNS, name_of
from sim.cli.workers import workers
from sim.sweep import COLUMNS, Cell, cells, parse_vary, rows_of, shown

__all__ = ["sweep"]

Row = tuple[Any, ...]

_FOLDED_KEY = 10
_DECISION = "decision"


@click.command()
@single_scenario_options
@run_options
@click.option(
    "--vary",
    "varied",
    multiple=True,
    required=True,
    metavar="KEY=V1,V2,…",
    help="Values of one entry; repeatable, all combinations are run.",
)
def sweep(
    sources: tuple[str, ...],
    changes: tuple[str, ...],
    as_json: bool,
    seed: int | None,
    replications: int | None,
    varied: tuple[str, ...],
    **options: Any,
) -> None:
    """Simulate and solve every combination of some entries; the same seed for all of them."""
    if len(sources) > 1:
        raise ScenarioError("sweep", sources[1], "takes a single scenario")
    chosen = RunOptions(**options)
    grid_of = parse_vary(varied, parse_value)
    (scenario,) = load_scenarios(sources, changes, seed, replications)
    grid = cells(scenario, grid_of)
    if chosen.out is not None:
        own_folder(chosen.out, file_names([scenario], "sweep.csv", "sweep.svg"))
    rows, runs = _run(scenario, grid, chosen, as_json)
    columns = (*grid_of, *COLUMNS, *_decisions(grid))
    if chosen.out is not None:
        texts = [_as_text(row, len(grid_of)) for row in rows]
        files = {
            "sweep.csv": csv_text(columns, texts),
            f"{scenario.name}.toml": dumps(scenario, chosen.out),
        }
        files["sweep.svg"] = _picture(list(grid_of), columns, texts, scenario)
        asked = chosen.record(changes) | {"vary": list(varied)}
        write_files(place_of(chosen.out), files, partial(provenance, runs, asked))
        click.echo(f"written to {chosen.out}", err=True)
    if as_json:
        print_json([dict(zip(columns, row, strict=True)) for row in rows])
    else:
        show_table(_table(scenario, list(grid_of), columns, rows), OPTIONAL_COLUMNS)


def _decisions(grid: list[Cell]) -> tuple[str, ...]:
    """One more column where an activation is decided on the way."""
    sought = any(isinstance(cell.scenario.activation, Optimal) for cell in grid)
    return (_DECISION,) if sought else ()


def _run(
    scenario: Scenario, grid: list[Cell], options: RunOptions, quiet: bool
) -> tuple[list[Row], list[dict[str, Any]]]:
    """Rows of all cells, and a record of how each was run."""
    from analytic import resolve
    from sim.replicate import engine_for

    resolved = [Cell(cell.varied, resolve(cell.scenario)) for cell in grid]
    found = [
        decision_of(asked.scenario, cell.scenario)
        for asked, cell in zip(grid, resolved, strict=True)
    ]
    further = _decisions(grid)
    engines = [engine_for(cell.scenario, options.engine) for cell in resolved]
    rows: list[Row] = []
    runs: list[dict[str, Any]] = []
    with workers(options.jobs, engines) as executor, progress_bar(scenario.name, quiet) as progress:
        for done, cell in enumerate(resolved, 1):
            results = simulate_one(cell.scenario, options, executor, quiet=True)
            decision = dict.fromkeys(further, found[done - 1])
            predicted = _predictions(cell.scenario)
            rows += [(*row, *decision.values()) for row in rows_of(cell, results, predicted)]
            runs.append({**cell.varied, **run_record(results), **decision})
            progress(done, len(resolved))
    return rows, runs


def _as_text(row: Row, varied: int) -> Row:
    """A row with the varied values as a scenario file would write them."""
    return (*map(value_text, row[:varied]), *row[varied:])


def _predictions(scenario: Scenario) -> dict[tuple[str, Subject], tuple[float, str]]:
    """The exact value of each measure, and its source; the first formula that gives one."""
    from analytic import predict

    exact: dict[tuple[str, Subject], tuple[float, str]] = {}
    for row in predict(scenario)[0]:
        if row.kind == "exact":
            exact.setdefault((row.measure, row.subject), (row.value, row.source))
    return exact


def _picture(keys: list[str], columns: tuple[str, ...], rows: list[Row], scenario: Scenario) -> str:
    """The plot of what is shown against the first varied entry."""
    from analytic.report.sweeps import sweep_picture

    records = [dict(zip(columns, row, strict=True)) for row in rows]
    present = [(record["measure"], record["subject"]) for record in records]
    return sweep_picture(records, shown(scenario, present), keys, scenario.time_unit)


def _table(scenario: Scenario, keys: list[str], columns: tuple[str, ...], rows: list[Row]) -> Table:
    """What is shown, and a note on judged measures that are not."""
    table = Table(title=scenario.name, box=rich.box.SIMPLE, title_justify="left")
    for entry in keys:
        table.add_column(escape(entry), overflow="fold", min_width=min(len(entry), _FOLDED_KEY))
    table.add_column("measure", no_wrap=True)
    add_columns(table, [], ["estimate", "± 95 %", "predicted"])
    decisions = [_DECISION] if _DECISION in columns else []
    add_columns(table, decisions)
    records = [dict(zip(columns, row, strict=True)) for row in rows]
    present = {(record["measure"], record["subject"]) for record in records}
    chosen = shown(scenario, ((record["measure"], record["subject"]) for record in records))
    for record in records:
        key = (record["measure"], record["subject"])
        if key in chosen:
            half = record["high"] - record["estimate"]
            numbers = (record["estimate"], half, record["predicted"])
            varied = [escape(value_text(record[key])) for key in keys]
            words = [escape(record[each] or "–") for each in decisions]
            table.add_row(*varied, name_of(*key), *map(number, numbers), *words)
    left_out = {m for m, _ in present} & set(scenario.judged) - {m for m, _ in chosen}
    if left_out:
        table.caption = f"left out: {', '.join(sorted(left_out))} (--json and --out have all)"
    return table
