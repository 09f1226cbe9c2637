"""Systems answer what is stored: formulas, why others do not apply, best decisions, short runs.

Those of the library, in `library`, and in `drawn` up to 25 of every kind that `random_systems` drew
once, of those that are solved and simulated in a quarter of a second. Other tests say what single
numbers must be, and that both engines do the same; these notice whatever else changes. Where a
change is meant, `STORE_OUTPUTS=1 pytest tests/crawlsim/test_system_outputs.py` stores the answers
anew, and their difference belongs into the commit.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stored import compare, numbers

import crawlsim
from analytic.index.targets import TARGETS
from crawlsim.exports import TARGETS as EXPORTED
from experiments.library_answers import optimum, plain
from scenarios import ScenarioError, load, scenario_from
from scenarios.library import library_names
from sim.event_rate import expected_events

STORED = Path(__file__).parent / "library"
DRAWN = Path(__file__).parent / "drawn"

_DIGITS = 9

_EVENTS = 1000.0
"""About as many accesses, arrivals and updates has a replication."""

_NOT_TO_THE_DIGIT = {"pipeline accesses of few phases"}
"""A law is fitted by steps that end within 1e-4, on each processor elsewhere."""

_ONLY_ROUNDING = {("indexer-outage", "frequencies")}
"""The certified gap that is said is 0 on one processor and 2e-14 % on another."""

_SEARCHED = (
    *("by-priority", "changing", "frontier", "hysteretic", "in-batches", "listening"),
    *("search-engine", "server-farm", "sources"),
)
"""Kinds of drawn systems of which some have a best decision."""

_PRICES = {"costs.loss": 3.0, "costs.starvation": 2.0, "costs.robots": 0.1}

LONG_TO_SOLVE = {
    *("batches-complete", "cold-start", "dbworld-optimal", "micronet-optimal"),
    *("optimal-switching-response", "pages-come-and-go", "pipeline-page-change"),
    *("quantiles-of-all", "shops-at-dawn", "whittle-index"),
}
"""These take a second or more."""

LONG_TO_OPTIMISE = {
    *(("cyclic-constant", "template"), ("cyclic-gamma", "template")),
    *(("dbworld-first-arrival", "probes"), ("deadline-frequencies", "template")),
    *(("golden-ratio-246", "template"), ("heavy-tailed-service", "static")),
    *(("heavy-tailed-service", "threshold"), ("heavy-tailed-service", "levels")),
    *(("news-before-documents", "levels"), ("optimal-switching-by-phase", "levels")),
    *(("pipeline-fetch-when-short", "threshold"), ("pipeline-fetch-when-short", "switching")),
    *(("pipeline-page-change", "frequencies"), ("several-indexers", "levels")),
    *(("shops-at-dawn", "probes"), ("talim-static-k5", "threshold")),
    *(("talim-static-k5", "levels"), ("talim-static-k5", "free"), ("talim-switching", "levels")),
}
"""These take half a second or more."""


def lines(value: Any, place: str) -> Iterator[str]:
    """What stands in a record of JSON, a line for each part of it."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from lines(each, f"{place} {key}")
    elif isinstance(value, list) and value:
        yield from _of_rows(value, place)
    elif isinstance(value, float):
        yield f"{place}: {numbers(value, _DIGITS)}"
    elif value is not None:
        yield f"{place}: {' | '.join(str(value).splitlines())}"


def _of_rows(rows: list[Any], place: str) -> Iterator[str]:
    """Rows that have all their texts in common in one line, number by number."""
    if isinstance(rows[0], dict):
        groups = defaultdict(list)
        for row in rows:
            groups[", ".join(each for each in row.values() if isinstance(each, str))].append(row)
        for texts, alike in groups.items():
            columns = (lines([row[key] for row in alike], key) for key in _others(alike[0]))
            yield f"{place} [{texts}] {'; '.join(itertools.chain(*columns))}"
    elif isinstance(rows[0], list):
        yield from lines(list(itertools.chain(*rows)), f"{place} of {len(rows)}")
    elif any(isinstance(each, str) for each in rows):
        for number, each in enumerate(rows):
            yield from lines(each, f"{place} {number}")
    elif any(each is not None for each in rows):
        known = [np.nan if each is None else each for each in rows]
        yield f"{place}: {numbers(known, _DIGITS)}"


def _others(row: dict[str, Any]) -> list[str]:
    """Where no text stands."""
    return [key for key, each in row.items() if not isinstance(each, str)]


def solved(name: str) -> Iterator[str]:
    """What the formulas say, and why others do not apply."""
    solution = crawlsim.solve(name)
    for said in ("predictions", "course", "periodic", "window"):
        yield from lines(plain(getattr(solution, said)), said)
    others = [each for each in solution.not_applicable if not each.other_subject]
    reasons = Counter(reason for each in others for reason in each.reasons)
    for reason, count in sorted(reasons.items()):
        yield f"{reason}: {count}"


