"""Sojourn times counted in bins, and the quantiles that are read off them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import sim
from scenarios import ScenarioError, load
from sim import rules
from sim.estimates.quantiles import Times
from sim.sojourn_times import TimeCounter, bin_edges

HORIZON = 1e5
OCTAVE = math.frexp(HORIZON)[1]


@given(st.floats(0, HORIZON))
def test_a_time_lies_in_its_bin(time: float) -> None:
    """Bins are half-open, and a thousandth of their times wide but for the first."""
    number = rules.time_bin(time, OCTAVE)
    low, high = bin_edges(number, OCTAVE)
    assert 0 <= number < rules.TIME_BINS
    assert low <= time < high
    assert number == 0 or high - low <= low / 1000


@given(st.floats(0, HORIZON), st.floats(0, HORIZON))
def test_longer_times_have_higher_bins(one: float, other: float) -> None:
    """So that counts below a bin are counts of shorter times."""
    shorter, longer = sorted((one, other))
    assert rules.time_bin(shorter, OCTAVE) <= rules.time_bin(longer, OCTAVE)


@given(st.lists(st.floats(0, HORIZON), min_size=1))
def test_many_times_have_the_bins_of_each(times: list[float]) -> None:
    each = [rules.time_bin(time, OCTAVE) for time in times]
    assert rules.time_bins(np.array(times), OCTAVE).tolist() == each


def test_times_are_counted_whenever_they_are_put_into_bins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some by the way, the others in the end."""
    monkeypatch.setattr(TimeCounter, "_AT_ONCE", 64)
    counter = TimeCounter(OCTAVE)
    times = np.random.default_rng(6).exponential(size=1000).tolist()
    for place, time in enumerate(times):
        counter.add(place % 4, time)
    tally = counter.tally()
    for fate in range(4):
        bins, counts = tally.of_row(fate)
        expected = np.bincount([rules.time_bin(time, OCTAVE) for time in times[fate::4]])
        assert counts.tolist() == expected[bins].tolist()
        assert counts.sum() == 250


@pytest.mark.parametrize("share", [0.01, 0.3, 0.5, 0.95, 0.999])
def test_quantiles_are_those_of_the_times(share: float) -> None:
    """To a bin's width, whatever the tail; refused pages are the shortest."""
    times = np.random.default_rng(5).pareto(1.2, 20_000)
    counts = np.bincount([rules.time_bin(t, OCTAVE) for t in times])
    own = Times(OCTAVE, 0, np.cumsum(counts), 0)
    exact = np.quantile(times, share, method="inverted_cdf")
    assert_allclose(own.quantile(share), exact, rtol=1.1e-3)
    assert_allclose(own.below(own.quantile(share)), share * 20_000, rtol=1e-9)
    with_refused = own._replace(refused=20_000)
    assert with_refused.quantile(share / 2) == 0.0
    assert_allclose(with_refused.quantile((1 + share) / 2), exact, rtol=1.1e-3)


@pytest.mark.thorough
def test_intervals_hold_the_exact_median() -> None:
    """Ninety-five of a hundred intervals hold the exact median of M/M/1/K; here at least 88.

    With five replications and 95 % a number below 88 has probability 0.002; an interval that is a
    third too short would hold it in 80.
    """
    scenario = load("one-robot").with_(
        {"run.horizon": 3000.0, "run.warmup": 300.0, "buffer.sojourn_quantiles": [0.5]}
    )
    from analytic import predict

    exact = {p.subject: p.value for p in predict(scenario)[0] if p.measure == "sojourn_quantile"}
    held = 0
    for seed in range(100):
        row = sim.run(scenario, seed=seed, replications=5).find("sojourn_quantile", "served 0.5")
        assert row is not None
        held += row.low <= exact["served 0.5"] <= row.high
    assert held >= 88


def test_the_summary_needs_no_quantiles_in_the_file() -> None:
    """Median and 95 % quantile of served pages are always there, as the measure has them."""
    plain = load("one-robot").with_({"run.horizon": 3000.0, "run.replications": 3})
    asked = plain.with_("buffer.sojourn_quantiles", [0.5, 0.95])
    results = sim.run(asked)
    assert sim.run(plain).rows.find("sojourn_quantile", "served 0.5") is None
    for share, time in sim.run(plain).time_to_index.items():
        row = results.find("sojourn_quantile", f"served {share}")
        assert row is not None
        assert row.estimate == time


@pytest.mark.parametrize("value", [[0.9, 0.5], [0.5, 0.5], [0.0], [1.0]])
def test_shares_increase_between_0_and_1(value: list[float]) -> None:
    """Anything else is refused by its key."""
    with pytest.raises(ScenarioError, match="sojourn_quantiles"):
        load("one-robot").with_("buffer.sojourn_quantiles", value)
