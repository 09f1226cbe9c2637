"""Grids of what-ifs."""

from __future__ import annotations

import csv
import itertools
import json
import math
import tomllib
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from systems import queue

import sim
from analytic import exact_values
from analytic.machinery.refusal import NoAnswerError
from crawlsim.cli import main
from crawlsim.ranking import formulas_between
from crawlsim.report.sweep_figures import (
    SweepRows,
    curves_of,
    plot_heat_map,
    plot_sweep,
    sweep_figure,
)
from crawlsim.report.words import of_entry
from scenarios import Scenario, ScenarioError, dumps, load, schema
from scenarios.files import parse_value, value_text
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


@pytest.mark.thorough
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
        (["--vary", "run.seed=1,2,1"], "1 appears twice"),
        (["--vary", "pages.priority=[0,1]..[1,0]"], "only numbers have ranges"),
        (["--vary", "pages.priority=[0..1,1]"], "write each list"),
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


@pytest.mark.thorough
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


def shown_by(capsys: pytest.CaptureFixture[str], folder: Path, *arguments: str) -> tuple[str, str]:
    """The table and the text of the picture."""
    _, table, _ = sweep(capsys, *arguments, "--replications", "2", "--out", str(folder))
    return table, (folder / "sweep.svg").read_text()


def test_few_subjects_of_a_judged_measure_are_shown_and_drawn(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    flags = ["--vary", "servers.arrivals.poisson.rate=0.5,1", "--set", "run.horizon=300"]
    table, picture = shown_by(capsys, tmp_path / "out", "routing-two-servers", *flags)
    for subject in ("0", "1", "all"):
        assert table.count(f"preemption_probability {subject} ") == 2
        assert f"preemption probability {subject} (share)<" in picture


@pytest.mark.by_day("changes1-named1-missing1")
@pytest.mark.parametrize(
    ("changes", "named", "missing"),
    [
        (
            {"judged": []},
            ["throughput", "sojourn_time all"],
            ["control_cost", "sojourn_time served"],
        ),
        ({"costs.loss": 1.0}, ["control_cost", "loss_probability"], ["sojourn_time"]),
        (
            {"judged": ["level_probability"]},
            ["throughput", "left out: level_prob"],
            ["_probability 0"],
        ),
    ],
)
def test_the_whole_system_and_its_cost_are_shown_and_drawn(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    changes: dict[str, Any],
    named: list[str],
    missing: list[str],
) -> None:
    path = tmp_path / "queue.toml"
    path.write_text(dumps(queue({"judged": ["loss_probability"], **changes})))
    flags = ["--vary", "buffer.waiting_places=9,10"]
    table, picture = shown_by(capsys, tmp_path / "out", str(path), *flags)
    assert [name for name in (*named, *missing) if name in table] == named
    assert ("control cost" in picture) == ("costs.loss" in changes)


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
    ax = drawn(rows, ["places"]).axes[0]
    lines = [line for line in ax.lines if line.get_linestyle() == "-"]
    assert lines[0].get_xydata().tolist() == [[1.0, 0.51], [2.0, 0.69]]
    points = next(line for line in ax.lines if line.get_marker() == "o")
    assert points.get_xydata().tolist() == [[1.0, 0.5], [2.0, 0.7]]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("places", "throughput (1/minute)")


@pytest.mark.parametrize("values", [["1", "2", "3"], ["fifo", "lifo", "other"]])
def test_a_formula_that_covers_some_places_is_drawn_there(values: list[str]) -> None:
    rows = [row(values[0], 0.5, 0.51), row(values[1], 0.7), row(values[2], 0.8, 0.9)]
    ax = drawn(rows, ["places"]).axes[0]
    (theory,) = [line for line in ax.lines if line.get_marker() == "_"]
    assert [value for value in theory.get_ydata() if value == value] == [0.51, 0.9]


def line_through(ax: Axes) -> list[list[float]]:
    (line,) = [each for each in ax.lines if each.get_linestyle() == "-"]
    return line.get_xydata().tolist()


def test_theory_between_the_cells_makes_the_line_and_is_no_polyline_without() -> None:
    rows = [row("1", 0.5, 0.51), row("4", 0.7, 0.69)]
    between = [{**row("2.5", 0.0, 0.66), "estimate": None, "low": None, "high": None}]
    figure = sweep_figure(SweepRows(rows, [("throughput", None)], ["places"], "minute", between))
    assert line_through(figure.axes[0]) == [[1.0, 0.51], [2.5, 0.66], [4.0, 0.69]]
    dots = next(each for each in figure.axes[0].lines if each.get_marker() == "o")
    assert dots.get_xdata().tolist() == [1.0, 4.0]
    (dashes,) = [each for each in drawn(rows, ["places"]).axes[0].lines if each.get_marker() == "_"]
    assert dashes.get_linestyle() == "None"


def test_formulas_between_cells_are_exact_and_whole_between_whole_numbers() -> None:
    scenario = load("one-robot")
    keys = [("loss_probability", None)]
    grid = cells(scenario, {"buffer.waiting_places": [1, 4]})
    found = {each["buffer.waiting_places"]: each for each in formulas_between(grid, keys)}
    assert list(found) == [2, 3]
    exact = exact_values(scenario.with_("buffer.waiting_places", 3))["loss_probability", None][0]
    assert found[3]["predicted"] == exact
    assert found[3]["estimate"] is None
    time = "robots.access_time.exponential.mean"
    close = formulas_between(cells(scenario, {time: [0.5, 1.5], "run.seed": [1, 2]}), keys)
    assert len({each[time] for each in close}) >= 50
    assert {each["run.seed"] for each in close} == {1, 2}
    rates = {"robots.access_time.exponential.rate": [0.01, 0.1, 10.0]}
    found = [
        each[time.replace("mean", "rate")]
        for each in formulas_between(cells(scenario, rates), keys)
    ]
    assert sum(rate < 0.1 for rate in found) == len(found) / 2
    assert found[1] / found[0] == pytest.approx(found[0] / 0.01)
    assert formulas_between(cells(scenario, {"buffer.when_full": ["lose-new"]}), keys) == []
    assert formulas_between(grid, keys, seconds=0.0) == []


def test_where_there_is_no_answer_between_cells_the_line_has_a_gap(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def none(_: Scenario) -> Scenario:
        raise NoAnswerError("no rule keeps the bound")

    grid = cells(load("one-robot"), {"buffer.waiting_places": [1, 4]})
    monkeypatch.setattr("analytic.resolve", none)
    assert formulas_between(grid, [("loss_probability", None)]) == []


def test_curves_that_lie_on_each_other_are_said() -> None:
    rows = [
        {**row(place, 0.5, value), "seed": seed}
        for place in ("1", "2")
        for seed, value in (("7", 0.5), ("8", 0.5), ("9", 0.6), ("10", 0.6), ("11", 0.7))
    ]
    assert (
        drawn(rows, ["places", "seed"]).axes[0].get_title(loc="left")
        == "the same line: 7, 8; 9, 10"
    )


@pytest.mark.thorough
def test_values_over_decades_have_their_decades_and_zeros_are_told() -> None:
    values = (("1", 0.5), ("2", 0.02), ("3", 0.0005), ("4", 0.0))
    rows = [row(places, value) for places, value in values]
    (ax,) = drawn(rows, ["places"]).axes
    assert ax.get_yscale() == "log"
    assert ax.get_xscale() == "linear"
    assert ax.get_ylim()[0] < 0.0005
    assert ax.get_title(loc="left") == "▼: 0 in the simulation"
    (mark,) = (line for line in ax.lines if line.get_marker() == "v")
    assert mark.get_xydata().tolist() == [[4.0, 0.0]]  # of the axes, from their lower edge
    (ax,) = drawn(rows[:2], ["places"]).axes
    assert ax.get_yscale() == "linear"
    far = [row(places, 0.5) for places in ("0.01", "0.1", "1", "10")]
    (ax,) = drawn(far, ["places"]).axes
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "linear")


def test_a_formula_far_below_what_is_simulated_does_not_squeeze_it() -> None:
    rows = [row("1", 0.5, 0.5), row("2", 0.001, 0.001), row("3", 0.0, 1e-30)]
    (ax,) = drawn(rows, ["places"]).axes
    assert ax.get_ylim()[0] == pytest.approx(1e-6)


def test_a_legend_has_the_colours_of_what_it_names() -> None:
    rows = [row("1", 0.5, 0.6), row("2", 0.5, 0.7)]
    ax = plot_sweep(rows, "throughput", ["places"])
    legends = (ax.get_legend(), drawn(rows, ["places"]).legends[0])
    (line, *_) = ax.lines
    for legend in legends:
        assert {"formula", "simulation, 95 % interval"} == {
            text.get_text() for text in legend.get_texts()
        }
        assert {each.get_color() for each in legend.get_lines()} == {line.get_color()}


def test_what_stands_above_a_figure_is_not_cut_off() -> None:
    rows = [
        {**row(place, 0.5, 0.5), "robots.access_time.exponential.rate": rate}
        for place in ("1", "2")
        for rate in ("1", "2")
    ]
    keys = ["places", "robots.access_time.exponential.rate"]
    title = plot_sweep(rows, "throughput", keys).get_legend().get_title().get_text()
    assert "access rate of a robot (per time unit)" in title
    assert "the same line: 1, 2" in title


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("buffer.waiting_places", "waiting places"),
        ("robots.access_time.exponential.mean", "mean access time (day)"),
        ("robots.access_time.lognormal.sd", "standard deviation of the access time (day)"),
        ("buffer.service.deterministic.value", "service time of a page (day)"),
        ("servers.arrivals.poisson.rate", "arrival rate of packets (per day)"),
        ("robots.access_time.gamma.shape", "shape of the access time"),
        ("buffer.service.exponential.rate", "service rate (per day)"),
        ("clients.query_rate", "query rate (per day)"),
        ("run.horizon", "length of a replication (day)"),
        ("robots.classes.0.available", "available (robots.classes.0)"),
        ("seed", "seed"),
    ],
)
def test_an_axis_says_what_an_entry_is_in_words(key: str, words: str) -> None:
    assert of_entry(key, "day") == words


