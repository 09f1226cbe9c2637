"""The script behind the coverages of docs/measures.md."""

from __future__ import annotations

from experiments.quantile_coverage import SHARES, coverage
from scenarios import load


def test_most_intervals_hold_the_exact_quantile() -> None:
    """Of 20 intervals of 95 % at least 15: fewer has probability 3e-4."""
    rows = list(coverage(load("one-robot"), 5, 3000.0, 20))
    assert [row.share for row in rows] == list(SHARES)
    for row in rows:
        assert 15 <= row.held <= row.defined <= 20


def test_few_pages_have_no_interval_of_a_high_quantile() -> None:
    """Of some 40 pages the 99 % quantile is not bounded from above."""
    median, _, high = coverage(load("one-robot"), 2, 25.0, 4)
    assert (median.defined, high.defined) != (0, 4)
    assert high.defined == 0
