"""What there is: scenarios of the library, formulas, and what a scenario file may hold.

All is answered from files, at once: `formulas.json` and `schema.json` are written by
``python -m experiments.make_lists``, and a test sees when they no longer say what the code says.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from importlib import import_module, resources
from itertools import compress
from typing import Any

from analytic.index.bibliography import REFERENCES
from analytic.index.names import QUESTIONS, citation_of
from scenarios.base import nearest
from scenarios.errors import ScenarioError
from scenarios.library import library_entries, library_names
from scenarios.plugins import load_installed, modules_with


def resource(name: str) -> str:
    """The text of a file that the commands answer from."""
    return resources.files("crawlsim.cli").joinpath(name).read_text("utf-8")


SYNONYMS: dict[str, dict[str, str]] = tomllib.loads(resource("synonyms.toml"))
"""Words of other books: what they mean here, words of formulas instead, a page to begin with."""

_NAMED = "a paper, a queue such as M/M/1/K, a question such as loss, or words of a name"


def library() -> list[dict[str, str]]:
    """The scenarios that come with the package: name, title and paper of each.

    `load` takes any of the names.
    """
    entries = ("name", "title", "paper")
    files = [library_entries(each) for each in library_names()]
    return [{key: each.get(key, "") for key in entries} for each in files]


def schema() -> dict[str, Any]:
    """The JSON Schema of the scenario file, for editors."""
    found: dict[str, Any] = json.loads(schema_text())
    return found


def schema_text() -> str:
    """The same as text: what is written down, unless plugins have keys of their own."""
    load_installed()
    if not modules_with("laws") and not modules_with("policies"):
        return resource("schema.json")
    from scenarios import schema as whole  # loads all sections

    return json.dumps(whole(), indent=2, ensure_ascii=False) + "\n"


def papers() -> list[dict[str, Any]]:
    """The papers: title, number of items, and how many of them have each status."""
    found: list[dict[str, Any]] = _ledger().papers()
    return found


def paper(key: str, *, verify: bool = False) -> list[dict[str, Any]]:
    """The items of a paper: formulas, cells of tables, figures, claims, and what is true of each.

    Parameters
    ----------
    key : str
        Such as "talim2001".
    verify : bool
        Compute every number anew: `verified` then says whether it is as stated, None of what has
        no number.

    Raises
    ------
    ScenarioError
        If there is no such paper.
    """
    found: list[dict[str, Any]] = _ledger().paper(key, verify=verify)
    return found


def reproduce(key: str, item: str) -> list[dict[str, Any]]:
    """The numbers of a formula, table or figure of a paper, computed beside those printed.

    Parameters
    ----------
    key, item : str
        Such as "talim2001" and "Table 2".

    Raises
    ------
    ScenarioError
        If there is no such paper or item.
    """
    found: list[dict[str, Any]] = _ledger().reproduce(key, item)
    return found


def _ledger() -> Any:
    """That of the papers, a package that stands on this one and gives commands to it."""
    return import_module("papers.api")


def formulas(words: str = "") -> list[dict[str, Any]]:
    """Formulas: name, quantity, source, function, proof, kind, origin, conditions, LaTeX of each.

    Parameters
    ----------
    words : str
        A paper (talim2001), a queue in Kendall's notation (M/M/1/K), a question (loss, levels,
        throughput, waiting, freshness, robots, orders, probes, fitting), words of a name (Erlang
        B), what other books call it (reneging), or several of these (M/M/1/K loss); none: all
        formulas.

    Raises
    ------
    ScenarioError
        If no formula is meant.
    """
    index = _index()
    rows = _about(index, words) if words else index
    if not rows:
        known = [*REFERENCES, *QUESTIONS, *{each["name"] for each in index}, *SYNONYMS]
        raise ScenarioError("words", words, f"must be {_NAMED}{nearest(words, known)}")
    return rows


def _index() -> list[dict[str, Any]]:
    """The records of all formulas: those that are written down, unless plugins have some."""
    load_installed()
    if not modules_with("formulas"):
        written: list[dict[str, Any]] = json.loads(resource("formulas.json"))
        return written
    from crawlsim.formula_index import records  # loads all formulas

    known: list[dict[str, Any]] = json.loads(json.dumps(records()))
    return known


def source_of(row: Mapping[str, Any]) -> str:
    """Paper and number of a formula, as the index has them."""
    return f"{row['paper']} {row['number']}"


def _about(index: Sequence[dict[str, Any]], sought: str) -> list[dict[str, Any]]:
    """The formulas of a paper, a queue or a question; else those of which the words are said.

    The words as they stand; or, where they stand nowhere so, all but one of them of the formulas of
    that one, a paper, a queue or a question; or each the beginning of a word.
    """
    instead = {word.lower(): each.get("formulas", word) for word, each in SYNONYMS.items()}
    sought = _in_letters(instead.get(sought.lower(), sought).lower())
    texts = [
        " ".join([citation_of(source_of(each)), each["name"], each["quantity"], each["kind"]])
        for each in index
    ]
    beginnings = [rf"(?<!\w){re.escape(word)}" for word in sought.split()]
    ways = (
        [sought in _keys(each) for each in index],
        [re.search(rf"(?<!\w){re.escape(sought)}(?!\w)", each.lower()) for each in texts],
        [all(re.search(each, text.lower()) for each in beginnings) for text in texts],
    )
    as_they_stand, said, begun = (list(compress(index, way)) for way in ways)
    return as_they_stand or said or _about_both(index, sought) or begun


_MOST_WORDS = 8
"""Of which some may be papers, queues or questions: all orders of these are tried."""


def _about_both(index: Sequence[dict[str, Any]], sought: str) -> list[dict[str, Any]]:
    """The formulas of a paper, a queue or a question of which the other words are said."""
    words = sought.split()
    for place, word in enumerate(words if 1 < len(words) <= _MOST_WORDS else ()):
        of_one = [each for each in index if _in_letters(word) in _keys(each)]
        rest = words[:place] + words[place + 1 :]
        if of_one and (found := _about(of_one, " ".join(rest))):
            return found
    return []


def _keys(row: Mapping[str, Any]) -> list[str]:
    """What a formula is found by: its paper, the queues that it covers, its questions."""
    return [each.lower() for each in (row["paper"], *row["kendall"], *row["questions"])]


def _in_letters(queue: str) -> str:
    """A queue with numbers, such as m/m/1/5 or m/m/3/7, as formulas are named: m/m/1/k, m/m/c/k."""
    numbers = re.fullmatch(r"([^/]+/[^/]+)/(\d+)/(\d+)(\+.*)?", queue)
    if numbers is None or numbers[3] == "1":  # M/M/1/1 is a queue of its own
        return queue
    arrivals_and_services, servers, places, patience = numbers.groups(default="")
    count = "1" if servers == "1" else "c"
    room = "c" if servers == places else "k"
    return f"{arrivals_and_services}/{count}/{room}{patience}"