def test_the_words_of_axes_are_those_of_entries_that_there_are() -> None:
    text = resources.files("crawlsim.report").joinpath("entries.toml").read_text("utf-8")
    of_scenarios = json.dumps(schema())
    for key in tomllib.loads(text):
        assert all(f'"{part}"' in of_scenarios for part in key.split(".")), key


def test_a_law_is_called_by_its_name_and_parameters() -> None:
    laws = {
        "{ deterministic = { value = 0.8 } }": "deterministic (value 0.8)",
        "{ lognormal = { mean = 0.8, sd = 1.6 } }": "lognormal (mean 0.8, sd 1.6)",
    }
    rows = [{**row(places, 0.5), "law": law} for places in ("1", "2") for law in laws]
    names = [*laws.values()]
    assert [curve.name for curve in curves_of(rows, ["places", "law"])] == names
    up = plot_heat_map(rows, "throughput", ["places", "law"]).get_yticklabels()
    assert [label.get_text() for label in up] == names
    across = drawn(rows, ["law", "places"]).axes[0].get_xticklabels()
    assert [label.get_text().replace("\n", " ") for label in across] == names
    policies = {
        '{ policy = "round-robin" }': "round-robin",
        '{ policy = "randomized", frequencies = "optimal" }': "randomized (frequencies optimal)",
    }
    rows = [{**row("1", 0.5), "policy": policy} for policy in policies]
    curves = curves_of(rows, ["places", "policy"])
    assert [curve.name for curve in curves] == [*policies.values()]


