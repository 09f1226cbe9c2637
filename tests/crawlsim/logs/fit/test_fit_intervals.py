"""Intervals of skewed means, of gaps that depend on one another, and of few events.

Simulated traces are those of experiments/fit_coverage.py, which has all cases and sizes. Here are
500 of some: a coverage of 0.945 then falls outside of 0.91-0.985 with probability 0.001; intervals
half as wide cover about 0.67 and are caught always.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable

import numpy as np
import pytest
from scipy import special, stats

from crawlsim.logs.fit.batches import batches_of
from crawlsim.logs.fit.deliveries import (
    FEWEST_GAPS,
    batch_parameters,
    fit_deliveries,
    gap_parameters,
)
from crawlsim.logs.fit.intervals import Parameter, jackknife, rates_of_counts, skewed_mean
from crawlsim.logs.fit.order_two import fit_modulated, gap_moments
from crawlsim.logs.fit.sizes import FEWEST, fit_sizes, mean_of
from experiments import fit_coverage

TRACES = 500
LOW = 0.91
HIGH = 0.985


def ends(fits: Iterable[Iterable[Parameter]], name: str, narrowed: float = 1.0) -> np.ndarray:
    """Ends of the intervals of one parameter, shape (traces, 2), drawn together by a factor."""
    found = [p for each in fits for p in each if (p.name, p.subject) == (name, None)]
    assert len(found) == TRACES
    return np.array(
        [[p.estimate + narrowed * (end - p.estimate) for end in (p.low, p.high)] for p in found]
    )


def held(bounds: np.ndarray, true: float) -> float:
    return float(((bounds[:, 0] <= true) & (true <= bounds[:, 1])).mean())


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("process", "gaps"),
    [("MMPP, phases of 10 and 20 gaps", 1000), ("MAP, c² = 2, lag 0.12", 2000)],
)
def test_gaps_that_depend_on_one_another(process: str, gaps: int) -> None:
    made = fit_coverage.PROCESSES[process]
    mean, variation, _, lag = gap_moments(made)
    traces = fit_coverage.markovian_gaps(np.random.default_rng(31), made, TRACES, gaps)
    fits = [gap_parameters(each) for each in traces]
    truth = {
        "mean_gap": mean,
        "squared_coefficient_of_variation_of_gaps": variation,
        "lag_correlation": lag,
    }
    for name, true in truth.items():
        assert LOW <= held(ends(fits, name), true) <= HIGH, name
        assert held(ends(fits, name, narrowed=0.5), true) < 0.8, name


@pytest.mark.statistical
def test_lag_correlation_of_independent_gaps_with_large_ones() -> None:
    """The plain jackknife, which was there before, covers 0.88: large gaps seldom come in pairs."""
    rng = np.random.default_rng(32)
    traces = fit_coverage.hyperexponential(rng, (TRACES, 1000), 0.1, 10.0)
    fits = [gap_parameters(gaps) for gaps in traces]
    assert held(ends(fits, "lag_correlation"), 0.0) >= 0.94

    def plain(gaps: np.ndarray) -> tuple[float, ...]:
        now = gaps[:-1]
        then = gaps[1:]
        return jackknife(
            (now, then, now**2, now * then),
            lambda m: float((m[3] - m[0] * m[1]) / (m[2] - m[0] ** 2)),
            40,
        )[1:3]

    assert held(np.array([plain(gaps) for gaps in traces]), 0.0) < 0.91


@pytest.mark.statistical
def test_means_of_skewed_sizes() -> None:
    """The content sizes of the paper, c² = 84: Student's interval covers 0.83."""
    rng = np.random.default_rng(33)
    samples = fit_coverage.hyperexponential(rng, (TRACES, 1000), 0.005753, 167.58)
    found = [[mean_of(values)] for values in samples]
    assert 0.92 <= held(ends(found, "mean"), 1.0) <= 0.98
    reach = stats.t.ppf(0.975, 999) * samples.std(axis=1, ddof=1) / np.sqrt(1000)
    middle = samples.mean(axis=1)
    assert held(np.stack([middle - reach, middle + reach], axis=1), 1.0) < 0.88


def test_a_symmetric_mean_has_students_interval() -> None:
    values = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    found = skewed_mean(values)
    assert found.value == 3.0
    error = np.sqrt(2.5 / 5)
    assert (found.low, found.high) == pytest.approx(stats.t.interval(0.95, 4, 3.0, error))
    tilted = skewed_mean(np.array([1.0, 1.0, 1.0, 2.0, 10.0]))
    assert tilted.high - tilted.value > 1.5 * (tilted.value - tilted.low)


@pytest.mark.statistical
def test_mean_sizes_of_few_batches() -> None:
    rng = np.random.default_rng(34)
    fits = [batch_parameters(rng.geometric(0.2, FEWEST)) for _ in range(TRACES)]
    assert LOW <= held(ends(fits, "mean_batch_size"), 5.0) <= HIGH
    assert held(ends(fits, "mean_batch_size", narrowed=0.5), 5.0) < 0.8


