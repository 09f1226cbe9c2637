"""Parts of the commands, called in this process: ends, refusals, lists, and what is said."""

from __future__ import annotations

import errno
import importlib.metadata
import io
import json
import math
import os
import platform
import socket
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import numpy as np
import pytest
from systems import queue

import sim
from analytic import resolve
from analytic.index.formula import Prediction
from crawlsim.cli import (
    explore,
    files,
    later,
    listing,
    optimize,
    program,
    rare,
    sweep_cells,
    tables,
    workers,
)
from crawlsim.cli.commands import _traced
from crawlsim.cli.files import may_be_a_name, package_versions, read_json
from crawlsim.cli.fit import signals_table
from crawlsim.cli.loading import decision_of
from crawlsim.cli.options import RunOptions
from crawlsim.cli.output import _with_half, measured_errors
from crawlsim.cli.results import course_estimates_record
from crawlsim.cli.run_time import _cores
from crawlsim.cli.simulating import _corrected
from crawlsim.cli.streams import Interrupted, OutputError, Stage, shown_streams
from crawlsim.lists import library
from scenarios import ScenarioError, dumps, load
from scenarios.library import library_names, library_text
from sim.splitting import RareLosses

Commands = Any


@pytest.fixture
def scenario_file(tmp_path: Path) -> str:
    path = tmp_path / "queue.toml"
    path.write_text(dumps(queue({"run.horizon": 60.0, "run.replications": 2})))
    return str(path)


