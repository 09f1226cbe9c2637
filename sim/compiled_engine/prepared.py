"""Which systems the engine has been compiled for, and compiling it for another one meanwhile.

Compiled code depends on what a system is made of, hardly on its numbers. A file beside the compiled
code, named after that and after the sources, says that there is code for a system; it is found
without numba, which takes a while to load. As a program (``python -m
sim.compiled_engine.prepared``) it compiles for the scenarios that it is given, pickled.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from scenarios import Scenario, ScenarioError
from scenarios.compile_times import place_of_code, time_in_words
from scenarios.plugins import versions
from sim.event_rate import expected_events

MODE = "CRAWLSIM_COMPILE"
"""Environment variable: "wait" compiles before the answer, whatever the run."""

_WITHOUT_MEANING = ("name", "title", "paper", "time_unit", "judged", "costs", "check", "run")
"""Sections that no compiled code depends on."""

_EVENTS = 1000.0
"""Events after which everything has been compiled that a system needs."""

_FEW = 3
"""From this number on, one more robot or place is nothing new to the compiled code."""

VERY_MANY = 4096
"""From this many robots on there is other code for them (measured: 108 instead of 139 ns a page for
4,096, but 119 instead of 107 for 2,048)."""


def may_compile_behind() -> bool:
    """Whether code can be compiled in the background and found later.

    It cannot where compilation is to be waited for, and where no code is kept.
    """
    return os.environ.get(MODE) != "wait" and keeps_code()


def keeps_code() -> bool:
    """Whether what is compiled is kept: compilation is not switched off, and there is a place."""
    if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        return False
    with suppress(OSError):  # numba would make it, too
        _place().mkdir(parents=True, exist_ok=True)
    return _place().is_dir() and os.access(_place(), os.W_OK)


def is_prepared(scenario: Scenario) -> bool:
    """Whether the engine has been compiled for such a system.

    Parameters
    ----------
    scenario : Scenario
    """
    return _mark(scenario).exists()


def note_prepared(scenario: Scenario) -> None:
    """Remember that it has been; where nothing can be written, it is not remembered.

    Parameters
    ----------
    scenario : Scenario
    """
    with suppress(OSError):
        _mark(scenario).touch()


def prepare_behind(scenarios: Sequence[Scenario]) -> bool:
    """Compile the engine for such systems in a process of its own, which outlives this one.

    Parameters
    ----------
    scenarios : sequence of Scenario

    Returns
    -------
    bool
        Whether one was started.
    """
    try:
        with tempfile.TemporaryFile() as given:
            pickle.dump(list(scenarios), given)
            given.seek(0)
            subprocess.Popen(
                [sys.executable, "-m", __name__],
                stdin=given,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=_root(),
                start_new_session=True,
            )
    except (OSError, pickle.PicklingError):
        return False
    return True


def prepare(scenarios: Sequence[Scenario]) -> None:
    """Compile the engine for such systems by running a short replication of each.

    One process at a time compiles, the others wait for it; but only one waits for each system.

    Parameters
    ----------
    scenarios : sequence of Scenario
    """
    with ExitStack() as held:
        ours = [each for each in scenarios if _lock(_mark(each).with_suffix(".lock"), held)]
        _lock(_place() / "crawlsim-preparing.lock", held, wait=True)
        waiting = [scenario for scenario in ours if not is_prepared(scenario)]
        if waiting:
            from sim.compiled_engine import simulate
        for scenario in waiting:
            simulate(_short(scenario), 0, scenario.run.seed)
            note_prepared(scenario)


def _short(scenario: Scenario) -> Scenario:
    """The same system for a few events, where it can be had for a shorter time."""
    share = min(_EVENTS / max(expected_events(scenario), 1.0), 1.0)
    try:
        return scenario.with_({"run.warmup": 0.0, "run.horizon": scenario.run.horizon * share})
    except ScenarioError:
        return scenario


def _lock(path: Path, held: ExitStack, *, wait: bool = False) -> bool:
    """Lock a file until the stack is left; False where another process has it, and none waits."""
    try:
        import fcntl
    except ImportError:  # elsewhere than on Unix two may compile at once, which does no harm
        return True
    file = held.enter_context(path.open("a"))
    try:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _root() -> Path:
    """The folder that holds the packages."""
    return Path(__file__).parents[2]


def _place() -> Path:
    """Where numba keeps compiled code."""
    return place_of_code(Path(__file__).parent / "__pycache__")


def compile_time() -> str:
    """How long compiling the engine takes, in words."""
    return time_in_words("engine", _place())


def _mark(scenario: Scenario) -> Path:
    """The file that says that there is code for such a system."""
    made_of = "".join(versions().values()) + repr(_made_of(_described(scenario)))
    name = hashlib.sha256(f"{_sources()} {made_of}".encode()).hexdigest()[:16]
    return _place() / f"crawlsim-{name}.prepared"


def _described(scenario: Scenario) -> Mapping[str, Any]:
    """What of a scenario decides on the code."""
    entries = scenario.as_file()
    robots = scenario.robots
    other = {
        "observed": scenario.run.observe is not None,
        "very many robots": robots is not None and robots.available >= VERY_MANY,
    }
    return {key: each for key, each in entries.items() if key not in _WITHOUT_MEANING} | other


def _made_of(value: Any) -> Any:
    """A value without what is only a number: keys, words, how many tables; small whole numbers."""
    if isinstance(value, Mapping):
        return sorted((key, _made_of(inner)) for key, inner in value.items())
    if isinstance(value, list | tuple):
        inner = [_made_of(each) for each in value]
        return "numbers" if all(each == "number" for each in inner) else inner
    if isinstance(value, int) and not isinstance(value, bool):
        return min(value, _FEW)
    return "number" if isinstance(value, float) else value


@cache
def _sources() -> str:
    """What the code was compiled from and with, without reading it."""
    versions = [sys.version, np.__version__, *(f"{path} {_age(path)}" for path in _files())]
    settings = [os.environ.get(name, "") for name in ("NUMBA_BOUNDSCHECK", "NUMBA_CPU_NAME")]
    return hashlib.sha256("\n".join([*versions, *settings]).encode()).hexdigest()


def _files() -> Iterator[Path]:
    """The sources of both packages, and numba's own."""
    for package in ("scenarios", "sim"):
        yield from sorted((_root() / package).rglob("*.py"))
    numba = find_spec("numba")
    if numba is not None and numba.origin is not None:
        yield Path(numba.origin)


def _age(path: Path) -> str:
    known = path.stat()
    return f"{known.st_mtime_ns} {known.st_size}"


if __name__ == "__main__":
    with suppress(AttributeError, OSError):
        os.nice(10)
    prepare(pickle.load(sys.stdin.buffer))
