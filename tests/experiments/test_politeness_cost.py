"""The experiment on politeness in docs/: that it runs, and that the page has its numbers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from experiments import politeness_cost

ROOT = Path(__file__).parents[2]


def documented(law: str, policy: str) -> list[float]:
    """The ratios of one row of the table in docs/accessing.md."""
    page = (ROOT / "docs/accessing.md").read_text().partition(f"{law} access times:")[2]
    row = next(line for line in page.splitlines() if line.startswith(f"| {policy} |"))
    return [float(cell.split("±")[0]) for cell in row.split("|")[2:-1]]


@pytest.mark.statistical
def test_prices_pay_and_no_policy_beats_the_bound() -> None:
    """At a spacing of 20; a shorter run than the page has, 3 % near its numbers."""
    for law in ("constant", "exponential"):
        ratios = {}
        for policy in ("whittle", "whittle, blind", "deadline"):
            cost = politeness_cost.cost(politeness_cost.system(law, policy, 20.0, 8000.0))
            ratios[policy] = cost.estimate / cost.bound
            written = documented(law.capitalize(), policy)[politeness_cost.SPACINGS.index(20.0)]
            assert ratios[policy] == pytest.approx(written, abs=0.03)
            assert cost.estimate + 2 * cost.half > cost.bound
        assert ratios["whittle"] < ratios["whittle, blind"] - 0.04


@pytest.mark.thorough
def test_the_bounds_of_the_page_are_those_of_the_formula() -> None:
    page = (ROOT / "docs/accessing.md").read_text()
    (row, _) = re.findall(r"^\| bound \|(.*)\|$", page, re.MULTILINE)
    for spacing, cell in zip(politeness_cost.SPACINGS, row.split("|"), strict=True):
        scenario = politeness_cost.system("constant", "deadline", spacing, 1000.0)
        assert f"{politeness_cost.bound_of(scenario):.4g}" == cell.strip()