def simulated(name: str) -> Iterator[str]:
    """A few events, by the engine that needs no compilation."""
    scenario = load(name)
    horizon = scenario.run.horizon * min(1.0, _EVENTS / expected_events(scenario))
    short = scenario.with_({"run.horizon": horizon, "run.warmup": 0.1 * horizon})
    results = crawlsim.run(short, engine="simpy", replications=3)
    yield from lines(plain(list(results.estimates)), "estimates")


@pytest.mark.parametrize("name", sorted(set(library_names()) - LONG_TO_SOLVE))
def test_a_system_of_the_library_is_solved_as_is_stored(name: str) -> None:
    compare(STORED / "solve" / f"{name}.txt", list(solved(name)))


@pytest.mark.parametrize("name", library_names())
def test_a_system_of_the_library_has_the_best_decisions_that_are_stored(name: str) -> None:
    found = []
    scenario = load(name)
    for target in TARGETS:
        if (name, target) not in LONG_TO_OPTIMISE | _ONLY_ROUNDING:
            found += lines(optimum(scenario, target), target)
    compare(STORED / "optimize" / f"{name}.txt", found)


@pytest.mark.parametrize("name", library_names())
def test_a_system_of_the_library_is_simulated_as_is_stored(name: str) -> None:
    compare(STORED / "run" / f"{name}.txt", list(simulated(name)))


@pytest.mark.parametrize("kind", sorted(path.stem for path in DRAWN.glob("*.jsonl")))
def test_systems_that_were_drawn_are_solved_and_simulated_as_is_stored(kind: str) -> None:
    found = []
    for row in (DRAWN / f"{kind}.jsonl").read_text("utf-8").splitlines():
        scenario = scenario_from(json.loads(row))
        solution, results = crawlsim.solve(scenario), crawlsim.run(scenario, engine="simpy")
        known = [each for each in solution.predictions if each.source not in _NOT_TO_THE_DIGIT]
        numbers_of = {"value": known, "estimate": list(results.estimates)}
        found.append(f"--- {scenario.name}")
        for key, rows in numbers_of.items():
            found += lines([_short(each, key) for each in plain(rows)], key)
        found += lines(plain(solution.course), "course")
    compare(DRAWN / f"{kind}.txt", found)


def test_the_library_is_written_for_other_tools_as_is_stored() -> None:
    """Every different line of all programs, and how many hold it."""
    counts: dict[str, Counter[str]] = {tool: Counter() for tool in EXPORTED}
    for scenario in map(load, library_names()):
        for tool, count in counts.items():
            try:
                text = crawlsim.export(scenario, tool).replace(crawlsim.__version__, "VERSION")
            except ScenarioError as refusal:
                text = f"refused: {refusal.key}: {refusal.allowed}"
            count.update([*dict.fromkeys(text.splitlines())])
    for tool, count in counts.items():
        found = [f"{number} times {line}" for line, number in count.items()]
        compare(STORED / f"{tool}.txt", found)


@pytest.mark.parametrize("kind", _SEARCHED)
def test_systems_that_were_drawn_have_the_best_decisions_that_are_stored(kind: str) -> None:
    found = []
    refused: Counter[str] = Counter()
    for row in (DRAWN / f"{kind}.jsonl").read_text("utf-8").splitlines():
        scenario = scenario_from(json.loads(row))
        priced = scenario if scenario.buffer is None else scenario.with_(_PRICES)
        for target in TARGETS:
            if (kind, target) == ("hysteretic", "levels"):  # it takes seconds
                continue
            best = optimum(priced, target)
            if "exact" in best:
                refused.update(f"{target}: {why.splitlines()[-1]}" for why in best.values())
            else:
                found += lines(best, f"{scenario.name} {target}")
    found += [f"{count} times {why}" for why, count in refused.items()]
    compare(DRAWN / "best" / f"{kind}.txt", found)


def _short(row: dict[str, Any], key: str) -> dict[str, Any]:
    """A number and what it is of; the subjects of one measure are told apart by their order."""
    subject = row["subject"] if isinstance(row["subject"], str) else ""
    return {"measure": row["measure"], "subject": subject, key: row[key]}


def test_every_stored_answer_is_of_a_system() -> None:
    every = set(library_names())
    names = {"solve": every - LONG_TO_SOLVE, "optimize": every, "run": every}
    for folder, expected in names.items():
        assert {path.stem for path in (STORED / folder).iterdir()} == expected
    assert every >= LONG_TO_SOLVE
    assert {(name, target) for name in every for target in TARGETS} >= LONG_TO_OPTIMISE
