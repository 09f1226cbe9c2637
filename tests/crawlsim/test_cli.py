"""The command line as a user meets it."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import pty
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from systems import SIMULATED_ONLY, queue

import sim
import sim.replicate
from analytic import Prediction
from analytic.index.bibliography import ORIGINS, REFERENCES
from analytic.index.names import called, citation_of
from crawlsim.cli import _again, _LazyF2py, keep_interrupts, main
from crawlsim.cli.output import _ends_of_settings, prediction_table
from papers.rows import TITLES
from scenarios import dumps, library_names, load
from scenarios.measures import MEASURES
from sim.event_log import COLUMNS

CRAWLSIM = [sys.executable, "-m", "crawlsim"]


@pytest.fixture
def scenario_file(tmp_path: Path) -> str:
    path = tmp_path / "queue.toml"
    path.write_text(dumps(queue({"judged": ["arrival_rate"], "costs.loss": 1.0})))
    return str(path)


def strict(text: str) -> Any:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not strict JSON")

    return json.loads(text, parse_constant=refuse)


def test_run_prints_the_promised_json(crawlsim: Any, scenario_file: str) -> None:
    code, out, err = crawlsim("run", scenario_file, "--json", "--seed", "7")
    (run,) = strict(out)
    said = [line for line in err.splitlines() if "compiling the engine" not in line]
    assert (code, said) == (0, [])
    assert list(run) == ["scenario", "engine", "seed", "replications", "estimates"]
    assert (run["scenario"], run["seed"], run["replications"]) == ("queue", 7, 4)
    row = run["estimates"][0]
    assert list(row) == ["measure", "subject", "estimate", "standard_error", "low", "high"]
    assert row["low"] < row["estimate"] < row["high"]


OBSERVED = ("--set", "run.warmup=0", "--set", "run.horizon=100", "--set", "run.observe=1")
OUTAGE = ("--set", "interventions=[{at=41.5, until=53, service_speed=0}]")


@pytest.mark.parametrize("command", ["run", "solve"])
def test_the_course_is_shown_at_a_few_times_and_where_the_settings_change(
    crawlsim: Any, scenario_file: str, command: str
) -> None:
    code, out, _ = crawlsim(command, scenario_file, *OBSERVED, *OUTAGE)
    _, _, table = out.partition("queue: the course")
    times = [line.split()[0] for line in table.splitlines()[3:] if line.strip()]
    assert code == 0
    assert {"42", "53", "100"} <= set(times)
    assert len([each for each in times if each.isdigit()]) < 22
    assert "of 100 times, some measures (--json" in table


def test_every_time_of_the_course_is_shown_where_that_is_asked_for(
    crawlsim: Any, scenario_file: str
) -> None:
    _, out, _ = crawlsim("run", scenario_file, *OBSERVED, "--all")
    _, _, table = out.partition("queue: the course, ± 95 %")
    assert sum("±" in line for line in table.splitlines()) == 100


@pytest.mark.parametrize("command", ["run", "solve", "check"])
def test_a_course_that_ends_before_its_first_time_is_warned_of(
    crawlsim: Any, scenario_file: str, command: str
) -> None:
    _, _, err = crawlsim(command, scenario_file, "--set", "run.observe=1e6")
    assert "run.observe is above run.horizon: there is no course" in err


def test_undefined_numbers_are_null(crawlsim: Any, scenario_file: str) -> None:
    _, out, _ = crawlsim("run", scenario_file, "--json", "--replications", "1")
    assert strict(out)[0]["estimates"][0]["low"] is None


def test_solve_prints_the_promised_json(crawlsim: Any, scenario_file: str) -> None:
    code, out, _ = crawlsim("solve", scenario_file, "--json")
    (solved,) = strict(out)
    assert code == 0
    assert list(solved) == ["scenario", "predictions", "not_applicable", "accuracy"]
    keys = ["measure", "subject", "value", "kind", "source", "name"]
    assert list(solved["predictions"][0]) == keys
    reasons = {one for row in solved["not_applicable"] for one in row["reason"].split("; ")}
    assert "the number of active robots depends on the level" in reasons
    assert list(solved["accuracy"]) == ["states", "method", "passes", "residual", "error"]
    assert 0 <= solved["accuracy"]["residual"] < solved["accuracy"]["error"] < 1e-12
    (pages,) = strict(crawlsim("solve", "cyclic-constant", "--json")[1])
    assert pages["accuracy"] is None


def test_check_prints_the_promised_json_and_its_exit_code_is_the_verdict(
    crawlsim: Any, scenario_file: str
) -> None:
    code, out, _ = crawlsim("check", scenario_file, "--json")
    (checked,) = strict(out)
    assert code == 0
    assert list(checked) == ["scenario", "comparisons", "verdict"]
    promised = ["measure", "subject", "predicted", "estimated", "standard_error", "z", "verdict"]
    assert list(checked["comparisons"][0])[:8] == [*promised, "detectable"]
    assert checked["verdict"] == "inconclusive"


def test_measures_that_no_formula_predicts_are_named(crawlsim: Any, scenario_file: str) -> None:
    code, out, _ = crawlsim("check", scenario_file)
    assert (code, "not predicted" in out) == (0, False)
    code, out, _ = crawlsim("check", "polite-hosts", "--replications", "2")
    (line,) = [line.strip() for line in out.splitlines() if "not predicted" in line]
    names = line.removeprefix("not predicted: ").removesuffix(" (see `run`)").split(", ")
    assert {"crawl_rate", "crawl_frequency"} <= set(names) <= set(MEASURES)
    assert not any(line.strip().startswith(tuple(names)) for line in out.splitlines())


def test_a_disagreement_exits_with_1(
    crawlsim: Any, scenario_file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sim import rules

    monkeypatch.setattr(rules, "draw_exponential", lambda _stream, mean: 1.2 * mean)
    code, out, _ = crawlsim("check", scenario_file, "--engine", "simpy", "--json")
    assert (code, strict(out)[0]["verdict"]) == (1, "disagrees")


def test_set_changes_entries_together(crawlsim: Any, scenario_file: str) -> None:
    changes = [
        "robots.available=2",
        "activation.static=2",
        "title=what if",
        "buffer.service.erlang={shape=2, mean=1}",
    ]
    flags = [word for change in changes for word in ("--set", change)]
    _, out, _ = crawlsim("solve", scenario_file, "--json", *flags)
    rows = {(r["measure"], r["subject"]): r["value"] for r in strict(out)[0]["predictions"]}
    assert rows["mean_active_robots", None] == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run", "no-such-scenario"], "neither a file nor in the library"),
        (["run", "FILE", "FILE"], "appears twice"),
        (["run", "FILE", "--set", "buffer.waiting_place=3"], "did you mean waiting_places"),
        (["run", "FILE", "--set", "nonsense"], "must be KEY=VALUE"),
        (["run", "FILE", "--set", "run.seed=1", "--set", "run.seed=2"], "set twice"),
        (["run", "FILE", "--engine", "petrol"], 'engine = "petrol"'),
        (["run", "FILE", "--replications", "0"], "run.replications = 0"),
        (["run", "FILE", "--seed", "-1"], "run.seed = -1"),
        (["run", "FILE", "--jobs", "0"], "--jobs"),
        (["run", "FILE", "--precision", "0.1", "--measure", "luck"], "must be a measure"),
        (["run", "FILE", "--precision", "nan"], "'nan' is not a number"),
        (["run", "FILE", "--measure", "throughput"], "needs --precision"),
        (["run", "FILE", "--trace", "DIR"], "is a folder"),
        (["run", "FILE", "--trace", "/no/such/folder/file"], "cannot be written"),
        (["run", "FILE", "--trace", "x" * 300], "cannot be written"),
        (["run", "FILE", "--out", "FILE"], "is not a folder"),
        (["run", "FILE", "--out", "x" * 300], "cannot be written"),
        (["run"], "Missing argument"),
        (["run", "FILE", "--bogus"], "No such option"),
        (["optimise"], "No such command"),
        (["scenarios", "nowhere"], "must be one of"),
        (["formulas", "knuth1968"], "must be"),
        (
            [
                "check",
                "FILE",
                "--set",
                "activation.optimal=switching",
                "--set",
                "robots.access_time={deterministic={value=1.0}}",
            ],
            "activation.optimal",
        ),
    ],
)
def test_bad_input_exits_with_2_in_three_lines_and_writes_nothing(
    crawlsim: Any, scenario_file: str, tmp_path: Path, arguments: list[str], says: str
) -> None:
    before = sorted(tmp_path.rglob("*"))
    places = {"FILE": scenario_file, "DIR": str(tmp_path)}
    code, out, err = crawlsim(*(places.get(each, each) for each in arguments))
    assert (code, out) == (2, "")
    assert says in err
    assert len(err.strip().splitlines()) <= 3
    assert "Traceback" not in err
    assert sorted(tmp_path.rglob("*")) == before


def contents(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.name != "provenance.json"}


@pytest.mark.thorough
@pytest.mark.parametrize("jobs", ["1", "2", "3"])
def test_the_same_seed_gives_the_same_bytes_for_any_number_of_jobs(
    crawlsim: Any, scenario_file: str, tmp_path: Path, jobs: str
) -> None:
    first = tmp_path / "first"
    second = tmp_path / "second"
    _, alone, _ = crawlsim("check", scenario_file, "--json", "--out", str(first))
    _, many, _ = crawlsim("check", scenario_file, "--json", "--jobs", jobs, "--out", str(second))
    assert alone == many
    names = {"comparisons.csv", "estimates.csv", "replications.csv", "queue.toml", "report.html"}
    assert set(contents(first)) == names
    assert contents(first) == contents(second)


@pytest.mark.thorough
def test_the_written_files_hold_the_run(crawlsim: Any, scenario_file: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    _, text, _ = crawlsim("run", scenario_file, "--json", "--out", str(out))
    with (out / "estimates.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    shown = strict(text)[0]["estimates"]
    assert [row["measure"] for row in rows] == [row["measure"] for row in shown]
    assert [float(row["estimate"]) for row in rows] == [row["estimate"] for row in shown]
    again = tmp_path / "again"
    crawlsim("run", str(out / "queue.toml"), "--out", str(again))
    assert contents(again) == contents(out)
    provenance = json.loads((out / "provenance.json").read_text())
    assert provenance["runs"][0]["seed"] == 1
    assert not [path for path in out.iterdir() if path.name.startswith(".")]


def test_the_trace_has_a_row_per_event(crawlsim: Any, scenario_file: str, tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    code, _, _ = crawlsim("run", scenario_file, "--trace", str(trace), "--replications", "2")
    with trace.open() as stream:
        rows = list(csv.DictReader(stream))
    assert code == 0
    assert tuple(rows[0]) == COLUMNS
    assert {row["replication"] for row in rows} == {"0", "1"}
    level = 0
    for row in (row for row in rows if row["replication"] == "0"):
        level += {"delivery": 1, "service": -1, "obsolescence": -1}.get(row["event"], 0)
        assert int(row["level"]) == level


def test_precision_adds_replications(crawlsim: Any, scenario_file: str) -> None:
    flags = ["--precision", "0.03", "--measure", "loss_probability", "--max-replications", "300"]
    _, out, _ = crawlsim("run", scenario_file, "--json", *flags)
    (run,) = strict(out)
    (row,) = [each for each in run["estimates"] if each["measure"] == "loss_probability"]
    assert 4 < run["replications"] < 300
    assert row["high"] - row["estimate"] <= 0.03 * row["estimate"]
    said = "queue: a precision of 3 % is reached for loss_probability with "
    said += f"{run['replications']} replications\n"
    assert said in crawlsim("run", scenario_file, *flags)[2]
    short = [*flags[:-1], "5"]
    err = crawlsim("run", scenario_file, *short)[2]
    assert "after 5 replications the precision is not reached" in err
    assert "is reached with" not in err


def test_a_short_warmup_is_warned_of(crawlsim: Any, scenario_file: str) -> None:
    code, _, err = crawlsim("run", scenario_file, "--set", "run.warmup=0.01")
    assert code == 0
    assert "within 0.1 % of the long run" in err
    assert "it may bias every estimate" in err


def test_the_library_is_listed_and_printed(crawlsim: Any) -> None:
    _, out, _ = crawlsim("scenarios", "--json")
    listed = strict(out)
    assert [row["name"] for row in listed] == library_names()
    assert all(list(row) == ["name", "title", "paper"] and row["title"] for row in listed)
    _, text, _ = crawlsim("scenarios", "one-robot")
    assert 'name = "one-robot"' in text


def test_formulas_are_indexed_by_paper(crawlsim: Any) -> None:
    _, out, _ = crawlsim("formulas", "talim2001", "--json")
    rows = strict(out)
    assert {row["paper"] for row in rows} == {"talim2001"}
    assert all(row["conditions"] and all(row["conditions"]) for row in rows)
    _, table, _ = crawlsim("formulas", "talim2001")
    assert "[costs]" in table
    *_, origins, papers, places = table.rstrip("\n").split("\n\n")
    met = {row["origin"] for row in rows}
    assert [line.partition(":")[0].strip() for line in origins.splitlines()] == [
        each for each in ORIGINS if each in met
    ]
    assert papers == f"  talim2001: {REFERENCES['talim2001']}"
    assert places.count("\n") + 1 == len(rows)
    assert (
        "  Talim 2001, eq. 9: computed by analytic.robot_control.static.static_cost, "
        "proved in docs/theory/fixed-robots.md#the-cost\n"
    ) in places
    _, table, _ = crawlsim("formulas", "Theorem 2")
    assert "…" not in table


def test_conditions_of_many_formulas_fill_a_screen_at_most(crawlsim: Any) -> None:
    _, table, _ = crawlsim("formulas")
    assert "avrachenkov2011" in table
    *_, last, left = re.findall("^ +(?:[0-9]+|…)  .*$", table, flags=re.MULTILINE)
    assert last.startswith("   20  ")
    conditions = {
        each for row in strict(crawlsim("formulas", "--json")[1]) for each in row["conditions"]
    }
    assert f"…  {len(conditions) - 20} further conditions (--json has them;" in left


@pytest.mark.parametrize(
    ("words", "first", "others"),
    [
        (["M/M/1/K"], "kleinrock1975 section 3.6", {"talim2001 section 4", "talim2001 (9)"}),
        (["m/d/1/k"], "courtois1971 embedded chain, with timers", set()),
        (["M/D/1/6"], "courtois1971 embedded chain, with timers", set()),
        (["M/M/1/5+M"], "avrachenkov2011 section 3, one phase", {"avrachenkov2011 Theorem 3"}),
        (["M/M/1/1"], "pipeline no waiting place", set()),
        (["M/M/3/3"], "kleinrock1975 section 3.5, Erlang B", set()),
        (["Erlang", "b"], "kleinrock1975 section 3.5, Erlang B", set()),
        (["cyclic constant"], "coffman1998 (3), robots in step", set()),
        (["Machine repair"], "talim2001 (8)", {"talim2001 (5)"}),
        (["reneging"], "avrachenkov2011 section 3, one phase", {"avrachenkov2011 Theorem 3"}),
        (["impatience"], "avrachenkov2011 section 3, one phase", {"avrachenkov2011 Theorem 3"}),
        (["deadline"], "avrachenkov2011 section 3, one phase", {"avrachenkov2011 Theorem 3"}),
        (["probes"], "eckstein2005 (5)", {"eckstein2005 section 2.1"}),
        (["Talim 2001"], "talim2001 section 4", {"talim2001 (8)"}),
        (["map/ph/1/4", "loss"], "avrachenkov2011 Theorem 2", set()),
        (["waiting reneging"], "avrachenkov2011 Corollary 1", {"avrachenkov2011 Theorem 4"}),
    ],
)
def test_formulas_are_found_by_their_names(
    crawlsim: Any, words: list[str], first: str, others: set[str]
) -> None:
    """The most special one first in the table; all in the JSON."""
    rows = strict(crawlsim("formulas", *words, "--json")[1])
    sources = {f"{row['paper']} {row['number']}" for row in rows}
    assert {first} | others <= sources
    assert len(rows) < 20
    top = crawlsim("formulas", *words)[1].splitlines()[3]
    assert called(first) in " ".join(top.split())
    assert citation_of(first) in " ".join(top.split())


def test_a_question_singles_out_what_gives_the_number(crawlsim: Any) -> None:
    """Neither levels nor what becomes obsolete; of a formula of many numbers its row."""
    rows = strict(crawlsim("formulas", "MAP/PH/1/K", "loss", "--json")[1])
    assert [row["number"] for row in rows] == ["section 2, waiting places", "Theorem 2"]
    assert rows[1]["proof"] == "docs/theory/indexing-queue.md#rates-and-shares"
    rows = strict(crawlsim("formulas", "M/M/c/K+D", "robots", "--json")[1])
    assert [row["quantity"] for row in rows] == ["control cost with timers of any law"]


def test_words_that_name_no_formula_are_refused(crawlsim: Any) -> None:
    code, out, err = crawlsim("formulas", "kleinrok1975")
    assert (code, out) == (2, "")
    assert 'words = "kleinrok1975"' in err
    assert "(did you mean kleinrock1975?)" in err


def test_solve_says_what_was_changed(crawlsim: Any) -> None:
    for law in ("exponential={mean=4.0}", "deterministic={value=4.0}"):  # the second: no formula
        change = f"buffer.obsolescence={{{law}}}"
        _, out, _ = crawlsim("solve", "one-robot", "--set", change)
        assert out.startswith(f"one-robot, {change}")


def test_solve_shows_the_best_formula_of_each_number(crawlsim: Any) -> None:
    """By hand: K = 2 and load 0.8; the birth-death queue and the chain say the same."""
    _, out, _ = crawlsim("solve", "one-robot")
    lines = [line for line in out.splitlines() if line.startswith("  loss_probability ")]
    assert [" ".join(line.split()) for line in lines] == [
        "loss_probability 0.262295 share exact M/M/1/K; and 2 more Kleinrock 1975, section 3.6"
    ]
    _, out, _ = crawlsim("solve", "one-robot", "--all")
    assert sum(line.startswith("  loss_probability ") for line in out.splitlines()) == 3


def test_quantiles_are_given_of_whatever_waits(crawlsim: Any) -> None:
    """Of pages in a buffer, of those that fall due, of changes; without any that is said."""
    code, out, err = crawlsim("solve", "one-robot", "frontier", "--quantiles", "0.5,0.9")
    assert (code, err) == (0, "")
    assert "sojourn_quantile served 0.9" in out
    assert "frontier_delay_quantile 3 0.9" in out
    code, out, err = crawlsim("solve", "cyclic-constant", "--quantiles", "0.5")
    assert (code, err) == (0, "")
    assert "time_to_refresh_quantile 0 0.5" in out
    code, out, err = crawlsim("solve", "routing-two-servers", "--quantiles", "0.5")
    assert code == 0
    assert "preemption_probability" in out
    assert err.count("\n") == 1
    assert "--quantiles: there are neither [pages] nor a [buffer]" in err


@pytest.mark.parametrize(
    ("quantiles", "said"), [("5", "5 % is 0.05"), ("0.9,0.5", "must increase"), ("a", "shares")]
)
def test_what_are_no_shares_are_refused(crawlsim: Any, quantiles: str, said: str) -> None:
    code, _, err = crawlsim("solve", "frontier", "--quantiles", quantiles)
    assert code == 2
    assert said in err


def test_formulas_that_disagree_are_all_shown() -> None:
    """Two say 0.5 up to rounding, one 0.5 + 1e-8; a bound of 0.5 is reached, another is not."""
    rows = [
        Prediction("loss_probability", None, 0.5, "lower bound", "talim2001 (6)"),
        Prediction("loss_probability", None, 0.5, "exact", "avrachenkov2011 Theorem 2"),
        Prediction("loss_probability", None, 0.5 + 1e-12, "exact", "kleinrock1975 section 3.6"),
        Prediction("loss_probability", None, 0.5 + 1e-8, "exact", "mine (1)"),
        Prediction("loss_probability", None, 0.4, "lower bound", "mine (2)"),
    ]
    table = prediction_table(load("one-robot"), rows)
    *_, names, sources = (list(column.cells) for column in table.columns)
    assert names == ["M/M/1/K; and 2 more", "mine (1)", "mine (2)"]
    assert sources == ["Kleinrock 1975, section 3.6", "mine (1)", "mine (2)"]


def test_the_index_has_bounds_and_algorithms_that_predict_nothing(crawlsim: Any) -> None:
    _, out, _ = crawlsim("formulas", "eckstein2005", "--json")
    rows = {row["number"]: row for row in strict(out)}
    assert {f"Algorithm {n}" for n in (1, 2, 4, 10)} | {"Lemma 3", "Proposition 8"} <= set(rows)
    assert rows["Algorithm 10"]["kind"] == "algorithm"
    assert rows["Proposition 8"]["function"] == "analytic.probing.grid.grid_error"
    assert rows["(5)"]["conditions"]
    assert rows["Lemma 3"]["latex"].startswith("C(s,f)=C(s,v)+")
    assert rows["Lemma 3"]["symbols"]["A"] == "integral of the importance"


def test_the_index_says_which_formulas_the_papers_print(crawlsim: Any) -> None:
    """Of avrachenkov2011 no formula can be read in the text at hand."""
    from analytic import FORMULAS
    from analytic.index.bibliography import ORIGINS

    assert {formula.origin for formula in FORMULAS} == set(ORIGINS)
    _, out, _ = crawlsim("formulas", "avrachenkov2011", "--json")
    assert {row["origin"] for row in strict(out)} == {"re-derived", "own"}
    marked = {row["number"] for row in strict(out) if row["origin"] == "re-derived"}
    assert {"(2)", "Lemma and Theorem 1", "Theorem 2", "Theorem 3", "Theorem 4"} <= marked
    _, table, _ = crawlsim("formulas", "avrachenkov2011")
    assert "re-derived: not legible in the text of the paper at hand" in table
    assert "printed: " not in table


def test_every_condition_of_the_index_is_a_sentence() -> None:
    """The table shows the first line of its docstring."""
    from analytic import FORMULAS

    for condition in {condition for formula in FORMULAS for condition in formula.conditions}:
        assert (condition.__doc__ or "").split("\n")[0].endswith("."), condition.__name__


def test_a_formula_said_to_be_corrected_has_an_erratum() -> None:
    from analytic import FORMULAS

    errata = (Path(__file__).parents[2] / "docs/errata.md").read_text()
    for formula in FORMULAS:
        if "corrected" in formula.number:
            assert formula.origin == "corrected"
        if formula.origin == "corrected":
            assert f"## {formula.paper}\n" in errata


def test_the_schema_is_json(crawlsim: Any) -> None:
    _, out, _ = crawlsim("schema")
    assert "buffer" in strict(out)["properties"]


def test_library_scenarios_judge_known_measures_and_have_a_source() -> None:
    from scenarios import load

    assert len(library_names()) >= 8
    for name in library_names():
        scenario = load(name)
        assert scenario.name == name
        assert scenario.paper
        assert scenario.judged or name in SIMULATED_ONLY
        assert set(scenario.judged) <= set(MEASURES)


@pytest.mark.parametrize(
    ("places", "left"),
    [
        ("8", None),
        ("500", "of each class loss_probability, obsolescence_probability, sojourn_time"),
    ],
)
def test_what_is_not_predicted_of_each_class_is_named(
    crawlsim: Any, places: str, left: str | None
) -> None:
    """Of five hundred places the chain of all pages is solved, and that of one among them not."""
    changes = ("run.horizon=60", "run.warmup=0", f"buffer.waiting_places={places}")
    given = [word for change in (*changes, "run.replications=20") for word in ("--set", change)]
    _, shown, _ = crawlsim("check", "news-before-documents", "--engine", "simpy", *given)
    assert (left is None) == ("of each class" not in shown)
    assert f"; {left} (see `run`)" in shown or left is None


@pytest.mark.thorough
@pytest.mark.parametrize("jobs", ["1", "2", "3"])
def test_an_interrupt_leaves_nothing_behind(scenario_file: str, tmp_path: Path, jobs: str) -> None:
    out = tmp_path / "out"
    trace = tmp_path / "trace.csv"
    command = [*CRAWLSIM, "run", scenario_file, "--set", "run.horizon=1e8", "--out", str(out)]
    command += ["--trace", str(trace)] if jobs == "1" else ["--jobs", jobs]
    command += ["--engine", "simpy"] if jobs == "3" else []
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    time.sleep(3)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert err.strip().splitlines()[-1] == "crawlsim: interrupted; nothing was written"
    assert "Traceback" not in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["queue.toml"]


EARLY = """
import builtins, os, signal
honest = builtins.__import__
def planted(name, *rest):
    if name == {module!r}:
        os.kill(os.getpid(), signal.SIGINT)
    return honest(name, *rest)
