"""What a command says while one waits: lines where stderr is no terminal, what hours ahead mean."""

from __future__ import annotations

import io
import re
import time
from typing import Any

import pytest

from crawlsim.cli import simulating, streams
from crawlsim.cli.options import RunOptions
from crawlsim.cli.output import progress_bar
from scenarios import load
from sim.pace import expected_events


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def lines(
    monkeypatch: pytest.MonkeyPatch, every: float = 0.05, stream: io.StringIO | None = None
) -> io.StringIO:
    """A stderr, and hurry."""
    stream = stream or io.StringIO()
    monkeypatch.setattr(streams, "EVERY", every)
    monkeypatch.setattr("sys.stderr", stream)
    return stream


def test_a_long_command_says_now_and_then_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = lines(monkeypatch)
    with streams.lines_while_waiting("sweep"):
        time.sleep(0.12)
        with streams.stage("grid", "cells") as outer, streams.stage("grid, a = 1", "runs") as inner:
            outer.done = 1
            outer.total = 3
            inner.done = 0
            inner.total = 40
            time.sleep(0.3)
    said = stream.getvalue().splitlines()
    assert said[0].startswith("crawlsim: sweep: at work (")
    pattern = r"crawlsim: grid: 1 of 3 cells, about \d+ s left; grid, a = 1: 0 of 40 runs \(\d+ s\)"
    assert re.fullmatch(pattern, said[-1])
    assert len(said) >= 3


def test_a_short_command_and_a_terminal_get_no_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = lines(monkeypatch, every=10.0)
    with streams.lines_while_waiting("run"):
        time.sleep(0.02)
    assert not stream.getvalue()
    terminal = lines(monkeypatch, stream=Terminal())
    with streams.lines_while_waiting("run"):
        time.sleep(0.15)
    assert not terminal.getvalue()


@pytest.mark.parametrize("quiet", [False, True])
def test_a_terminal_gets_a_bar_unless_the_answer_is_json(
    monkeypatch: pytest.MonkeyPatch, quiet: bool
) -> None:
    terminal = lines(monkeypatch, stream=Terminal())
    with progress_bar("one-robot", quiet) as update:
        update(3, 40)
    assert ("one-robot" in terminal.getvalue()) is not quiet
    assert ("3/40" in terminal.getvalue()) is not quiet


def test_nobody_draws_a_bar_where_nobody_sees_it(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = lines(monkeypatch, every=10.0)
    with progress_bar("one-robot", quiet=False) as update:
        update(3, 40)
    assert not stream.getvalue()


def test_what_somebody_else_said_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = lines(monkeypatch, every=0.5)
    with streams.lines_while_waiting("optimize"):
        for _ in range(10):
            streams.something_was_said()
            time.sleep(0.08)
    assert not stream.getvalue()


def test_an_error_ends_the_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = lines(monkeypatch)
    with pytest.raises(ValueError, match="gone"), streams.lines_while_waiting("run"):
        raise ValueError("gone")
    time.sleep(0.12)
    assert not stream.getvalue()


def test_lines_stand_on_stderr_and_json_alone_on_stdout(
    crawlsim: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "EVERY", 0.2)
    arguments = ["run", "one-robot", "--engine", "simpy", "--replications", "6", "--json"]
    code, out, err = crawlsim(*arguments, "--set", "run.horizon=20000")
    assert code == 0
    assert out.startswith("[")
    assert "crawlsim: " not in out
    assert re.search(r"crawlsim: one-robot: \d of 6 replications", err)


# Hours ahead


def options(**given: Any) -> RunOptions:
    return RunOptions(
        None, given.pop("jobs", 1), None, None, given.pop("precision", None), (), None
    )


def test_events_are_counted_per_robot_and_up_to_the_horizon() -> None:
    """Four robots of mean 1.0 up to 40000, by hand."""
    four = load("four-robots-one-threshold")
    assert four.robots is not None
    mean = four.as_file()["robots"]["access_time"]["exponential"]["mean"]
    expected = four.robots.available * four.run.horizon / mean
    assert expected_events(four) == pytest.approx(expected)


def test_the_pace_of_an_event_is_measured_by_short_replications() -> None:
    huge = load("one-robot").with_("run.horizon", 1e12)
    pace = simulating.seconds_per_event(huge, None)
    assert pace is not None
    assert 1e-9 < pace < 1e-3
    slow = simulating.seconds_per_event(huge, "simpy")
    assert slow is not None
    assert slow > pace
    assert simulating.seconds_per_event(load("dbworld-uniform"), None) is None


def test_hours_are_said_before_they_begin(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A microsecond an event: 16 million seconds, by two workers 93 days."""
    monkeypatch.setattr(simulating, "seconds_per_event", lambda *_: 1e-6)
    long = load("one-robot").with_({"run.horizon": 1e12, "run.replications": 10})
    each = 10 * expected_events(long)
    simulating.say_how_long([long, long], options(jobs=2), "grid")
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"warning: grid: about {2 * each:.2g} events, 1e+06 a second")
    assert f"some {each * 1e-6 / 86400:.3g} days with --jobs 2" in line
    simulating.say_how_long([long], options(precision=0.1), "one-robot")
    assert "days at least with --jobs 1" in capsys.readouterr().err


def test_of_minutes_nothing_is_said_and_of_few_events_nothing_is_tried(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tried: list[object] = []
    monkeypatch.setattr(
        simulating, "seconds_per_event", lambda *given: (tried.append(given), 1e-7)[1]
    )
    simulating.say_how_long([load("one-robot")], options(), "one-robot")
    assert not tried
    minutes = load("one-robot").with_({"run.horizon": 1e8, "run.replications": 10})
    simulating.say_how_long([minutes], options(), "one-robot")
    assert len(tried) == 1
    simulating.say_how_long([], options(), "nothing left")
    assert not capsys.readouterr().err
