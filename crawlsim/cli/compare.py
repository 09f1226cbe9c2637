"""The command `compare`: two designs, simulated with common random numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.markup import escape
from rich.table import Table

from crawlsim.cli.files import FIGURES, claim_all, figure_bytes, write_all
from crawlsim.cli.loading import decided, load_scenarios
from crawlsim.cli.options import FORCE, JSON, SEED, SET, WHERE, RunOptions, command, option, takes
from crawlsim.cli.output import OPTIONAL_COLUMNS, name_of, unit_of
from crawlsim.cli.simulating import simulate_all
from crawlsim.cli.tables import new_table, print_json, show_table
from crawlsim.designs import (
    BETTER,
    DesignComparison,
    compared,
    only_in_one,
    value_of,
    with_numbers_of,
)
from scenarios import Scenario, ScenarioError
from scenarios.base import listed


@command(
    example="crawlsim compare one-robot stale-in-the-buffer --figure difference.svg",
    then="crawlsim sweep my.toml --vary robots.available=2..5, more than two designs",
)
@takes(
    click.argument("a", metavar="A"),
    click.argument("b", metavar="B"),
    SET,
    option("--replications N", "Number of replications, of both; default: that of A.", type=int),
    SEED,
    *WHERE,
    option("--figure FILE", "Draw the differences: a .svg, .png or .pdf file."),
    FORCE,
    JSON,
)
def compare(
    a: str,
    b: str,
    changes: tuple[str, ...],
    replications: int | None,
    seed: int | None,
    figure: str | None,
    force: bool,
    **given: Any,
) -> None:
    """Compare two designs with common random numbers: the differences of B from A.

    Both are simulated with the seed and the number of replications of A.
    """
    options = RunOptions(**given)
    if figure is not None and Path(figure).suffix not in FIGURES:
        raise ScenarioError("--figure", figure, f"must end in {listed(FIGURES)}")
    one, other = (
        decided(each)
        for source in (a, b)
        for each in load_scenarios((source,), changes, seed, replications)
    )
    files = claim_all({"--figure": figure}, force=force)
    designs = [one, with_numbers_of(one, other)]
    comparison = compared(designs, [each for _, each in simulate_all(designs, options)])
    if files:
        drawn = figure_bytes(comparison.drawn().figure, files["--figure"].suffix)
        write_all(files, {"--figure": drawn}, force=force)
    if options.as_json:
        print_json([row._asdict() for row in comparison.rows])
        return
    show_table(_table(comparison, one), OPTIONAL_COLUMNS)
    for line in only_in_one(comparison):
        click.echo(line)
    click.echo(comparison.sentence)


def _table(comparison: DesignComparison, scenario: Scenario) -> Table:
    """Every difference, and which design is better by it."""
    names = escape(f"A: {comparison.a.scenario}, B: {comparison.b.scenario}")
    columns = ("|measure", ">A", ">B", ">B - A", ">± 95 %", "|unit", "|better")
    table = new_table(names, *columns)
    for row in comparison.rows:
        better = row.better or ("–" if row.name in BETTER else "")
        unit = unit_of(row.measure, scenario)
        table.add_row(name_of(*row.key), *value_of(row), unit, better)
    return table