builtins.__import__ = planted
from crawlsim.cli import main
main()
"""


@pytest.mark.parametrize(
    "module", ["click", "numpy", "crawlsim.cli.program", "crawlsim.cli.sweep_cells"]
)
def test_an_interrupt_while_the_program_is_loaded(module: str) -> None:
    """Nothing heavy is loaded before interrupts are caught."""
    program = [sys.executable, "-c", EARLY.format(module=module), "sweep", "one-robot"]
    done = subprocess.run(program, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr.strip() == "crawlsim: interrupted; nothing was written"


def test_a_command_does_not_load_f2py(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("numpy", "numpy.f2py.crackfortran", "scipy.special"):
        assert _LazyF2py.find_spec(name, np.__path__) is None
    finders = list(sys.meta_path)
    monkeypatch.setattr(sys, "meta_path", finders)
    monkeypatch.setattr("crawlsim.cli.program.start", lambda _: None)
    monkeypatch.setattr("gc.set_threshold", lambda _: None)
    main(["run"])
    assert _LazyF2py not in finders
    main()
    assert finders[0] is _LazyF2py
    code = (
        "import sys; from crawlsim.cli import _LazyF2py as later; "
        "sys.meta_path.insert(0, later); import scipy.special, numpy; "
        "print('numpy.f2py.crackfortran' in sys.modules); print(numpy.f2py.get_include()); "
        "print('numpy.f2py.crackfortran' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[::2] == ["False", "True"]


def test_the_package_knows_what_it_offers() -> None:
    assert sim.run is sim.replicate.run
    assert {each for each in sim.__all__ if not callable(getattr(sim, each))} == set()
    with pytest.raises(AttributeError, match="module 'sim' has no attribute 'walk'"):
        sim.walk  # noqa: B018


BROKEN = """
import sim.compiled_engine
from crawlsim.cli import main
honest = sim.compiled_engine.simulate
def broken(scenario, replication, seed, log=None):
    if replication == 1:
        raise ZeroDivisionError("of our making")
    return honest(scenario, replication, seed, log)
