"""The tables of docs/routing.md: that they can be made, and fit what the page says."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

import sim
from analytic import compare, overall, predict

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def experiments() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "docs/routing_experiments.py"))


def test_the_breakpoints_are_those_of_the_page(experiments: dict[str, Any]) -> None:
    """The page's digits, and the catalogue's closed form ``1 - sqrt(1 - (n + 2) 2^-(n + 1))``."""
    page = (ROOT / "docs/routing.md").read_text()
    rows = experiments["breakpoints"]()
    printed = re.search(r"\| Poisson \| (.*) \|\n\| constant gaps \| (.*) \|", page)
    assert printed is not None
    poisson, constant = ([float(x) for x in line.split(" | ")] for line in printed.groups())
    for row, first, second in zip(rows, poisson, constant, strict=True):
        y = 1 - (1 - (row["n"] + 2) * 2.0 ** -(row["n"] + 1)) ** 0.5
        assert row["Poisson"] == pytest.approx(1 / y - 1, rel=1e-9)
        assert row["Poisson"] == pytest.approx(first, abs=6e-11, rel=1e-11)
        assert row["constant"] == pytest.approx(second, abs=6e-7)


def test_the_heuristics_are_never_better_than_the_optimum(experiments: dict[str, Any]) -> None:
    rows = experiments["heuristics"](3)
    assert all(row["mean"] <= 0 for row in rows if row[""] == "linear bound")
    assert all(row["mean"] >= -1e-9 for row in rows if row[""] != "linear bound")
    assert "| servers |" in experiments["markdown"](rows)


@pytest.mark.statistical
def test_one_of_the_checks_of_the_page(experiments: dict[str, Any]) -> None:
    """The printed equality of both disciplines is refuted for Erlang services."""
    both = [experiments["system"]("mmpp", 3, "erlang", d) for d in experiments["DISCIPLINES"]]
    run = {"run.horizon": 40000.0}
    claimed, found = predict(both[0])[0], sim.run(both[1].with_(run))
    assert overall(compare(predict(both[1])[0], found, both[1].judged)) == "agrees"
    assert overall(compare(claimed, found, both[1].judged)) == "disagrees"
