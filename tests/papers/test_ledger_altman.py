"""The ledger of altman2000: that its numbers could fail."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from analytic.routing import losses
from papers import altman2000
from papers.computed import verified


def wrong_rows() -> set[str]:
    return {row.item for row, outcome in verified("altman2000") if outcome is False}


@pytest.mark.thorough
def test_an_error_in_the_losses_of_a_map_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert wrong_rows() == set()
    right = losses.map_loss

    def wrong(D0: Any, D1: Any, rate: float, distance: Any) -> Any:
        return right(D0, D1, rate * 1.000001, distance)

    monkeypatch.setattr(altman2000, "map_loss", wrong)
    of_a_map = {"Lemma 5.2", "section 5.2, cost under a MAP", "section 5.2, transform"}
    of_a_map |= {"section 6, dependent accesses"}
    assert wrong_rows() == {"Example 2.1", *of_a_map}


def test_tables_are_of_both_kinds() -> None:
    """Of Theorem 4.1, so that neither way of it is void."""
    tables = list(altman2000._random_tables())
    multimodular = sum(map(altman2000._is_multimodular, tables))
    assert 50 < multimodular < len(tables) - 50
    assert sum(map(altman2000._is_convex, tables)) == multimodular


def test_the_best_period_is_drawn(crawlsim: Any, tmp_path: Path) -> None:
    file = tmp_path / "figure.svg"
    code, out, _ = crawlsim("reproduce", "altman2000", "Figure 1", "--figure", str(file))
    assert code == 0
    assert "4.85329983" in out
    assert "best period" in file.read_text()
