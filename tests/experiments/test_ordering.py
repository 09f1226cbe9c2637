"""The ordering theorems of coffman1998 as docs/ has them: by formula and in pairs of runs."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytic.page_refresh import interaccess_obsolescence
from experiments import ordering_experiments
from scenarios.laws import Exponential, Gamma

ROOT = Path(__file__).parents[2]
FURTHEST = 4.4
"""Standard errors with 39 degrees of freedom that 17 rows pass with probability 1.5e-3."""


@pytest.fixture(scope="module")
def larger() -> list[Any]:
    return list(ordering_experiments.larger_times())


@pytest.mark.by_day(besides=("convex_order",))
@pytest.mark.statistical
@pytest.mark.parametrize("experiment", ["convex_order", "spread_distances"])
def test_the_theorems_hold_by_formula_and_in_pairs_of_runs(experiment: str) -> None:
    """Differences of 0.003 are told from 0, with 40 pairs of runs."""
    for row in getattr(ordering_experiments, experiment)():
        assert row.second > row.first, row.what
        assert abs(row.z) < FURTHEST, row.what
        assert row.difference > 0, row.what
        assert row.is_seen or row.second - row.first < 0.005, row.what


@pytest.mark.nightly
@pytest.mark.statistical
def test_the_printed_theorem_3_1_is_refuted_by_the_same_comparison(larger: list[Any]) -> None:
    """X + 1 is larger than X, and fresher: 0.6782 against 0.9602. Twice X is not."""
    for row in larger:
        assert abs(row.z) < FURTHEST, row.what
        assert row.is_seen, row.what
    signs = [np.sign(row.difference) for row in larger]
    assert signs == [-1, -1, -1, 1]
    one = larger[1]
    assert (round(one.first, 4), round(one.second, 4)) == (0.9602, 0.6782)


def test_the_time_out_of_date_between_two_visits_does_grow() -> None:
    """What the proof of Theorem 3.1 shows: E Z is monotone; r divides it by the mean time."""
    mean = 1.01
    share = ordering_experiments.shifted_share
    assert share(1.0) < share(0.0)
    assert share(1.0) * (mean + 1.0) > share(0.0) * mean


@pytest.mark.thorough
@pytest.mark.statistical
def test_a_planted_error_is_seen() -> None:
    """Exponential times of mean 1.03 in the place of those of mean 1: means differ by 3 %."""
    exact = [
        ordering_experiments.exact_share(law, (0,))
        for _, law, _ in ordering_experiments.ORDERED[2:4]
    ]
    uniform = ordering_experiments.ORDERED[2][2]
    for mean, seen in ((1.0, False), (1.03, True)):
        runs = [
            ordering_experiments.run_of(quantile, (0,), 40_000)
            for quantile in (uniform, lambda u, mean=mean: -mean * np.log1p(-u))
        ]
        row = ordering_experiments.Row("", *exact, *ordering_experiments.paired(*runs, 7))
        assert (abs(row.z) > FURTHEST) == seen


def test_the_distances_are_ordered_and_so_are_the_laws() -> None:
    """Each majorises the one before; the integrals of the tails over each end are ordered."""
    for even, uneven in pairwise(ordering_experiments.DISTANCES):
        assert ordering_experiments.majorises(uneven, even)
        assert not ordering_experiments.majorises(even, uneven)
    assert not ordering_experiments.majorises((5, 5, 5, 2), (4, 4, 4, 4))
    grid = (np.arange(20_000) + 0.5) / 20_000
    for (_, _, one), (_, _, other) in pairwise(ordering_experiments.ORDERED):
        tails = [np.cumsum(quantile(grid)[::-1]) / len(grid) for quantile in (one, other)]
        assert np.all(tails[1] >= tails[0] - 1e-3)
        assert tails[1][-1] == pytest.approx(tails[0][-1], abs=1e-3)


@given(
    st.lists(st.integers(1, 30), min_size=2, max_size=6),
    st.data(),
    st.floats(1e-3, 5.0),
    st.sampled_from([Exponential(mean=1.0), Gamma(shape=0.3, mean=1.0)]),
)
def test_moving_slots_from_a_short_to_a_long_distance_makes_copies_older(
    distances: list[int], data: st.DataObject, rate: float, law: Any
) -> None:
    """Theorem 3.2: one slot moved is the smallest step of majorisation."""
    short = int(np.argmin(distances))
    long = data.draw(st.sampled_from([i for i in range(len(distances)) if i != short]))
    moved = np.array(distances)
    moved[[short, long]] += [-1, 1]
    before, after = (
        interaccess_obsolescence(rate, each, law).sum() for each in (np.array(distances), moved)
    )
    assert after >= before * (1 - 1e-12)


@pytest.mark.nightly
def test_the_page_of_the_documents_has_these_numbers(larger: list[Any]) -> None:
    """As the script prints them."""
    page = (ROOT / "docs/accessing.md").read_text()
    for rows in (
        ordering_experiments.convex_order(),
        larger,
        ordering_experiments.spread_distances(),
    ):
        for line in ordering_experiments.markdown("", rows).splitlines()[2:]:
            assert line in page