def test_numbers_of_a_map_do_not_touch_and_its_colours_tell_decades() -> None:
    rows = [
        {**row(places, 10.0 ** -int(places) if places != "8" else 0.0), "law": law}
        for places in map(str, range(1, 9))
        for law in ("a", "b")
    ]
    ax = plot_heat_map(rows, "throughput", ["places", "law"])
    ax.figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in ax.texts[:8]]
    assert all(left.x1 <= right.x0 for left, right in pairwise(boxes))
    (image,) = ax.images
    shades = image.norm(image.get_array())[0]
    assert np.diff(shades[:7]).tolist() == pytest.approx([-1 / 6] * 6)
    assert shades[7] == 0.0
    assert ax.texts[-1].get_text() == "0"
    assert ax.texts[-1].get_color() == "#1d2329"


def test_a_cell_of_a_map_without_a_value_stays_empty() -> None:
    rows = [
        {**row(places, 0.1 * int(places) if places != law else math.nan), "law": law}
        for places in ("1", "2", "3")
        for law in ("1", "2")
    ]
    ax = plot_heat_map(rows, "throughput", ["places", "law"])
    assert [text.get_text() for text in ax.texts] == ["0.2", "0.3", "0.1", "0.3"]


def test_slanted_words_are_as_long_as_it_takes_to_tell_them_apart() -> None:
    orders = [f"[{', '.join('0' * n)}]" for n in range(2, 9)]
    ticks = drawn([row(order, 0.5) for order in orders], ["places"]).axes[0].get_xticklabels()
    assert [each.get_text() for each in ticks] == orders


