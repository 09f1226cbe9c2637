"""`crawlsim optimize` as a user meets it."""

from __future__ import annotations

import csv
import json
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analytic import optimize
from analytic.robot_control import best_switching
from analytic.rules.fixed import best_fixed_number
from analytic.rules.thresholds import best_thresholds
from crawlsim.report import (
    plot_rule_map,
    plot_static_costs,
    plot_switching_curves,
    plot_switching_policy,
    plot_threshold_costs,
)
from scenarios import load

FOUR = "four-robots-one-threshold"

EXACT = [FOUR, "--kind", "exact", "--target"]

ORDERED = ["--set", "buffer.obsolescence.erlang={shape=2,mean=5.0}"]


@pytest.mark.thorough
def test_the_promised_json(crawlsim: Any) -> None:
    code, out, err = crawlsim(
        "optimize", FOUR, "talim-switching", "--target", "threshold", "--json"
    )
    four, talim = json.loads(out)
    assert (code, err) == (0, "")
    assert list(four)[:5] == ["scenario", "target", "cost", "lower_bound", "decision"]
    assert (four["scenario"], four["target"], four["lower_bound"]) == (FOUR, "threshold", None)
    assert four["decision"] == {"robots": [4, 1], "at": [0]}
    assert {"robots": [4, 1], "at": [0], "cost": four["cost"]}.items() <= four["table"][6].items()
    assert len(four["table"]) == 15
    assert talim["scenario"] == "talim-switching"


def test_undefined_costs_are_null(crawlsim: Any) -> None:
    _, out, _ = crawlsim("optimize", FOUR, "--target", "static", "--json")
    (found,) = json.loads(out)
    assert found["decision"] == {"robots": 1}
    assert found["table"][0] == {"robots": 0, "cost": None}


def test_the_table_shows_every_list_and_the_gain(crawlsim: Any) -> None:
    code, out, _ = crawlsim("optimize", FOUR, "--target", "threshold", "--set", "time_unit=minute")
    title, *lines = out.splitlines()
    assert code == 0
    assert title == f"{FOUR}, time_unit=minute: threshold: robots = [4, 1], at = [0], cost " + (
        "51.0883 per minute"
    )
    rows = [line.split() for line in lines if line.strip()]
    assert rows[0] == ["robots", "at", "cost", "gain"]
    assert ["4,", "1", "0", "51.0883", "27.1439"] in rows
    assert ["1", "–", "70.1222", "0"] in rows
    assert "best single" in out


