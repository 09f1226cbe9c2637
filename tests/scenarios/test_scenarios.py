"""Scenario files: there and back, changes, paths, the schema, and the joint delivery processes."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from profiles import examples
from pydantic import ValidationError
from systems import SIMULATED_ONLY

from analytic import predict, resolve
from analytic.machinery.arrival_process import gap_map
from scenarios import (
    Scenario,
    ScenarioError,
    base,
    dumps,
    library_names,
    load,
    scenario_from,
    schema,
)
from scenarios.deliveries import as_modes, batch_matrices
from scenarios.files import parse_value
from scenarios.laws import Gamma, Uniform
from scenarios.processes import Map, Mmpp

sometimes = settings(max_examples=examples(50))

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

[index]
commit_interval = 30.0
phase = 2.0

[clients]
query_rate = 10.0

[[interventions]]
at = 480.0
until = 540.0
every = 1440.0
robots = 1
service_speed = 0.5

[[interventions]]
at = 1000.0
change_factor = 2.0
query_factor = 0.0

[costs]
loss = 1.0
starvation = 1.4
staleness = 0.5

[check]
negligible = 0.001

[run]
horizon = 5e4
warmup = 500
replications = 10
seed = 0
observe = 250.0
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
SHARED = """
name = "shared"

[[sources]]
updates = { breaks = [0.0, 0.5], values = [2.0, 1.0], period = 1.0 }
importance = { breaks = [0.0], values = [1.0], period = 1.0 }

[[sources]]
updates = { breaks = [0.0], values = [3.0], period = 1.0 }
importance = { breaks = [0.0], values = [0.5], period = 1.0 }

[probing]
horizon = 8.0
probes = 6
minimum_spacing = [0.5, 1.0]
slots = 64
split = [2, 4]
policy = "optimal"
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
TURNOVER = """
name = "turnover"

[page_set]
birth_rate = 0.5
lifetime = { exponential = { mean = 40.0 } }
change_rate = 0.02
discovery = { uniform = { low = 0.0, high = 12.0 } }
first_access = "at-once"

[robots]
available = 2
access_time = { exponential = { mean = 1.0 } }
accessing = { policy = "round-robin" }
"""

FILES = {
    "search-engine": SEARCH_ENGINE,
    "monitor": MONITOR,
    "shared": SHARED,
    "parallel": PARALLEL,
    "joint": JOINT,
    "turnover": TURNOVER,
}
QUEUE = {
    "name": "queue",
    "robots": {"available": 4, "access_time": {"exponential": {"mean": 10.0}}},
    "activation": {"static": 3},
    "buffer": {
        "waiting_places": 2,
        "service": {"exponential": {"rate": 1.0}},
        "obsolescence": "never",
    },
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
        "levels": targets,
        "optimal": draw(st.sampled_from(["static", "threshold", "levels", "switching"])),
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


labels = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=20)


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
    return {"name": "drawn", "title": draw(labels), **sections, "run": run}


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


@sometimes
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
    assert scenario.judged or name in SIMULATED_ONLY
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
    assert scenario.pages.change_rates.entries == (0.2, 0.1, 0.3)
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

POISSON = {"poisson": {"rate": 2.0}}
UNIFORM = {"low": 1.0, "high": 2.0}
RULE = {"robots": [3, 1], "at": [2]}
THINNED = {"process": POISSON, "keep": [1.0, 1.0, 1.0, 1.0]}
RENEWAL = {"D0": [[-1.0]], "D1": [[1.0]]}
CYCLIC = {"policy": "cyclic", "template": [0, 2]}
RANDOMIZED = {"policy": "randomized", "frequencies": "optimal"}

