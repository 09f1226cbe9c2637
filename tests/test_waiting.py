"""What a command says while one waits: lines where stderr is no terminal, what hours ahead mean."""

from __future__ import annotations

import io
import re
import time
from typing import Any

import pytest

from sim.cli import waiting


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def lines(
    monkeypatch: pytest.MonkeyPatch, every: float = 0.05, stream: io.StringIO | None = None
) -> io.StringIO:
    """A stderr, and hurry."""
    stream = stream or io.StringIO()
    monkeypatch.setattr(waiting, "EVERY", every)
    monkeypatch.setattr("sys.stderr", stream)
    return stream


def test_a_long_command_says_now_and_then_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = lines(monkeypatch)
    with waiting.lines_while_waiting("sweep"):
        time.sleep(0.12)
        with waiting.stage("grid", "cells") as outer, waiting.stage("grid, a = 1", "runs") as inner:
            outer.done, outer.total = 1, 3
            inner.done, inner.total = 0, 40
            time.sleep(0.3)
    said = stream.getvalue().splitlines()
    assert said[0].startswith("crawlsim: sweep: at work (")
    pattern = r"crawlsim: grid: 1 of 3 cells, about \d+ s left; grid, a = 1: 0 of 40 runs \(\d+ s\)"
    assert re.fullmatch(pattern, said[-1])
    assert 3 <= len(said) <= 9


def test_a_short_command_and_a_terminal_get_no_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = lines(monkeypatch, every=10.0)
    with waiting.lines_while_waiting("run"):
        time.sleep(0.02)
    assert not stream.getvalue()
    terminal = lines(monkeypatch, stream=Terminal())
    with waiting.lines_while_waiting("run"):
        time.sleep(0.15)
    assert not terminal.getvalue()


def test_what_somebody_else_said_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = lines(monkeypatch, every=0.2)
    with waiting.lines_while_waiting("optimize"):
        for _ in range(10):
            waiting.something_was_said()
            time.sleep(0.05)
    assert not stream.getvalue()


def test_an_error_ends_the_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = lines(monkeypatch)
    with pytest.raises(ValueError, match="gone"), waiting.lines_while_waiting("run"):
        raise ValueError("gone")
    time.sleep(0.12)
    assert not stream.getvalue()


def test_lines_stand_on_stderr_and_json_alone_on_stdout(
    crawlsim: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "EVERY", 0.2)
    arguments = ["run", "one-robot", "--engine", "simpy", "--replications", "6", "--json"]
    code, out, err = crawlsim(*arguments, "--set", "run.horizon=20000")
    assert code == 0
    assert out.startswith("[")
    assert "crawlsim: " not in out
    assert re.search(r"crawlsim: one-robot: \d of 6 replications", err)
