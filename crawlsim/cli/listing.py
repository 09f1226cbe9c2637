"""The commands that list what there is: scenarios, formulas, and what a scenario file may hold.

They answer from files, at once: `formulas.json` and `schema.json` are written by
``python -m experiments.make_lists``, and a test sees when they no longer say what the code says.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import resources
from typing import Any

import click
from rich.markup import escape
from rich.table import Column

from analytic.index.bibliography import ORIGINS, REFERENCES
from crawlsim.cli.options import JSON, command, option, takes
from crawlsim.cli.tables import new_table, print_json, show_table
from scenarios.base import one_of
from scenarios.errors import ScenarioError
from scenarios.library import library_entries, library_names, library_text


def resource(name: str) -> str:
    """The text of a file beside this module."""
    return resources.files(__package__).joinpath(name).read_text("utf-8")


@command(
    "scenarios",
    example="crawlsim scenarios one-robot > my.toml",
    then="crawlsim check my.toml",
)
@takes(
    click.argument("name", required=False),
    option("--names", "Print the names only, for scripts."),
    JSON,
)
def list_scenarios(name: str | None, as_json: bool, names: bool) -> None:
    """List the scenarios of the library, or print the file of one."""
    if names:
        click.echo("\n".join(library_names()))
        return
    if name is not None:
        if name not in library_names():
            raise ScenarioError("scenario", name, f"must be one of {one_of(name, library_names())}")
        if as_json:
            from scenarios import load

            print_json(load(name).as_file())
        else:
            click.echo(library_text(name), nl=False)
        return
    entries = ("name", "title", "paper")
    files = [library_entries(each) for each in library_names()]
    ready = [{key: each.get(key, "") for key in entries} for each in files]
    if as_json:
        print_json(ready)
        return
    table = new_table(None, *entries)
    for each in ready:
        table.add_row(*map(escape, each.values()))
    show_table(table)


@command(
    example="crawlsim formulas talim2001",
    then="crawlsim solve my.toml, which of them apply to a system",
)
@takes(click.argument("paper", required=False), JSON)
def formulas(paper: str | None, as_json: bool) -> None:
    """List formulas and algorithms: paper, number, quantity, function, kind, origin, conditions.

    With --json also the statement of each as LaTeX, and what its symbols stand for.
    """
    index: list[dict[str, Any]] = json.loads(resource("formulas.json"))
    papers = sorted({each["paper"] for each in index})
    if paper is not None and paper not in papers:
        raise ScenarioError("paper", paper, f"must be {one_of(paper, papers)}")
    rows = [each for each in index if paper in (None, each["paper"])]
    if as_json:
        print_json(rows)
        return
    _show_formulas(rows)
    click.echo()
    for origin, words in ORIGINS.items():
        if any(row["origin"] == origin for row in rows):
            click.echo(f"  {origin}: {words}")
    click.echo()
    for key in sorted({row["paper"] for row in rows}):
        click.echo(f"  {key}: {REFERENCES[str(key)]}")


@command(
    "schema",
    example="crawlsim schema > crawlsim.json",
    then="crawlsim new my.toml, a file to try it on",
)
def print_schema() -> None:
    """JSON Schema of the scenario file, for editors."""
    click.echo(resource("schema.json"), nl=False)


def _show_formulas(rows: Sequence[dict[str, Any]]) -> None:
    """The index of formulas on stdout; conditions as numbers, in words below the table."""
    conditions = dict.fromkeys(condition for row in rows for condition in row["conditions"])
    marks = {condition: mark for mark, condition in enumerate(conditions, 1)}
    names = ("paper", "number", "quantity", "function", "kind", "origin")
    function = Column("function", overflow="fold")
    columns = ("|paper", "number", "quantity", function, "kind", "origin", "conditions")
    table = new_table(None, *columns)
    for row in rows:
        own = sorted(marks[condition] for condition in row["conditions"])
        table.add_row(*(escape(row[name]) for name in names), " ".join(map(str, own)))
    show_table(table, ("paper", "kind", "origin"))
    for condition, mark in marks.items():
        click.echo(f"  {mark:>3}  {condition}")