CHANGES: list[tuple[str, dict[str, Any], str, Any]] = [
    ("queue", {"activation.static": 2}, "activation", {"static": 2}),
    ("queue", {"activation": {"static": 2}}, "activation", {"static": 2}),
    ("queue", {"activation.threshold": RULE}, "activation", {"threshold": RULE}),
    ("queue", {"activation.optimal": "static"}, "activation", {"optimal": "static"}),
    ("queue", {"robots.deliveries.thinned": THINNED}, "robots.access_time", None),
    ("queue", {"robots.deliveries.thinned": THINNED}, "robots.deliveries.thinned", THINNED),
    ("joint", {"robots.deliveries.thinned.process": POISSON,
               "robots.deliveries.thinned.keep": [0.5, 1.0]},
     "robots.deliveries", {"thinned": {"process": POISSON, "keep": [0.5, 1.0]}}),
    ("joint", {"robots.access_time.exponential.rate": 2.0}, "robots.deliveries", None),
    ("queue", {"robots.access_time.map": RENEWAL}, "robots.access_time", {"map": RENEWAL}),
    ("queue", {"robots.access_time.exponential.rate": 2}, "robots.access_time",
     {"exponential": {"rate": 2.0}}),
    ("queue", {"buffer.service.exponential.mean": 2.0}, "buffer.service.exponential",
     {"mean": 2.0}),
    ("queue", {"buffer.service.uniform": UNIFORM}, "buffer.service", {"uniform": UNIFORM}),
    ("queue", {"buffer.obsolescence.uniform.low": 1.0, "buffer.obsolescence.uniform.high": 2.0},
     "buffer.obsolescence", {"uniform": UNIFORM}),
    ("queue", {"buffer.service.uniform": UNIFORM, "buffer.service.uniform.low": 0.5},
     "buffer.service", {"uniform": {"low": 0.5, "high": 2.0}}),
    ("queue", {"costs.robots": 1.0, "costs.loss": None}, "costs", {"robots": 1.0}),
    ("queue", {"run.seed": 7}, "run", {"seed": 7}),
    ("crawl", {"pages.change_rates": [0.1, 0.2]}, "pages.change_rates", [0.1, 0.2]),
    ("crawl", {"pages.change_rates.zipf.pages": 9}, "pages.change_rates.zipf.pages", 9),
    ("crawl", {"robots.access_time.empirical.values": [3.0]}, "robots.access_time",
     {"empirical": {"values": [3.0]}}),
    ("crawl", {"robots.accessing.policy": "cyclic", "robots.accessing.template": [0, 2]},
     "robots.accessing", CYCLIC),
    ("crawl", {"robots.accessing.template": [0, 2], "robots.accessing.policy": "cyclic"},
     "robots.accessing", CYCLIC),
    ("crawl", {"robots.accessing.policy": "randomized"}, "robots.accessing", RANDOMIZED),
    ("parallel", {"servers.rates": [1.0, 2.0]}, "servers.service", None),
    ("parallel", {"servers.routing": "optimal"}, "servers.routing", "optimal"),
    ("parallel", {"servers.routing": "optimal", "servers.routing.period": [0, 1]},
     "servers.routing", {"period": [0, 1]}),
    ("monitor", {"probing.policy": "uniform", "probing.probes": 4}, "probing.policy", "uniform"),
    ("queue", {"interventions.0.at": 3.0, "interventions.0.robots": 1}, "interventions",
     [{"at": 3.0, "robots": 1}]),
    ("queue", {"interventions": [{"at": 3.0, "robots": 1}], "interventions.0.robots": 2,
               "interventions.1": {"at": 0.0, "robot_speed": 0.5}}, "interventions",
     [{"at": 3.0, "robots": 2}, {"at": 0.0, "robot_speed": 0.5}]),
    ("queue", {"interventions": [{"at": 3.0, "robots": 1}, {"at": 4.0, "robots": 2}],
               "interventions.0": None}, "interventions", [{"at": 4.0, "robots": 2}]),
]  # fmt: skip


def scenario_named(name: str) -> Scenario:
    drawn = {"queue": QUEUE, "crawl": CRAWL}
    return scenario_from(drawn[name] if name in drawn else tomllib.loads(FILES[name]))


def entry(scenario: Scenario, path: str) -> Any:
    """The entry at a dotted path of the file, or None."""
    found: Any = scenario.as_file()
    for key in path.split("."):
        found = found.get(key) if found else None
    return found


@pytest.mark.parametrize(("name", "changes", "path", "after"), CHANGES)
def test_a_change_replaces_what_it_excludes_and_keeps_the_rest(name, changes, path, after):
    scenario = scenario_named(name)
    before = scenario.as_file()
    changed = scenario.with_(changes)
    assert entry(changed, path) == after
    assert scenario.as_file() == before
    touched = {key.partition(".")[0] for key in changes}
    kept = set(before) - touched
    assert {key: changed.as_file()[key] for key in kept} == {key: before[key] for key in kept}


