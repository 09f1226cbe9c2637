"""The commands `papers`, `paper` and `reproduce`: the ledger of the papers."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import click
from rich.markup import escape
from rich.table import Column

from crawlsim.cli.files import FIGURES, figure_bytes
from crawlsim.cli.options import FORCE, JSON, command, option, takes
from crawlsim.cli.tables import new_table, print_json, show_table
from crawlsim.own_files import claim, write
from papers import api
from papers.cells import Grid, grid_of, in_few_lines, place_of
from papers.rows import (
    STATUSES,
    TITLES,
    WITHOUT_NUMBER,
    Row,
    name_of_all,
    rows_named,
    rows_of,
)
from scenarios import ScenarioError
from scenarios.base import listed
from scenarios.text import counted


@command(example="crawlsim papers", then="crawlsim paper talim2001, item by item")
@takes(JSON)
def papers(as_json: bool) -> None:
    """List the papers, and how many of their items are reproduced, corrected or refuted."""
    records = api.papers()
    if as_json:
        print_json(records)
        return
    counts = (Column(status, justify="right") for status in STATUSES)
    table = new_table(None, "|paper", ">items", *counts)
    table.padding = (0, 0, 0, 1)  # 80 letters across
    for record in records:
        numbers = (str(record[name]) for name in ("items", *STATUSES))
        table.add_row(record["paper"], *numbers)
    show_table(table, ("items",))
    for status, meaning in STATUSES.items():
        click.echo(f"  {status}: {meaning}")


@command(
    example="crawlsim paper eckstein2005 --verify",
    then='crawlsim reproduce talim2001 "Table 2", printed beside computed',
)
@takes(
    click.argument("key", metavar="PAPER"),
    option("--verify", "Compute every number anew; exit with 1 if one is not as stated."),
    JSON,
)
def paper(key: str, verify: bool, as_json: bool) -> None:
    """List the items of a paper: formulas, cells of tables, figures, claims, and what is true."""
    rows = rows_of(key)
    records = api.paper(key, verify=verify)
    wrong = [str(record["item"]) for record in records if record.get("verified") is False]
    if as_json:
        print_json({"paper": key, "title": TITLES[key], "rows": records})
    else:
        _show(key, list(rows.values()), wrong)
        if verify:
            count = sum(record["verified"] is not None for record in records)
            numbers = counted(count, "number")
            click.echo(f"  computed anew: {numbers}, {len(wrong) or 'none'} not as stated")
            for item in wrong:
                click.echo(f"  not as stated: {item}")
    if wrong:
        raise click.exceptions.Exit(1)


def _show(key: str, rows: list[Row], wrong: list[str]) -> None:
    """The rows of a paper by status, cells of a table of which the same is said in one line."""
    click.echo(f"{key}: {TITLES[key]}")
    for status in STATUSES:
        table = new_table(status, "item", "|kind", _printed(), "ours", "note")
        of_status = [row for row in rows if row.status == status]
        apart = [row for row in of_status if row.item in wrong]
        for row in [*apart, *in_few_lines([row for row in of_status if row not in apart])]:
            cells = (row.item, row.kind, row.printed or "", row.ours or "", row.note or "")
            marked = f"{row.item} (not as stated)" if row.item in wrong else row.item
            table.add_row(*map(escape, (marked, *cells[1:])))
        if table.row_count:
            show_table(table, ("kind",))
    if any(place_of(row) for row in rows):
        click.echo(f'  cells one by one: crawlsim reproduce {key} "Table …", or --json')


def _printed() -> Column:
    """What the papers print, which may be several numbers or a formula."""
    return Column("printed", justify="right", overflow="fold")


@command(
    example='crawlsim reproduce talim2001 "Figure 2" --figure figure.png',
    then="crawlsim paper talim2001, what the other items are",
)
@takes(
    click.argument("key", metavar="PAPER"),
    click.argument("item"),
    option("--figure FILE", "Draw it: a .svg, .png or .pdf file."),
    FORCE,
)
def reproduce(key: str, item: str, figure: str | None, force: bool) -> None:
    """Compute a formula, a table or a figure of a paper, and print it beside what is printed."""
    rows = rows_named(key, item)
    from papers.computed import computed

    what = computed(key)
    name = name_of_all(rows)
    if figure is not None:
        file = _place_of_figure(figure, name, what.figures, force)
        write("--figure", file, figure_bytes(what.figures[name](), file.suffix), force=force)
        click.echo(f"written: {file}", err=True)
    if name in what.experiments:
        lost = any(row.status in WITHOUT_NUMBER for row in rows)
        why = "the inputs of the paper are lost; " if lost else ""
        click.echo(f"{key}, {name}: {why}with inputs of ours:")
        for line in what.experiments[name]():
            click.echo(line)
        rows = [row for row in rows if row.status not in WITHOUT_NUMBER]
        if not rows:
            return
        click.echo("and what follows from the numbers that the paper prints:")

    def computed_anew(row: Row) -> str:
        return "" if row.status in WITHOUT_NUMBER else row.with_number(what.numbers[row.item]())

    grid = grid_of(rows, computed_anew)
    if grid.lines:
        _show_grid(f"{key}, {name}", grid)
    table = new_table(f"{key}, {name}", "item", _printed(), "computed", "status", "note")
    for row in grid.others:
        cells = (row.item, row.printed or "", computed_anew(row), row.status, row.note or "")
        table.add_row(*map(escape, cells))
    if table.row_count:
        show_table(table)


def _show_grid(title: str, grid: Grid) -> None:
    """A table as the paper has it."""
    caption = f"{title}: computed; in brackets what is printed where it is something else"
    table = new_table(caption, "cells", *(f">{column}" for column in grid.columns))
    for line in grid.lines:
        table.add_row(*map(escape, line))
    show_table(table)
    for note in grid.notes:
        click.echo(f"  {note}")


def _place_of_figure(figure: str, name: str, drawn: Collection[str], force: bool) -> Path:
    """The file of a figure that is drawn, claimed."""
    if name not in drawn:
        others = f"these have: {', '.join(drawn)}" if drawn else "no item of this paper has"
        raise ScenarioError("--figure", figure, f"{name} has no figure; {others}")
    if Path(figure).suffix not in FIGURES:
        raise ScenarioError("--figure", figure, f"must end in {listed(FIGURES)}")
    return claim("--figure", figure, force=force)
