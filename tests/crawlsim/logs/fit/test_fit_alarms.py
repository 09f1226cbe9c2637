"""False alarms of the tests of Poisson changes: about what they state, and not less power.

experiments/fit_coverage.py --alarms has thousands of traces of many kinds. Here a share of 0.001 of
n tests is allowed to come out so large as happens by chance with probability 0.0005.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import special, stats

from crawlsim.logs.fit.page_changes import gap_variation, history_of
from crawlsim.logs.fit.poisson_tests import dispersion, moments_of_pairs, time_rescaling
from experiments import fit_coverage

pytestmark = pytest.mark.statistical


def most_by_chance(tests: int, level: float = 1e-3) -> int:
    return int(stats.binom.isf(5e-4, tests, level))


@pytest.mark.parametrize(("events", "windows"), [(2, 2), (3, 3), (5, 3), (6, 2), (4, 5)])
def test_moments_of_pairs_by_enumeration(events: int, windows: int) -> None:
    places = np.array(list(itertools.product(range(windows), repeat=events)))
    counts = (places[:, :, None] == np.arange(windows)).sum(axis=1)
    pairs = (counts * (counts - 1) / 2).sum(axis=1)
    centred = pairs - pairs.mean()
    wanted = (pairs.mean(), (centred**2).mean(), (centred**3).mean())
    assert moments_of_pairs(events, windows) == pytest.approx(wanted, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("times", [[0.5, 1.5], [0.25, 0.5]], ids=["apart", "together"])
def test_two_events_in_two_windows_say_nothing(times: list[float]) -> None:
    """Apart or together, either is as likely: no law has their third moment, which is 0."""
    assert dispersion(np.array(times), (0.0, 2.0), 1.0).p_value == 1.0


@pytest.mark.parametrize(("events", "windows"), [(32, 20), (60, 52), (300, 52), (400, 3000)])
def test_dispersion_of_poisson_counts(events: int, windows: int) -> None:
    """Given their number, events are uniform; at 0.05 counts are too coarse for all of it.

    Events that come in twos are seen more often than not, with 32 events in a fifth of the cases.
    """
    rng = np.random.default_rng(events)
    found = [
        dispersion(rng.uniform(0.0, windows, events), (0.0, windows), 1.0) for _ in range(3000)
    ]
    values = np.array([each.p_value for each in found])
    assert (values < 1e-3).sum() <= most_by_chance(3000)
    assert 0.02 <= (values < 0.05).mean() <= 0.065
    pairs = [dispersion(np.repeat(rng.uniform(0.0, windows, events // 2), 2), (0, windows), 1.0)
             for _ in range(100)]  # fmt: skip
    assert np.mean([each.p_value < 1e-3 for each in pairs]) > (0.2 if events < 50 else 0.5)


def test_rare_pairs_have_no_chi_square_law() -> None:
    """What was there before: 40 events in 400 windows give alarm ten times too often or more."""
    rng = np.random.default_rng(61)
    found = [dispersion(rng.uniform(0.0, 400.0, 40), (0.0, 400.0), 1.0) for _ in range(4000)]
    assert sum(each.p_value < 1e-3 for each in found) <= most_by_chance(4000)
    before = special.chdtrc(399, [399 * each.index for each in found])
    assert (2 * before < 1e-3).sum() > most_by_chance(4000)


@pytest.mark.parametrize("number", [25, 100, 1000])
def test_rescaled_gaps_of_poisson_changes(number: int) -> None:
    """The p-value of a law that were known beforehand rejects a tenth as often as it says."""
    rng = np.random.default_rng(number)
    found = [time_rescaling(np.cumsum(rng.exponential(1.0, number))) for _ in range(3000)]
    values = np.array([each.p_value for each in found])
    assert (values < 1e-3).sum() <= most_by_chance(3000)
    assert 0.035 <= (values < 0.05).mean() <= 0.065
    assert 0.17 <= (values < 0.2).mean() <= 0.23
    root = np.sqrt(number)
    before = special.kolmogorov([(root + 0.12 + 0.11 / root) * each.distance for each in found])
    assert (before < 0.05).mean() < 0.015


def test_regular_gaps_are_rejected() -> None:
    rng = np.random.default_rng(62)
    found = [time_rescaling(np.cumsum(rng.gamma(2.0, 0.5, 100))) for _ in range(200)]
    assert np.mean([each.p_value < 1e-3 for each in found]) > 0.5
    assert np.mean([each.coefficient_of_variation for each in found]) == pytest.approx(
        np.sqrt(0.5), abs=0.02
    )


@pytest.mark.parametrize("changes", [10, 40])
def test_variation_of_gaps_is_one_if_poisson(changes: int) -> None:
    """Without the factor the squares are 0.82 and 0.95 on average; the error here is 0.01."""
    rng = np.random.default_rng(63)
    pages = 4000
    time = np.hstack([np.zeros((pages, 1)), np.sort(rng.random((pages, changes)), axis=1)])
    page = np.repeat(np.arange(pages, dtype=np.int32), changes + 1)
    found = gap_variation(history_of(page, time.ravel(), pages, (None, 1.0)))
    assert len(found) == pages
    assert (found**2).mean() == pytest.approx(1.0, abs=0.03)


@pytest.mark.by_day(besides=("20 pages, 10 each in a year",))
@pytest.mark.parametrize("case", ["20 pages, 10 each in a year", "source, 100 updates in a year"])
def test_verdicts_on_poisson_changes(case: str) -> None:
    """As `crawlsim fit` does it: up to five tests at 0.001 each."""
    assert fit_coverage.alarms(case, 400).verdict <= most_by_chance(400, 5e-3) / 400
