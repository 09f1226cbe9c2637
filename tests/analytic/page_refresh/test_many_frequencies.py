"""Frequencies of very many pages: what is reckoned for them, and where they are written."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import analytic
import sim
from analytic.page_refresh import formulas
from crawlsim.cli import optimize
from scenarios import Scenario, ScenarioError, columns, load, scenario_from
from scenarios.page_data import access_shares

SCENARIO = """
name = "many"

[pages]
change_rates = { file = "rates.csv", column = "rate" }
weights = "uniform"

[robots]
available = 1
access_time = { exponential = { rate = 10.0 } }
accessing = { policy = "deadline", frequencies = "uniform" }

[run]
horizon = 1000.0
warmup = 10.0
"""


def rated(folder: Path, pages: int, header: str = "page,rate") -> Path:
    rates = np.random.default_rng(1).lognormal(-3, 2, pages).tolist()
    lines = [f'"http://a.org/{page},x",{rate!r}' for page, rate in enumerate(rates)]
    if header == "rate":
        lines = list(map(repr, rates))
    (folder / "rates.csv").write_text("\n".join([header, *lines]) + "\n")
    path = folder / "many.toml"
    path.write_text(SCENARIO)
    return path


def test_nothing_is_planned_for_a_cost_that_does_not_exist(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plan whose long run is too long to be written out has no exact cost."""
    scenario = load(rated(tmp_path, 50))
    monkeypatch.setattr("analytic.index.page_conditions.MOST_SLOTS", 1000)

    def planned(*_: Any) -> None:
        raise AssertionError("a plan")

    monkeypatch.setattr("analytic.page_refresh.formulas.planned_slots", planned)
    found = analytic.optimize(scenario, "frequencies")
    assert found.cost is None
    assert [row["cost"] for row in found.table] == [None] * 3
    assert found.lower_bound is not None


def test_no_cost_is_counted_along_a_plan_of_millions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The note says why, and what counts it."""
    scenario = load(rated(tmp_path, 50))
    monkeypatch.setattr("analytic.page_refresh.frequencies._MOST_PLANNED", 1000)

    def planned(*_: Any) -> None:
        raise AssertionError("a plan")

    monkeypatch.setattr("analytic.page_refresh.formulas.planned_slots", planned)
    found = analytic.optimize(scenario, "frequencies")
    assert found.cost is None
    assert [row["cost"] for row in found.table] == [None] * 3
    (note,) = [each for each in found.notes if "planned" in each]
    assert "more than 1,000 are not planned here" in note
    assert "solve or check" in note


def test_each_plan_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One for each word of the table, whose last row is the decision."""
    planned = formulas.planned_slots
    made = []

    def counted(scenario: Scenario) -> Any:
        made.append(scenario)
        return planned(scenario)

    monkeypatch.setattr(formulas, "planned_slots", counted)
    found = analytic.optimize(load(rated(tmp_path, 50)), "frequencies")
    assert found.cost == found.table[-1]["cost"]
    assert len(made) == 3


def test_the_cost_is_that_of_the_formula(tmp_path: Path) -> None:
    scenario = load(rated(tmp_path, 50))
    found = analytic.optimize(scenario, "frequencies")
    decided = analytic.predict(scenario.with_(found.changes))[0]
    exact = [
        each.value
        for each in decided
        if each.measure == "weighted_obsolescence" and each.kind == "exact"
    ]
    assert exact == [found.cost]


@pytest.mark.by_day("page,rate")
@pytest.mark.parametrize("header", ["page,rate", "rate"])
def test_many_frequencies_lie_beside_the_scenario_with_their_names(
    crawlsim: Any, tmp_path: Path, header: str
) -> None:
    pages = optimize.MOST_LISTED + 1
    path = rated(tmp_path, pages, header)
    best = tmp_path / "best.toml"
    words = ("optimize", str(path), "--target", "frequencies", "--out", str(best))
    for _ in range(2):  # its own files are replaced
        code, _, err = crawlsim(*words)
        assert code == 0, err
    with (tmp_path / "best.frequencies.csv").open(newline="") as stream:
        rows = list(csv.reader(stream))
    named = header == "page,rate"
    assert rows[0] == ["page", "frequency"]
    assert rows[7][0] == ("http://a.org/6,x" if named else "6")
    assert len(rows) == pages + 1
    assert best.stat().st_size < 1000
    decided = load(best)
    assert decided.robots is not None
    assert decided.pages is not None
    shares = access_shares(decided.robots.accessing, decided.pages)  # type: ignore[arg-type]
    expected = analytic.optimize(load(path), "frequencies").decision["frequencies"]
    assert shares.tolist() == expected
    assert sim.run(decided.with_({"run.horizon": 50.0, "run.warmup": 1.0, "run.replications": 2}))


def test_a_file_of_somebody_else_is_not_replaced(crawlsim: Any, tmp_path: Path) -> None:
    path = rated(tmp_path, optimize.MOST_LISTED + 1)
    own = tmp_path / "best.frequencies.csv"
    own.write_text("mine\n1\n")
    words = ("optimize", str(path), "--target", "frequencies", "--out", str(tmp_path / "best.toml"))
    assert crawlsim(*words)[0] == 2
    assert own.read_text() == "mine\n1\n"
    assert not (tmp_path / "best.toml").exists()


def test_few_frequencies_stay_in_the_file(crawlsim: Any, tmp_path: Path) -> None:
    path = rated(tmp_path, 20)
    best = tmp_path / "best.toml"
    assert crawlsim("optimize", str(path), "--target", "frequencies", "--out", str(best))[0] == 0
    assert not (tmp_path / "best.frequencies.csv").exists()
    assert load(best).robots


def test_a_file_of_numbers_is_read_once_until_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = rated(tmp_path, 20)
    read = []
    rows = columns._rows
    monkeypatch.setattr(columns, "_rows", lambda path: read.append(path) or rows(path))
    scenario = load(path)
    for weight in ("uniform", "change-rate"):
        scenario = scenario.with_("pages.weights", weight)
    assert len(read) == 1
    before = (tmp_path / "rates.csv").stat()
    rated(tmp_path, 19)
    os.utime(tmp_path / "rates.csv", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert load(path).pages.count == 19  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("lines", "message"), [("0.5\n0.4\n", "sum to 1"), ("0.5\n0.3\n0.2\n", "3 entries")]
)
def test_a_column_of_frequencies_is_checked(tmp_path: Path, lines: str, message: str) -> None:
    (tmp_path / "shares.csv").write_text("share\n" + lines)

    def two_pages() -> Scenario:
        return scenario_from(
            {
                "name": "two",
                "pages": {"change_rates": [1.0, 2.0]},
                "robots": {
                    "available": 1,
                    "access_time": {"exponential": {"rate": 1.0}},
                    "accessing": {
                        "policy": "deadline",
                        "frequencies": {"file": "shares.csv", "column": "share"},
                    },
                },
            },
            base=str(tmp_path),
        )

    with pytest.raises(ScenarioError, match=message):
        two_pages()
