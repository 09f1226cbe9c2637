"""Maps of decisions over two entries of a sweep: which decision stands where."""

from __future__ import annotations

import csv
from itertools import product
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pytest

from analytic import optimize
from crawlsim.report.region_figures import (
    distinct_decisions,
    numbered_decisions,
    plot_regions,
    region_figure,
)
from scenarios import load

Rows = list[dict[str, Any]]


def rows_of(decisions: dict[tuple[Any, Any], str | None]) -> Rows:
    """A row for each cell, as a sweep has them."""
    return [{"x": x, "y": y, "decision": each} for (x, y), each in decisions.items()]


def marks(rows: Rows) -> dict[tuple[float, float], str]:
    """What stands in the cells, by their places across and up."""
    ax = plot_regions(rows, ["x", "y"])
    found = {each.get_position(): each.get_text() for each in ax.texts}
    plt.close("all")
    return found


def test_numbers_stand_in_their_cells() -> None:
    cells = {(x, y): f"robots = {10 * x + y}" for x in (1, 2) for y in (0, 5, 9)}
    expected = {(x - 1, (0, 5, 9).index(y)): f"{10 * x + y}" for x, y in cells}
    assert marks(rows_of(cells)) == expected


def test_decisions_are_in_the_order_of_their_numbers_and_explained() -> None:
    first, second = "robots = [4, 1], at = [2]", "robots = [10, 1], at = [1]"
    rows = rows_of({(0, 0): second, (1, 0): first, (0, 1): first, (1, 1): None})
    assert distinct_decisions(rows) == [first, second]
    assert marks(rows) == {(0, 0): "2", (1, 0): "1", (0, 1): "1"}
    figure = region_figure(rows, ["x", "y"])
    assert figure is not None
    ((legend,),) = [figure.legends]
    assert [each.get_text() for each in legend.get_texts()] == [f"1: {first}", f"2: {second}"]


def test_decisions_that_begin_alike_are_only_counted() -> None:
    rows = rows_of({(n, 0): f"choices = {[0] * 60 + [n]}" for n in range(3)})
    ax = plot_regions(rows, ["x", "y"])
    assert numbered_decisions(rows, ["x", "y"]) == [row["decision"] for row in rows]
    assert (
        numbered_decisions(rows_of({(n, 0): f"robots = {n}" for n in range(3)}), ["x", "y"]) == []
    )
    assert ax.get_title(loc="left") == "3 different decisions, numbered"
    assert not ax.figure.legends
    plt.close("all")


def test_of_many_decisions_those_of_the_most_cells_are_named() -> None:
    often = {(n, m): f"targets = [{n}]" for n in range(12) for m in range(2)}
    rows = rows_of(often | {(20 + n, 0): f"targets = [{20 + n}]" for n in range(5)})
    figure = region_figure(rows, ["x", "y"])
    assert figure is not None
    texts = [each.get_text() for each in figure.legends[0].get_texts()]
    assert texts == [f"{n + 1}: targets = [{n}]" for n in range(12)] + ["and 5 more"]


def test_there_is_no_map_of_one_entry_or_one_decision() -> None:
    rows = rows_of({(0, 0): "robots = 1", (1, 0): "robots = 2"})
    assert region_figure(rows, ["x"]) is None
    assert region_figure(rows_of({(0, 0): "robots = 1", (1, 0): "robots = 1"}), ["x", "y"]) is None
    with pytest.raises(ValueError, match="nothing was decided"):
        plot_regions(rows_of({(0, 0): None}), ["x", "y"])


def test_further_entries_are_fixed_at_their_first_values() -> None:
    rows = [
        {"x": x, "y": 0, "z": z, "decision": f"robots = {x + 5 * z}"}
        for z in (1, 2)
        for x in (0, 1)
    ]
    figure = region_figure(rows, ["x", "y", "z"])
    assert figure is not None
    assert [each.get_text() for each in figure.axes[0].texts] == ["5", "6"]
    assert figure.get_suptitle() == "z: 1"


def test_the_report_of_a_sweep_has_the_best_numbers(tmp_path: Path, crawlsim: Any) -> None:
    # The decisions against `optimize` for each cell by itself.
    varied = {"costs.starvation": (0.5, 4.0), "robots.access_time.exponential.rate": (0.2, 0.4)}
    options = [f"--vary={key}={','.join(map(str, values))}" for key, values in varied.items()]
    short = ["--set", "run.horizon=300.0", "--set", "run.warmup=10.0", "--replications", "2"]
    decided = ["--set", "activation.optimal=static", "--set", "costs.loss=1.0"]
    given = ["sweep", "talim-static-k5", *decided, *options, *short, "--engine", "simpy"]
    code, _, error = crawlsim(*given, "--out", str(tmp_path / "out"))
    assert code == 0, error
    with (tmp_path / "out" / "sweep.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    base = load("talim-static-k5").with_("costs.loss", 1.0)
    best = set()
    for values in product(*varied.values()):
        changes = dict(zip(varied, values, strict=True))
        best.add(
            (
                *map(str, values),
                f"robots = {optimize(base.with_(changes), 'static').search.optimum}",
            )
        )
    assert {(*(row[key] for key in varied), row["decision"]) for row in rows} == best
    assert len({decision for _, _, decision in best}) > 1
    report = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert f"The best decision over {' and '.join(varied)}" in report