def test_words_stand_side_by_side_in_their_order() -> None:
    ax = drawn([row("lifo", 0.5), row("fifo", 0.7)], ["places"]).axes[0]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["lifo", "fifo"]


def drawn(rows: list[dict[str, Any]], keys: list[str]) -> Figure:
    measures = dict.fromkeys((row["measure"], row["subject"]) for row in rows)
    figure = sweep_figure(SweepRows(rows, list(measures), keys, "minute"))
    figure.draw_without_rendering()
    return figure


def grid(*values: list[Any]) -> list[dict[str, Any]]:
    return [
        {**row(None, n / 7, n / 7), "measure": measure, **dict(zip("abcd", cell, strict=False))}
        for n, cell in enumerate(itertools.product(*values), 1)
        for measure in ("throughput", "loss_rate")
    ]


LAWS = [f"{{ erlang = {{ shape = {n}, mean = 1.25 }} }}" for n in range(1, 7)]


@pytest.mark.by_day(besides=("values5",))
@pytest.mark.parametrize(
    "values",
    [
        ([1, 2, 3],),
        (LAWS[:3],),
        (LAWS, [1, 2]),
        ([1, 2, 3], LAWS),
        ([1, 2], [1, 2, 3], ["fifo", "lifo"]),
        ([1, 2], LAWS, LAWS, [1, 2]),
    ],
)
def test_nothing_overlaps_and_the_axes_keep_their_size(values: tuple[list[Any], ...]) -> None:
    figure = drawn(grid(*values), ["a", "b", "c", "d"][: len(values)])
    dpi = figure.dpi
    boxes = [each.get_window_extent() for each in figure.legends]
    for ax in figure.axes:
        box = ax.get_tightbbox()
        assert box is not None
        assert ax.bbox.width > 2.5 * dpi
        assert ax.bbox.height > 1.3 * dpi
        boxes.append(box)
        ticks = [each.get_window_extent() for each in ax.get_xticklabels() if each.get_text()]
        if ax.get_xticklabels()[0].get_rotation() == 0:
            assert not any(one.overlaps(two) for one, two in itertools.combinations(ticks, 2))
    assert not any(one.overlaps(two) for one, two in itertools.combinations(boxes, 2))
    for box in boxes:
        assert min(box.x0, box.y0) >= -1
        assert box.x1 <= figure.bbox.width + 1
        assert box.y1 <= figure.bbox.height + 1


def test_every_curve_looks_different_and_is_named_once() -> None:
    figure = drawn(grid([1, 2], LAWS[:4], ["fifo", "lifo"]), ["a", "b", "c"])
    ax, *_ = figure.axes
    points = [each.lines[0] for each in ax.containers if isinstance(each, ErrorbarContainer)]
    looks = {(each.get_color(), each.get_marker()) for each in points if each is not None}
    names = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    assert len(looks) == 8
    assert len(names) == len(set(names)) == 8 + 2


@pytest.mark.thorough
def test_whole_numbers_have_whole_ticks_and_words_are_not_joined() -> None:
    ax, *_ = drawn(grid([1, 2, 3]), ["a"]).axes
    assert all(tick == round(tick) for tick in ax.get_xticks())
    ax, *_ = drawn(grid(["fifo", "lifo"]), ["a"]).axes
    assert {line.get_linestyle() for line in ax.lines} == {"None"}
    assert [list(line.get_ydata()) for line in ax.lines if line.get_marker() == "_"] == [
        [1 / 7, 2 / 7]
    ]


