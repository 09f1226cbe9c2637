"""The commands that list what there is: scenarios, formulas, and what a scenario file may hold.

They answer from files, at once: `formulas.json` and `schema.json` are written by
``python -m experiments.make_lists``, and a test sees when they no longer say what the code says.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

import click
from rich.markup import escape
from rich.table import Column

from analytic.index.bibliography import ORIGINS, REFERENCES
from analytic.index.names import QUESTIONS, citation_of, place_of
from crawlsim.cli.options import JSON, command, option, takes
from crawlsim.cli.tables import json_text, new_table, print_json, show_table
from scenarios.base import nearest, one_of
from scenarios.errors import ScenarioError
from scenarios.library import library_entries, library_names, library_text
from scenarios.plugins import load_installed, modules_with
from scenarios.text import counted


def resource(name: str) -> str:
    """The text of a file beside this module."""
    return resources.files(__package__).joinpath(name).read_text("utf-8")


SYNONYMS: dict[str, dict[str, str]] = tomllib.loads(resource("synonyms.toml"))
"""Words of other books: what they mean here, words of formulas instead, a page to begin with."""


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
    example="crawlsim formulas M/M/1/K",
    then="crawlsim solve my.toml, which of them apply to a system",
)
@takes(click.argument("words", nargs=-1), JSON)
def formulas(words: tuple[str, ...], as_json: bool) -> None:
    """List formulas and algorithms: name, quantity, source, function, kind, origin, conditions.

    All of them, or those that WORDS name: a paper (talim2001), a queue in Kendall's notation
    (M/M/1/K), a question (loss, waiting, freshness, robots, orders, probes, fitting), words of a
    name (Erlang B), or what other books call it (reneging). With --json also the statement of each
    as LaTeX, and what its symbols stand for.
    """
    index = _index()
    sought = " ".join(words)
    rows = _about(index, sought) if sought else index
    if not rows:
        known = [*REFERENCES, *QUESTIONS, *{each["name"] for each in index}, *SYNONYMS]
        close = nearest(sought, known)
        raise ScenarioError("words", sought, f"must be {_NAMED}{close}")
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


def _index() -> list[dict[str, Any]]:
    """The records of all formulas: those that are written down, unless plugins have some."""
    load_installed()
    if not modules_with("formulas"):
        return json.loads(resource("formulas.json"))
    from crawlsim.formula_index import records  # loads all formulas

    return json.loads(json_text(records()))


_A_SCREEN = 20
"""Conditions that are shown in words."""

_NAMED = "a paper, a queue such as M/M/1/K, a question such as loss, or words of a name"


def _source(row: Mapping[str, Any]) -> str:
    return f"{row['paper']} {row['number']}"


def _place(row: Mapping[str, Any]) -> int:
    return place_of(_source(row))


def _about(index: Sequence[dict[str, Any]], sought: str) -> list[dict[str, Any]]:
    """The formulas of a paper, a queue or a question; else those of which the words are said.

    The words as they stand, or where they stand nowhere so, each the beginning of a word.
    """
    instead = {word.lower(): each.get("formulas", word) for word, each in SYNONYMS.items()}
    sought = _in_letters(instead.get(sought.lower(), sought).lower())
    keys = [[each["paper"], *each["kendall"], *each["questions"]] for each in index]
    texts = [
        " ".join([citation_of(_source(each)), each["name"], each["quantity"], each["kind"]])
        for each in index
    ]
    beginnings = [rf"(?<!\w){re.escape(word)}" for word in sought.split()]
    ways = (
        [sought in map(str.lower, each) for each in keys],
        [re.search(rf"(?<!\w){re.escape(sought)}(?!\w)", each.lower()) for each in texts],
        [all(re.search(each, text.lower()) for each in beginnings) for text in texts],
    )
    found = ([row for row, fits in zip(index, way, strict=True) if fits] for way in ways)
    return next(filter(None, found), [])


def _in_letters(queue: str) -> str:
    """A queue with numbers, such as m/m/1/5 or m/m/3/7, as formulas are named: m/m/1/k, m/m/c/k."""
    numbers = re.fullmatch(r"([^/]+/[^/]+)/(\d+)/(\d+)(\+.*)?", queue)
    if numbers is None or numbers[3] == "1":  # M/M/1/1 is a queue of its own
        return queue
    arrivals_and_services, servers, places, patience = numbers.groups(default="")
    count = "1" if servers == "1" else "c"
    room = "c" if servers == places else "k"
    return f"{arrivals_and_services}/{count}/{room}{patience}"


@command(
    "schema",
    example="crawlsim schema > crawlsim.json",
    then="crawlsim new my.toml, a file to try it on",
)
def print_schema() -> None:
    """JSON Schema of the scenario file, for editors."""
    load_installed()
    if modules_with("laws") or modules_with("policies"):
        from scenarios import schema  # loads all sections

        click.echo(json.dumps(schema(), indent=2, ensure_ascii=False))
        return
    click.echo(resource("schema.json"), nl=False)


def _show_formulas(rows: Sequence[dict[str, Any]]) -> None:
    """The index of formulas on stdout; the commonest conditions as numbers, in words below."""
    common = Counter(condition for row in rows for condition in row["conditions"]).most_common()
    marks = {condition: mark for mark, (condition, _) in enumerate(common[:_A_SCREEN], 1)}
    names = ("quantity", "function", "kind", "origin")
    function = Column("function", overflow="fold")
    table = new_table(None, "name", "source", "quantity", function, "kind", "origin", "conditions")
    for row, before in zip(rows, [None, *rows], strict=False):
        own = sorted(marks[each] for each in row["conditions"] if each in marks)
        more = ["…"] * (len(own) < len(set(row["conditions"])))
        name = "" if before and row["name"] == before["name"] else row["name"]
        cells = (name, citation_of(_source(row)), *(row[each] for each in names))
        table.add_row(*map(escape, cells), " ".join([*map(str, own), *more]))
    show_table(table, ("origin", "function"))
    for condition, mark in marks.items():
        click.echo(f"  {mark:>3}  {condition}")
    if len(common) > len(marks):
        left = counted(len(common) - len(marks), "further condition")
        click.echo(f"    …  {left} (--json has them; words that name fewer formulas show them)")
