"""Intervals of crawl logs by exact sums over the binomial law: nothing is simulated.

The grid is rate × gap from 0.02 to 3 and 10 to 50 gaps. Likelihood ratio and Jeffreys, not used
here, cover 0.85 at 0.04 and 0.893 at 3 with 50 gaps; the planted interval shows that this is
caught.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

from crawlsim.logs.fit.crawl_logs import equal_gap_interval, likely_intervals, likely_rates
from crawlsim.logs.fit.intervals import shares_by_mid_p
from experiments.fit_coverage import gaps_of

GRID = np.geomspace(0.02, 3.0, 241)
ENOUGH = 5.0
"""Expected changes, and gaps without one, from which on the law is fine enough for 93-97 %."""


def of_log(changes: Any, crawls: int, gap: float) -> tuple[Any, Any]:
    """The intervals of `change_rate`: one page for each possible number of changes."""
    pages = len(changes)
    changed = np.arange(1, crawls + 2) <= 1 + np.asarray(changes)[:, None]
    page = np.repeat(np.arange(pages, dtype=np.int32), crawls + 1)
    time = np.tile(gap * np.arange(crawls + 1.0), pages)
    changed[:, 0] = False
    log = gaps_of(page, time, changed.ravel(), pages)
    found = likely_rates(log)
    assert found.changes.tolist() == list(changes)
    return likely_intervals(log, found)[:2]


def coverage(interval: Callable[..., Any], crawls: int) -> np.ndarray:
    changes = np.arange(crawls + 1)
    low, high = (np.asarray(end)[:, None] for end in interval(changes, crawls, 1.0))
    weights = stats.binom.pmf(changes[:, None], crawls, -np.expm1(-GRID))
    covered: np.ndarray = (weights * ((low <= GRID) & (high >= GRID))).sum(axis=0)
    return covered


@pytest.mark.parametrize("interval", [of_log, equal_gap_interval])
@pytest.mark.parametrize("crawls", [10, 20, 30, 40, 50])
def test_intervals_cover_what_they_say(interval: Callable[..., Any], crawls: int) -> None:
    """Never below 92.4 %; where the law is fine enough, 95 % on average and hardly above 97 %."""
    found = coverage(interval, crawls)
    assert found.min() >= 0.924
    share = -np.expm1(-GRID)
    fine = crawls * np.minimum(share, 1 - share) >= ENOUGH
    if crawls >= 20:
        assert found[fine].mean() == pytest.approx(0.95, abs=0.012)
        assert ((found[fine] >= 0.93) & (found[fine] <= 0.97)).mean() > 0.9


def test_what_the_finding_was() -> None:
    """Jeffreys' interval of the share fails the same test."""

    def jeffreys(changes: Any, crawls: int, gap: float) -> tuple[Any, Any]:
        ends = (changes + 0.5, crawls - changes + 0.5)
        low = np.where(changes > 0, special.betaincinv(*ends, 0.025), 0.0)
        high = np.where(changes < crawls, special.betaincinv(*ends, 0.975), 1.0)
        with np.errstate(divide="ignore"):
            return -np.log1p(-low) / gap, -np.log1p(-high) / gap

    assert coverage(jeffreys, 50).min() < 0.90
    assert coverage(equal_gap_interval, 50)[-1] > 0.93


def test_the_ends_have_their_mid_p() -> None:
    low, high = shares_by_mid_p([3, 0, 8], [8, 8, 8])
    for share, level in ((low[0], 0.025), (high[0], 0.975)):
        law = stats.binom(8, share)
        assert law.sf(3) + 0.5 * law.pmf(3) == pytest.approx(level)
    assert (low[1], high[2]) == (0.0, 1.0)
    assert (1 - high[1]) ** 8 == pytest.approx(0.05)
    assert low[2] ** 8 == pytest.approx(0.05)


@pytest.mark.statistical
@pytest.mark.parametrize("rate", [0.04, 0.3, 1.0])
def test_irregular_gaps(rate: float) -> None:
    """Exponential gaps, 50 of them, 4000 pages: the error is 0.0034, three of them are allowed."""
    rng = np.random.default_rng(int(100 * rate))
    gaps = rng.exponential(1.0, (4000, 50))
    changed = rng.random(gaps.shape) < -np.expm1(-rate * gaps)
    changed = np.hstack([np.zeros((4000, 1), bool), changed])
    time = np.hstack([np.zeros((4000, 1)), np.cumsum(gaps, axis=1)])
    page = np.repeat(np.arange(4000, dtype=np.int32), 51)
    log = gaps_of(page, time.ravel(), changed.ravel(), 4000)
    found = likely_intervals(log, likely_rates(log))
    share = ((found.low <= rate) & (rate <= found.high)).mean()
    assert 0.92 <= share <= 0.98
