"""What a command says while one waits: lines where stderr is no terminal, what hours ahead mean."""

from __future__ import annotations

import io
import re
import time
from typing import Any

import pytest

from crawlsim.cli import run_time, streams
from crawlsim.cli.options import RunOptions
from crawlsim.cli.output import progress_bar
from crawlsim.cli.run_time import Cost
from scenarios import Scenario, load, scenario_from
from sim.event_rate import expected_events


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
            outer.reached(1, 4)
            outer.reached(2, 4)
            inner.reached(0, 40)
            time.sleep(0.3)
    said = stream.getvalue().splitlines()
    assert said[0].startswith("crawlsim: sweep: at work (")
    pattern = r"crawlsim: grid: 2 of 4 cells, about \d+ s left; grid, a = 1: 0 of 40 runs \(\d+ s\)"
    assert re.fullmatch(pattern, said[-1])
    assert len(said) >= 3


def test_what_the_first_step_took_says_nothing_of_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Fifty seconds, of which the compiler had most; then two for each step."""
    clock = iter([50.0, 52.0, 53.0, 54.0, 54.5])
    monkeypatch.setattr(streams.time, "monotonic", lambda: next(clock))
    stage = streams.Stage("run", "replications")
    stage.reached(1, 10)
    assert stage.words() == "run: 1 of 10 replications"
    stage.reached(2, 10)
    assert stage.words() == "run: 2 of 10 replications, about 15 s left"
    stage.reached(2, 10)
    stage.reached(3, 10)
    assert stage.words() == "run: 3 of 10 replications, about 14 s left"


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


@pytest.mark.thorough
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


def test_events_are_counted_per_robot_and_up_to_the_horizon() -> None:
    """Four robots of mean 1.0 up to 40000, by hand."""
    four = load("four-robots-one-threshold")
    assert four.robots is not None
    mean = four.as_file()["robots"]["access_time"]["exponential"]["mean"]
    expected = four.robots.available * four.run.horizon / mean
    assert expected_events(four) == pytest.approx(expected)


def pages(count: int, **run: Any) -> Scenario:
    return scenario_from(
        {
            "name": "pages",
            "pages": {"change_rates": {"zipf": {"pages": count, "exponent": 0.8, "total": 5.0}}},
            "robots": {
                "available": 1,
                "access_time": {"exponential": {"mean": 1.0}},
                "accessing": {"policy": "round-robin"},
            },
            "run": {"horizon": 1e9, "warmup": 0.0, "replications": 4} | run,
        }
    )


def test_an_event_takes_some_time_and_one_of_simpy_more() -> None:
    huge = load("one-robot").with_("run.horizon", 1e12)
    fast, slow = (run_time.cost_of(huge, engine).events for engine in ("compiled", "simpy"))
    assert 1e-9 < fast / expected_events(huge) < 1e-3
    assert slow > fast


@pytest.mark.parametrize("set_up", [0.001, 0.2, 5.0])
def test_neither_the_set_up_nor_the_start_counts_as_events(
    set_up: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A microsecond an event, and ten for the first thousand, as all robots start.

    Where the shortest trial is taken for events, as it was, a set-up of 0.2 s makes 200 of each.
    """
    scenario = pages(1_000_000)

    def spent(tried: Scenario, _: object, share: float, replications: int) -> list[float]:
        events = share * expected_events(tried)
        each = set_up + 1e-6 * events + 9e-6 * min(events, 1e3)
        return [each] * replications + [0.7]

    monkeypatch.setattr(run_time, "_spent", spent)
    cost = run_time.cost_of(scenario, "compiled")
    assert cost.results == 0.7
    assert cost.set_up == pytest.approx(set_up + 0.009)
    assert cost.events == pytest.approx(1e-6 * expected_events(scenario))


def test_of_a_short_replication_all_is_tried_and_nothing_added(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        run_time, "_spent", lambda _scenario, _engine, share, n: [0.1 + 0.1 * share] * n + [0.5]
    )
    short = run_time.cost_of(pages(10, horizon=400.0), "compiled")
    assert short == Cost(0.5, pytest.approx(0.2), pytest.approx(0.0))
    longer = run_time.cost_of(pages(10, horizon=40_000.0, replications=4000), "compiled")
    assert longer.replication == pytest.approx(0.2)
    assert longer.results == pytest.approx(0.5 * 4000 / 20), "rows are kept of each replication"


def test_hours_are_said_before_they_begin(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A microsecond an event and a second for each set-up, on one core, and on two of a hundred."""
    long = load("one-robot").with_({"run.horizon": 1e12, "run.replications": 10})
    each = 1e-6 * expected_events(long)
    monkeypatch.setattr(run_time, "cost_of", lambda *_: Cost(3.0, 1.0, each))
    monkeypatch.setattr(run_time, "_cores", lambda: 2)
    for jobs, rounds in ((1, 10), (2, 5), (100, 5)):
        run_time.say_how_long([long, long], RunOptions(jobs=jobs), "grid")
        (line,) = capsys.readouterr().err.splitlines()
        days = 2 * (3.0 + rounds * (1.0 + each)) / 86400
        assert line.startswith(
            f"warning: grid: some {days:.3g} days with --jobs {jobs}: by a short"
        )
        assert f"1 second to be set up and {each / 86400:.3g} days to be simulated" in line
    run_time.say_how_long([long], RunOptions(precision=0.1), "one-robot")
    assert "days at least with --jobs 1" in capsys.readouterr().err


def test_one_replication_is_not_shared_by_workers_and_a_smaller_cell_takes_less(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run_time, "cost_of", lambda *_: Cost(0.0, 1800.0, 1800.0))
    monkeypatch.setattr(run_time, "_cores", lambda: 8)
    alone = pages(1_000_000, replications=1)
    smaller = pages(500_000, replications=1, horizon=2.5e8)
    run_time.say_how_long([alone], RunOptions(jobs=8), "alone")
    assert "alone: some 60 minutes with" in capsys.readouterr().err
    run_time.say_how_long([smaller, alone], RunOptions(jobs=8), "both")
    assert f"both: some {60 + 15 + 7.5:.3g} minutes with" in capsys.readouterr().err


def test_much_memory_is_told_however_many_pages_there_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    many = pages(1000, horizon=1.0)
    run_time.say_how_long([many], RunOptions(), "many")
    assert not capsys.readouterr().err
    monkeypatch.setattr(run_time, "_pages", lambda scenario: 100_000_000 * (scenario is many))
    run_time.say_how_long([load("one-robot"), many], RunOptions(jobs=3), "many")
    (line,) = capsys.readouterr().err.splitlines()
    said = "100,000,000 pages take up to 41 GB of memory with --jobs 3"
    assert line == f"warning: many: {said}"


def test_of_minutes_nothing_is_said_and_of_few_events_nothing_is_tried(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tried: list[object] = []
    monkeypatch.setattr(
        run_time, "cost_of", lambda *given: (tried.append(given), Cost(0.0, 0.0, 20.0))[1]
    )
    run_time.say_how_long([load("one-robot")], RunOptions(), "one-robot")
    run_time.say_how_long([load("dbworld-uniform")], RunOptions(), "probes have other horizons")
    assert not tried
    minutes = load("one-robot").with_({"run.horizon": 1e8, "run.replications": 10})
    run_time.say_how_long([minutes], RunOptions(), "one-robot")
    assert len(tried) == 1
    run_time.say_how_long([], RunOptions(), "nothing left")
    assert not capsys.readouterr().err