sim.compiled_engine.simulate = broken
main()
"""


@pytest.mark.thorough
@pytest.mark.parametrize(("jobs", "horizon"), [("1", "2000"), ("2", "1e10")])
def test_a_defect_is_shown_with_what_brings_it_about(
    scenario_file: str, tmp_path: Path, jobs: str, horizon: str
) -> None:
    """Its exit code is not that of a disagreement, and nobody waits for what is left to do."""
    arguments = ["run", scenario_file, "--set", f"run.horizon={horizon}", "--jobs", jobs]
    done = subprocess.run(
        [sys.executable, "-c", BROKEN, *arguments, "--out", str(tmp_path / "out")],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 70
    lines = done.stderr.strip().splitlines()
    assert lines[-1].endswith("please report what is shown above")
    assert "ZeroDivisionError: of our making" in lines
    assert "queue, replication 1, seed 1, compiled" in lines
    assert not (tmp_path / "out").exists()


def test_times_that_no_clock_can_tell_from_0_are_refused(crawlsim: Any, scenario_file: str) -> None:
    tiny = "robots.access_time.deterministic.value=1e-100"
    for command in ("run", "check"):
        code, out, err = crawlsim(command, scenario_file, "--set", tiny)
        assert (code, out) == (2, "")
        assert err.startswith("crawlsim: robots.access_time = { deterministic = ")
        assert "more than any clock can tell apart" in err
    assert crawlsim("solve", scenario_file)[0] == 0


@pytest.mark.thorough
def test_the_wheel_holds_the_packages_and_the_library(tmp_path: Path) -> None:
    """Built and installed beside, not over, what the tests use."""
    root = Path(__file__).parents[2]
    target = tmp_path / "installed"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    source = tmp_path / "source"
    source.mkdir()
    packages = ("crawlsim", "scenarios", "sim", "analytic", "papers")
    for part in (*packages, "pyproject.toml", "README.md", "LICENSE"):
        subprocess.run(["cp", "-r", str(root / part), str(source)], check=True)
    subprocess.run(
        [*pip, "wheel", "--no-deps", "--wheel-dir", str(tmp_path), str(source)], check=True
    )
    (wheel,) = tmp_path.glob("crawlsim-*.whl")
    install = [*pip, "install", "--no-deps", "--target", str(target), str(wheel)]
    subprocess.run(install, check=True)

    def said(*words: str) -> list[str]:
        done = subprocess.run(
            [sys.executable, *words],
            env={**os.environ, "PYTHONPATH": str(target)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.split()

    code = "import scenarios, sys; print(scenarios.__file__, *scenarios.library_names())"
    place, *names = said("-c", code)
    assert Path(place).is_relative_to(target)
    assert names == library_names()
    assert "talim2001:" in said("-m", "crawlsim", "paper", "talim2001")
    assert {path.stem for path in (target / "papers").glob("*.csv")} == set(TITLES)
    code = "from analytic.index.notation import NOTATION; print(NOTATION['talim2001']['K'])"
    assert "buffer" in said("-c", code)
    assert "SIGMETRICS" in said("-m", "crawlsim", "formulas", "talim2001")
    for part in ("report/template.html", "report/colours.css", "explore/lessons/peeking.toml"):
        assert (target / "crawlsim" / part).is_file()
    page = root / "crawlsim" / "explore" / "page"
    installed = target / "crawlsim" / "explore" / "page"
    assert {path.name for path in installed.iterdir()} == {path.name for path in page.iterdir()}
    assert {path.name for path in target.iterdir() if path.is_dir()} >= set(packages)


def on_terminal(columns: int, *arguments: str) -> list[str]:
    """The lines that a terminal of this width shows, without its colours."""
    keyboard, screen = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(columns), "TERM": "xterm"}
    process = subprocess.Popen(
        [*CRAWLSIM, *arguments], stdout=screen, stderr=subprocess.DEVNULL, env=environment
    )
    os.close(screen)
    text = b""
    with contextlib.suppress(OSError):  # how a terminal says that nobody writes any more
        while part := os.read(keyboard, 65536):
            text += part
    os.close(keyboard)
    process.wait(timeout=20)
    return [re.sub(r"\x1b\[[\d;]*m", "", line) for line in text.decode().splitlines()]


@pytest.mark.thorough
@pytest.mark.parametrize("columns", [40, 80, 200])
def test_a_narrow_terminal_shows_fewer_columns_but_cuts_nothing(
    scenario_file: str, columns: int
) -> None:
    lines = on_terminal(columns, "check", scenario_file, "--set", "run.warmup=60")
    assert not any("…" in line for line in lines)
    words = {word for line in lines for word in line.split()}
    assert {"measure", "predicted", "estimated", "verdict", "inconclusive"} <= words
    head = next(n for n, line in enumerate(lines) if line.startswith("  measure"))
    assert ("detectable" in lines[head]) == (columns == 200)
    (row,) = [line.split() for line in lines if "sojourn_time_second_moment" in line][-1:]
    assert all(float(value) > 0 for value in row if value[0].isdigit())
    if columns == 80:
        table = lines[head : next(n for n, line in enumerate(lines) if "left out" in line)]
        assert max(map(len, table)) <= 80
        assert any("sojourn_time_second_moment obsolete " in line for line in table)


@pytest.mark.parametrize("columns", [40, 80])
def test_a_table_whose_columns_all_count_is_not_cut_either(columns: int) -> None:
    lines = on_terminal(columns, "papers")
    assert not any("…" in line for line in lines)
    (row,) = [line.split() for line in lines if "avrachenkov2011" in line]
    record = json.loads(run_with({}, "papers", "--json"))[1]
    assert [int(each) for each in row[1:]] == [*record.values()][3:]
    assert columns < 80 or max(map(len, lines[:10])) <= 80


def run_with(environment: dict[str, str], *arguments: str) -> str:
    """What a command writes into a pipe."""
    given = {name: text for name, text in os.environ.items() if name != "COLUMNS"}
    command = [*CRAWLSIM, *arguments]
    return subprocess.check_output(command, env=given | environment, text=True)


def test_a_pipe_is_as_wide_as_columns_says() -> None:
    letters = []
    for width in (80, 150):
        text = run_with({"COLUMNS": str(width)}, "scenarios")
        assert width - 30 < max(map(len, text.splitlines())) <= width
        letters.append(sorted(re.sub(r"[\s─]", "", text)))
    assert letters[0] == letters[1]


@pytest.mark.by_day(besides=("nan", "-80", "columns4"))
@pytest.mark.parametrize("columns", ["0", "nan", "²", "-80", "9" * 5000])
def test_what_is_no_width_is_ignored(columns: str) -> None:
    assert run_with({"COLUMNS": columns, "LINES": columns}, "papers") == run_with({}, "papers")


@pytest.mark.parametrize("command", ["run", "check", "solve"])
def test_every_number_has_its_unit(crawlsim: Any, scenario_file: str, command: str) -> None:
    _, out, _ = crawlsim(command, scenario_file, "--set", "time_unit=hour")
    rows = {line.split()[0]: line for line in out.splitlines() if line.strip()}
    assert " 1/hour " in rows["throughput"]
    assert " hour² " in rows["sojourn_time_second_moment"]
    assert " share " in rows["loss_probability"]
    assert " pages " in rows["mean_in_system"]


@pytest.mark.by_day(besides=("arguments0",))
@pytest.mark.parametrize("arguments", [["solve", "one-robot"], ["solve", "one-robot", "--json"]])
def test_output_that_cannot_be_written_ends_in_one_line(arguments: list[str]) -> None:
    full = Path("/dev/full")
    with full.open("w") as stream:
        done = subprocess.run([*CRAWLSIM, *arguments], stdout=stream, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit of addresses that is kept")
@pytest.mark.parametrize(
    "arguments", [["check", "one-robot"], ["schedule", "x", "--visits", "1/day"]]
)
def test_too_little_memory_is_told_at_once(arguments: list[str]) -> None:
    """The library of linear algebra would look for more without end."""
    command = f"ulimit -v 300000; exec {' '.join([*CRAWLSIM, *arguments])}"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=20)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(r"crawlsim: .* 307 MB of memory \(ulimit -v\), and .*\n", done.stderr)


def test_memory_that_runs_out_is_told_in_a_line(
    crawlsim: Any, scenario_file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run_out(*_: Any, **__: Any) -> None:
        raise MemoryError("Unable to allocate 7 TiB")

    monkeypatch.setattr("sim.replicate.run", run_out)
    code, _, err = crawlsim("run", scenario_file)
    assert (code, err) == (2, "crawlsim: there is not enough memory: Unable to allocate 7 TiB\n")


def test_a_terminal_without_unicode_gets_replacements() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [*CRAWLSIM, "solve", "one-robot"], env=environment, capture_output=True, check=True
    )
    assert b"starvation_probability" in done.stdout


@pytest.mark.parametrize("arguments", ["formulas --json", "formulas", "solve batches"])
def test_a_closed_pipe_is_no_error(arguments: str) -> None:
    command = f"({' '.join(CRAWLSIM)} {arguments}; echo $? >&2) | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert done.stderr.splitlines() == ["0"]


def test_solve_says_each_reason_once_and_where_the_rest_is(
    crawlsim: Any, scenario_file: str
) -> None:
    places = ["--set", "buffer.waiting_places=40"]
    _, out, _ = crawlsim("solve", scenario_file, *places)
    reasons = [line.rpartition(": ")[2] for line in out.splitlines() if "not applicable:" in line]
    assert len(reasons) == len(set(reasons)) >= 3
    assert "(--json has all)" in " ".join(out.split())
    assert "--out" not in out
    assert "Coffman 1998" not in out
    assert "(--all has the reasons)" in out
    assert (
        "cyclic access (Coffman 1998, eq. 3); cyclic access, failures (Coffman 1998, eq. 3"
        in crawlsim("solve", scenario_file, *places, "--all")[1]
    )


def test_the_course_says_when_what_and_how_far(crawlsim: Any) -> None:
    short = ("--set", "run.warmup=0", "--set", "run.horizon=60", "--set", "run.observe=30")
    _, out, _ = crawlsim("check", "cold-start", *short, "--replications", "3")
    table = out[out.index("the course, the largest differences") :].splitlines()
    rows = [line.split() for line in table if line.split()[:1] in (["30"], ["60"])]
    assert rows
    assert {row[1] for row in rows} <= {*MEASURES}


@pytest.mark.parametrize(
    ("flags", "display", "opened"), [([], ":0", 1), (["--no-browser"], ":0", 0), ([], "", 0)]
)
def test_the_page_opens_in_a_browser_where_there_is_one(
    flags: list[str], display: str, opened: int, crawlsim: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    addresses: list[str] = []
    seen = threading.Event()

    def open_page(address: str) -> None:
        addresses.append(address)
        seen.set()

    def served(*_: Any) -> None:
        if opened:
            assert seen.wait(60.0)

    monkeypatch.setattr("webbrowser.open", open_page)
    monkeypatch.setattr("crawlsim.explore.server.serve", served)
    monkeypatch.setenv("DISPLAY", display)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    _, out, _ = crawlsim("explore", *flags)
    assert addresses == out.split() * opened


def test_ignored_interrupts_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
    keep_interrupts()
    assert sys.unraisablehook is _again
    again = threading.Event()
    monkeypatch.setattr("_thread.interrupt_main", again.set)
    _again(SimpleNamespace(exc_type=KeyboardInterrupt))  # type: ignore[arg-type]  # as reported
    assert again.wait(60.0)


def test_settings_end_where_the_interventions_begin_and_end() -> None:
    short = {"at": 0.25, "until": 0.75, "robot_speed": 0.5}
    scenario = queue({"interventions": [short], "run.warmup": 0.0, "run.horizon": 2.0})
    assert _ends_of_settings(scenario) == [0.25, 0.75, 2.0]


@pytest.mark.parametrize(("places", "are_shown"), [(60, False), (4, True)])
def test_of_many_levels_that_are_inconclusive_a_check_says_how_many(
    crawlsim: Any, places: int, are_shown: bool
) -> None:
    short = ("--set", "run.horizon=1000.0", "--set", "run.warmup=100.0", "--replications", "3")
    _, shown, _ = crawlsim("check", "one-robot", "--set", f"buffer.waiting_places={places}", *short)
    assert ("level_probability 0" in shown) == are_shown
    assert (
        bool(re.search(r"rows of level_probability, \d+ of them inconclusive", shown)) != are_shown
    )
