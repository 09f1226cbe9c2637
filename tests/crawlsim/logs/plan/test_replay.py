"""Plans replayed: stale times against a simulation of visits, cuts, and the verdict."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulated_logs import DAY, YEAR, bursty_site, visit_log

from crawlsim.logs.plan.replay import (
    Changes,
    Trial,
    Window,
    backtest,
    cuts,
    histories_of,
    imputed_changes,
    stale_times,
    verdict_of,
)
from crawlsim.logs.read.gaps import Gaps, gaps_of_changes, gaps_of_visits


@given(seed=st.integers(0, 1000), interval=st.floats(0.05, 3.0))
def test_stale_times_are_means_over_the_phase(seed: int, interval: float) -> None:
    """Against visits counted out: 400 phases, a fine grid of times."""
    rng = np.random.default_rng(seed)
    time = np.sort(rng.uniform(0, 4, rng.integers(1, 9)))
    since, until = 1.5, 3.5
    found = stale_times(
        Changes(np.zeros(len(time), np.int64), time), np.array([1 / interval]), since, until
    )[0]
    at = np.linspace(since, until, 401)[:-1] + (until - since) / 800
    phase = (np.arange(400) + 0.5) / 400 * interval
    last_visit = at - np.mod(at[:, None] - phase, interval).T
    stale = np.searchsorted(time, at, "right") > np.searchsorted(time, last_visit, "right")
    assert found == pytest.approx(stale.mean(), abs=0.01)


def test_imputed_changes_lie_in_the_gaps_that_saw_one() -> None:
    rates = np.array([0.02, 0.5]) / DAY
    gaps = gaps_of_visits(visit_log(rates, np.full((2, 400), 10 * DAY)))
    changes = imputed_changes(gaps, rates, np.random.default_rng(1))
    for page in range(2):
        own = changes.time[changes.page == page]
        starts = gaps.start[gaps.page == page]
        index = np.searchsorted(starts, own, "right") - 1
        assert gaps.changed[gaps.page == page][np.unique(index)].all()
        assert len(np.unique(index)) == gaps.changes[page]
    # As many as a Poisson process has, hidden ones included: 4 standard errors.
    expected = rates * 4000 * DAY
    assert (np.abs(np.bincount(changes.page) - expected) < 4 * np.sqrt(expected)).all()


@pytest.mark.parametrize(("years", "number"), [(0.7, 0), (1.8, 0), (2.0, 1), (5.0, 4), (5.4, 4)])
def test_a_log_of_five_years_has_four_cuts(years: float, number: int) -> None:
    gaps = gaps_of_visits(visit_log(np.array([0.01 / DAY]), np.full((1, 100), years * YEAR / 100)))
    found = cuts(gaps)
    assert len(found) == number
    assert found == sorted(found)
    assert all(
        gaps.end - cut == pytest.approx(round((gaps.end - cut) / YEAR) * YEAR) for cut in found
    )


def test_years_without_a_visit_are_not_replayed() -> None:
    """One visit is dated 9999."""
    gaps = gaps_of_visits(visit_log(np.full(3, 0.01) / DAY, np.full((3, 50), 30 * DAY)))
    length = gaps.length.copy()
    length[-1] = 8000 * YEAR
    wrong = replace(gaps, length=length, end=float(gaps.start[-1] + length[-1]))
    tried = []

    def plan(known: Gaps, pages: np.ndarray) -> Trial:
        tried.append(known.end)
        return Trial(pages, np.ones(3), np.ones(3), np.ones(3), 0.0)

    histories = histories_of(wrong, np.full(3, 0.01) / DAY)
    assert len(backtest(wrong, histories, plan)) == len(tried) == 5


def test_before_a_second_visit_there_is_nothing_to_plan_from() -> None:
    """Each page is seen once, and after two years every ten days."""
    steps = np.full((3, 44), 10 * DAY)
    steps[:, 0] = 2 * YEAR
    gaps = gaps_of_visits(visit_log(np.full(3, 0.01) / DAY, steps))
    assert len(cuts(gaps)) == 2
    tried = []

    def plan(known: Gaps, pages: np.ndarray) -> Trial:
        tried.append((known.end, pages.tolist(), len(known.page)))
        return Trial(pages, np.ones(3), np.ones(3), np.ones(3), 0.0)

    (window,) = backtest(gaps, histories_of(gaps, np.full(3, 0.01) / DAY), plan)
    (known,) = tried
    assert known[:2] == (gaps.end - YEAR, [0, 1, 2])
    assert known[2] > 0
    assert (window.cut, window.pages) == (gaps.end - YEAR, 3)


def test_what_was_known_at_a_cut_is_what_an_earlier_log_holds() -> None:
    log = bursty_site(80, 6.0, 4)
    cut = float(log.time.max()) - 2 * YEAR
    gaps = gaps_of_changes(log, 20 * DAY)
    known = gaps.before(cut)
    earlier = gaps_of_changes(log, 20 * DAY, cut)
    seen = earlier.visits > 1
    assert (known.visits[~seen] <= 1).all()
    np.testing.assert_array_equal(known.changes[seen], earlier.changes[seen])
    for gap in (known, earlier):
        assert (gap.start + gap.length <= cut + 1).all()


@pytest.mark.parametrize(
    ("paid", "verdict"),
    [
        ([0.1, 0.12, 0.09], "pays"),
        ([0.04, 0.05, 0.041, 0.045], "pays"),
        ([0.02, 0.021, 0.019], "unknown"),
        ([0.3, -0.05, 0.2, 0.01], "pays"),
        ([0.3, -0.2, 0.2, -0.1], "unknown"),
        ([0.1, 0.12], "unknown"),
        ([-0.1, -0.12, -0.11], "does not pay"),
        ([None, None, 0.2], "unknown"),
        ([], "unknown"),
    ],
)
def test_the_verdict(paid: list[float | None], verdict: str) -> None:
    windows = [Window(float(cut), 10, 0.1, each) for cut, each in enumerate(paid)]
    assert verdict_of(windows) == verdict


def test_a_plan_of_the_past_sees_only_the_past() -> None:
    gaps = gaps_of_visits(visit_log(np.full(5, 0.01) / DAY, np.full((5, 120), 20 * DAY)))
    seen = []

    def tried(known: Gaps, pages: np.ndarray) -> Trial:
        seen.append((float((known.start + known.length).max()), known.end))
        visits = np.full(len(pages), 1 / DAY)
        return Trial(pages, 2 * visits, visits, np.ones(len(pages)), 0.1)

    windows = backtest(gaps, histories_of(gaps, np.full(5, 0.01 / DAY)), tried)
    assert len(windows) == len(cuts(gaps)) == 5
    for window, (last, end) in zip(windows, seen, strict=True):
        assert last <= window.cut == end
        # Twice the visits leave half of the time stale.
        assert window.paid == pytest.approx(0.5, abs=0.05)
