"""The commands that list what there is answer from files, at once, and say what the code says."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

import pytest

from analytic import NotApplicable
from crawlsim.cli.output import reason_lines
from crawlsim.lists import SYNONYMS
from experiments.make_lists import ROOT, texts
from scenarios import load
from scenarios.library import library_entries, library_names

HEAVY = {"numpy", "scipy", "numba", "simpy", "pandas", "matplotlib", "scenarios.scenario"}


def test_what_is_answered_from_is_what_the_code_says() -> None:
    """Which parts of the schema stand once, in its $defs, depends on what was validated before."""
    for name, text in texts().items():
        stored = (ROOT / name).read_text("utf-8")
        same = stored == text
        if name.endswith("schema.json"):
            assert expanded(json.loads(stored)) == expanded(json.loads(text)), name
            same = True
        assert same, f"{name}: run python -m experiments.make_lists"


def expanded(schema: Any) -> Any:
    """A schema with its $defs at their places."""

    def whole(node: Any) -> Any:
        if isinstance(node, list):
            return [whole(each) for each in node]
        if not isinstance(node, dict):
            return node
        name = node.get("$ref", "").rpartition("/")[2]
        rest = {key: whole(each) for key, each in node.items() if key not in ("$ref", "$defs")}
        return {**whole(schema["$defs"][name]), **rest} if name else rest

    return whole(schema)


def test_words_of_other_books_lead_to_formulas_and_to_pages(crawlsim: Any) -> None:
    for each in SYNONYMS.values():
        assert (ROOT / each["page"]).exists()
        if "formulas" in each:
            assert json.loads(crawlsim("formulas", each["formulas"], "--json")[1])


def test_scenarios_are_listed_as_they_are_loaded(crawlsim: Any) -> None:
    code, out, err = crawlsim("scenarios", "--json")
    assert (code, err) == (0, "")
    loaded = [load(name) for name in library_names()]
    assert json.loads(out) == [
        {"name": each.name, "title": each.title, "paper": each.paper} for each in loaded
    ]


def test_a_file_without_a_title_is_listed(crawlsim: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = library_entries("one-robot")
    del entries["title"]
    monkeypatch.setattr("crawlsim.lists.library_entries", lambda _: entries)
    _, out, _ = crawlsim("scenarios", "--json")
    assert {each["title"] for each in json.loads(out)} == {""}


@pytest.mark.parametrize(
    "words",
    [
        "what is the chance that some page is lost before it ends",
        "talim2001 " * 1000,
        "m/m/1 " * 7 + "unheard-of",
    ],
    ids=["a-question", "one-paper", "one-queue"],
)
def test_many_words_are_refused_at_once(crawlsim: Any, words: str) -> None:
    """Twelve words took hours: every order of them was tried."""
    begin = time.process_time()
    code, out, err = crawlsim("formulas", *words.split())
    assert (code, out) == (2, "")
    assert "must be a paper, a queue such as M/M/1/K" in err
    assert time.process_time() - begin < 20.0