def test_a_file_replaces_values_and_power_laws(folder, monkeypatch):
    monkeypatch.chdir(folder)
    changed = scenario_from(CRAWL).with_(
        {
            "pages.change_rates.file": "rates.csv",
            "pages.change_rates.column": "rate",
            "robots.access_time.empirical.file": "data/times.csv",
        }
    )
    assert changed.pages.change_rates.entries == (0.2, 0.1, 0.3)
    assert changed.robots.access_time.observations == (1.0, 2.5)
    zipf = {"pages": 2, "exponent": 0.0, "total": 1.0}
    assert entry(changed.with_("pages.change_rates.zipf", zipf), "pages.change_rates") == {
        "zipf": zipf
    }


def test_one_key_and_a_table_of_keys_do_the_same():
    scenario = scenario_from(QUEUE)
    one = scenario.with_("buffer.waiting_places", 10)
    assert one == scenario.with_({"buffer.waiting_places": 10})
    assert one.buffer.waiting_places == 10


def test_several_changes_are_applied_together_and_checked_once():
    scenario = scenario_from(QUEUE)
    changes = {"activation.static": 9, "robots.available": 9}
    assert scenario.with_(changes).robots.available == 9
    with pytest.raises(ScenarioError, match=r"at most robots.available \(4\)"):
        scenario.with_("activation.static", 9)


def test_changes_of_a_file_are_applied_before_it_is_checked(tmp_path):
    path = tmp_path / "spoilt.toml"
    path.write_text(JOINT.replace("available = 2", "available = 3"), encoding="utf-8")
    assert load(path, {"robots.available": 2}) == scenario_named("joint")
    with pytest.raises(ScenarioError, match="one per available robot"):
        load(path)


@pytest.mark.parametrize(
    ("changes", "key", "allowed"),
    [
        ({"buffer.waiting_place": 3}, "buffer.waiting_place", "waiting_places in [buffer]?"),
        ({"bufer.waiting_places": 3}, "bufer", "did you mean buffer at the top of the file?"),
        ({"waiting_places": 3}, "waiting_places", "waiting_places in [buffer]?"),
        ({"activation.statc": 3}, "activation.statc", "did you mean static?"),
        ({"buffer.waiting_places.more": 3}, "buffer.waiting_places", "must be a whole number"),
        ({"buffer.service.phase-type.T.0": 3}, "buffer.service.phase-type.T", "must be a list"),
        ({"robots.access_time": None}, "robots", "exactly one of the keys access_time, deliv"),
        ({"interventions.1.at": 3.0}, "interventions.1.at", "1 must be a number from 0 to 0"),
        ({"interventions.last.at": 3.0}, "interventions.last.at", "must be a number from 0 to 0"),
        ({"": 3}, "", "is not a key; write section.key"),
        ({"buffer.": 3}, "buffer.", "is not a key; write section.key"),
        ({".".join(["run"] * 3000): 3}, "", "is nested too deeply"),
    ],
)
def test_a_bad_change_is_refused(changes, key, allowed):
    with pytest.raises(ScenarioError) as caught:
        scenario_from(QUEUE).with_(changes)
    assert caught.value.key == key
    assert allowed in caught.value.allowed
    assert caught.value.file is None


def test_an_entry_of_a_list_cannot_be_changed_alone():
    with pytest.raises(ScenarioError, match="D0 is a list; give the whole list"):
        scenario_named("parallel").with_("servers.arrivals.map.D0.0", 1.0)


def test_changing_a_scenario_leaves_it_and_the_changes_as_they_were():
    scenario = scenario_from(QUEUE)
    targets = {"targets": [4, 3, 2, 1]}
    changes = {"activation.switching": targets, "activation.switching.targets": [4, 2, 2, 2]}
    assert scenario.with_(changes).activation.targets == ((4, 2, 2, 2),)
    assert scenario == scenario_from(QUEUE)
    assert targets == {"targets": [4, 3, 2, 1]}


@pytest.mark.parametrize("section", ["", "robots", "buffer", "run", "robots.access_time"])
def test_a_scenario_is_frozen(section):
    part: Any = scenario_from(QUEUE)
    for key in filter(None, section.split(".")):
        part = getattr(part, key)
    field = next(iter(type(part).model_fields))
    with pytest.raises(ValidationError, match="frozen"):
        setattr(part, field, 1)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("3.0", 3.0),
        ("1e5", 1e5),
        ("true", True),
        ("[3, 1]", [3, 1]),
        ("{ mean = 2.0 }", {"mean": 2.0}),
        ('"never"', "never"),
        ("never", "never"),
        ("page-change", "page-change"),
        ("", ""),
        ("[3, 1", "[3, 1"),
        ("1\nx = 2", "1\nx = 2"),
        ("1\n[run]", "1\n[run]"),
        ("1\nvalue = 2", "1\nvalue = 2"),
        ("[" * 2000, "[" * 2000),
    ],
)
def test_a_value_on_the_command_line_is_toml_or_else_a_string(text, value):
    parsed = parse_value(text)
    assert parsed == value
    assert type(parsed) is type(value)