# Ranges


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("2..5", [2, 3, 4, 5]),
        ("1..9..2", [1, 3, 5, 7, 9]),
        ("1..8..3", [1, 4, 7]),
        ("5..2..-1", [5, 4, 3, 2]),
        ("-1..1", [-1, 0, 1]),
        ("3..3", [3]),
        ("0.1..0.5..0.1", [0.1, 0.2, 0.3, 0.4, 0.5]),
        ("1..2..0.5", [1.0, 1.5, 2.0]),
        ("1e-3..3e-3..1e-3", [0.001, 0.002, 0.003]),
        ("1,4..6,10", [1, 4, 5, 6, 10]),
        ("'1..3','b'", ["1..3", "b"]),
        ("../trace.csv,a..b", ["../trace.csv", "a..b"]),
        ('{ file = "1..2" },[1, 2]', [{"file": "1..2"}, [1, 2]]),
    ],
)
def test_ranges_are_their_numbers_and_strings_stay_what_they_are(
    text: str, values: list[Any]
) -> None:
    (found,) = parse_vary([f"a={text}"], parse_value).values()
    assert found == values
    assert [type(each) for each in found] == [type(each) for each in values]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("5..2", "no step of 1 leads there"),
        ("1..5..-1", "no step of -1 leads there"),
        ("1..5..0", "no step of 0 leads there"),
        ("0.5..2", "with decimals a range needs a step"),
        ("1..x", "must be FIRST..LAST or FIRST..LAST..STEP, all of them numbers"),
        ("1..", "must be FIRST..LAST or FIRST..LAST..STEP"),
        ("1..2..3..4", "must be FIRST..LAST or FIRST..LAST..STEP"),
        ("1..1000000000", "1000000000 numbers, and at most 10000 are allowed"),
        ("1..3,2", "2 appears twice"),
    ],
)
def test_what_is_no_range_is_refused(text: str, why: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        parse_vary([f"a={text}"], parse_value)
    assert why in str(refused.value)


def test_a_sweep_without_formulas(crawlsim: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def none_may_be_asked(*given: object) -> None:
        raise AssertionError(given)

    flags = ["sweep", "one-robot", "--vary", "buffer.waiting_places=1..3", "--json"]
    flags += ["--set", "run.horizon=2000", "--set", "run.warmup=100", "--replications", "2"]
    with_formulas = json.loads(crawlsim(*flags)[1])
    monkeypatch.setattr("analytic.index.predictions", none_may_be_asked)
    code, out, _ = crawlsim(*flags, "--no-solve")
    assert code == 0
    without = json.loads(out)
    assert [row["estimate"] for row in without] == [row["estimate"] for row in with_formulas]
    assert {row["predicted"] for row in without} == {None}
    assert {row["predicted"] for row in with_formulas} != {None}


def test_the_first_cell_within_a_bound_is_named_and_only_its_measure_shown(
    crawlsim: Any, scenario_file: str
) -> None:
    """By the exact values, which one replication of hardly any time does not tell."""
    flags = ["sweep", scenario_file, "--vary", "buffer.waiting_places=1..4", "--replications", "1"]
    rows = json.loads(crawlsim(*flags, "--json")[1])
    exact = [row["predicted"] for row in rows if row["measure"] == "loss_probability"]
    limit = (exact[1] + exact[2]) / 2
    code, out, _ = crawlsim(*flags, "--first", f"loss_probability < {limit}")
    assert code == 0
    assert f"first with loss_probability < {limit:g}: buffer.waiting_places = 3, with " in out
    assert "throughput " not in out
    _, out, _ = crawlsim(*flags, "--first", f"loss_probability>={limit}", "--json")
    assert json.loads(out)["best"]["cell"] == {"buffer.waiting_places": 1}
    code, out, _ = crawlsim(*flags, "--first", "loss_probability<0")
    assert code == 1
    assert "no cell has loss_probability<0" in out


def test_the_last_cell_within_a_bound_is_named_and_none_ends_with_1(
    crawlsim: Any, scenario_file: str, tmp_path: Path
) -> None:
    flags = ["sweep", scenario_file, "--vary", "buffer.waiting_places=1..4", "--replications", "1"]
    rows = json.loads(crawlsim(*flags, "--json")[1])
    exact = [row["predicted"] for row in rows if row["measure"] == "loss_probability"]
    limit = (exact[1] + exact[2]) / 2
    code, out, _ = crawlsim(*flags, "--last", f"loss_probability > {limit}")
    assert code == 0
    assert f"last with loss_probability > {limit:g}: buffer.waiting_places = 2, with " in out
    file = str(tmp_path / "bounds.xml")
    code, out, _ = crawlsim(*flags, "--last", "loss_probability > 1", "--json", "--junit", file)
    assert (code, json.loads(out)["best"]) == (1, None)
    (case,) = ElementTree.parse(file).getroot().iter("testcase")
    assert (case.get("classname"), case.get("name")) == ("queue", "last with loss_probability > 1")
    assert [each.tag for each in case] == ["failure"]


def test_several_bounds_all_hold_in_the_cell_that_is_named(
    crawlsim: Any, scenario_file: str
) -> None:
    """More places lose fewer pages, and leave more of them in the system."""
    flags = ["sweep", scenario_file, "--vary", "buffer.waiting_places=1..5", "--replications", "2"]
    rows = json.loads(crawlsim(*flags, "--json")[1])

    def exact(measure: str) -> list[float]:
        return [row["predicted"] for row in rows if row["measure"] == measure]

    lost, there = exact("loss_probability"), exact("mean_in_system")
    assert lost == sorted(lost, reverse=True)
    assert there == sorted(there)
    few_lost = f"loss_probability < {(lost[0] + lost[1]) / 2}"
    few_there = f"mean_in_system < {(there[2] + there[3]) / 2}"
    for option, places in (("--first", 2), ("--last", 3)):
        code, out, _ = crawlsim(*flags, option, few_lost, option, few_there, "--json")
        best = json.loads(out)["best"]
        assert (code, best["cell"]) == (0, {"buffer.waiting_places": places})
        assert (best["measure"], best["predicted"]) == ("loss_probability", lost[places - 1])
        (further,) = best["further"]
        assert (further["measure"], further["predicted"]) == ("mean_in_system", there[places - 1])
    none = f"mean_in_system < {(there[0] + there[1]) / 2}"
    code, out, _ = crawlsim(*flags, "--first", few_lost, "--first", none)
    assert code == 1
    assert "no cell has loss_probability<" in out
    assert " and mean_in_system<" in out


def test_a_cell_that_surely_breaks_one_bound_is_settled(crawlsim: Any, scenario_file: str) -> None:
    """Though its interval contains the other."""
    flags = ["sweep", scenario_file, "--vary", "buffer.waiting_places=1..3", "--no-solve"]
    rows = json.loads(crawlsim(*flags, "--json")[1])
    lost = [row for row in rows if row["measure"] == "loss_probability"]
    there = [row for row in rows if row["measure"] == "mean_in_system"]
    inside = f"loss_probability<{(lost[1]['estimate'] + lost[1]['low']) / 2}"
    assert there[1]["high"] < there[2]["estimate"]
    broken = f"mean_in_system>{(there[1]['high'] + there[2]['estimate']) / 2}"
    best = json.loads(crawlsim(*flags, "--first", inside, "--first", broken, "--json")[1])["best"]
    assert best["cell"] == {"buffer.waiting_places": 3}
    assert {"buffer.waiting_places": 2} not in best["not_settled"]


def test_cells_of_many_pages_are_compared_by_what_all_pages_have_together(crawlsim: Any) -> None:
    """Two hundred pages wait, each for a time of its own: the mean of all accesses is the one."""
    flags = ["--vary", "robots.available=5,12", "--engine", "simpy", "--replications", "2"]
    bound = ["--first", "frontier_delay<1", "--set", "interventions=[]", "--warmup", "20"]
    code, out, err = crawlsim("sweep", "outage-and-catch-up", *flags, *bound)
    assert code == 0
    assert err.startswith("warning: outage-and-catch-up: 2 of 2 cells")
    assert err.count("\n") == 1
    assert "first with frontier_delay < 1: robots.available = 12" in out
    assert out.count("frontier_delay  ") == 2


def test_cells_whose_interval_contains_the_bound_are_not_settled(
    crawlsim: Any, scenario_file: str
) -> None:
    flags = ["sweep", scenario_file, "--vary", "buffer.waiting_places=1..3", "--no-solve"]
    rows = json.loads(crawlsim(*flags, "--json")[1])
    (second,) = (
        row
        for row in rows
        if row["measure"] == "loss_probability" and row["buffer.waiting_places"] == 2
    )
    inside = (second["estimate"] + second["low"]) / 2
    _, out, _ = crawlsim(*flags, "--first", f"loss_probability<{inside}", "--json")
    best = json.loads(out)["best"]
    assert best["cell"] == {"buffer.waiting_places": 3}
    assert {"buffer.waiting_places": 2} in best["not_settled"]


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--first", "loss_probability"], "must be a measure with a bound"),
        (["--first", "loss_probability<x"], "must be a measure with a bound"),
        (["--first", "lost<0.01"], "must be a measure:"),
        (["--first", "loss_probability<1", "--minimise", "throughput"], "does not go with"),
        (["--first", "loss_probability<1", "--last", "loss_probability<1"], "does not go with"),
        (["--last", "loss_probability<1", "--last", "lost<1"], "must be a measure:"),
        (["--minimise", "throughput", "--junit", "a.xml"], "needs --fail-if, --first or --last"),
        (["--first", "loss_probability<1", "--indifference", "1"], "needs --minimise"),
        (["--first", "index_age<1"], "must be a measure that cells are compared by"),
    ],
)
def test_a_bound_that_answers_nothing_is_refused(
    crawlsim: Any, scenario_file: str, flags: list[str], says: str
) -> None:
    code, out, err = crawlsim("sweep", scenario_file, "--vary", "run.seed=1,2", *flags)
    assert (code, out) == (2, "")
    assert says in err