# How the program ends


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (
            OSError(errno.ENOSPC, "No space left on device"),
            2,
            "crawlsim: cannot write the output: No space left on device\n",
        ),
        (OSError(errno.EIO, ""), 2, "crawlsim: cannot write the output: [Errno 5] \n"),
        (
            MemoryError(),
            2,
            "crawlsim: there is not enough memory: it takes a smaller system, or a machine with "
            "more\n",
        ),
        (
            MemoryError("of 3 GB"),
            2,
            "crawlsim: there is not enough memory: of 3 GB\n",
        ),
        (
            ModuleNotFoundError("x", name="numba.core"),
            2,
            "crawlsim: this needs numba, which is not installed here\n",
        ),
    ],
)
def test_what_a_machine_lacks_is_no_defect(
    error: Exception, code: int, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert program._reported(error, "a package") == code
    assert capsys.readouterr() == ("", says)


@pytest.mark.parametrize(
    "error", [ModuleNotFoundError("x", name="x.y"), OSError(errno.EPERM, "no"), KeyError("x")]
)
def test_a_defect_is_shown_whole_with_whose_it_is(
    error: Exception, capsys: pytest.CaptureFixture[str]
) -> None:
    code = 0
    try:
        raise error
    except type(error) as raised:
        code = program._reported(raised, "a package")
    assert code == 70
    said = capsys.readouterr().err
    assert said.startswith("Traceback (most recent call last):\n")
    assert said.endswith(
        "crawlsim: this is a bug in a package; please report what is shown above\n"
    )


class EndedError(Exception):
    """Stands for the end of the process."""


@pytest.fixture(name="ends")
def ends_of_the_process(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """How it ended, which it does not do here."""
    seen: list[tuple[str, int]] = []

    def end(how: str) -> Any:
        def ended(code: int) -> None:
            seen.append((how, code))
            raise EndedError

        return ended

    monkeypatch.setattr(os, "_exit", end("at once"))
    monkeypatch.setattr(sys, "exit", end("in the usual way"))
    monkeypatch.setattr(program, "_show_what_is_logged", lambda: None)
    monkeypatch.setattr(program, "_threads_are_left", lambda: False)
    return seen


@pytest.mark.parametrize(
    ("code", "arguments", "threads", "how"),
    [
        (0, None, False, "at once"),
        (3, None, False, "at once"),
        (0, None, True, "in the usual way"),
        (0, ["run"], False, "in the usual way"),
        (70, ["run"], True, "at once"),
        (130, None, True, "at once"),
        (70, ["run"], False, "in the usual way"),
        (2, ["run"], True, "in the usual way"),
    ],
)
def test_the_program_waits_for_nobody_but_those_whose_results_count(
    code: int,
    arguments: list[str] | None,
    threads: bool,
    how: str,
    ends: list[tuple[str, int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(program, "_exit_code", lambda _: code)
    monkeypatch.setattr(program, "_threads_are_left", lambda: threads)
    with pytest.raises(EndedError):
        program.start(arguments)
    assert ends == [(how, code)]


def test_output_that_nobody_gets_ends_with_2(
    ends: list[tuple[str, int]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fails(_: object) -> int:
        raise OutputError("no room")

    monkeypatch.setattr(program, "_exit_code", fails)
    with pytest.raises(EndedError):
        program.start(["run"])
    assert ends == [("in the usual way", 2)]
    assert capsys.readouterr().err == "crawlsim: cannot write the output: no room\n"
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(OutputError, match=r"^stdout is closed$"), shown_streams():
        pass


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (BrokenPipeError(), 0, ""),
        (SystemExit(1), 0, ""),
        (OutputError("no room"), 2, "crawlsim: cannot write the output: no room\n"),
        (KeyboardInterrupt(), 130, "crawlsim: interrupted; nothing was written\n"),
    ],
)
def test_what_ends_a_command_has_a_code(
    error: BaseException,
    code: int,
    says: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    forgotten: list[bool] = []

    def fails(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(program, "_forget_output", lambda: forgotten.append(True))
    monkeypatch.setattr(program.commands, "main", fails)
    assert program._exit_code(["schema"]) == code
    assert capsys.readouterr() == ("", says)
    assert bool(forgotten) == (code != 130)


def test_an_interrupt_says_what_is_kept(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise click.Abort from Interrupted("some of it is kept")

    monkeypatch.setattr(program.commands, "main", fails)
    assert program._exit_code(["run"]) == 130
    assert capsys.readouterr().err == "crawlsim: interrupted; some of it is kept\n"


def test_versions_are_those_of_what_numbers_depend_on(crawlsim: Commands) -> None:
    code, out, _ = crawlsim("--version")
    (name, ours), *others = package_versions().items()
    assert (code, name) == (0, "crawlsim")
    assert out == (
        f"crawlsim {ours}\nPython {platform.python_version()}, "
        + ", ".join(f"{each} {what}" for each, what in others)
        + "\n"
    )


def test_what_is_not_installed_is_said_and_gives_no_version(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(files, "_PACKAGES", ("numpy", "no-such-package"))
    monkeypatch.setattr(files, "versions", lambda: {"mine.py": "sha256"})
    assert package_versions() == {
        "numpy": np.__version__,
        "no-such-package": "not installed",
        "mine.py": "sha256",
    }


# Commands of other packages


class Entry(SimpleNamespace):
    """An entry point of a package."""

    name, value, module = "theirs", "theirs.cli:theirs", "theirs.cli"

    def load(self) -> Any:
        found = self.found
        if isinstance(found, BaseException):
            raise found
        return found


def of_package(found: Any, package: str = "theirs") -> later.OfPackage:
    made = later.OfPackage(Entry(found=found, dist=None))  # type: ignore[arg-type]
    made.package = package
    return made


@pytest.mark.parametrize("error", [KeyError("x"), SystemExit(0), ImportError("no y")])
def test_a_command_that_cannot_be_loaded_says_whose_it_is(
    error: BaseException, capsys: pytest.CaptureFixture[str]
) -> None:
    command = of_package(error)
    with pytest.raises(click.ClickException) as said:
        _ = command.loaded
    start = "the command theirs of the package theirs cannot be loaded: "
    assert said.value.message == start + later._reason(error)
    assert command.get_short_help_str() == "(cannot be loaded)"
    assert said.value.message in capsys.readouterr().err


def test_a_command_of_our_own_that_fails_is_a_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(later, "stranger", lambda _: None)
    with pytest.raises(KeyError):
        _ = of_package(KeyError("x"), later.OURS).loaded
    monkeypatch.setattr(later, "stranger", lambda name: f"a stranger is {name}")
    with pytest.raises(click.ClickException, match=r"^a stranger is theirs$"):
        _ = of_package(KeyError("x"), later.OURS).loaded


# Lists


def test_scenarios_are_listed_by_name_by_title_or_as_data(crawlsim: Commands) -> None:
    assert crawlsim("scenarios", "--names")[:2] == (0, "\n".join(library_names()) + "\n")
    assert crawlsim("scenarios", "one-robot")[:2] == (0, library_text("one-robot"))
    assert json.loads(crawlsim("scenarios", "one-robot", "--json")[1]) == json.loads(
        json.dumps(load("one-robot").as_file())
    )
    assert json.loads(crawlsim("scenarios", "--json")[1]) == [dict(each) for each in library()]
    code, _, err = crawlsim("scenarios", "one-robo")
    assert (code, err.splitlines()[0]) == (2, 'crawlsim: scenario = "one-robo"')
    assert "must be one of " in err


def test_the_table_of_scenarios_has_a_row_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    monkeypatch.setattr(listing, "show_table", shown.append)
    listing.list_scenarios.callback(None, False, False)  # type: ignore[misc]
    (table,) = shown
    assert [column.header for column in table.columns] == ["name", "title", "paper"]
    assert [*table.columns[0].cells] == [each["name"] for each in library()]
    assert [*table.columns[2].cells] == [each["paper"].replace("[", "\\[") for each in library()]


# What does not go together


@pytest.mark.parametrize(
    ("count", "options", "why"),
    [
        (2, RunOptions(), "needs a single scenario"),
        (1, RunOptions(precision=0.1), "does not go with --precision"),
        (1, RunOptions(control_variates=True), "does not go with --control-variates"),
    ],
)
def test_a_trace_is_of_one_run(count: int, options: RunOptions, why: str) -> None:
    with pytest.raises(ScenarioError) as error:
        _traced([queue()] * count, options, "x.csv")
    assert str(error.value) == f'--trace = "x.csv"\n{why}'


def test_a_figure_of_a_decision_needs_a_target_that_has_one() -> None:
    asked = {"--out": None, "--figure": "x.svg", "--report": None, "--study": None}
    with pytest.raises(ScenarioError) as error:
        optimize._claimed(asked, None, None, "design", [queue()], False)
    assert str(error.value) == '--figure = "x.svg"\ndoes not go with --target design'
    with pytest.raises(ScenarioError) as error:
        optimize._claimed({**asked, "--figure": None}, "there", None, "design", [queue()], False)
    assert str(error.value) == '--figures = "there"\ndoes not go with --target design'
    with pytest.raises(ScenarioError) as error:
        optimize._claimed(asked, None, None, "static", [queue(), queue()], False)
    assert str(error.value) == '--figure = "x.svg"\nneeds a single scenario'
    assert str(optimize._no_figure("--figures", "there", "static")) == (
        '--figures = "there"\ndoes not go with a simulated search of --target static; --kind '
        "exact says why there is no exact answer"
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("optimize", "FILE", "one-robot", "--target", "static"),
            '--study = "there"\nof optimize needs a single scenario',
        ),
        (("run", "FILE", "--out", "x"), '--out = "x"\ndoes not go with --study'),
        (("run", "FILE", "--format", "png"), '--format = "png"\ndoes not go with --study'),
        (("run", "FILE", "--trace", "x.csv"), '--trace = "x.csv"\ndoes not go with --study'),
        (
            ("sweep", "FILE", "--vary", 'pages.change_rates={file="x.csv"}'),
            '--vary = "pages.change_rates={file="x.csv"}"\ndoes not go with --study: name the '
            "file in the scenario of sweep",
        ),
    ],
)
def test_what_a_study_does_not_take_is_refused_before_any_work(
    words: tuple[str, ...],
    message: str,
    crawlsim: Commands,
    scenario_file: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    given = [scenario_file if word == "FILE" else word for word in words]
    code, out, err = crawlsim(*given, "--study", "there")
    assert (code, out, err) == (2, "", f"crawlsim: {message}\n")
    assert not Path("there").exists()


# What is said


def test_a_scenario_without_a_formula_says_so(
    crawlsim: Commands, scenario_file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("analytic.predict", lambda _: ([], []))
    words = ("solve", scenario_file, "--set", "buffer.waiting_places=4")
    code, out, _ = crawlsim(*words)
    assert (code, out.splitlines()[0]) == (
        0,
        "queue, buffer.waiting_places=4: no formula applies",
    )


def test_a_precision_that_approximations_were_seen_to_have_is_said_once() -> None:
    from analytic.index.names import MEASURED, called

    source = next(iter(MEASURED))
    near = Prediction("loss_probability", None, 0.1, "approximation", source)
    exact = Prediction("throughput", None, 0.1, "exact", source)
    other = Prediction("loss_probability", None, 0.1, "approximation", "no-such-source")
    assert list(measured_errors([exact, other])) == []
    assert list(measured_errors([near, exact, near])) == [f"≈ {called(source)}: {MEASURED[source]}"]


@pytest.mark.parametrize(
    ("estimate", "half", "words"),
    [
        (math.nan, 1.0, "–"),
        (1.23456, 0.123, "1.235 ± 0.12"),
        (1.23456, 0.0, "1.23456"),
        (-0.0, 0.5, "0 ± 0.5"),
        (2.0, math.nan, "2"),
    ],
)
def test_a_half_width_stands_beside_an_estimate_where_there_is_one(
    estimate: float, half: float, words: str
) -> None:
    assert _with_half(estimate, half) == words


def test_a_course_is_written_time_by_time() -> None:
    scenario = queue({"run.horizon": 60.0, "run.replications": 2, "run.observe": 20.0})
    results = sim.run(scenario.with_("run.warmup", 0.0), engine="simpy")
    rows = list(course_estimates_record(results)["course"])
    assert len(rows) == len(list(results.course)) > 4
    for row, each in zip(rows, results.course, strict=True):
        assert row == {name: getattr(each, name) for name in row}
        assert {"time", "measure", "subject", "estimate", "low", "high"} <= set(row)
    alone = sim.run(queue({"run.horizon": 60.0, "run.replications": 2}), engine="simpy")
    assert course_estimates_record(alone) == {}


@pytest.mark.parametrize(
    ("controls", "reason"),
    [
        (False, "no quantity with a known mean is counted here"),
        (True, "at least 10 replications are needed, and one more for each of them"),
    ],
)
def test_why_there_are_no_control_variates_is_said(
    controls: bool, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from dataclasses import replace

    results = sim.run(queue({"run.horizon": 60.0, "run.replications": 2}), engine="simpy")
    if not controls:
        results = replace(results, controls={})
    found = _corrected(results)
    assert not found.variance_ratios
    assert capsys.readouterr().err.strip().endswith(f"queue: no control variates: {reason}")


def test_probes_that_were_decided_are_counted_source_by_source() -> None:
    asked = load("three-sources")
    found = resolve(asked)
    assert found.probing is not None
    counts = [len(times) for times in found.probing.policy.of_each]  # type: ignore[union-attr]
    assert sum(counts) == asked.probing.probes  # type: ignore[union-attr]
    assert decision_of(asked, found) == f"[{', '.join(map(str, counts))}] probes"
    assert decision_of(found, found) is None


def rare_losses(**changes: Any) -> RareLosses:
    given = {
        **{"scenario": "queue", "seed": 3, "probability": 1e-9, "low": 0.9e-9, "high": 1.1e-9},
        **{"log_error": 0.05, "replications": 11, "levels": (), "copies": ()},
        **{"events": 1000, "plain_events": 1500.0},
    }
    return RareLosses(**{**given, **changes})


def test_a_rare_loss_is_told_beside_the_formula(capsys: pytest.CaptureFixture[str]) -> None:
    """At a false alarm in a thousand: Student's t of ten degrees, 4.587 standard errors."""
    from scipy import stats

    allowed = math.exp(stats.t.ppf(0.9995, 10) * 0.05)
    for exact, verdict in (
        (1e-9, "agrees"),
        (0.999e-9 * allowed, "agrees"),
        (1.001e-9 * allowed, "disagrees"),
        (1.001e-9 / allowed, "agrees"),
        (0.999e-9 / allowed, "disagrees"),
    ):
        assert rare._verdict(rare_losses(), exact) == verdict
    rare._show(rare_losses(), 1e-9, "agrees")
    assert capsys.readouterr().out.splitlines() == [
        "queue: 11 replications, seed 3",
        "  loss_probability  1e-09  95 % interval [9e-10, 1.1e-09]",
        f"  by formula        1e-09  agrees; an error of {100 * (allowed - 1):.2g} % would show",
        "  1e+03 events; counting losses would do as well",
    ]
    rare._show(rare_losses(levels=(3, 7), plain_events=2500.0), None, None)
    assert capsys.readouterr().out.splitlines()[2:] == [
        "  no formula gives it exactly; crawlsim solve says why",
        "  paths are split at the levels 3, 7",
        "  1e+03 events; counting losses would take at least 2.5e+03, 2.5 times as many",
    ]


@pytest.mark.parametrize(("high", "warned"), [(1.6e-9, False), (1.7e-9, True)])
def test_a_precision_of_a_rare_loss_that_is_not_reached_is_said(
    high: float,
    warned: bool,
    crawlsim: Commands,
    scenario_file: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = rare_losses(high=high)
    monkeypatch.setattr("sim.splitting.rare_losses", lambda *_, **__: found)
    monkeypatch.setattr("analytic.exact_values", lambda _: {("loss_probability", None): (1e-9, "")})
    code, out, err = crawlsim("rare", scenario_file, "--precision", "0.5", "--json")
    assert code == 0
    assert json.loads(out) == {**found.record(), "exact": 1e-9, "verdict": "agrees"} | {
        "levels": [],
        "copies": [],
    }
    said = (
        f"queue: a precision of 0.5 is not reached with 11 replications, but "
        f"{math.log(high / 1e-9):.2g}; raise --max-replications"
    )
    assert (said in err) == warned


def test_a_stage_whose_length_nobody_knows_is_at_work() -> None:
    stage = Stage("queue", "replications")
    assert stage.words() == "queue: at work"
    stage.reached(0, 1200)
    assert stage.words() == "queue: 0 of 1,200 replications"


def test_a_pipe_that_breaks_is_left_to_the_program() -> None:
    console = tables.ShownConsole(io.StringIO())
    with pytest.raises(BrokenPipeError):
        console.on_broken_pipe()


# Sweeps


def test_so_many_cells_of_all() -> None:
    assert sweep_cells._of_all(1, 1) == "the only cell is"
    assert sweep_cells._of_all(0, 5) == "0 of 5 cells are"
    assert sweep_cells._of_all(1, 5) == "1 of 5 cells is"
    assert sweep_cells._of_all(5, 5) == "5 of 5 cells are"


def test_an_interrupt_of_a_choice_says_where_its_replications_are() -> None:
    with pytest.raises(KeyboardInterrupt), sweep_cells._said_when_interrupted(None):
        raise KeyboardInterrupt
    kept = SimpleNamespace(folder="there")
    with pytest.raises(Interrupted) as said, sweep_cells._said_when_interrupted(kept):  # type: ignore[arg-type]
        raise KeyboardInterrupt
    assert str(said.value) == (
        "all cells and the further replications so far are in there; the same command resumes "
        "with the others"
    )


def test_the_first_rows_are_shown_where_nothing_says_which_matter() -> None:
    few = [{"state": n} for n in range(40)]
    assert optimize._shown(few) == (few, [])
    many = [{"state": n} for n in range(41)]
    assert optimize._shown(many) == (
        many[:40],
        ["the first 40 of 41 rows (--json has all)"],
    )
    priced = [{"state": n, "cost": float(abs(n - 25) // 2 * 2)} for n in range(50)]
    rows, notes = optimize._shown([*priced, {"state": 99, "cost": math.nan}])
    assert [row["cost"] for row in rows] == sorted({row["cost"] for row in priced})
    assert notes == [f"the best {len(rows)} of 51 rows (--json has all)"]


# Files


@pytest.mark.parametrize(
    ("name", "may"),
    [
        ("a/b.csv", True),
        ("", False),
        ("/a", False),
        ("../a", False),
        ("a/../b", False),
        ("a//b", False),
        ("a/", False),
        ("a\0b", False),
        ("\ud800", False),
        ("\udce4", True),
    ],
)
def test_names_of_files_within_a_folder(name: str, may: bool) -> None:
    """A byte that is no text has a name, half of a surrogate pair has none."""
    assert may_be_a_name(name) is may


def test_a_file_that_holds_no_object_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    assert read_json(path) == {}
    for text, document in (('{"a": 1}', {"a": 1}), ("[1]", {}), ("{", {})):
        path.write_text(text)
        assert read_json(path) == document
    path.write_bytes(b'{"a": "\xff"}')
    assert read_json(path) == {}
    path.unlink()
    os.mkfifo(path)
    assert read_json(path) == {}


def test_by_force_only_what_is_written_is_replaced(tmp_path: Path) -> None:
    """A file of an earlier run that somebody changed stays where a new run has no such file."""
    ours = {"a.csv": "a\n", "b.csv": "b\n"}
    files.write_files(tmp_path, ours, lambda digests: files.provenance([], {}, digests))
    assert files._refuse_foreign("--out", tmp_path, ["a.csv"], False) == {
        "b.csv",
        files.PROVENANCE,
    }
    (tmp_path / "b.csv").write_text("mine\n")
    assert files._refuse_foreign("--out", tmp_path, ["a.csv"], True) == {files.PROVENANCE}
    with pytest.raises(ScenarioError) as error:
        files._refuse_foreign("--out", tmp_path, ["a.csv"], False)
    assert error.value.allowed == (
        "b.csv there has changed since crawlsim wrote it; give another folder, or --force"
    )
    (tmp_path / "c.csv").write_text("mine\n")
    with pytest.raises(ScenarioError) as error:
        files._refuse_foreign("--out", tmp_path, ["c.csv", "b.csv"], False)
    assert error.value.allowed == (
        "b.csv there has changed since crawlsim wrote it; give another folder, or --force"
    )
    (tmp_path / "b.csv").write_text("b\n")
    with pytest.raises(ScenarioError) as error:
        files._refuse_foreign("--out", tmp_path, ["c.csv", "b.csv"], False)
    assert error.value.allowed == (
        "c.csv there was not written by crawlsim; give another folder, or --force"
    )


def test_cores_are_those_that_this_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1, 5, 6}, raising=False)
    assert _cores() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    for known, cores in ((7, 7), (None, 1)):
        monkeypatch.setattr(os, "cpu_count", lambda known=known: known)
        assert _cores() == cores


# Workers elsewhere


class Cluster:
    """Stands for the client of a cluster: what its workers answer, and what they are asked."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.submitted: list[tuple[Any, dict[str, Any]]] = []
        self.gathered: list[Any] = []

    def run(self, work: Any, *_: object) -> Any:
        answer = self.answers[work.__name__]
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def submit(self, work: Any, *given: Any, **how: Any) -> str:
        self.submitted.append((work, {"given": given, **how}))
        return f"task {len(self.submitted)}"

    def gather(self, tasks: Any, errors: str) -> None:
        self.gathered.append((tasks, errors))


@pytest.mark.parametrize(
    ("versions", "plugins", "allowed"),
    [
        (importlib.metadata.PackageNotFoundError("x"), {}, "a worker there has no crawlsim"),
        ({}, {}, "has no workers"),
        ({"a": "MINE", "b": "0.0.1"}, {}, "b has crawlsim 0.0.1, and this is MINE"),
        (
            {"a": "MINE"},
            {"a": {"other.py": "1"}},
            "a has the plugins {'other.py': '1'}, and here are {'own.py': '2'}",
        ),
        ({"a": "MINE"}, {"a": {}}, "a has the plugins none, and here are {'own.py': '2'}"),
        ({"a": "MINE", "b": "MINE"}, {"a": {"own.py": "2"}, "b": {"own.py": "2"}}, None),
    ],
)
def test_workers_that_would_count_otherwise_are_refused(
    versions: Any, plugins: Any, allowed: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = importlib.metadata.version("crawlsim")
    if isinstance(versions, dict):
        versions = {name: mine if each == "MINE" else each for name, each in versions.items()}

    def installed_versions() -> dict[str, str]:
        return {"own.py": "2"}

    monkeypatch.setattr(workers, "installed_versions", installed_versions)
    client = Cluster(version=versions, installed_versions=plugins)
    if allowed is None:
        workers._check_versions(client, "there")
        return
    with pytest.raises(ScenarioError) as error:
        workers._check_versions(client, "there")
    assert (error.value.key, error.value.value) == ("--cluster", "there")
    assert error.value.allowed == allowed.replace("MINE", mine)


def test_workers_without_the_code_compile_it_first(capsys: pytest.CaptureFixture[str]) -> None:
    from sim.compiled_engine.prepared import prepare

    scenarios = [queue()]
    nobody = Cluster(_lack_code={"a": False, "b": False})
    workers._compile_once(nobody, scenarios)
    assert (nobody.submitted, nobody.gathered, capsys.readouterr().err) == ([], [], "")
    some = Cluster(_lack_code={"a": True, "b": False, "c": True})
    workers._compile_once(some, scenarios)
    assert [(work, how["workers"]) for work, how in some.submitted] == [
        (prepare, ["a"]),
        (prepare, ["c"]),
    ]
    for _, how in some.submitted:
        assert how["given"] == (scenarios,)
        assert (how["allow_other_workers"], how["pure"]) == (True, False)
    assert some.gathered == [(["task 1", "task 2"], "skip")]
    assert capsys.readouterr().err == (
        "crawlsim: the cluster first compiles the engine, once, up to half a minute\n"
    )


def test_code_is_lacking_where_one_of_the_scenarios_has_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "sim.compiled_engine.prepared.is_prepared", lambda scenario: scenario == "known"
    )
    assert not workers._lack_code(["known", "known"])  # type: ignore[list-item]
    assert workers._lack_code(["known", "new"])  # type: ignore[list-item]


def test_a_cluster_has_its_own_workers_and_its_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        pytest.raises(ScenarioError) as error,
        workers.workers(RunOptions(cluster="there", jobs=2), []),
    ):
        pass
    assert str(error.value) == "--jobs = 2\ndoes not go with --cluster"
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ScenarioError) as error, workers.workers(RunOptions(cluster="there"), []):
        pass
    assert str(error.value) == '--cluster = "there"\nneeds the extra crawlsim[cluster]'
    with workers.workers(RunOptions(jobs=1), ["compiled"]) as executor:
        assert executor is None


# The live page


def test_a_port_that_is_taken_is_told_or_another_one_is_found() -> None:
    with explore._listening(0, may_differ=False) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(click.ClickException) as error:
            explore._listening(port, may_differ=False)
        assert error.value.message == f"port {port} is taken; choose another with --port"
        with explore._listening(port, may_differ=True) as other:
            assert other.getsockname() != ("127.0.0.1", port)
            assert other.getsockname()[0] == "127.0.0.1"


def test_a_port_that_nobody_may_have_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing(socket.socket):
        def bind(self, _: Any) -> None:
            raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(socket, "socket", Refusing)
    with pytest.raises(click.ClickException) as error:
        explore._listening(80, may_differ=False)
    assert error.value.message == (
        "port 80 is not free: Permission denied; choose another with --port"
    )


@pytest.mark.parametrize(
    ("platform_", "variables", "has"),
    [
        ("win32", {}, True),
        ("darwin", {}, True),
        ("linux", {}, False),
        ("linux", {"DISPLAY": ":0"}, True),
        ("linux", {"WAYLAND_DISPLAY": "wayland-0"}, True),
        ("linux", {"DISPLAY": ""}, False),
    ],
)
def test_a_browser_opens_where_there_is_a_screen(
    platform_: str, variables: dict[str, str], has: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", platform_)
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert explore._has_screen() is has


@pytest.mark.parametrize(
    "kept",
    [
        '{"port": 0, "token": "0123456789abcdef"}',
        '{"port": 65536, "token": "0123456789abcdef"}',
        '{"port": 8000, "token": "short"}',
        '{"port": "8000", "token": "0123456789abcdef"}',
        '{"token": "0123456789abcdef"}',
        "[]",
        "{",
        None,
    ],
)
def test_only_a_port_and_a_token_of_ours_are_those_of_last_time(
    kept: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (tmp_path / "crawlsim").mkdir()
    if kept is not None:
        (tmp_path / "crawlsim/explore.json").write_text(kept)
    assert explore._last_time() == (0, None)
    explore._remember(65535, "0123456789abcdef")
    assert explore._last_time() == (65535, "0123456789abcdef")


# Tables


def test_of_many_hosts_the_first_are_shown() -> None:
    def fitted(count: int) -> Any:
        rows = [
            SimpleNamespace(
                name=name, subject=f"h{n}.org" if n else None, estimate=mean, low=low, high=high
            )
            for n in range(count)
            for name, mean, low, high in (
                ("precision", 0.5, 0.25, 0.75),
                ("recall", 0.125, 0.0, 1.0),
            )
        ]
        return SimpleNamespace(parameters=rows)

    caption = "Precision: share of the signals that are true; recall: of the changes that have one."
    table = signals_table(fitted(20))
    assert (table.caption, table.row_count) == (caption, 20)
    assert [next(iter(column.cells)) for column in table.columns] == [
        "all pages",
        *("50 %", "25 %", "75 %"),
        *("12 %", "0 %", "100 %"),
    ]
    table = signals_table(fitted(21))
    assert table.caption == f"{caption} 20 of 21 hosts (--json has all)."
    assert table.row_count == 20


def test_the_facts_of_a_sweep_are_what_its_cells_have_in_common() -> None:
    from crawlsim.cli.sweep import Swept

    def facts(scenarios: list[Any], runs: list[dict[str, Any]]) -> dict[str, str]:
        swept = SimpleNamespace(
            grid=[SimpleNamespace(scenario=each) for each in scenarios],
            records=[{"run": run} for run in runs],
        )
        return Swept._facts(swept)  # type: ignore[arg-type]

    run = {"replications": 4, "seed": 1, "warmup": 50.0}
    other = {"replications": 8, "seed": 1, "warmup": 5.0}
    assert facts([queue(), queue({"run.horizon": 900.0})], [run, other]) == {
        "replications": "4 to 8",
        "seed": "1",
        "horizon": "400 to 900",
        "warm-up": "5 to 50",
    }
    probing = load("dbworld-uniform")
    assert probing.probing is not None
    assert facts([probing], [run]) == {
        "replications": "4",
        "seed": "1",
        "horizon": f"{probing.probing.horizon:g}",
    }
