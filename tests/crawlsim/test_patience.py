"""What is said before something takes long: once, on stderr, and with a figure."""

from __future__ import annotations

import importlib.util
import json
import logging
import sys
from pathlib import Path
from typing import Any

import numba
import pytest
from test_indexing_queue import H2, queue, stale

from analytic.indexing_queue import (
    chain_of,
    closure,
    solution,
    solve_chain,
)
from analytic.machinery import progress
from analytic.rules import searching
from crawlsim.cli import main
from scenarios import compiling, dumps
from scenarios.compiling import compiled

LARGE = queue(stale(H2) | {"buffer.waiting_places": 10, "name": "large", "costs.loss": 1.0})


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The messages of the solvers, whatever the command line did to their logger before."""
    for package in ("scenarios", "analytic"):
        monkeypatch.setattr(logging.getLogger(package), "propagate", True)
        monkeypatch.setattr(logging.getLogger(package), "handlers", [])
        caplog.set_level(logging.INFO, logger=package)
    return lambda: [record.getMessage() for record in caplog.records]


def called(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert not stop.value.code
    written = capsys.readouterr()
    return written.out, written.err


def test_a_large_chain_is_announced_and_a_small_one_is_not(
    said: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = chain_of(LARGE)
    solve_chain(built)
    assert not [line for line in said() if "solving" in line]
    monkeypatch.setattr(solution, "ANNOUNCED", 0.0)
    solve_chain(built)
    assert [line for line in said() if "solving" in line] == [
        f"solving a chain of {built.states} states, about 0 s"
    ]


def test_a_closure_says_how_far_it_is(said: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    built = chain_of(LARGE)
    closure(built)
    assert not said(), "a short one"
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    closure(built)
    assert len(said()) == 1, "not again within seconds"
    beginning = f"closure of the queue, {built.top} levels of 2 phases, levels renewed: 1 so far"
    assert said()[0].startswith(beginning)


@pytest.mark.by_day(besides=("10-5-timer0-6.1", "10-5-timer1-41.0"))
@pytest.mark.parametrize(
    ("robots", "places", "timer", "measured"),
    [
        (10, 5, {"exponential": {"rate": 0.2}}, 6.1),
        (10, 5, H2, 41.0),
        (8, 5, H2, 0.85),
        (2, 16, H2, 4.0),
        (1, 19, H2, 5.7),
    ],
)
def test_the_estimate_is_what_was_measured_to_a_factor_of_two(
    robots: int, places: int, timer: dict[str, Any], measured: float
) -> None:
    """Of robots that differ: those that are alike would be counted, and make few states."""
    each = [
        {"available": 1, "access_time": {"erlang": {"shape": 2, "mean": 3.0 + 0.1 * robot}}}
        for robot in range(robots)
    ]
    scenario = queue({"robots": {"classes": each}, "buffer.waiting_places": places} | stale(timer))
    seconds = solution.seconds_needed(chain_of(scenario))
    assert measured / 2 < seconds < 2 * measured


@pytest.mark.parametrize("as_json", [[], ["--json"]])
def test_a_long_search_is_announced_on_stderr_only(
    as_json: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    path = tmp_path / "large.toml"
    path.write_text(dumps(LARGE.with_("buffer.waiting_places", 2)))
    words = ["optimize", str(path), "--target", "threshold", *as_json]
    silent, err = called(words, capsys)
    assert "policies" not in err
    monkeypatch.setattr(searching, "ANNOUNCED", 0.0)
    out, err = called(words, capsys)
    assert err == "crawlsim: large: about 0 s for 15 policies\n"
    assert out == silent
    if as_json:
        assert json.loads(out)


def loaded(path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, path.stem, module)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty one for machine code; numba reads the environment again when it compiles only."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    return tmp_path


def test_compilation_is_announced_once_and_only_where_nothing_is_kept(
    said: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "doubled.py"
    source = "def twice(x):\n    return 2 * x\n\n\ndef thrice(x):\n    return 3 * x\n"
    path.write_text(source)

    for _ in range(2):
        compiling._LONGEST.clear()
        module = loaded(path, monkeypatch)
        assert compiled(module.twice)(2) == 4
        assert compiled(module.thrice)(2) == 6
        announced = [line for line in said() if line.startswith("compiling the solver")]
        assert len(announced) == 1


def test_compilation_is_announced_by_what_it_took_here_the_last_time(
    said: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = folder / "crawlsim-solver.seconds"
    expected = []
    for held, words in (
        (None, "up to half a minute"),
        ("12.3\n", "some 12 s, as the last time"),
        ("0.2\n", "some 1 s, as the last time"),
        *((damaged, "up to half a minute") for damaged in ("", "nan", "-1", "1e300", "\x1b[31m")),
    ):
        if held is not None:
            record.write_text(held)
        compiling._LONGEST.clear()
        path = folder / f"file_{len(expected)}.py"
        path.write_text("def twice(x):\n    return 2 * x\n")
        assert compiled(loaded(path, monkeypatch).twice)(2) == 4
        expected.append(f"compiling the solver, {words}; later runs find it compiled")
        assert said() == expected
        assert 0.0 < float(record.read_text()) < 60.0