def test_too_few_have_no_interval_and_say_why() -> None:
    rng = np.random.default_rng(35)
    gaps = rng.exponential(1.0, FEWEST_GAPS)
    assert all(np.isnan(p.low) and np.isnan(p.high) for p in gap_parameters(gaps[:-1]))
    assert all(p.low < p.estimate < p.high for p in gap_parameters(gaps))
    few, enough = ([p.estimate for p in gap_parameters(each)] for each in (gaps[:-1], gaps))
    assert few == pytest.approx(enough, rel=0.2, abs=0.02)
    assert np.isnan(mean_of(gaps[: FEWEST - 1]).low)
    assert mean_of(gaps[:FEWEST]).low > 0
    assert any("no interval of its own" in note for note in fit_sizes(gaps[: FEWEST - 1]).notes())
    assert len(fit_sizes(gaps[:FEWEST]).notes()) == 1
    times = np.repeat(np.cumsum(gaps[:100]), 2)
    text = " ".join(fit_deliveries(batches_of(times, 0.0)).notes)
    assert "have no intervals: fewer than 1000 gaps" in text
    assert "the mean batch size has no interval: fewer than 200 batches" in text
    sizes = np.where(np.arange(100) < 50, 1, 2)
    (mean,) = (p for p in batch_parameters(sizes) if p.name == "mean_batch_size")
    assert (mean.estimate, np.isnan(mean.low)) == (1.5, True)


def poisson_coverage(low: np.ndarray, high: np.ndarray, means: np.ndarray) -> np.ndarray:
    weights = stats.poisson.pmf(np.arange(len(low))[:, None], means)
    inside = (low[:, None] <= means) & (means <= high[:, None])
    covered: np.ndarray = (weights * inside).sum(axis=0)
    return covered


def test_rates_of_few_events_by_exact_sums() -> None:
    """Jeffreys' interval, which was there before, covers as little as 0.898."""
    counts = np.arange(150)
    means = np.geomspace(0.05, 60.0, 1500)
    _, low, high = rates_of_counts(counts, 1.0)
    found = poisson_coverage(low, high, means)
    assert found.min() > 0.916
    fine = means > 5.0
    assert ((found[fine] >= 0.93) & (found[fine] <= 0.97)).mean() > 0.97
    assert found[fine].mean() == pytest.approx(0.95, abs=0.003)
    assert (low[0], np.exp(-high[0])) == (0.0, pytest.approx(0.05))
    before = [special.gammaincinv(counts + 0.5, level) for level in (0.025, 0.975)]
    assert poisson_coverage(before[0] * (counts > 0), before[1], means).min() < 0.905


def test_the_ends_of_a_rate_have_their_mid_p() -> None:
    _, low, high = rates_of_counts([3, 40_000], [2.0, 1.0])
    for mean, level in ((2 * low[0], 0.025), (2 * high[0], 0.975)):
        law = stats.poisson(mean)
        assert law.sf(3) + 0.5 * law.pmf(3) == pytest.approx(level)
    assert (low[1], high[1]) == pytest.approx((40_000 - 392, 40_000 + 392), abs=3)


def test_a_switching_process_that_is_none_has_no_intervals() -> None:
    """Gaps without two rates: nothing overflows, and no interval spans all numbers."""
    rng = np.random.default_rng(36)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for gaps in (rng.exponential(1.0, (4, 60)), rng.gamma(9.0, 1.0, (4, 60)),
                     rng.lognormal(0.0, 4.0, (4, 60))):  # fmt: skip
            for each in gaps:
                found = fit_modulated(each)
                assert np.isfinite(found.log_likelihood)
                assert all(0 <= p.low < p.estimate < p.high for p in found.parameters)
                assert all(p.high < 1e6 * p.estimate for p in found.parameters)


@pytest.mark.parametrize("values", [[1.0, 1.0, 1.0, 2.0, 10.0], [5.0, 4.0, 5.0, 0.5], [1, 2, 9.0]])
def test_the_ends_of_a_skewed_mean_solve_halls_cubic(values: list[float]) -> None:
    sample = np.array(values)
    found = skewed_mean(sample)
    number = len(values)
    tilt = stats.skew(sample) / np.sqrt(number)
    error = sample.std(ddof=1) / np.sqrt(number)
    for end, level in ((found.high, 0.025), (found.low, 0.975)):
        t = (found.value - end) / error
        cubic = t + tilt * t**2 / 3 + tilt**2 * t**3 / 27 + tilt / 6
        assert cubic == pytest.approx(stats.t.ppf(level, number - 1))


@pytest.mark.thorough
@pytest.mark.statistical
@pytest.mark.parametrize(("weeks", "burst"), [(20, 1), (20, 3), (100, 1)])
def test_the_rhythm_of_the_week_is_no_error_of_the_mean_rate(
    weeks: int, burst: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stretches equal in time, as before, take it for one: their intervals hold nearly always."""
    rng = np.random.default_rng(66)
    by_day = fit_coverage.WEEK / fit_coverage.WEEK.sum() * 2000
    traces = [fit_coverage.weekly_updates(rng, by_day, weeks, burst) for _ in range(TRACES)]
    found = np.array([fit_coverage.mean_rate(each, weeks, 7) for each in traces])
    assert LOW <= held(found, 2000 / (7 * weeks)) <= HIGH
    if (weeks, burst) == (20, 1):
        monkeypatch.setattr("crawlsim.logs.fit.source_changes._FEWEST_PERIODS", np.inf)
        before = np.array([fit_coverage.mean_rate(each, weeks, 7) for each in traces])
        assert held(before, 2000 / (7 * weeks)) > HIGH


def test_the_jackknife_of_a_mean_of_blocks_is_the_t_interval_of_the_blocks() -> None:
    values = np.random.default_rng(5).exponential(size=400)
    found = jackknife([values], lambda means: float(means[0]), blocks=20)
    blocks = values.reshape(20, 20).mean(axis=1)
    reach = stats.t.ppf(0.975, 19) * blocks.std(ddof=1) / np.sqrt(20)
    middle = values.mean()
    assert (found.value, found.low, found.high) == pytest.approx(
        (middle, middle - reach, middle + reach)
    )
