"""The commands that list what there is: scenarios, formulas, and what a scenario file may hold.

What they show is that of `crawlsim.lists`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import click
from rich.markup import escape

from analytic.index.bibliography import ORIGINS, REFERENCES
from analytic.index.names import citation_of, place_of
from crawlsim import lists
from crawlsim.cli.options import JSON, command, option, takes
from crawlsim.cli.tables import new_table, print_json, show_table
from crawlsim.lists import library, source_of
from scenarios.base import one_of
from scenarios.errors import ScenarioError
from scenarios.library import library_names, library_text
from scenarios.text import counted


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
    ready = library()
    if as_json:
        print_json(ready)
        return
    table = new_table(None, "name", "title", "paper")
    for each in ready:
        table.add_row(*map(escape, each.values()))
    show_table(table)


@command(
    example="crawlsim formulas M/M/1/K",
    then="crawlsim solve my.toml, which of them apply to a system",
)
@takes(click.argument("words", nargs=-1), JSON)
def formulas(words: tuple[str, ...], as_json: bool) -> None:
    """List formulas and algorithms: name, source, quantity, kind, origin, conditions, proof.

    All of them, or those that WORDS name: a paper (talim2001), a queue in Kendall's notation
    (M/M/1/K), a question (loss, levels, throughput, waiting, freshness, robots, orders, probes,
    fitting), words of a name (Erlang B), what other books call it (reneging), or several of these
    (M/M/1/K loss). With --json also the statement of each as LaTeX, and what its symbols stand for.
    """
    rows = lists.formulas(" ".join(words))
    if as_json:
        print_json(rows)
        return
    _show_formulas(sorted(rows, key=_place))
    click.echo()
    for origin, means in ORIGINS.items():
        if any(row["origin"] == origin for row in rows):
            click.echo(f"  {origin}: {means}")
    click.echo()
    for key in sorted({row["paper"] for row in rows}):
        click.echo(f"  {key}: {REFERENCES[str(key)]}")
    if len(rows) <= _A_SCREEN:
        click.echo()
        for line in dict.fromkeys(map(_computed_and_proved, sorted(rows, key=_place))):
            click.echo(f"  {line}")


_A_SCREEN = 20
"""Conditions that are shown in words, and formulas of which is shown where they are."""


def _computed_and_proved(row: Mapping[str, Any]) -> str:
    proof = f", proved in {row['proof']}" if row["proof"] else ""
    return f"{citation_of(source_of(row))}: computed by {row['function']}{proof}"


def _place(row: Mapping[str, Any]) -> int:
    return place_of(source_of(row))


@command(
    "schema",
    example="crawlsim schema > crawlsim.json",
    then="crawlsim new my.toml, a file to try it on",
)
def print_schema() -> None:
    """JSON Schema of the scenario file, for editors."""
    click.echo(lists.schema_text(), nl=False)


def _show_formulas(rows: Sequence[dict[str, Any]]) -> None:
    """The index of formulas on stdout; the commonest conditions as numbers, in words below."""
    common = Counter(condition for row in rows for condition in row["conditions"]).most_common()
    marks = {condition: mark for mark, (condition, _) in enumerate(common[:_A_SCREEN], 1)}
    names = ("quantity", "kind", "origin")
    table = new_table(None, "name", "source", "quantity", "kind", "origin", "conditions")
    for row, before in zip(rows, [None, *rows], strict=False):
        own = sorted(marks[each] for each in row["conditions"] if each in marks)
        more = ["…"] * (len(own) < len(set(row["conditions"])))
        name = "" if before and row["name"] == before["name"] else row["name"]
        cells = (name, citation_of(source_of(row)), *(row[each] for each in names))
        table.add_row(*map(escape, cells), " ".join([*map(str, own), *more]))
    show_table(table, ("origin",))
    for condition, mark in marks.items():
        click.echo(f"  {mark:>3}  {condition}")
    if len(common) > len(marks):
        left = counted(len(common) - len(marks), "further condition")
        click.echo(f"    …  {left} (--json has them; words that name fewer formulas show them)")
