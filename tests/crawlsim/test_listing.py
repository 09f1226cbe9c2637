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
        ("--help",),
        ("scenarios",),
        ("scenarios", "one-robot"),
        ("schema",),
        ("formulas",),
        ("formulas", "talim2001", "--json"),
    ],
    ids=" ".join,
)
def test_nothing_heavy_is_loaded(words: tuple[str, ...]) -> None:
    assert not HEAVY & loaded_by(words)


def test_a_small_queue_is_solved_without_parts_of_scipy() -> None:
    """Each of them takes as long to load as the answer takes to compute, or longer."""
    parts = {f"scipy.{each}" for each in ("linalg", "optimize", "sparse", "special", "stats")}
    assert not (parts | {"matplotlib", "numba", "pandas", "simpy"}) & loaded_by(
        ["solve", "one-robot"]
    )


def loaded_by(words: Sequence[str]) -> set[str]:
    """The modules that a command has imported, however it ends."""
    code = f"""
import atexit, sys
from crawlsim.cli.program import start
atexit.register(lambda: print(*sys.modules, file=sys.stderr))
start({list(words)!r})
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    assert "crawlsim.cli.program" in loaded
    return loaded


def test_the_three_nearest_formulas_with_what_to_change_and_the_others_counted() -> None:
    """Six formulas, of which two share a name and a reason and one is about other systems."""
    mm1k = [
        NotApplicable(f"kleinrock1975 {number}", ("reason 1",), keys=("buffer.servers",))
        for number in ("section 3.6", "section 3.6")
    ]
    second = NotApplicable("paper (2)", ("reason 2", "reason 3", "reason 4"))
    third = NotApplicable("paper (3)", ("reason 2", "reason 3"), keys=("costs", "buffer"))
    late = NotApplicable("paper (4)", ("reason 1",))
    foreign = NotApplicable("other (1)", ("no servers",), other_subject=True)
    shown = [
        "not applicable: M/M/1/K (Kleinrock 1975, section 3.6): reason 1; change buffer.servers",
        "not applicable: paper (2): reason 2; reason 3; and 1 more",
        "not applicable: paper (3): reason 2; reason 3; change costs and buffer",
    ]
    assert list(reason_lines([*mm1k, second, third])) == shown
    assert list(reason_lines([*mm1k, second, third, late, foreign])) == [
        *shown,
        "2 further formulas not applicable (--all has the reasons)",
    ]
    assert list(reason_lines([foreign])) == ["not applicable: other (1): no servers"]
    assert list(reason_lines([*mm1k, late, foreign], every=True)) == [
        "not applicable: M/M/1/K (Kleinrock 1975, section 3.6); paper (4): reason 1",
        "not applicable: other (1): no servers",
    ]


@pytest.mark.parametrize(
    "sentence",
    [
        "what is the chance that some page is lost before it ends",
        "talim2001 " * 1000,
        "m/m/1 " * 7 + "unheard-of",
    ],
    ids=["a-question", "one-paper", "one-queue"],
)
def test_many_words_are_refused_at_once(crawlsim: Any, sentence: str) -> None:
    """Twelve words took hours: every order of them was tried."""
    begin = time.process_time()
    code, out, err = crawlsim("formulas", *sentence.split())
    assert (code, out) == (2, "")
    assert "must be a paper, a queue such as M/M/1/K" in err
    assert time.process_time() - begin < 20.0