def test_switching_shows_the_target_of_each_level(
    crawlsim: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """talim2001, Figure 3: the table, the JSON, and the file that it writes, solved again."""
    monkeypatch.chdir(tmp_path)
    code, out, _ = crawlsim("optimize", "talim-switching", "--target", "switching")
    rows = [line.split() for line in out.splitlines() if line.strip()]
    assert code == 0
    assert out.startswith("talim-switching: switching: targets = [16, 14, 12, 9, 7, 4], cost 0.25")
    assert ["level", "target", "probability"] in rows
    assert ["4", "7", "0.190785"] in rows
    assert "4 to 15 active robots, 9.804 on average" in " ".join(out.split())
    words = ("--set", "costs.starvation=1.0", "--out", "best.toml", "--json")
    _, out, _ = crawlsim("optimize", "talim-switching", "--target", "switching", *words)
    (found,) = json.loads(out)
    assert found["cost"] == pytest.approx(0.209074, abs=5e-7)
    assert found["lower_bound"] == pytest.approx(found["cost"], abs=1e-11)
    assert found["decision"] == {"targets": [15, 13, 11, 8, 6, 4]}
    _, out, _ = crawlsim("solve", "best.toml", "--json")
    costs = [row for row in json.loads(out)[0]["predictions"] if row["measure"] == "control_cost"]
    assert {row["kind"] for row in costs} == {"exact", "lower bound"}
    assert all(row["value"] == pytest.approx(found["cost"], abs=1e-11) for row in costs)


def test_levels_and_phases_are_told_written_and_drawn(
    crawlsim: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The best numbers by level, and by level and phases: each a file that solves to its cost."""
    monkeypatch.chdir(tmp_path)
    for name, target in (("batches-that-fit", "levels"), ("pause-for-large-pages", "free")):
        words = ("optimize", name, "--target", target)
        code, out, _ = crawlsim(*words, "--out", f"{target}.toml", "--figure", f"{target}.svg")
        assert code == 0
        assert f"{name}: {target}: {target} = [" in out
        _, out, _ = crawlsim(*words, "--json")
        (found,) = json.loads(out)
        assert found["proved"]
        assert found["lower_bound"] == pytest.approx(found["cost"], rel=1e-9)
        assert load(f"{target}.toml").activation == load(name).activation
        _, out, _ = crawlsim("solve", f"{target}.toml", "--json")
        rows = json.loads(out)[0]["predictions"]
        (cost,) = [row["value"] for row in rows if row["measure"] == "control_cost"]
        assert cost == pytest.approx(found["cost"], rel=1e-9)
    assert "the best thresholds cost 109.669, 8.1 % more" in " ".join(found["notes"])
    ax = plot_rule_map(optimize(load("pause-for-large-pages"), "free").search)
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        "thresholds",
        *(f"arrivals {a}, service {s}" for a in (0, 1) for s in (0, 1)),
    ]
    assert [text.get_text() for text in ax.texts[14:21]] == ["4", *["1"] * 6]
    _, out, err = crawlsim("solve", "batches-that-fit", "--set", "activation.optimal=levels")
    assert 'activation.optimal = "levels" is levels = [2, 2, 2, 1, 2, 1, 1]' in err


@pytest.mark.by_day(every=3)
@pytest.mark.parametrize(
    ("name", "target", "left_out"),
    [
        ("talim-switching", "switching", "the 40 of 62 states that are met most (--json has all)"),
        ("one-fast-three-slow", "switching", "the 40 of 52 states that are met most"),
        ("pause-for-large-pages", "free", "the first 40 of 124 rows (--json has all)"),
    ],
)
def test_of_a_long_table_without_costs_a_part_is_shown(
    crawlsim: Any, name: str, target: str, left_out: str
) -> None:
    """Its rows are states; in --json all of them are there."""
    words = ("optimize", name, "--target", target, "--set", "activation.static=1")
    places = 15 if name == "one-fast-three-slow" else 60
    code, out, _ = crawlsim(*words, "--set", f"buffer.waiting_places={places}")
    assert code == 0
    assert left_out in " ".join(out.split())
    _, out, _ = crawlsim(*words, "--set", f"buffer.waiting_places={places}", "--json")
    assert len(json.loads(out)[0]["table"]) == int(left_out.split(" of ")[1].split()[0])


@pytest.mark.thorough
def test_of_very_many_lists_the_best_are_shown_each_cost_once(crawlsim: Any) -> None:
    _, out, _ = crawlsim("optimize", "talim-switching", "--target", "threshold")
    rows = [line for line in out.splitlines() if line.startswith("  1")]
    costs = [float(row.split()[-2]) for row in rows]
    assert len(costs) == len(set(costs)) == 40
    assert "the best 40 of 14892 rows (--json has all)" in " ".join(out.split())
    assert costs == sorted(costs)


def test_the_written_scenario_holds_the_decision(
    crawlsim: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ("optimize", FOUR, "--target", "threshold", "--set", "buffer.waiting_places=3")
    assert crawlsim(*words, "--out", "best.toml")[2] == "written: best.toml\n"
    written = load("best.toml")
    expected = load(FOUR).with_(
        {"buffer.waiting_places": 3, "activation.threshold": {"robots": [4, 1], "at": [0]}}
    )
    assert written == expected
    assert stat.S_IMODE(Path("best.toml").stat().st_mode) & 0o044
    before = Path("best.toml").read_bytes()
    assert crawlsim("optimize", "best.toml", "--target", "threshold", "--out", "best.toml")[0] == 0
    assert Path("best.toml").read_bytes() == before
    assert crawlsim("solve", "best.toml")[0] == 0


def test_files_of_others_are_not_replaced(
    crawlsim: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ("optimize", FOUR, "--target", "static")
    crawlsim(*words, "--out", "mine.toml", "--figure", "mine.svg")
    Path("mine.toml").write_text(Path("mine.toml").read_text() + "# my note\n")
    Path("mine.svg").write_text(Path("mine.svg").read_text().replace("<svg", "<svg id='mine'"))
    Path("other.svg").write_text("<svg></svg>")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for option, file in (
        ("--out", "mine.toml"),
        ("--figure", "other.svg"),
        ("--figure", "mine.svg"),
    ):
        code, out, err = crawlsim(*words, option, file)
        assert (code, out) == (2, "")
        assert f'{option} = "{file}"' in err
        assert "give another name" in err
    assert before == {path.name: path.read_bytes() for path in tmp_path.iterdir()}


@pytest.mark.by_day(
    besides=(
        "static-.pdf-begins",
        "threshold-.png-begins",
        "threshold-.pdf-begins",
        "switching-.svg-begins",
        "switching-.png-begins",
        "switching-.pdf-begins",
        "threshold-.svg-begins",
    )
)
@pytest.mark.parametrize(
    ("ending", "begins"), [(".svg", b"<?xml"), (".png", b"\x89PNG"), (".pdf", b"%PDF")]
)
@pytest.mark.parametrize("target", ["static", "threshold", "switching"])
def test_figures_in_every_format_the_same_bytes_again(
    crawlsim: Any, tmp_path: Path, ending: str, begins: bytes, target: str
) -> None:
    path = tmp_path / f"costs{ending}"
    contents = []
    for _ in range(2):
        assert crawlsim("optimize", FOUR, "--target", target, "--figure", str(path))[0] == 0
        contents.append(path.read_bytes())
    assert contents[0].startswith(begins)
    assert contents[0] == contents[1]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([FOUR, "--target", "probes"], "there is no [source]"),
        ([FOUR, "--target", "best"], "frequencies, template, routing, probes or design"),
        ([FOUR], "--target"),
        (["one-robot", "--target", "static"], "there are no [costs]"),
        (["cyclic-constant", "--target", "static"], "there is no [buffer]"),
        ([FOUR, "talim-switching", "--target", "static", "--out", "a.toml"], "a single scenario"),
        ([FOUR, "--target", "static", "--figure", "a.jpg"], ".svg, .png or .pdf"),
        ([FOUR, "--target", "static", "--figure", "a.svg", "--out", "a.svg"], "--figure"),
        ([FOUR, "--target", "static", "--out", "no/folder/a.toml"], "--out"),
        ([FOUR, "--target", "static", "--out", "."], "is a folder"),
        ([*EXACT, "static", *ORDERED, "--set", "buffer.waiting_places=40"], "minutes"),
        ([*EXACT, "static", *ORDERED, "--set", "buffer.waiting_places=4000"], "minutes"),
        ([*EXACT, "threshold", "--set", "buffer.waiting_places=900"], "policies"),
        (["one-robot", "--target", "switching"], "there are no [costs]"),
        (["optimal-thresholds", "--target", "switching"], "deliveries are a joint process"),
    ],
)
def test_bad_input_exits_with_2_in_three_lines_and_writes_nothing(
    crawlsim: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = crawlsim("optimize", *arguments)
    assert (code, out) == (2, "")
    assert says in err
    assert len(err.splitlines()) <= 3
    assert not list(tmp_path.iterdir())


def test_the_figure_of_thresholds_shows_the_pairs_and_the_optimum() -> None:
    search = best_thresholds(load(FOUR).with_("time_unit", "minute"))
    ax = plot_threshold_costs(search)
    *pairs, optimum = ax.get_lines()
    assert (ax.get_xlabel(), ax.get_ylabel()) == (
        "threshold (pages in the system)",
        "cost per minute",
    )
    assert [line.get_label() for line in pairs[:2]] == [
        "4 robots, then 1",
        "3 robots, then 1",
    ]
    assert list(pairs[0].get_ydata()) == list(search.costs_against_threshold((4, 1)))
    assert set(optimum.get_ydata()) == {search.optimum.cost}
    assert optimum.get_label() == "optimum: 4, 1 at 0"
    assert plot_threshold_costs(search, ax) is ax


def test_the_figure_of_switching_shows_both_curves() -> None:
    search = best_switching(load("talim-switching"))
    service, delivery = plot_switching_curves(search).get_lines()
    assert (service.get_label(), delivery.get_label()) == ("at a service", "at a delivery")
    expected = search.curves()
    drawn = np.asarray(service.get_ydata(), dtype=float)
    assert np.nan_to_num(drawn).tolist() == expected.after_service.tolist()


@pytest.mark.parametrize("event", ["service", "delivery"])
def test_the_figure_of_the_policy_marks_every_state(event: str) -> None:
    """Filled exactly where the curve says: as many as the paper's Figure 3 has."""
    search = best_switching(load("talim-switching"))
    ax = plot_switching_policy(search, event)
    filled = [line for line in ax.get_lines() if line.get_markerfacecolor() != "none"]
    curves = search.curves()
    expected = curves.after_service if event == "service" else curves.after_delivery + 1
    assert sum(len(line.get_xdata()) for line in filled) == expected.sum()
    assert sum(len(line.get_xdata()) for line in ax.get_lines()) == (
        85 if event == "service" else 96
    )
    what = "service completion" if event == "service" else "delivery"
    assert ax.get_title("left") == f"{what} (filled: switch on), cost {search.cost:.6g}"


def test_the_figure_of_thresholds_refuses_another_search() -> None:
    search: Any = best_fixed_number(load(FOUR))
    with pytest.raises(TypeError, match=r'optimize\(scenario, "threshold"\), not a StaticSearch'):
        plot_threshold_costs(search)


def test_no_robots_without_a_cost_are_explained(crawlsim: Any) -> None:
    words = ["optimize", FOUR, "--target", "static"]
    reason = "0 robots: no cost, for the response has a price and nothing is ever served"
    assert reason in " ".join(crawlsim(*words)[1].split())
    _, free, _ = crawlsim(*words, "--set", "costs.response=0.0")
    assert "no cost" not in free


def test_the_figure_of_fixed_numbers_marks_the_best() -> None:
    search = best_fixed_number(load("talim-static-k5"))
    ax = plot_static_costs(search)
    costs, best = ax.get_lines()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("active robots", "cost per time unit")
    assert list(costs.get_ydata()) == search.costs.tolist()
    assert list(best.get_xdata()) == [search.optimum]


def test_one_file_under_two_names_is_noticed(crawlsim: Any, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder")
    names = ["--out", str(tmp_path / "link/a.svg"), "--figure", str(tmp_path / "folder/a.svg")]
    code, _, err = crawlsim("optimize", FOUR, "--target", "static", *names)
    assert (code, list((tmp_path / "folder").iterdir())) == (2, [])
    assert "is the file of --out" in err


def test_a_folder_that_is_missing_on_the_way_is_refused_before_anything_is_written(
    crawlsim: Any,
    tmp_path: Path,
) -> None:
    names = ["--out", str(tmp_path / "a.toml"), "--figure", str(tmp_path / "no/../a.svg")]
    code, _, _ = crawlsim("optimize", FOUR, "--target", "static", *names)
    assert (code, list(tmp_path.iterdir())) == (2, [])


@pytest.mark.parametrize("words", [["solve"], ["run"], ["check"], ["check", "--json"]])
@pytest.mark.parametrize(
    ("family", "decision"), [("static", "robots = 1"), ("threshold", "robots = [4, 1], at = [0]")]
)
def test_every_command_says_which_decision_was_taken(
    crawlsim: Any, words: list[str], family: str, decision: str
) -> None:
    short = ["--replications", "2"] if words[0] != "solve" else []
    change = f"activation.optimal={family}"
    code, out, err = crawlsim(*words, FOUR, "--set", change, *short)
    assert code == 0
    assert f'{FOUR}: activation.optimal = "{family}" is {decision}\n' in err
    assert "activation.optimal = " not in out
    if "--json" in words:
        assert json.loads(out)
    assert "activation.optimal" not in crawlsim(*words, FOUR, *short)[2]


@pytest.mark.thorough
def test_a_sweep_records_the_decision_of_each_point(crawlsim: Any, tmp_path: Path) -> None:
    out_folder = tmp_path / "out"
    vary = 'activation={optimal="threshold"},{static=2},{optimal="static"}'
    words = ["sweep", FOUR, "--vary", vary, "--replications", "2", "--out", str(out_folder)]
    code, out, _ = crawlsim(*words)
    assert code == 0
    assert "robots = [4, 1], at = [0]" in out
    with (out_folder / "sweep.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    found = {row["activation"]: row["decision"] for row in rows}
    assert list(found.values()) == ["robots = [4, 1], at = [0]", "", "robots = 1"]
    runs = json.loads((out_folder / "provenance.json").read_text())["runs"]
    assert [run["decision"] for run in runs] == ["robots = [4, 1], at = [0]", None, "robots = 1"]
    assert (out_folder / "sweep.svg").read_text().startswith("<?xml")
    plain = ["sweep", FOUR, "--vary", "activation.static=2", "--replications", "2", "--json"]
    assert "decision" not in json.loads(crawlsim(*plain)[1])[0]