# The schema.


def fits(value: Any, rule: dict[str, Any], definitions: dict[str, Any]) -> bool:
    """Does a value fit a JSON Schema? The few words that ours uses, bounds left out."""
    if "$ref" in rule:
        return fits(value, definitions[rule["$ref"].rpartition("/")[2]], definitions)
    for word, enough in (("anyOf", (1, 2, 3)), ("oneOf", (1,))):
        if word in rule:
            return sum(fits(value, each, definitions) for each in rule[word]) in enough
    if "enum" in rule or "const" in rule:
        return value in rule.get("enum", [rule.get("const")])
    if rule["type"] == "array":
        return isinstance(value, list) and all(
            fits(each, rule["items"], definitions) for each in value
        )
    if rule["type"] == "object":
        return (
            isinstance(value, dict)
            and set(rule.get("required", ())) <= set(value) <= set(rule["properties"])
            and all(fits(value[key], rule["properties"][key], definitions) for key in value)
        )
    types = {"string": str, "boolean": bool, "integer": int, "number": (int, float), "null": ()}
    boolean = isinstance(value, bool) and rule["type"] != "boolean"
    return isinstance(value, types[rule["type"]]) and not boolean


def fits_schema(entries: dict[str, Any]) -> bool:
    rules = schema()
    return fits(entries, rules, rules["$defs"])


def objects(rule: Any) -> Iterator[dict[str, Any]]:
    """Every table described anywhere in a schema."""
    if isinstance(rule, dict) and "properties" in rule:
        yield rule
    inside = rule.values() if isinstance(rule, dict) else rule
    for inner in inside if isinstance(rule, dict | list) else ():
        yield from objects(inner)


