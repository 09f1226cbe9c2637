"""The figures of docs/how-to/scheduling.md come from the same plans, read in two ways."""

from __future__ import annotations

from dataclasses import replace

import pytest

from experiments.change_histories import STEADY, made_up
from experiments.schedule_claims import DAY, paid_and_true


@pytest.mark.thorough
def test_a_log_says_the_same_read_as_visits_and_as_changes() -> None:
    """The plans of both are the same; only what is replayed differs."""
    site = replace(STEADY, pages=60, years=4.0)
    from_visits, from_changes = paid_and_true(made_up(site, 2), 30 * DAY)
    assert len(from_visits) == len(from_changes) >= 2
    for one, other in zip(from_visits, from_changes, strict=True):
        assert one.pages == other.pages
        assert one.promised == pytest.approx(other.promised, abs=1e-6)
        assert one.paid != other.paid
        assert one.paid == pytest.approx(other.paid, abs=0.15)
