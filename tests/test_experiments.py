"""The experiments of docs/: that they run, and that their tables fit together."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def experiments() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "docs/threshold_experiments.py"))


@pytest.fixture(scope="module")
def tables(experiments: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    base = experiments["load"](experiments["BASE"])
    return {name: experiments[name](base) for name in ("table_1", "table_2", "table_3", "table_4")}


def test_the_base_example_is_the_same_in_every_table(tables: dict[str, Any]) -> None:
    """N = 5 is that of Table 1, and factor 1 of Tables 3 and 4, as in the paper."""
    first = {row["robots"]: row for row in tables["table_1"]}
    best = min(first.values(), key=lambda row: row["cost"])
    bases = [
        next(row for row in tables["table_2"] if row["N"] == 5),
        next(row for row in tables["table_3"] if row["mean service"] == 0.657),
        next(row for row in tables["table_4"] if row["mean obsolescence"] == 5.0),
    ]
    assert [row["factor"] for row in bases[1:]] == [1, 1]
    for name, column, mean in (
        ("table_3", "mean service", 0.657),
        ("table_4", "mean obsolescence", 5.0),
    ):
        assert [*tables[name][0]][:2] == ["factor", column]
        for row in tables[name]:
            assert row["factor"] * row[column] == pytest.approx(mean, rel=1e-12)
    for row in bases:
        assert row["J*"] == pytest.approx(best["cost"], rel=1e-12)
        assert row["gain"] == pytest.approx(best["gain"], rel=1e-9)
        for number in (1, 2, 3, 4):
            assert row[f"J{number}"] == pytest.approx(first[number,]["cost"], rel=1e-12)


def test_the_gain_is_that_of_the_paper(tables: dict[str, Any]) -> None:
    """g = 100 (min J_r - J*) / min J_r, never negative; control never costs more."""
    for name in ("table_2", "table_3", "table_4"):
        for row in tables[name]:
            single = min(row[f"J{number}"] for number in (1, 2, 3, 4))
            assert row["gain"] == pytest.approx(100 * (single - row["J*"]) / single, abs=1e-9)
            assert row["gain"] >= 0


@pytest.mark.parametrize(
    ("mean", "rate", "variance"),
    [(0.65714, 9.0, 5.798), (5.0, 7.0, 449.65), (5.0, 0.2, 25.0), (0.657, 1 / 0.657, 0.431649)],
)
def test_the_family_of_variable_laws_has_the_printed_variances(
    experiments: dict[str, Any], mean: float, rate: float, variance: float
) -> None:
    """avrachenkov2011, section 7: up to 5.798 for service, 25 to 449 for obsolescence."""
    law, found = experiments["variable"](mean, rate)
    assert found == pytest.approx(variance, abs=6e-4 * variance)
    shares, rates = law["hyperexponential"].values()
    assert sum(p / each for p, each in zip(shares, rates, strict=True)) == pytest.approx(mean)


def test_the_script_writes_tables_and_figures(
    experiments: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    experiments["main"](["--out", str(tmp_path)])
    printed = capsys.readouterr().out
    assert printed.count("\n| ") > 60
    assert (tmp_path / "tables.md").read_text().strip() == printed.strip()
    for number in (1, 2, 3, 4):
        text = (tmp_path / f"figure-{number}.svg").read_text()
        assert "<svg" in text


@pytest.mark.parametrize(("robots", "pair"), [((3, 1), "3 robots, then 1"), (None, "best two")])
def test_a_figure_says_what_varies_and_which_numbers(
    experiments: dict[str, Any], robots: Any, pair: str
) -> None:
    searches = experiments["by_variance"](
        experiments["load"](experiments["BASE"]),
        "buffer.service",
        0.657,
        experiments["SERVICE_RATES"],
    )
    ax = experiments["draw"](searches, "service times", robots)
    figure = ax.figure
    assert figure.get_suptitle().startswith("Variance of the service times:")
    assert pair in figure.get_suptitle()
    figure.draw_without_rendering()
    for box in (figure._suptitle.get_window_extent(), ax.get_legend().get_window_extent()):
        assert box.x0 >= 0
        assert box.x1 <= figure.bbox.x1


def test_as_obsolescence_varies_more_the_thresholds_fall(experiments: dict[str, Any]) -> None:
    """avrachenkov2011, section 7: "as the variation grows the optimal threshold decreases"."""
    base = experiments["load"](experiments["BASE"])
    searches = experiments["by_variance"](
        base, "buffer.obsolescence", 5.0, experiments["PATIENCE_RATES"]
    )
    highest = [search.optimum.at[-1] for search in searches.values()]
    assert list(searches) == sorted(searches)
    assert highest == sorted(highest, reverse=True)
    assert (highest[0], highest[-1]) == (3, 0)
