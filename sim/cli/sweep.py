"""The command `sweep`: a grid of what-ifs, simulated and solved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from importlib.metadata import version
from typing import Any

import click
import rich
from rich.markup import escape
from rich.table import Table

from scenarios import Scenario, ScenarioError, dumps
from scenarios.base import listed
from scenarios.files import parse_value, value_text
from scenarios.measures import MEASURES
from sim.cli.cell_files import CellFiles, identity_of
from sim.cli.folder import PROGRAM, Text, own_folder, place_of, write_files
from sim.cli.options import RunOptions, load_scenarios, run_options, single_scenario_options
from sim.cli.output import add_columns, csv_text, number, print_json, show_table
from sim.cli.results import file_names, package_versions, provenance
from sim.cli.sweep_answers import (
    DIFFERENCES,
    BestCell,
    best_cell,
    check_measure,
    difference_rows,
)
from sim.cli.sweeping import DECISION, Record, cell_records, decisions, rows_from
from sim.cli.tables import OPTIONAL_COLUMNS, name_of
from sim.sweep import COLUMNS, Cell, cells, parse_vary, shown

__all__ = ["sweep"]

Row = tuple[Any, ...]

_FOLDED_KEY = 10
_FILES = ("sweep.csv", "differences.csv", "sweep.svg", "report.html")


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
@click.option("--minimise", metavar="MEASURE", help="Name the cell where this measure is least.")
def sweep(
    sources: tuple[str, ...],
    changes: tuple[str, ...],
    as_json: bool,
    seed: int | None,
    replications: int | None,
    varied: tuple[str, ...],
    minimise: str | None,
    **options: Any,
) -> None:
    """Simulate and solve every combination of some entries; the same seed for all of them.

    With --out every finished cell is kept there: the same command goes on where it was stopped.
    """
    if len(sources) > 1:
        raise ScenarioError("sweep", sources[1], "takes a single scenario")
    chosen = RunOptions(**options)
    grid_of = parse_vary(varied, parse_value)
    (scenario,) = load_scenarios(sources, changes, seed, replications)
    grid = cells(scenario, grid_of)
    if minimise is not None and minimise not in MEASURES:
        raise ScenarioError("--minimise", minimise, f"must be a measure: {listed(MEASURES)}")
    files = _cell_files(scenario, grid_of, grid, chosen)
    records = cell_records(scenario.name, grid, chosen, files, as_json)
    best = _best(minimise, records)
    columns = (*grid_of, *COLUMNS, *decisions(grid))
    rows = rows_from(grid, records)
    if chosen.out is not None:
        texts = _texts(grid, records, columns, rows, best)
        asked = chosen.record(changes) | {"vary": list(varied), "minimise": minimise}
        runs = [{**record["varied"], **record["run"]} for record in records]
        made = texts | _pages(scenario, grid, columns, rows, best, chosen)
        write_files(place_of(chosen.out), made, partial(provenance, runs, asked))
        click.echo(f"written to {chosen.out}", err=True)
    _show(scenario, grid, columns, rows, best, as_json)


def _cell_files(
    scenario: Scenario, varied: Mapping[str, Sequence[Any]], grid: list[Cell], options: RunOptions
) -> CellFiles | None:
    """Where finished cells are kept, if anywhere; a folder that is not ours is refused."""
    if options.out is None:
        return None
    own_folder(options.out, file_names([scenario], *_FILES))
    identity = identity_of(scenario, varied, options, version(PROGRAM))
    return CellFiles(options.out, identity, len(grid))


def _best(measure: str | None, records: Sequence[Record]) -> BestCell | None:
    if measure is None:
        return None
    check_measure(measure, records)
    return best_cell(measure, records)


def _texts(
    grid: list[Cell],
    records: Sequence[Record],
    columns: tuple[str, ...],
    rows: list[Row],
    best: BestCell | None,
) -> dict[str, Text]:
    """The tables as CSV: the cells, and their differences from the best or the first one."""
    keys = tuple(grid[0].varied)
    against = best.best.index if best is not None else 0
    differences = difference_rows(grid, records, against)
    return {
        "sweep.csv": csv_text(columns, [_as_text(row, len(keys)) for row in rows]),
        "differences.csv": csv_text((*keys, *DIFFERENCES), differences),
    }


def _pages(
    scenario: Scenario,
    grid: list[Cell],
    columns: tuple[str, ...],
    rows: list[Row],
    best: BestCell | None,
    options: RunOptions,
) -> dict[str, Text]:
    """The scenario, the figure and the report."""
    from analytic.report.sweep_page import sweep_html
    from analytic.report.sweeps import sweep_picture

    keys = list(grid[0].varied)
    texts = [_as_text(row, len(keys)) for row in rows]
    records = [dict(zip(columns, row, strict=True)) for row in texts]
    what = shown(scenario, [(record["measure"], record["subject"]) for record in records])
    run = scenario.run
    facts = {"replications": run.replications, "seed": run.seed, "horizon": f"{run.horizon:g}"}
    folder = options.out or "."
    return {
        f"{scenario.name}.toml": dumps(scenario, folder),
        "sweep.svg": sweep_picture(records, what, keys, scenario.time_unit),
        "report.html": sweep_html(
            scenario,
            records,
            what,
            keys,
            best=best.sentence(grid) if best is not None else None,
            facts=facts | package_versions(),
            folder=folder,
        ),
    }


def _show(
    scenario: Scenario,
    grid: list[Cell],
    columns: tuple[str, ...],
    rows: list[Row],
    best: BestCell | None,
    as_json: bool,
) -> None:
    if as_json:
        document: Any = [dict(zip(columns, row, strict=True)) for row in rows]
        print_json(document if best is None else {"rows": document, "best": best.record(grid)})
        return
    show_table(_table(scenario, list(grid[0].varied), columns, rows), OPTIONAL_COLUMNS)
    if best is not None:
        click.echo(best.sentence(grid))


def _as_text(row: Row, varied: int) -> Row:
    """A row with the varied values as a scenario file would write them."""
    return (*map(value_text, row[:varied]), *row[varied:])


def _table(scenario: Scenario, keys: list[str], columns: tuple[str, ...], rows: list[Row]) -> Table:
    """What is shown, and a note on judged measures that are not."""
    table = Table(title=scenario.name, box=rich.box.SIMPLE, title_justify="left")
    for entry in keys:
        table.add_column(escape(entry), overflow="fold", min_width=min(len(entry), _FOLDED_KEY))
    table.add_column("measure", no_wrap=True)
    add_columns(table, [], ["estimate", "± 95 %", "predicted"])
    decisions = [DECISION] if DECISION in columns else []
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
