"""The comparison of policies in docs/: that it runs, and that its table fits together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from experiments import policy_comparison

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def random_weights() -> dict[str, dict[str, Any]]:
    return {row["policy"]: row for row in policy_comparison.table("random")}


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


def test_the_figure_is_drawn(tmp_path: Path) -> None:
    names = list(policy_comparison.POLICIES)
    rows = [{"policy": name, "load 1": 1.0 + place} for place, name in enumerate(names)]
    ax = policy_comparison.draw({"equal": rows})
    (line,) = ax.lines
    assert line.get_xdata()[:3] == pytest.approx([0, 100, 200])
    ax.figure.savefig(tmp_path / "policies.png")
    assert (tmp_path / "policies.png").stat().st_size > 5000


@pytest.mark.nightly
def test_the_index_is_on_average_at_most_0_6_per_cent_above_the_bound() -> None:
    """The whole family, and that the page of the documents has these numbers."""
    rows = policy_comparison.index_table()
    assert 0 < rows[-1]["mean"] <= 0.6
    page = (ROOT / "docs/accessing.md").read_text()
    for line in policy_comparison.markdown("", rows).splitlines()[2:]:
        assert line in page


def test_a_worse_index_has_a_larger_excess(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same with exponents three times as large: the excess does measure the policy."""
    few = list(policy_comparison.family(20, 1))
    right = sum(policy_comparison.index_excess(*case) for case in few)
    exponents = policy_comparison.log_transform
    monkeypatch.setattr(
        policy_comparison, "log_transform", lambda law, rates: 3.0 * exponents(law, rates)
    )
    wrong = sum(policy_comparison.index_excess(*case) for case in few)
    assert wrong > 1.5 * right