def test_the_schema_is_json_and_has_every_section():
    rules = json.loads(json.dumps(schema(), allow_nan=False))
    assert rules["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert set(rules["properties"]) == set(Scenario.model_fields)
    assert rules["required"] == ["name"]


def test_no_table_of_the_schema_takes_unknown_keys():
    tables = list(objects(schema()))
    assert len(tables) > 30
    assert all(each["additionalProperties"] is False for each in tables)


@pytest.mark.parametrize("name", FILES)
def test_the_hand_written_files_fit_the_schema(name):
    assert fits_schema(tomllib.loads(FILES[name]))


@sometimes
@given(queues())
def test_any_scenario_fits_the_schema(entries):
    assert fits_schema(entries)


@pytest.mark.parametrize(
    "changes",
    [
        {"buffer": {"waiting_places": 2}},
        {"bufer": {}},
        {"activation": {"static": 2, "optimal": "static"}},
        {"activation": {"static": 2.5}},
        {"activation": {"switching": {"targets": [[1, 2], 3]}}},
        {"robots": {"available": 2, "access_time": {"exponential": {"men": 1.0}}}},
        {"run": {"seed": True}},
    ],
)
def test_bad_entries_do_not_fit_the_schema(changes):
    assert fits_schema(QUEUE)
    assert not fits_schema({**QUEUE, **changes})


# Rows of matrices.


def refused_row(content: dict[str, Any], key: str, row: int, total: str) -> bool:
    """Is it refused by this key and row?"""
    with pytest.raises(ScenarioError) as caught:
        scenario_from(JOINT_ONE | {"robots": {"available": 1, **content}})
    named = re.match(rf"row {row}( of .*)? sums to .*; must {total}", caught.value.allowed)
    return caught.value.key.endswith(key) and named is not None


JOINT_ONE = {"name": "one", "buffer": QUEUE["buffer"]}
errors = st.floats(1e-3, 10.0)
signs = st.sampled_from([-1.0, 1.0])


@sometimes
@given(phase_types(), st.data())
def test_a_phase_type_with_a_row_above_zero_is_refused_by_that_row(content, data):
    row = data.draw(st.integers(0, len(content["T"]) - 1))
    content["T"][row][row] += data.draw(errors) - sum(content["T"][row])
    assert refused_row({"access_time": {"phase-type": content}}, "phase-type.T", row, "be <= 0")


@sometimes
@given(maps(), errors, signs, st.data())
def test_a_map_with_a_row_off_zero_is_refused_by_that_row(content, error, sign, data):
    row = data.draw(st.integers(0, len(content["D0"]) - 1))
    content["D0"][row][row] += sign * error
    assert refused_row({"access_time": {"map": content}}, "map.D0", row, "sum to 0")


@sometimes
@given(mmpps(), errors, signs, st.data())
def test_an_mmpp_with_a_row_off_zero_is_refused_by_that_row(content, error, sign, data):
    row = data.draw(st.integers(0, len(content["Q"]) - 1))
    content["Q"][row][row] += sign * error
    assert refused_row({"access_time": {"mmpp": content}}, "mmpp.Q", row, "sum to 0")


@sometimes
@given(bmaps(), errors, st.data())
def test_a_bmap_with_a_row_off_zero_is_refused_by_that_row(content, error, data):
    row = data.draw(st.integers(0, len(content["D"][0]) - 1))
    size = data.draw(st.integers(1, len(content["D"]) - 1))
    content["D"][size][row][0] += error
    modes = {"deliveries": {"modes": [{"bmap": content}]}}
    assert refused_row(modes, "modes[0].bmap.D[0]", row, "sum to 0")


@pytest.mark.parametrize(("error", "good"), [(0.9e-9, True), (-0.9e-9, True), (2e-9, False)])
def test_rows_may_be_off_by_a_billionth_of_their_largest_rate(error, good):
    content = {"D0": [[-1000.0 + 1000.0 * error]], "D1": [[1000.0]]}
    entries = JOINT_ONE | {"robots": {"available": 1, "access_time": {"map": content}}}
    if good:
        assert scenario_from(entries).robots.access_time.D1 == ((1000.0,),)
    else:
        with pytest.raises(ScenarioError, match="row 0 of D0"):
            scenario_from(entries)


# Joint deliveries: one process for each number of active robots.


def modes_of(content: dict[str, Any], robots: int) -> np.ndarray:
    entries = JOINT_ONE | {"robots": {"available": robots, "deliveries": content}}
    return as_modes(scenario_from(entries).robots.deliveries)


def matrices_of(process: dict[str, Any]) -> np.ndarray:
    """D0, D1, … of one process."""
    entries = JOINT_ONE | {"robots": {"available": 1, "deliveries": {"modes": [process]}}}
    return batch_matrices(scenario_from(entries).robots.deliveries.root[0])


@st.composite
def joint(draw: Any) -> tuple[dict[str, Any], int]:
    robots = draw(st.integers(1, 3))
    return draw(deliveries(robots)), robots


@pytest.mark.parametrize(
    ("process", "hidden", "arrivals"),
    [
        (
            Mmpp(Q=((-0.3, 0.3), (0.1, -0.1)), rates=(2.0, 5.0)),
            [[-2.3, 0.3], [0.1, -5.1]],
            [[2.0, 0.0], [0.0, 5.0]],
        ),
        (
            Map(D0=((-3.0, 1.0), (0.0, -2.0)), D1=((0.5, 1.5), (2.0, 0.0))),
            [[-3.0, 1.0], [0.0, -2.0]],
            [[0.5, 1.5], [2.0, 0.0]],
        ),
    ],
    ids=["mmpp", "map"],
)
def test_the_matrices_of_bursts_by_hand(
    process: Map | Mmpp, hidden: list[list[float]], arrivals: list[list[float]]
) -> None:
    """Both engines and the formulas take them from there: a comparison would not see an error."""
    assert batch_matrices(process).tolist() == [hidden, arrivals]
    assert [each.tolist() for each in gap_map(process) or ()] == [hidden, arrivals]


@sometimes
@given(joint())
def test_every_mode_is_a_batch_process(drawn):
    content, robots = drawn
    modes = modes_of(content, robots)
    hidden = modes[:, 0]
    batches = modes[:, 1:]
    order = modes.shape[-1]
    assert modes.shape == (robots + 1, modes.shape[1], order, order)
    assert (batches >= 0).all()
    assert (hidden[:, ~np.eye(order, dtype=bool)] >= 0).all()
    scale = np.abs(modes).max()
    np.testing.assert_allclose(modes.sum(axis=(1, 3)), 0.0, atol=1e-12 * (1 + scale) * order)


@sometimes
@given(joint())
def test_without_active_robots_nothing_is_delivered(drawn):
    content, robots = drawn
    modes = modes_of(content, robots)
    assert not modes[0, 1:].any()
    if "modes" in content:
        assert not modes[0, 0].any()
    else:
        np.testing.assert_allclose(modes[0, 0], modes[robots].sum(axis=0), rtol=1e-9, atol=1e-9)


@sometimes
@given(joint())
def test_more_robots_deliver_more_where_the_robots_are_given_one_by_one(drawn):
    content, robots = drawn
    if "modes" not in content:
        batches = modes_of(content, robots)[:, 1:]
        assert (np.diff(batches, axis=0) >= -1e-12).all()


@sometimes
@given(st.data(), st.integers(1, 3))
def test_free_modes_are_the_given_processes(data, robots):
    order = data.draw(orders)
    given_modes = [data.draw(markovian(order)) for _ in range(robots)]
    modes = modes_of({"modes": given_modes}, robots)
    for mode, process in zip(modes[1:], given_modes, strict=True):
        matrices = matrices_of(process)
        np.testing.assert_array_equal(mode[: len(matrices)], matrices)
        assert not mode[len(matrices) :].any()


@sometimes
@given(st.lists(positive, min_size=1, max_size=4))
def test_independent_poisson_robots_add_up(rates):
    modes = modes_of({"independent": [{"poisson": {"rate": rate}} for rate in rates]}, len(rates))
    heard = np.cumsum([0.0, *rates])
    np.testing.assert_allclose(modes[:, 1, 0, 0], heard, rtol=1e-12)
    np.testing.assert_allclose(modes[:, 0, 0, 0], -heard, rtol=1e-12, atol=1e-12 * sum(rates))


@sometimes
@given(markovian())
def test_one_independent_robot_is_its_process(process):
    np.testing.assert_allclose(modes_of({"independent": [process]}, 1)[1], matrices_of(process))


@sometimes
@given(markovian(), st.floats(0.0, 1.0))
def test_thinning_keeps_a_share_of_the_batches_and_the_phases(process, keep):
    modes = modes_of({"thinned": {"process": process, "keep": [keep, 1.0]}}, 2)
    matrices = matrices_of(process)
    np.testing.assert_array_equal(modes[2], matrices)
    np.testing.assert_allclose(modes[1, 1:], keep * matrices[1:])
    np.testing.assert_allclose(modes[1].sum(axis=0), matrices.sum(axis=0), atol=1e-9)


@sometimes
@given(st.data(), st.integers(1, 3))
def test_with_all_marked_robots_the_marks_do_not_matter(data, robots):
    content = data.draw(marked(robots))
    modes = modes_of({"marked": content}, robots)
    np.testing.assert_array_equal(modes[robots, 0], content["D0"])
    for size in range(1, modes.shape[1]):
        delivered = [each[size - 1] for each in content["robots"] if len(each) >= size]
        np.testing.assert_allclose(modes[robots, size], np.sum(delivered, axis=0))


@sometimes
@given(maps(2), maps(2))
def test_independent_robots_are_robots_marked_on_the_joint_phase(first, second):
    independent = {"independent": [{"map": first}, {"map": second}]}
    one = np.eye(2)
    robots = [[np.kron(first["D1"], one).tolist()], [np.kron(one, second["D1"]).tolist()]]
    hidden = np.kron(first["D0"], one) + np.kron(one, second["D0"])
    on_joint_phase = {"marked": {"D0": hidden.tolist(), "robots": robots}}
    np.testing.assert_allclose(modes_of(independent, 2), modes_of(on_joint_phase, 2), atol=1e-9)


def test_two_independent_robots_by_hand():
    first = {"map": {"D0": [[-3.0, 1.0], [0.0, -2.0]], "D1": [[2.0, 0.0], [1.0, 1.0]]}}
    second = {"map": {"D0": [[-5.0, 0.0], [2.0, -4.0]], "D1": [[4.0, 1.0], [0.0, 2.0]]}}
    modes = modes_of({"independent": [first, second]}, 2)
    # Phases (0, 0), (0, 1), (1, 0), (1, 1): the first robot's, the second robot's.
    still = [[-2, 1, 1, 0], [2, -3, 0, 1], [1, 0, -2, 1], [0, 1, 2, -3]]
    one = [
        [[-4, 1, 1, 0], [2, -5, 0, 1], [0, 0, -3, 1], [0, 0, 2, -4]],
        [[2, 0, 0, 0], [0, 2, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1]],
    ]
    two = [
        [[-8, 0, 1, 0], [2, -7, 0, 1], [0, 0, -7, 0], [0, 0, 2, -6]],
        [[6, 1, 0, 0], [0, 4, 0, 0], [1, 0, 5, 1], [0, 1, 0, 3]],
    ]
    np.testing.assert_array_equal(modes, [[still, np.zeros((4, 4))], one, two])


def test_a_marked_robot_may_bring_nothing():
    modes = modes_of({"marked": {"D0": [[-2.0]], "robots": [[], [[[2.0]]]]}}, 2)
    np.testing.assert_array_equal(modes[:, :, 0, 0], [[0.0, 0.0], [0.0, 0.0], [-2.0, 2.0]])


@pytest.mark.parametrize(
    "process",
    [
        {"mmpp": {"Q": [[0.0]], "rates": [2.0]}},
        {"map": {"D0": [[-2.0]], "D1": [[2.0]]}},
        {"bmap": {"D": [[[-2.0]], [[2.0]]]}},
    ],
)
def test_a_poisson_process_can_be_written_in_four_ways(process):
    np.testing.assert_array_equal(matrices_of(process), matrices_of({"poisson": {"rate": 2.0}}))


@pytest.mark.parametrize("key", ["title", "paper", "time_unit"])
@pytest.mark.parametrize("text", ["a\nb", "\x00", "\t", "\x7f", "\x85", "\u2029"])
def test_a_label_is_one_line_without_control_characters(key: str, text: str) -> None:
    scenario = load("one-robot")
    with pytest.raises(ScenarioError, match="must be one line without control characters"):
        scenario.with_(key, text)
    ordinary = "Å™ 10\N{NO-BREAK SPACE}µs — «ö» 🕷"
    assert getattr(scenario.with_(key, ordinary), key) == ordinary


@pytest.mark.parametrize("function", [predict, resolve])
def test_a_name_is_no_scenario_yet(function: Any) -> None:
    hint = re.escape("'one-robot' is not a Scenario; load it first: scenarios.load('one-robot')")
    with pytest.raises(TypeError, match=hint):
        function("one-robot")
    with pytest.raises(TypeError, match=re.escape("scenarios.load('a.toml')")):
        function(Path("a.toml"))
    with pytest.raises(TypeError, match="scenario_from"):
        function({"name": "one-robot"})


@pytest.mark.parametrize(
    ("given_as", "mean"),
    [
        ({"shape": 2.0, "scale": 1.5}, 3.0),
        ({"alpha": 2.0, "theta": 1.5}, 3.0),
        ({"shape": 2.0, "rate": 4.0}, 0.5),
        ({"alpha": 3.0, "beta": 4.0}, 0.75),
    ],
)
def test_the_parameters_of_a_gamma_law_in_other_books_are_translated(
    given_as: dict[str, float], mean: float
) -> None:
    said = Gamma.translated(given_as)
    assert said is not None
    shape = given_as.get("shape", given_as.get("alpha"))
    assert said == f"write gamma = {{ shape = {shape:g}, mean = {mean:g} }}"


@pytest.mark.parametrize("names", [("min", "max"), ("minimum", "maximum"), ("a", "b")])
def test_the_ends_of_a_uniform_law_by_other_names_are_translated(names: tuple[str, str]) -> None:
    said = Uniform.translated(dict(zip(names, (1.0, 3.5), strict=True)))
    assert said == "write uniform = { low = 1, high = 3.5 }"
    for one in names:
        assert "write uniform" not in str(Uniform.translated({one: 2.0}))


def test_an_interrupt_while_a_scenario_is_written_down_is_not_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """pydantic would take it for a value that cannot be serialised, warn, and go on."""

    def interrupted(key: str | None, value: Any, serialise: Any) -> Any:
        import signal

        signal.raise_signal(signal.SIGINT)
        return serialise(value) if key is None else {key: serialise(value)}

    scenario = load("one-robot")
    written = scenario.as_file()
    with monkeypatch.context() as changed:
        changed.setattr(base._wrap, "__code__", interrupted.__code__)
        with pytest.raises(KeyboardInterrupt):
            scenario.as_file()
    assert scenario.as_file() == written
