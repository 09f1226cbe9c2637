"""The script behind the coverages of docs/courses.md."""

from __future__ import annotations

import pytest

from experiments.course_coverage import OUTAGE, coverage
from scenarios import load


@pytest.mark.thorough
def test_most_bands_hold_the_whole_course_and_few_rows_of_intervals_do() -> None:
    """Of 20 bands of 95 % at least 15: fewer has probability 3e-4."""
    scenario = load("one-robot").with_(OUTAGE)
    for row in coverage(scenario, 40, 20):
        assert row.band >= 0.75
        assert row.intervals_everywhere < row.band
        assert row.interval > 0.9
        assert 1.0 < row.width < 2.0
