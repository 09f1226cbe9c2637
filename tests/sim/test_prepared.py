"""Which systems the compiled engine is prepared for, and who answers until it is."""

from __future__ import annotations

import fcntl
import pickle
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from crawlsim.cli import simulating
from scenarios import Scenario, load
from sim import compiled_engine
from sim.compiled_engine import prepared


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty place for the marks, where code may be compiled in the background."""
    monkeypatch.setattr(prepared, "_place", lambda: tmp_path)
    monkeypatch.setenv(prepared.MODE, "behind")
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
    return tmp_path


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Names of the scenarios for which a process would have been started."""
    names: list[list[str]] = []

    def record(scenarios: list[Scenario]) -> bool:
        names.append([each.name for each in scenarios])
        return True

    monkeypatch.setattr(prepared, "prepare_behind", record)
    return names


def short(name: str = "one-robot", **changes: Any) -> Scenario:
    return load(name, {"run.horizon": 500.0, "run.warmup": 10.0, "run.replications": 3} | changes)


OTHER_NUMBERS = {
    "robots.access_time": {"exponential": {"rate": 3.0}},
    "buffer.service": {"exponential": {"rate": 0.25}},
    "run.horizon": 900.0,
}


def test_other_numbers_are_the_same_system() -> None:
    prepared.note_prepared(short())
    assert prepared.is_prepared(short())
    assert prepared.is_prepared(short(**OTHER_NUMBERS))


@pytest.mark.parametrize(
    "changes",
    [
        {"robots.access_time": {"erlang": {"shape": 2, "mean": 2.0}}},
        {"robots.available": 2},
        {"buffer.discipline": "lifo"},
        {"buffer.obsolescence": {"exponential": {"rate": 0.1}}},
        {"interventions": [{"at": 5.0, "robot_speed": 0.5}]},
        {"run.observe": 100.0},
    ],
    ids=str,
)
def test_another_system_is_not_prepared(changes: dict[str, Any]) -> None:
    prepared.note_prepared(short())
    assert not prepared.is_prepared(short(**changes))


def test_very_many_robots_have_other_code() -> None:
    prepared.note_prepared(short(**{"robots.available": 5}))
    assert prepared.is_prepared(short(**{"robots.available": prepared.VERY_MANY - 1}))
    assert not prepared.is_prepared(short(**{"robots.available": prepared.VERY_MANY}))


def test_robots_of_all_classes_count_together() -> None:
    def two_classes(of_each: int) -> Scenario:
        law = {"exponential": {"rate": 1.0}}
        classes = [{"available": of_each, "access_time": law}] * 2
        return short(robots={"classes": classes}, activation={"static": 1})

    half = prepared.VERY_MANY // 2
    prepared.note_prepared(two_classes(5))
    assert prepared.is_prepared(two_classes(half - 1))
    assert not prepared.is_prepared(two_classes(half))


def test_another_state_of_the_sources_is_not_prepared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    prepared.note_prepared(short())
    monkeypatch.setattr(prepared, "_sources", lambda: "edited")
    assert not prepared.is_prepared(short())


def test_what_is_prepared_is_noted() -> None:
    """As the process in the background does it."""
    scenarios = [short(), load("dbworld-uniform")]
    prepared.prepare(scenarios)
    assert all(prepared.is_prepared(each) for each in scenarios)
    assert not prepared.is_prepared(short("routing-two-servers"))


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """As another process has it."""
    with file.open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def test_a_system_is_prepared_by_one_process_only() -> None:
    one, another = short(), short("routing-two-servers")
    with locked(prepared._mark(one).with_suffix(".lock")):
        prepared.prepare([one, another])
    assert not prepared.is_prepared(one)
    assert prepared.is_prepared(another)


def test_who_prepares_another_system_waits_until_the_first_is_done(place: Path) -> None:
    later = Thread(target=prepared.prepare, args=([short()],))
    with locked(place / "crawlsim-preparing.lock"):
        later.start()
        later.join(0.3)
        assert later.is_alive()
        assert not prepared.is_prepared(short())
    later.join(120.0)
    assert prepared.is_prepared(short())


