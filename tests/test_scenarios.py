"""Scenario files: there and back, changes, paths, the schema, and the joint delivery processes."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from scenarios import Scenario, ScenarioError, dumps, library_names, load, scenario_from, schema
from scenarios.deliveries import as_modes, batch_matrices
from scenarios.files import parse_value

settings.register_profile("scenarios", max_examples=60, deadline=None)
settings.load_profile("scenarios")

SEARCH_ENGINE = """
name = "search-engine"
title = "Robots, a buffer and its users"
paper = "avrachenkov2011 Table 1"
time_unit = "minute"
judged = ["loss_probability", "starvation_probability"]

[pages]
change_rates = { file = "rates.csv", column = "rate" }
weights = [1.0, 2.0, 0]

[robots]
available = 3
access_time = { empirical = { file = "data/times.csv" } }

[robots.accessing]
policy = "golden-ratio"
frequencies = [0.5, 0.25, 0.25]
cycle = 21

[activation]
threshold = { robots = [3, 1], at = [2] }

[buffer]
waiting_places = 5
admission = "partial"
service = { phase-type = { alpha = [0.4, 0.6], T = [
    [-2.0, 1.0],
    [0.0, -1.5],
] } }
obsolescence = "page-change"
discipline = "lifo"
when_full = "push-out"
replace_older_copy = true

[clients]
query_rate = 10.0

[costs]
loss = 1.0
starvation = 1.4
staleness = 0.5

[run]
horizon = 5e4
warmup = 500
replications = 10
seed = 0
"""
MONITOR = """
name = "monitor"

[source]
updates = { breaks = [0.0, 0.375, 0.75], values = [2.4, 7.5, 3.0], period = 1.0 }
importance = { breaks = [0.0, 0.375], values = [1.0, 3.0], period = 1.0 }

[probing]
horizon = 28.0
policy = { times = [14.0, 28.0] }
minimum_spacing = 1.0
"""
PARALLEL = """
name = "parallel"

[servers]
service = [{ erlang = { shape = 2, mean = 1.0 } }, { exponential = { rate = 2 } }]
arrivals = { map = { D0 = [[-3.0, 0.5], [0.2, -1.0]], D1 = [[0.5, 2.0], [0.6, 0.2]] } }
routing = { random = [0.3, 0.7] }
discipline = "non-preemptive"
"""
JOINT = """
name = "joint"

[robots]
available = 2
deliveries = { modes = [
    { bmap = { D = [[[-1.0]], [[0.75]], [[0.25]]] } },
    { poisson = { rate = 3.0 } },
] }

[activation]
optimal = "static"

[buffer]
waiting_places = 0
service = { deterministic = { value = 1.0 } }

