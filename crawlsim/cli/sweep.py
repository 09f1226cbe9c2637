"""The command `sweep`: a grid of what-ifs, simulated and solved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import click

from crawlsim.cli.cell_files import CellFiles, identity_of
from crawlsim.cli.choosing import choose_cell, indifference_of
from crawlsim.cli.folder import own_folder, place_of, write_files
from crawlsim.cli.options import (
    NumberRange,
    RunOptions,
    load_scenarios,
    run_options,
    single_scenario_options,
)
from crawlsim.cli.output import print_json, show_table
from crawlsim.cli.results import file_names, package_versions, provenance
from crawlsim.cli.sweep_answers import goal_of
from crawlsim.cli.sweep_output import FILES, Swept
from crawlsim.cli.sweeping import cell_records, decisions
from crawlsim.cli.tables import OPTIONAL_COLUMNS
from scenarios import Scenario, ScenarioError
from scenarios.files import parse_value
from sim.sweep import Cell, cells, parse_vary

_CONFIDENCE = 0.95


@click.command()
@single_scenario_options
@run_options
@click.option(
    "--vary",
    "varied",
    multiple=True,
    required=True,
    metavar="KEY=V1,V2,…",
    help="Values of one entry; repeatable, all combinations are run. 2..5 and 1..9..2 are ranges.",
)
@click.option("--no-solve", is_flag=True, help="Simulate only: no formula is evaluated.")
@click.option("--minimise", metavar="MEASURE", help="Name the cell where this measure is least.")
@click.option("--maximise", metavar="MEASURE", help="Name the cell where it is greatest.")
@click.option(
    "--indifference",
    type=click.FloatRange(0, min_open=True),
    metavar="DELTA",
    help="Add replications until no other cell is better by more than that, in the measure's unit.",
)
@click.option(
    "--confidence",
    type=NumberRange(0.5, 1, min_open=True, max_open=True),
    metavar="P",
    help="How surely the best cell is to be named: 0.95, unless told otherwise.",
)
def sweep(
    sources: tuple[str, ...],
    changes: tuple[str, ...],
    as_json: bool,
    seed: int | None,
    replications: int | None,
    varied: tuple[str, ...],
    no_solve: bool,
    minimise: str | None,
    maximise: str | None,
    indifference: float | None,
    confidence: float | None,
    **options: Any,
) -> None:
    """Simulate and solve every combination of some entries; the same seed for all of them.

    With --out every finished cell is kept there: the same command goes on where it was stopped.
    """
    if len(sources) > 1:
        raise ScenarioError("sweep", sources[1], "takes a single scenario")
    chosen = RunOptions(**options, solve=not no_solve)
    goal = goal_of(minimise, maximise)
    if confidence is not None and goal is None:
        raise ScenarioError("--confidence", confidence, "needs --minimise or --maximise")
    surely = _CONFIDENCE if confidence is None else confidence
    grid_of = parse_vary(varied, parse_value)
    (scenario,) = load_scenarios(sources, changes, seed, replications)
    grid = cells(scenario, grid_of)
    if chosen.warmup is not None and {"run", "run.warmup"} & set(grid_of):
        raise ScenarioError("--warmup", chosen.warmup, "does not go with --vary run.warmup")
    rule = indifference_of(indifference, surely, goal, grid, chosen)
    files = _cell_files(scenario, grid_of, grid, chosen)
    require = goal.require if goal else None
    records = cell_records(scenario.name, grid, chosen, files, as_json, require)
    choice = None
    if goal is not None and rule is not None:
        choice = choose_cell(goal, rule, grid, records, files, chosen, as_json)
    swept = Swept(scenario, grid, records, goal, surely, choice)
    if chosen.out is not None:
        asked = chosen.record(changes)
        asked |= {"vary": list(varied), "minimise": minimise, "maximise": maximise}
        asked |= {"indifference": indifference, "confidence": surely}
        runs = [
            {**each["varied"], **each["run"], **{name: each[name] for name in decisions(grid)}}
            for each in records
        ]
        made = swept.files(chosen.out)
        write_files(place_of(chosen.out), made, partial(provenance, runs, asked))
        click.echo(f"written to {chosen.out}", err=True)
    _show(swept, as_json)


def _cell_files(
    scenario: Scenario,
    varied: Mapping[str, Sequence[Any]],
    grid: Sequence[Cell],
    options: RunOptions,
) -> CellFiles | None:
    """Where finished cells are kept, if anywhere; a folder that is not ours is refused."""
    if options.out is None:
        return None
    own_folder(options.out, file_names([scenario], *FILES))
    identity = identity_of(scenario, varied, options, package_versions())
    return CellFiles(options.out, identity, grid)


def _show(swept: Swept, as_json: bool) -> None:
    goal = swept.goal
    best = swept.best
    if as_json:
        rows: Any = swept.named_rows
        named = best.record(swept.grid) if best else None
        print_json(rows if goal is None else {"rows": rows, "best": named})
        return
    show_table(swept.table(), OPTIONAL_COLUMNS)
    if goal is not None:
        click.echo(best.sentence(swept.grid) if best else f"no cell has a value of {goal.text}")
