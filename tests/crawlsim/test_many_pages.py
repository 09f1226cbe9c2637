"""What users see of many pages: tables, JSON, reports, the table of all pages, bad requests."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest

import crawlsim as package
from crawlsim.cli.output import _without_reached_bounds
from scenarios import ScenarioError

SCENARIO = """
name = "many"
[pages]
change_rates = { zipf = { pages = 300, exponent = 0.7, total = 60.0 } }
[robots]
available = 1
access_time = { exponential = { mean = 0.01 } }
accessing = { policy = "randomized" }
[run]
horizon = 50.0
warmup = 20.0
replications = 4
page_rows = 299
"""


@pytest.fixture
def many(tmp_path: Path) -> str:
    path = tmp_path / "many.toml"
    path.write_text(SCENARIO)
    return str(path)


def test_the_table_shows_groups_quantiles_and_the_worst(crawlsim: Any, many: str) -> None:
    code, out, _ = crawlsim("run", many, "--engine", "simpy")
    assert code == 0
    rows = [line.split() for line in out.splitlines()]
    assert sum(row[:2] == ["obsolescence_rate", "tenth"] for row in rows) == 10
    assert sum(row[:2] == ["crawl_rate", "quantile"] for row in rows) == 7
    pages = [row[1] for row in rows if row[:1] == ["obsolescence_rate"] and row[1].isdigit()]
    assert len(pages) == 5
    assert f"worst pages: page {pages[0]} (" in out
    assert "none seen" not in "".join(line for line in out.splitlines() if "quantile" in line)
    every = crawlsim("run", many, "--engine", "simpy", "--all")[1]
    assert sum("obsolescence_rate" in line for line in every.splitlines()) >= 10 + 7 + 20


def test_bounds_that_are_reached_go_without_saying(crawlsim: Any, many: str) -> None:
    law, policy = "{ deterministic = { value = 0.01 } }", '{ policy = "round-robin" }'
    robots = f"robots={{ available = 1, access_time = {law}, accessing = {policy} }}"
    given = ("check", many, "--set", robots)
    shown, every = crawlsim(*given)[1], crawlsim(*given, "--all")[1]
    bounded = "obsolescence_rate tenth 1 "
    assert sum(bounded in line for line in shown.splitlines()) == 1
    assert sum(bounded in line for line in every.splitlines()) == 2
    assert sum("≥" in line for line in every.splitlines()) > 10


def test_only_a_bound_that_the_exact_value_reaches_goes_without_saying() -> None:
    def row(kind: str, predicted: float, verdict: str = "agree") -> Any:
        parts = {"measure": "loss_rate", "subject": None, "verdict": verdict}
        return SimpleNamespace(kind=kind, predicted=predicted, **parts)

    exact, reached = row("exact", 0.5), row("lower bound", 0.5)
    others = [row("lower bound", 0.4), row("upper bound", 0.5, "differ")]
    assert list(_without_reached_bounds([exact, reached, *others])) == [exact, *others]
    assert list(_without_reached_bounds([reached, *others])) == [reached, *others]


def test_json_and_files_have_what_is_kept(crawlsim: Any, many: str, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    code, out, _ = crawlsim("check", many, "--json", "--out", str(folder))
    assert code in {0, 1}
    (record,) = json.loads(out)
    subjects = {row["subject"] for row in record["comparisons"]}
    assert {None, "tenth 1", "tenth 10"} <= subjects
    assert not {each for each in subjects if isinstance(each, str) and "quantile" in each}
    with (folder / "estimates.csv").open(newline="") as file:
        kept = {(row["measure"], row["subject"]) for row in csv.DictReader(file)}
    assert ("obsolescence_rate", "quantile 0.9") in kept
    assert ("weighted_obsolescence", "tenth 3") in kept
    assert len(kept) < 200
    report = (folder / "report.html").read_text()
    assert "on average over the pages of each group" in report
    assert "tenth 1 the slowest" in report
    assert "of single pages are out of date: of those with the largest" in report
    assert "hosts" not in report.partition("on average over the pages of each group")[2][:80]


@pytest.mark.thorough
def test_a_sweep_keeps_the_same(crawlsim: Any, many: str, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    vary = "pages.change_rates.zipf.exponent=0.5,0.9"
    assert crawlsim("sweep", many, "--vary", vary, "--out", str(folder))[0] == 0
    with (folder / "sweep.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["subject"] == "tenth 10"]
    predicted = [row["predicted"] for row in rows if row["measure"] == "obsolescence_rate"]
    assert len(predicted) == 2
    assert all(predicted)


def test_the_table_of_all_pages(crawlsim: Any, many: str, tmp_path: Path) -> None:
    target = tmp_path / "all.parquet"
    code, _, err = crawlsim("run", many, "--pages", str(target))
    assert code == 0
    assert f"written to {target}" in err
    table = pyarrow.parquet.read_table(target).to_pydict()
    rows = package.run(package.load(many).with_("run.page_rows", 300))
    for measure in ("obsolescence_rate", "crawl_rate", "crawl_frequency"):
        expected = [row.estimate for row in rows.rows.of_measure(measure)]
        assert table[measure] == expected
    assert table["page"] == list(range(300))
    assert np.diff(table["change_rate"]).max() < 0
    assert {path.name for path in tmp_path.iterdir()} == {
        *("many.toml", "all.parquet", ".all.parquet.crawlsim"),
    }


def test_pages_with_names_keep_them(tmp_path: Path) -> None:
    names = ["a", "b", "c"]
    changes = {"pages": {"change_rates": [0.1, 0.2, 0.3], "names": names}, "run.page_rows": 1}
    scenario = package.load("cyclic-constant").with_(
        changes | {"robots.accessing": {"policy": "round-robin"}, "run.replications": 2}
    )
    package.run(scenario, pages=tmp_path / "all.parquet")
    assert pyarrow.parquet.read_table(tmp_path / "all.parquet")["name"].to_pylist() == names


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--pages", "rows.csv"), "must end in .parquet"),
        (("--pages", "there.parquet"), "exists and was not written by crawlsim"),
        (("--pages", "none/rows.parquet"), "cannot be written to: No such file"),
        (("--pages", "rows.parquet", "--trace", "trace.csv"), "does not go with --trace"),
        (("two.toml", "--pages", "rows.parquet"), "needs a single scenario"),
        (("--pages", "rows.parquet", "--set", "run.page_rows=many"), "run.page_rows"),
    ],
)
def test_what_cannot_be_written_is_refused_before_any_work(
    more: tuple[str, ...],
    message: str,
    crawlsim: Any,
    many: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("there.parquet").write_text("mine")
    Path("two.toml").write_text(SCENARIO.replace('"many"', '"two"'))
    before = {path.name for path in tmp_path.iterdir()}
    code, out, err = crawlsim("run", many, *more)
    assert code == 2
    assert out == ""
    assert message in err
    assert {path.name for path in tmp_path.iterdir()} == before
    assert Path("there.parquet").read_text() == "mine"


def test_a_system_without_pages_has_no_table(crawlsim: Any, tmp_path: Path) -> None:
    code, _, err = crawlsim("run", "one-robot", "--pages", str(tmp_path / "rows.parquet"))
    assert code == 2
    assert "has no [pages]" in err
    with pytest.raises(ScenarioError, match=r"has no \[pages\]"):
        package.run("one-robot", pages=tmp_path / "rows.parquet")


def test_a_run_that_fails_leaves_no_table(
    many: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("crawlsim.page_tables.page_table", broken)
    with pytest.raises(ZeroDivisionError):
        package.run(many, pages=tmp_path / "rows.parquet")
    assert {path.name for path in tmp_path.iterdir()} == {"many.toml"}