def test_the_table_of_a_sweep_can_be_limited_to_a_measure(
    crawlsim: Any, scenario_file: str
) -> None:
    flags = ["--vary", "run.seed=1", "--measure", "mean_in_system"]
    _, out, _ = crawlsim("sweep", scenario_file, *flags)
    assert "mean_in_system" in out
    assert "throughput " not in out


@pytest.mark.thorough
def test_the_time_to_recover_is_compared_by_the_formulas(crawlsim: Any, tmp_path: Path) -> None:
    """No simulation estimates it; a file of the sweep and its picture hold it all the same."""
    sweep = [
        "sweep",
        "indexer-outage",
        "--replications",
        "2",
        "--vary",
        "buffer.waiting_places=5,9",
    ]
    _, out, _ = crawlsim(*sweep, "--minimise", "recovery_time", "--json")
    told = json.loads(out)
    rows = [row for row in told["rows"] if row["measure"] == "recovery_time"]
    assert [row["estimate"] for row in rows] == [None, None]
    assert rows[0]["predicted"] < rows[1]["predicted"]
    assert told["best"]["cell"] == {"buffer.waiting_places": 5}
    assert told["best"]["predicted"] == rows[0]["predicted"]
    folder = str(tmp_path / "out")
    code, out, _ = crawlsim(*sweep, "--first", "recovery_time>4", "--out", folder)
    assert code == 0
    assert "waiting_places = 9" in out
    assert "recovery_time" in (tmp_path / "out" / "sweep.csv").read_text()
    code, _, err = crawlsim(*sweep, "--minimise", "recovery_time", "--indifference", "1")
    assert code == 2
    assert "which is exact" in err
    code, out, err = crawlsim(*sweep, "--minimise", "recovery_time", "--no-solve")
    assert (code, out) == (2, "")
    assert "only the formulas give it" in err