def test_what_was_prepared_meanwhile_is_not_prepared_again(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared.note_prepared(short())
    monkeypatch.setattr(compiled_engine, "simulate", lambda *_: pytest.fail("compiled again"))
    prepared.prepare([short()])


def test_a_place_that_is_missing_is_made(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepared, "_place", lambda: place / "a" / "missing")
    assert prepared.may_compile_behind()
    prepared.note_prepared(short())
    assert prepared.is_prepared(short())


SHORT = ("--set", "run.horizon=500", "--set", "run.warmup=10")


def test_simpy_answers_until_then(crawlsim: Any, started: list[list[str]]) -> None:
    code, out, err = crawlsim("run", "one-robot", *SHORT)
    assert code == 0
    assert "engine simpy" in out
    assert "SimPy answers, with the same numbers" in err
    assert started == [["one-robot"]]
    prepared.note_prepared(short())
    code, again, err = crawlsim("run", "one-robot", *SHORT)
    assert "engine compiled" in again
    assert err == ""
    assert again.splitlines()[1:] == out.splitlines()[1:]


def test_who_waits_for_the_compiler_once_finds_the_code_later(
    crawlsim: Any, started: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(prepared.MODE, "wait")
    crawlsim("run", "one-robot", *SHORT)
    monkeypatch.setenv(prepared.MODE, "behind")
    code, out, err = crawlsim("run", "one-robot", *SHORT)
    assert (code, err, started) == (0, "", [])
    assert "engine compiled" in out


def test_one_process_prepares_all(crawlsim: Any, started: list[list[str]]) -> None:
    crawlsim("run", "one-robot", "batches", "talim-static-k5", *SHORT)
    assert started == [["one-robot", "batches", "talim-static-k5"]]


@pytest.mark.by_day(besides=("options2",))
@pytest.mark.parametrize(
    "options",
    [("--engine", "compiled"), ("--precision", "0.5"), ("--set", "run.replications=2000")],
)
def test_what_is_long_or_chosen_is_compiled_at_once(
    crawlsim: Any, started: list[list[str]], options: tuple[str, ...]
) -> None:
    assert simulating._SHORT < 2000 * 0.8 * 1000
    crawlsim("run", "one-robot", "--set", "run.horizon=1000", "--set", "run.warmup=10", *options)
    assert started == []


@pytest.mark.parametrize(("name", "value"), [(prepared.MODE, "wait"), ("NUMBA_DISABLE_JIT", "1")])
def test_no_process_is_left_behind_where_none_may(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    assert prepared.may_compile_behind()
    monkeypatch.setenv(name, value)
    assert not prepared.may_compile_behind()


@pytest.mark.parametrize("name", ["file", "file/below"])
def test_nothing_is_prepared_where_nothing_can_be_kept(
    place: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (place / "file").touch()
    monkeypatch.setattr(prepared, "_place", lambda: place / name)
    assert not prepared.may_compile_behind()
    prepared.note_prepared(short())
    assert not prepared.is_prepared(short())


def test_a_file_that_another_has_locked_is_not_ours(tmp_path: Path) -> None:
    with ExitStack() as mine, ExitStack() as other:
        assert prepared._lock(tmp_path / "lock", mine)
        assert not prepared._lock(tmp_path / "lock", other)
    with ExitStack() as later:
        assert prepared._lock(tmp_path / "lock", later)


def test_where_files_cannot_be_locked_everybody_compiles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "fcntl", None)
    with ExitStack() as held:
        assert prepared._lock(tmp_path / "lock", held)
        assert prepared._lock(tmp_path / "lock", held)


def test_the_process_that_compiles_fails_where_it_is_given_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sim.compiled_engine.prepared"],
        input=pickle.dumps(None),
        capture_output=True,
    )
    assert done.returncode == 1