[costs]
loss = 1.0
"""
FILES = {
    "search-engine": SEARCH_ENGINE,
    "monitor": MONITOR,
    "parallel": PARALLEL,
    "joint": JOINT,
}
QUEUE = {
    "name": "queue",
    "robots": {"available": 4, "access_time": {"exponential": {"mean": 10.0}}},
    "activation": {"static": 3},
    "buffer": {"waiting_places": 2, "service": {"exponential": {"rate": 1.0}}},
    "costs": {"loss": 1.0},
}
CRAWL = {
    "name": "crawl",
    "pages": {"change_rates": {"zipf": {"pages": 3, "exponent": 1.0, "total": 2.0}}},
    "robots": {
        "available": 1,
        "access_time": {"empirical": {"values": [1.0, 2.0]}},
        "accessing": {"policy": "golden-ratio", "frequencies": "optimal", "cycle": 21},
    },
}


@pytest.fixture
def folder(tmp_path):
    """A folder with the hand-written files and the columns that they name."""
    (tmp_path / "data").mkdir()
    (tmp_path / "rates.csv").write_text("page,rate\na,0.2\nb,0.1\nc,0.3\n", encoding="utf-8")
    (tmp_path / "data" / "times.csv").write_text("1.0\n2.5\n", encoding="utf-8")
    for name, text in FILES.items():
        (tmp_path / f"{name}.toml").write_text(text, encoding="utf-8")
    return tmp_path


# Valid entries of a scenario file, drawn at random.

positive = st.floats(0.01, 100.0)
rate = st.just(0.0) | st.floats(0.01, 10.0)


def rows(order: int) -> st.SearchStrategy[list[list[float]]]:
    row = st.lists(rate, min_size=order, max_size=order)
    return st.lists(row, min_size=order, max_size=order)


@st.composite
def chains(draw: Any, order: int, batches: int = 1) -> list[np.ndarray]:
    """D0, D1, … of a process in which every phase, by way of the next, reaches an arrival."""
    arrivals = [np.array(draw(rows(order))) for _ in range(batches)]
    hidden = np.array(draw(rows(order)))
    arrivals[0][-1, 0] += 1.0
    for phase in range(order - 1):
        hidden[phase, phase + 1] += 1.0
    np.fill_diagonal(hidden, 0.0)
    np.fill_diagonal(hidden, -hidden.sum(axis=1) - sum(each.sum(axis=1) for each in arrivals))
    return [hidden, *arrivals]


def as_lists(matrices: list[np.ndarray]) -> list[Any]:
    return [matrix.tolist() for matrix in matrices]


orders = st.integers(1, 3)


@st.composite
def probabilities(draw: Any, size: int) -> list[float]:
    weights = draw(st.lists(positive, min_size=size, max_size=size))
    return [weight / sum(weights) for weight in weights]


@st.composite
def phase_types(draw: Any) -> dict[str, Any]:
    order = draw(orders)
    hidden, _ = draw(chains(order))
    return {"alpha": draw(probabilities(order)), "T": hidden.tolist()}


@st.composite
def hyperexponentials(draw: Any) -> dict[str, Any]:
    order = draw(orders)
    rates = draw(st.lists(positive, min_size=order, max_size=order))
    return {"probabilities": draw(probabilities(order)), "rates": rates}


@st.composite
def maps(draw: Any, order: int | None = None) -> dict[str, Any]:
    hidden, arrivals = draw(chains(order or draw(orders)))
    return {"D0": hidden.tolist(), "D1": arrivals.tolist()}


@st.composite
def bmaps(draw: Any, order: int | None = None) -> dict[str, Any]:
    return {"D": as_lists(draw(chains(order or draw(orders), draw(st.integers(1, 3)))))}


@st.composite
def mmpps(draw: Any, order: int | None = None) -> dict[str, Any]:
    hidden, arrivals = draw(chains(order or draw(orders)))
    rates = arrivals.sum(axis=1)
    return {"Q": (hidden + np.diag(rates)).tolist(), "rates": rates.tolist()}


def one_key(**members: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """A table with one of the keys."""
    choices = [
        st.fixed_dictionaries({key.replace("_", "-"): content}) for key, content in members.items()
    ]
    return st.one_of(choices)


def table(**content: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(content)


shapes = st.integers(1, 9)
times: dict[str, st.SearchStrategy[Any]] = {
    "deterministic": table(value=positive),
    "exponential": table(mean=positive) | table(rate=positive),
    "erlang": table(shape=shapes, mean=positive),
    "gamma": table(shape=positive, mean=positive),
    "uniform": table(low=st.floats(0.0, 1.0), high=st.floats(1.5, 2.0)),
    "hyperexponential": hyperexponentials(),
    "phase_type": phase_types(),
    "empirical": table(values=st.lists(positive, min_size=1, max_size=4)),
}
distributions = one_key(**times)
renewals = {"poisson": table(rate=positive), "renewal": distributions}
processes = one_key(**renewals, mmpp=mmpps(), map=maps())


def markovian(order: int | None = None) -> st.SearchStrategy[dict[str, Any]]:
    members = {"mmpp": mmpps(order), "map": maps(order), "bmap": bmaps(order)}
    return one_key(**members, **({"poisson": table(rate=positive)} if order in (None, 1) else {}))


@st.composite
def marked(draw: Any, robots: int) -> dict[str, Any]:
    sizes = [draw(st.integers(1, 2))] + [draw(st.integers(0, 2)) for _ in range(robots - 1)]
    hidden, *arrivals = as_lists(draw(chains(draw(orders), sum(sizes))))
    return {"D0": hidden, "robots": [[arrivals.pop() for _ in range(size)] for size in sizes]}


@st.composite
def deliveries(draw: Any, robots: int) -> dict[str, Any]:
    kind = draw(st.sampled_from(["modes", "independent", "thinned", "marked"]))
    if kind == "marked":
        return {kind: draw(marked(robots))}
    if kind == "thinned":
        keep = draw(st.lists(st.floats(0.0, 1.0), min_size=robots, max_size=robots))
        return {kind: {"process": draw(markovian()), "keep": sorted(keep)}}
    order = draw(orders) if kind == "modes" else None
    return {kind: [draw(markovian(order)) for _ in range(robots)]}


@st.composite
def activations(draw: Any, robots: int, levels: int) -> dict[str, Any]:
    numbers = draw(st.sets(st.integers(0, robots), min_size=1))
    at = draw(st.lists(st.integers(0, 9), min_size=len(numbers) - 1, max_size=len(numbers) - 1))
    targets = draw(st.lists(st.integers(1, robots), min_size=levels, max_size=levels))
    rules = {
        "static": max(numbers),
        "threshold": {"robots": sorted(numbers, reverse=True), "at": sorted(at)},
        "switching": {"targets": targets},
        "optimal": draw(st.sampled_from(["static", "threshold", "switching"])),
    }
    kind = draw(st.sampled_from(list(rules)))
    return {kind: rules[kind]}


buffers = st.fixed_dictionaries(
    {"waiting_places": st.integers(0, 3), "service": distributions},
    optional={
        "obsolescence": st.just("never") | distributions,
        "discipline": st.sampled_from(["fifo", "lifo"]),
        "when_full": st.sampled_from(["lose-new", "push-out"]),
    },
)
prices = st.dictionaries(
    st.sampled_from(["loss", "obsolescence", "starvation", "response", "robots"]),
    st.floats(0.0, 10.0) | st.integers(0, 10),
    min_size=1,
)


@st.composite
def queues(draw: Any) -> dict[str, Any]:
    """Entries of a scenario with robots, activation, a buffer, costs and run."""
    buffer = draw(buffers)
    available = draw(st.integers(1, 3))
    rule = draw(activations(available, buffer["waiting_places"] + 2))
    robots: dict[str, Any] = {"available": available}
    if "switching" in (*rule, *rule.values()) or draw(st.booleans()):
        robots["access_time"] = draw(distributions | processes)
    else:
        robots["deliveries"] = draw(deliveries(available))
    run = {"horizon": draw(st.floats(1.0, 1e6)), "warmup": 0.5, "seed": draw(st.integers(0, 2**40))}
    sections = {"robots": robots, "activation": rule, "buffer": buffer, "costs": draw(prices)}
    return {"name": "drawn", "title": draw(st.text(max_size=20)), **sections, "run": run}


# There and back.


def test_the_hand_written_files_use_every_section():
    used = {section for text in FILES.values() for section in tomllib.loads(text)}
    assert used == set(Scenario.model_fields)


@pytest.mark.parametrize("name", FILES)
def test_a_written_file_reads_as_the_same_scenario(name, folder):
    scenario = load(folder / f"{name}.toml")
    copy = folder / "copy.toml"
    copy.write_text(dumps(scenario, folder), encoding="utf-8")
    assert load(copy) == scenario
    assert dumps(load(copy), folder) == copy.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", FILES)
def test_a_written_file_holds_the_entries_of_the_read_one_and_no_others(name, folder):
    scenario = load(folder / f"{name}.toml")
    assert tomllib.loads(dumps(scenario, folder)) == tomllib.loads(FILES[name])


@given(queues())
def test_any_scenario_is_the_same_after_writing_and_reading(entries):
    scenario = scenario_from(entries)
    written = dumps(scenario)
    assert tomllib.loads(written) == entries
    assert scenario_from(tomllib.loads(written)) == scenario


@pytest.mark.parametrize("name", library_names())
def test_a_library_scenario_loads_cites_its_paper_and_says_what_is_judged(name):
    scenario = load(name)
    assert scenario.name == name
    assert scenario.title
    assert scenario.paper
    assert scenario.judged
    assert scenario_from(tomllib.loads(dumps(scenario))) == scenario


def test_a_byte_order_mark_is_read_over(folder):
    for name in ("rates.csv", "search-engine.toml"):
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(b"\xef\xbb\xbf" + content)
    pages = load(folder / "search-engine.toml").pages
    assert pages is not None
    assert pages.count == 3


# Paths.


def test_paths_count_from_the_scenario_file(folder, monkeypatch):
    monkeypatch.chdir(folder / "data")
    scenario = load("../search-engine.toml")
    assert scenario.pages.change_rates.numbers == (0.2, 0.1, 0.3)
    assert scenario.robots.access_time.observations == (1.0, 2.5)


def test_written_paths_count_from_the_folder_of_the_written_file(folder):
    scenario = load(folder / "search-engine.toml").with_("run.seed", 7)
    other = folder / "runs" / "first"
    other.mkdir(parents=True)
    written = dumps(scenario, other)
    entries = tomllib.loads(written)
    assert entries["pages"]["change_rates"]["file"] == "../../rates.csv"
    assert entries["robots"]["access_time"]["empirical"]["file"] == "../../data/times.csv"
    (other / "copy.toml").write_text(written, encoding="utf-8")
    assert load(other / "copy.toml") == scenario


def test_paths_are_written_from_the_present_folder_by_default(folder, monkeypatch):
    scenario = load(folder / "search-engine.toml")
    monkeypatch.chdir(folder)
    assert dumps(scenario) == dumps(scenario, folder)


# Changes.


@pytest.mark.parametrize(
    ("base", "changes", "section", "after"),
    [
        pytest.param(base, changes, section, after, id=" ".join(changes))
        for base, changes, section, after in [
            (QUEUE, {"activation.static": 2}, "activation", {"static": 2}),
            (
                QUEUE,
                {"activation.threshold": {"robots": [3, 1], "at": [2]}},
                "activation",
                {"threshold": {"robots": [3, 1], "at": [2]}},
            ),
            (
                QUEUE,
                {"activation.switching.targets": [4, 3, 2, 1]},
                "activation",
                {"switching": {"targets": [4, 3, 2, 1]}},
            ),
            (QUEUE, {"activation.optimal": "static"}, "activation", {"optimal": "static"}),
            (
                QUEUE,
                {"robots.deliveries.thinned.keep": [1.0] * 4,
                 "robots.deliveries.thinned.process.poisson.rate": 2.0},
                "robots",
                {
                    "available": 4,
                    "deliveries": {
                        "thinned": {"keep": [1.0] * 4, "process": {"poisson": {"rate": 2.0}}}
                    },
                },
            ),
            (
                QUEUE,
                {"buffer.service.exponential.mean": 2.0},
                "buffer",
                {"waiting_places": 2, "service": {"exponential": {"mean": 2.0}}},
            ),
            (
                QUEUE,
                {"buffer.service.erlang": {"shape": 2, "mean": 1.0}},
                "buffer",
                {"waiting_places": 2, "service": {"erlang": {"shape": 2, "mean": 1.0}}},
            ),
            (
                QUEUE,
                {"robots.access_time.map": {"D0": [[-1.0]], "D1": [[1.0]]}},
                "robots",
                {"available": 4, "access_time": {"map": {"D0": [[-1.0]], "D1": [[1.0]]}}},
            ),
            (QUEUE, {"costs.loss": None, "costs.robots": 1}, "costs", {"robots": 1.0}),
            (
                CRAWL,
                {"pages.change_rates": [0.1, 0.2]},
                "pages",
                {"change_rates": [0.1, 0.2]},
            ),
            (
                CRAWL,
                {"robots.accessing.policy": "cyclic", "robots.accessing.template": [0, 1]},
                "robots",
                {
                    "available": 1,
                    "access_time": {"empirical": {"values": [1.0, 2.0]}},
                    "accessing": {"policy": "cyclic", "template": [0, 1]},
                },
            ),
            (
                CRAWL,
                {"robots.accessing.policy": "randomized"},
                "robots",
                {
                    "available": 1,
                    "access_time": {"empirical": {"values": [1.0, 2.0]}},
                    "accessing": {"policy": "randomized", "frequencies": "optimal"},
                },
            ),
        ]
    ],
)
def test_a_change_replaces_the_other_alternatives(base, changes, section, after):
    assert scenario_from(base).with_(changes).as_file()[section] == after
