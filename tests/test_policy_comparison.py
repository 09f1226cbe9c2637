"""The comparison of policies in docs/: that it runs, and that its table fits together."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def comparison() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "docs/policy_comparison.py"))


@pytest.fixture(scope="module")
def random_weights(comparison: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["policy"]: row for row in comparison["table"]("random")}


@pytest.mark.nightly
def test_no_policy_beats_the_bound_and_the_index_is_nearest(
    random_weights: dict[str, dict[str, Any]],
) -> None:
    for row in random_weights.values():
        assert all(ratio > 1 for ratio in row.values() if isinstance(ratio, float))
    for load in ("load 0.1", "load 1"):
        index = random_weights["whittle"][load]
        assert index < 1.006
        assert index == min(row[load] for row in random_weights.values())
        assert random_weights["randomized"][load] > 1.3


@pytest.mark.nightly
def test_the_page_of_the_documents_has_these_numbers(
    random_weights: dict[str, dict[str, Any]],
) -> None:
    page = (ROOT / "docs/accessing.md").read_text()
    for name, row in random_weights.items():
        line = next(line for line in page.splitlines() if line.startswith(f"| {name}"))
        printed = [float(cell) for cell in line.split("|")[2:-1]]
        assert printed == [round(row[key], 4) for key in list(row)[1:]], name


def test_the_figure_is_drawn(comparison: dict[str, Any], tmp_path: Path) -> None:
    names = list(comparison["POLICIES"])
    rows = [{"policy": name, "load 1": 1.0 + place} for place, name in enumerate(names)]
    ax = comparison["draw"]({"equal": rows})
    (line,) = ax.lines
    assert line.get_xdata()[:3] == pytest.approx([0, 100, 200])
    ax.figure.savefig(tmp_path / "policies.png")
    assert (tmp_path / "policies.png").stat().st_size > 5000


@pytest.mark.nightly
def test_the_index_is_on_average_at_most_0_6_per_cent_above_the_bound(
    comparison: dict[str, Any],
) -> None:
    """The whole family, and that the page of the documents has these numbers."""
    rows = comparison["index_table"]()
    assert 0 < rows[-1]["mean"] <= 0.6
    page = (ROOT / "docs/accessing.md").read_text()
    for line in comparison["markdown"]("", rows).splitlines()[2:]:
        assert line in page


def test_a_worse_index_has_a_larger_excess(comparison: dict[str, Any]) -> None:
    """The same with exponents three times as large: the excess does measure the policy."""
    few = list(comparison["family"](20, 1))
    right = sum(comparison["index_excess"](*case) for case in few)
    names = comparison["index_excess"].__globals__
    exponents = names["log_transform"]
    names["log_transform"] = lambda law, rates: 3.0 * exponents(law, rates)
    wrong = sum(comparison["index_excess"](*case) for case in few)
    names["log_transform"] = exponents
    assert wrong > 1.5 * right
