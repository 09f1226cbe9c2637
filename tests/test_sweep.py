"""Grids of what-ifs."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from systems import queue

import sim
from analytic.report.sweeps import plot_sweep
from scenarios import ScenarioError, dumps
from scenarios.files import parse_value, value_text
from sim.cli import main
from sim.sweep import cells, parse_vary, split_values


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1,2, 3", ["1", "2", "3"]),
        ("[1,2],[3]", ["[1,2]", "[3]"]),
        (
            "{ erlang = { shape = 2, mean = 1.0 } },'a,b'",
            ["{ erlang = { shape = 2, mean = 1.0 } }", "'a,b'"],
        ),
        ("fifo", ["fifo"]),
    ],
)
def test_commas_inside_brackets_and_quotes_do_not_split(text: str, values: list[str]) -> None:
    assert split_values(text) == values


@pytest.mark.parametrize("option", ["x", "=1", "x=", "x=1,,2"])
def test_a_malformed_option_is_refused(option: str) -> None:
    with pytest.raises(ScenarioError, match="must be KEY=VALUE"):
        parse_vary([option], parse_value)


def test_the_last_entry_varies_fastest_and_every_cell_is_checked_first() -> None:
    grid = cells(queue(), {"buffer.waiting_places": [1, 2], "run.seed": [5, 6]})
    varied = [tuple(cell.varied.values()) for cell in grid]
    assert varied == [(1, 5), (1, 6), (2, 5), (2, 6)]
    with pytest.raises(ScenarioError, match=r"buffer\.waiting_places"):
        cells(queue(), {"buffer.waiting_places": [1, -2]})
    with pytest.raises(ScenarioError, match="at most"):
        cells(queue(), {"run.seed": list(range(200)), "buffer.waiting_places": list(range(100))})


def sweep(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(["sweep", *arguments])
    written = capsys.readouterr()
    return int(stop.value.code or 0), written.out, written.err


@pytest.fixture
def scenario_file(tmp_path: Path) -> str:
    path = tmp_path / "queue.toml"
    path.write_text(dumps(queue({"judged": ["loss_probability", "throughput"]})))
    return str(path)


def test_a_sweep_writes_tidy_rows_and_a_picture(
    capsys: pytest.CaptureFixture[str], scenario_file: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    vary = ["--vary", "buffer.waiting_places=1,3", "--vary", "activation.static=1,2"]
    code, text, _ = sweep(capsys, scenario_file, *vary, "--out", str(out), "--json")
    rows: list[dict[str, Any]] = json.loads(text)
    assert code == 0
    with (out / "sweep.csv").open() as stream:
        written = list(csv.DictReader(stream))
    assert len(written) == len(rows)
    cell = queue({"buffer.waiting_places": 3, "activation.static": 2})
    alone = sim.run(cell).find("loss_probability")
    (mine,) = [
        row
        for row in rows
        if (row["buffer.waiting_places"], row["activation.static"]) == (3, 2)
        and row["measure"] == "loss_probability"
    ]
    assert alone is not None
    assert (mine["estimate"], mine["low"]) == (alone.estimate, alone.low)
    assert mine["predicted"] == pytest.approx(alone.estimate, abs=0.05)
    assert (out / "sweep.svg").read_text().startswith("<?xml")


def test_a_sweep_is_the_same_for_any_number_of_jobs(
    capsys: pytest.CaptureFixture[str], scenario_file: str
) -> None:
    vary = ["--vary", "buffer.waiting_places=1,3", "--json"]
    assert sweep(capsys, scenario_file, *vary) == sweep(capsys, scenario_file, *vary, "--jobs", "2")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--vary", "buffer.waiting_places=1,x"], "buffer.waiting_places"),
        (["--vary", "run.seed=1", "--vary", "run.seed=2"], "varied twice"),
        ([], "--vary"),
        (["one-robot", "--vary", "run.seed=1"], "single scenario"),
    ],
)
def test_a_bad_sweep_exits_with_2_and_writes_nothing(
    capsys: pytest.CaptureFixture[str],
    scenario_file: str,
    tmp_path: Path,
    arguments: list[str],
    says: str,
) -> None:
    out = tmp_path / "out"
    code, text, err = sweep(capsys, scenario_file, *arguments, "--out", str(out))
    assert (code, text) == (2, "")
    assert says in err
    assert not out.exists()


def test_values_are_numbers_and_tables_in_json_and_toml_in_the_table_and_the_csv(
    capsys: pytest.CaptureFixture[str], scenario_file: str, tmp_path: Path
) -> None:
    law = "buffer.service.erlang={ shape = 2, mean = 0.5 },{ shape = 3, mean = 1e-5 }"
    flags = ["--vary", law, "--vary", "robots.available=3,4", "--out", str(tmp_path / "out")]
    _, text, _ = sweep(capsys, scenario_file, *flags, "--json")
    first, *_, last = json.loads(text)
    assert first["buffer.service.erlang"] == {"shape": 2, "mean": 0.5}
    assert (first["robots.available"], last["robots.available"]) == (3, 4)
    with (tmp_path / "out/sweep.csv").open() as stream:
        cell = next(csv.DictReader(stream))["buffer.service.erlang"]
    assert cell == "{ shape = 2, mean = 0.5 }"
    _, table, _ = sweep(capsys, scenario_file, *flags[:4])
    assert "{ shape = 2, mean = 0.5 }" in table
    assert "'shape'" not in table


@pytest.mark.parametrize(
    "value",
    [1, 1.5, 1e-9, True, "fifo", "1", "", "a\nb", [1, [2.0]], {"a b": {"c": ["1", {}]}, "d": []}],
)
def test_a_value_is_written_as_it_is_read(value: object) -> None:
    text = value_text(value)
    assert parse_value(text) == value
    assert "\n" not in text


def test_the_help_says_that_a_sweep_takes_one_scenario(capsys: pytest.CaptureFixture[str]) -> None:
    _, text, _ = sweep(capsys, "--help")
    assert "SCENARIO\n" in text


def test_what_looks_like_markup_is_shown_as_it_is(
    capsys: pytest.CaptureFixture[str], scenario_file: str
) -> None:
    code, text, _ = sweep(capsys, scenario_file, "--vary", 'title="[/x]","[red]b",":bug:"')
    assert code == 0
    assert all(each in text for each in ("[/x]", "[red]b", ":bug:"))


def row(places: object, value: float, predicted: float | None = None) -> dict[str, Any]:
    return {
        "places": places,
        "measure": "throughput",
        "subject": None,
        "estimate": value,
        "low": value - 0.1,
        "high": value + 0.1,
        "predicted": predicted,
    }


def test_the_picture_has_points_with_intervals_and_theory_as_a_line() -> None:
    rows = [row("1", 0.5, 0.51), row("2", 0.7, 0.69)]
    ax = plot_sweep(rows, "throughput", ["places"], unit="minute")
    lines = [line for line in ax.lines if line.get_linestyle() == "-"]
    assert lines[0].get_xydata().tolist() == [[1.0, 0.51], [2.0, 0.69]]
    points = next(line for line in ax.lines if line.get_marker() == "o")
    assert points.get_xydata().tolist() == [[1.0, 0.5], [2.0, 0.7]]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("places", "throughput (1/minute)")


def test_words_stand_side_by_side_in_their_order() -> None:
    ax = plot_sweep([row("lifo", 0.5), row("fifo", 0.7)], "throughput", ["places"])
    assert [label.get_text() for label in ax.get_xticklabels()] == ["lifo", "fifo"]