def test_an_entry_of_an_intervention_is_varied(crawlsim: Any) -> None:
    """More robots in trouble bring more pages; the file has two of its four then."""
    sweep = ["sweep", "failing-pool", "--replications", "2", "--measure", "arrival_rate", "--json"]
    _, out, _ = crawlsim(*sweep, "--vary", "interventions.0.robots=1,2,4")
    rows = [row for row in json.loads(out) if row["measure"] == "arrival_rate"]
    assert [row["interventions.0.robots"] for row in rows] == [1, 2, 4]
    # 60 of 180 minutes at 0.7 of the speed with so many robots, the others with all four
    expected = [(120 * 4 + 60 * 0.7 * robots) / 180 for robots in (1, 2, 4)]
    assert [row["predicted"] for row in rows] == pytest.approx(expected, rel=0.01)
    code, out, err = crawlsim(*sweep, "--vary", "interventions.2.robots=1,2")
    assert (code, out) == (2, "")
    assert "interventions[2].at" in err


def test_an_entry_that_another_one_overrules_is_told(
    capsys: pytest.CaptureFixture[str], scenario_file: str
) -> None:
    more = ("--set", "robots.available=4", "--set", "activation.static=1")
    vary = ("--vary", "robots.available=2,3", "--vary", "buffer.waiting_places=1,2")
    code, _, said = sweep(capsys, scenario_file, *more, *vary)
    assert code == 0
    assert said.count("changes no number here") == 1
    assert "robots.available changes no number here" in said
