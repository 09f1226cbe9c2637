"""docs/errata.md says what the ledger of the papers says."""

from __future__ import annotations

from experiments.make_errata import ERRATA, text
from papers.rows import TITLES, rows_of


def test_the_errata_are_those_of_the_ledger() -> None:
    """After a change: python -m experiments.make_errata."""
    page = ERRATA.read_text(encoding="utf-8")
    assert page == text()
    wrong = [
        row
        for paper in TITLES
        for row in rows_of(paper).values()
        if row.status in ("corrected", "refuted")
    ]
    assert len(wrong) > 80
    for row in wrong:
        assert row.item.replace("*", "\\*") in page, row.item
