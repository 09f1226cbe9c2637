"""Platforms without numba and pandas: what works there, and one line where something does not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

WITHOUT = """
import sys
sys.modules["numba"] = sys.modules["pandas"] = None
from crawlsim.cli import main
main(sys.argv[1:])
"""


def called(*words: str, folder: Path) -> tuple[int, str, str]:
    """A command in a process that has neither."""
    command = [sys.executable, "-c", WITHOUT, *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    return done.returncode, done.stdout, done.stderr


SHORT = ("--set", "run.horizon=1200", "--replications", "4", "--seed", "3")


def test_a_check_takes_the_path_of_the_compiled_engine(crawlsim: Any, tmp_path: Path) -> None:
    """The same numbers to the last digit, by SimPy alone."""
    _, there, _ = called("check", "one-robot", *SHORT, "--json", folder=tmp_path)
    _, here, _ = crawlsim("check", "one-robot", *SHORT, "--json")
    assert there.replace('"simpy"', '"compiled"') == here


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ("run", "one-robot", "--engine", "compiled"),
            "needs numba, which is not installed here; simpy gives the same numbers",
        ),
        (("rare", "one-robot"), "crawlsim: this needs numba, which is not installed here"),
    ],
)
def test_what_does_not_work_says_so_in_a_line(
    words: tuple[str, ...], says: str, tmp_path: Path
) -> None:
    code, out, err = called(*words, folder=tmp_path)
    assert (code, out) == (2, "")
    assert says in err.splitlines()[-1]
    assert "Traceback" not in err
    assert not list(tmp_path.iterdir())


@pytest.mark.thorough
def test_solvers_that_are_compiled_elsewhere_are_plain_python(
    crawlsim: Any, tmp_path: Path
) -> None:
    """Their loops are the same; and what is not there has no version."""
    words = ("optimize", "routing-two-servers", "--target", "routing", "--json")
    assert called(*words, folder=tmp_path)[:2] == crawlsim(*words)[:2]
    code, out, _ = called("--version", folder=tmp_path)
    assert code == 0
    assert out.startswith("crawlsim ")
    assert "numba" in out
