"""Choosing the best cell of a sweep within an indifference, and what is said without one."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from systems import queue

import crawlsim as program
from crawlsim.cli import sweep_cells
from experiments.choosing import Values, configurations, crossing, measured, of_queue, screened
from scenarios import ScenarioError, dumps
from sim.estimates import choosing as procedure
from sim.estimates.choosing import Indifference, choose, next_look, squared_constant

Commands = Any
VARY = ["--vary", "buffer.waiting_places=1,2,3", "--vary", "activation.static=1,2"]
WITHIN = ["--minimise", "loss_probability", "--indifference", "0.01"]


@pytest.fixture
def scenario_file(tmp_path: Path) -> str:
    path = tmp_path / "queue.toml"
    path.write_text(dumps(queue({"run.horizon": 200.0, "run.replications": 10})))
    return str(path)


@pytest.fixture
def _no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """They take most of the time of a sweep with files, and other tests look at them."""
    for module in ("pages", "sweep_figures"):
        monkeypatch.setattr(f"crawlsim.report.{module}.svg_text", lambda *_, **__: "<svg/>")


def every(count: int) -> int:
    """A look after every replication, where the boundary is crossed most often."""
    return count + 1


@pytest.mark.thorough
@pytest.mark.parametrize("first", [10, 40])
def test_the_boundary_is_crossed_as_rarely_as_promised(first: int) -> None:
    """Of 600 pairs at most 5 % and three standard errors; false alarms of this test: below 1e-3."""
    assert crossing(first, 600) < 0.05 + 3 * math.sqrt(0.05 * 0.95 / 600)


@pytest.mark.thorough
@pytest.mark.parametrize("first", [10, 40])
def test_a_boundary_of_half_the_height_is_found_out(
    monkeypatch: pytest.MonkeyPatch, first: int
) -> None:
    """What the tests of the boundary would say of an elimination constant that is halved."""
    whole = squared_constant

    def halved(systems: int, first: int, confidence: float) -> float:
        return whole(systems, first, confidence) / 2

    monkeypatch.setattr(procedure, "squared_constant", halved)
    assert crossing(first, 600) > 0.05 + 3 * math.sqrt(0.05 * 0.95 / 600)


@pytest.mark.parametrize(
    ("means", "correlation"),
    [((0.0, 1.0), 0.0), ((0.0, 1.0), 0.8), ((0.0, 1.0, 1.0), 0.8), ((0.0, 0.7, 1.4, 2.1), 0.8)],
    ids=["two", "two correlated", "slippage", "steps"],
)
def test_the_chosen_one_is_good(means: tuple[float, ...], correlation: float) -> None:
    """200 choices each, at least 95 % less three standard errors; false alarms: below 1e-3."""
    found = measured(means, correlation, 10, 200)
    assert found.good > 0.95 - 3 * math.sqrt(0.05 * 0.95 / 200)
    assert found.bounded > 0.95 - 3 * math.sqrt(0.05 * 0.95 / 200)


@pytest.mark.parametrize("systems", [2, 5, 10])
def test_the_best_of_equal_systems_is_among_those_named(systems: int) -> None:
    """1000 comparisons, at least 95 % less three standard errors (10 systems: 77 % before)."""
    least = 0.95 - 3 * math.sqrt(0.05 * 0.95 / 1000)
    found = screened((0.0,) * systems, 0.0, 10, 1000)
    assert found.holds_best > least
    assert found.wrong_alone < 1 - least


@pytest.mark.nightly
@pytest.mark.parametrize("first", [10, 40])
@pytest.mark.parametrize("correlation", [0.0, 0.8])
def test_promises_are_kept_in_every_configuration(first: int, correlation: float) -> None:
    """1000 choices each of 12 configurations; four standard errors: false alarms below 1e-3."""
    least = 0.95 - 4 * math.sqrt(0.05 * 0.95 / 1000)
    for name, means in configurations():
        found = measured(means, correlation, first, 1000)
        assert found.good > least, name
        assert found.bounded > least, name
        assert screened(means, correlation, first, 1000).holds_best > least, name


@pytest.mark.nightly
def test_looking_after_every_replication_keeps_the_promise() -> None:
    """Two systems, the slippage that is hardest; 2000 choices, three standard errors."""
    least = 0.95 - 3 * math.sqrt(0.05 * 0.95 / 2000)
    assert measured((0.0, 1.0), 0.0, 10, 2000, look=every).good > least


@pytest.mark.nightly
def test_the_least_losing_queue_is_chosen() -> None:
    """Ratios of counts, not normal: 400 choices, four standard errors."""
    found = of_queue(0.0025, 10, 400)
    assert found.good > 0.95 - 4 * math.sqrt(0.05 * 0.95 / 400)


def test_systems_that_are_clearly_worse_get_no_further_replications() -> None:
    values = Values((0.0, 0.5, 60.0, 80.0), 0.5, np.random.default_rng(1))
    choice = choose(values(range(4), 0, 10), values, Indifference(1.0, 0.95, 10_000))
    assert choice.counts[2:] == (10, 10)
    assert min(choice.counts[:2]) > 10
    assert choice.is_settled
    assert choice.margin <= 1.0


def test_a_system_is_weighed_again_when_what_dropped_it_is_dropped() -> None:
    """In the first stage the second drops the third, which proves to be the best by far."""
    noise = np.tile([-2.0, 2.0], 5)
    first = [-noise, noise - 1.0, noise - 0.9]
    asked: list[list[int]] = []

    def more(systems: Any, start: int, stop: int) -> list[np.ndarray[Any, Any]]:
        asked.append(sorted(systems))
        means = (-3.0, 5.0, -8.0)
        return [np.full(stop - start, means[n]) for n in systems]

    choice = choose(first, more, Indifference(0.5, 0.95, 1000))
    assert asked[0] == [0, 1]
    assert [2] in asked
    assert (choice.index, choice.is_settled) == (2, True)


def test_the_limit_of_replications_says_what_is_known_by_then() -> None:
    """The margin at the limit is that of the limit, whatever the indifference was."""
    values = Values((0.0, 0.0), 0.0, np.random.default_rng(2))
    choices = [
        choose(values(range(2), 0, 10), values, Indifference(size, 0.95, 100))
        for size in (0.1, 0.0001)
    ]
    assert [choice.is_settled for choice in choices] == [False, False]
    assert choices[0].margins == choices[1].margins
    assert max(choices[0].counts) <= 100
    height = math.sqrt(squared_constant(2, 10, 0.95) * 2 * 9.0 / 100)
    assert 0.0 < choices[0].margin < 2 * height


def test_what_was_never_seen_is_not_known_to_be_the_same() -> None:
    """Two cells without a loss differ by as much as their intervals allow."""
    nothing = [np.zeros(10), np.zeros(10)]

    def more(systems: Any, start: int, stop: int) -> list[np.ndarray[Any, Any]]:
        return [np.zeros(stop - start) for _ in systems]

    rule = Indifference(0.01, 0.95, 1000)
    assert choose(nothing, more, rule).counts == (10, 10)
    assert min(choose(nothing, more, rule, [0.02, 0.02]).counts) > 10


def test_the_schedule_of_looks_depends_on_nothing_else() -> None:
    counts = [10]
    while counts[-1] < 200:
        counts.append(next_look(counts[-1]))
    assert counts == [10, 20, 30, 40, 50, 60, 72, 86, 103, 123, 147, 176, 211]


@pytest.mark.thorough
def test_the_choice_is_the_same_for_any_number_of_jobs_and_after_an_interrupt(
    crawlsim: Commands, scenario_file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = [tmp_path / name for name in ("whole", "jobs", "stopped")]
    goal = ["--maximise", "throughput", "--indifference", "0.02"]
    command = ["sweep", scenario_file, *VARY, *goal, "--out"]
    assert crawlsim(*command, str(folders[0]))[0] == 0
    assert crawlsim(*command, str(folders[1]), "--jobs", "2")[0] == 0

    simulated = sweep_cells.further_replications
    calls: list[tuple[Any, range]] = []

    def until_third(cell: Any, scenario: Any, some: range, *others: Any) -> Any:
        if len(calls) == 2:
            raise KeyboardInterrupt
        calls.append((cell.varied, some))
        return simulated(cell, scenario, some, *others)

    monkeypatch.setattr(sweep_cells, "further_replications", until_third)
    code, _, err = crawlsim(*command, str(folders[2]))
    assert code == 130
    assert "the same command resumes" in err
    first = list(calls)

    def goes_on(cell: Any, scenario: Any, some: range, *others: Any) -> Any:
        assert (cell.varied, some) not in first
        return simulated(cell, scenario, some, *others)

    monkeypatch.setattr(sweep_cells, "further_replications", goes_on)
    assert crawlsim(*command, str(folders[2]))[0] == 0
    names = ["choice.csv", "sweep.csv", "differences.csv", "report.html"]
    names += [f"cells/{path.name}" for path in (folders[0] / "cells").iterdir()]
    for other in folders[1:]:
        for name in names:
            assert (folders[0] / name).read_bytes() == (other / name).read_bytes(), name


@pytest.mark.usefixtures("_no_pictures")
def test_the_choice_stands_in_words_in_json_and_in_a_table(
    crawlsim: Commands, scenario_file: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    command = ["sweep", scenario_file, *VARY, *WITHIN, "--out", str(out)]
    said = crawlsim(*command)[1].splitlines()[-1]
    assert "with a probability of at least 95 % no other cell is better" in said
    assert "dropped after 10 replications: " in said
    assert "no other cell is better" in (out / "report.html").read_text()
    best = json.loads(crawlsim(*command, "--json")[1])["best"]
    assert best["cell"] == {"buffer.waiting_places": 3, "activation.static": 1}
    assert best["solved_cell"] == best["cell"]
    assert (best["confidence"], best["indifference"], best["settled"]) == (0.95, 0.01, True)
    with (out / "choice.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert [int(row["replications"]) for row in rows] == [
        each["replications"] for each in best["cells"]
    ]
    assert [row["role"] for row in rows].count("best") == 1


def test_a_choice_that_the_limit_stopped_says_so(crawlsim: Commands, scenario_file: str) -> None:
    flags = ["--minimise", "sojourn_time", "--indifference", "1e-6", "--max-replications", "20"]
    code, text, err = crawlsim("sweep", scenario_file, *VARY, *flags, "--vary", "run.seed=1,2")
    assert code == 0
    assert "not settled within 1e-06 by --max-replications 20" in err
    assert "(--max-replications was reached before 1e-06)" in text.splitlines()[-1]


@pytest.mark.parametrize("size", ["1e-300", "1e300"])
def test_an_indifference_of_any_size_is_reckoned_with_quietly(
    crawlsim: Commands, scenario_file: str, size: str
) -> None:
    flags = [*WITHIN[:3], size, "--max-replications", "20", "--json"]
    code, text, err = crawlsim("sweep", scenario_file, *VARY, *flags)
    assert code == 0
    assert "Warning" not in err
    assert json.loads(text)["best"]["better_by_at_most"] <= float(size) or "not settled" in err


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--indifference", "1"], "needs --minimise or --maximise"),
        ([*WITHIN, "--replications", "9"], "must be at least 10 with --indifference"),
        ([*WITHIN, "--precision", "0.1"], "does not go with --precision"),
        ([*WITHIN, "--max-replications", "9"], "must be at least run.replications = 10"),
        ([*WITHIN[:3], "inf"], "must be finite"),
        ([*WITHIN[:3], "nan"], "must be finite"),
        ([*WITHIN, "--vary", "run.replications=10,20"], "does not go with --vary run.replications"),
        ([*WITHIN, "--confidence", "1"], "--confidence"),
        ([*WITHIN, "--confidence", "nan"], "'nan' is not a number"),
        (["--confidence", "0.9"], "needs --minimise or --maximise"),
    ],
    ids=[
        *("goal", "few", "precision", "limit", "inf", "nan", "varied"),
        *("confidence", "no-confidence", "confidence-in-nothing"),
    ],
)
def test_what_no_choice_can_be_made_of_is_refused(
    crawlsim: Commands, scenario_file: str, tmp_path: Path, flags: list[str], says: str
) -> None:
    out = tmp_path / "out"
    code, text, err = crawlsim("sweep", scenario_file, *VARY, *flags, "--out", str(out))
    assert (code, text) == (2, "")
    assert says in err
    assert not out.exists()


@pytest.mark.usefixtures("_no_pictures")
@pytest.mark.by_day(
    besides=("{'minimise': 'loss_probability', 'indifference': 0.01, 'max_replications': 40}",)
)
@pytest.mark.parametrize(
    "asked",
    [
        {"minimise": "loss_probability"},
        {"maximise": "throughput", "confidence": 0.8},
        {"minimise": "loss_probability", "indifference": 0.01, "max_replications": 40},
        {"first": "loss_probability < 0.3"},
        {"first": "loss_probability < 0"},
    ],
    ids=str,
)
def test_python_ranks_as_the_command_does(
    crawlsim: Commands, scenario_file: str, tmp_path: Path, asked: dict[str, Any]
) -> None:
    flags = [
        word for key, value in asked.items() for word in (f"--{key.replace('_', '-')}", str(value))
    ]
    files = ("--out", str(tmp_path / "out"))
    _, out, _ = crawlsim("sweep", scenario_file, *VARY, *flags, *files, "--json")
    by_command = json.loads(out)
    vary = {"buffer.waiting_places": [1, 2, 3], "activation.static": [1, 2]}
    found = program.rank(scenario_file, vary, **asked)
    assert json.loads(json.dumps(found.best)) == by_command["best"]
    assert found.rows["estimate"].tolist() == [row["estimate"] for row in by_command["rows"]]
    with (tmp_path / "out/differences.csv").open(newline="") as file:
        differences = [float(row["difference"] or "nan") for row in csv.DictReader(file)]
    np.testing.assert_array_equal(found.differences["difference"], differences)
    assert bool(len(found.choice)) == ("indifference" in asked)
    assert "more cells are in" not in (tmp_path / "out/report.html").read_text("utf-8")
    _, shown, _ = crawlsim("sweep", scenario_file, *VARY, *flags, *files)  # of the cells there
    assert " ".join(shown.split()).endswith(found.sentence)


def test_there_is_nothing_to_rank_by(scenario_file: str) -> None:
    with pytest.raises(ScenarioError, match=r"^minimise\nis needed, or maximise, first or last"):
        program.rank(scenario_file, {"run.seed": [1, 2]})


def test_what_only_formulas_give_is_not_ranked_without_them(
    crawlsim: Commands, scenario_file: str
) -> None:
    asked = ("sweep", scenario_file, *VARY, "--minimise", "recovery_time", "--no-solve")
    code, out, err = crawlsim(*asked)
    assert (code, out) == (2, "")
    assert "does not go with --no-solve: only the formulas give it" in " ".join(err.split())
