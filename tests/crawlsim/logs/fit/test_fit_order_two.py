"""Moments of MAPs of order two on a grid and of random ones, to 1e-10; phases that do change."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from crawlsim.logs.fit.batches import batches_of
from crawlsim.logs.fit.deliveries import fit_deliveries
from crawlsim.logs.fit.hyper_erlang import three_moments
from crawlsim.logs.fit.order_two import (
    Process,
    correlation_bound,
    decay_of,
    gap_moments,
    map_of_order_two,
)

VARIATIONS = (0.5, 0.55, 0.7, 0.9, 0.999, 1 - 1e-7, 1 + 1e-7, 1.001, 1.2, 2.0, 5.0, 30.0, 200.0)
SHARES = (-1.0, -0.9, -0.5, -0.1, -1e-16, 0.0, 1e-16, 0.1, 0.5, 0.9, 0.999, 1.0)
SKEWS = (None, 0.5, 0.8, 1.0, 1.3, 3.0)


def assert_usable(process: Process) -> None:
    """Rates that are not negative, and phases that both come and go for ever."""
    assert min(process.D0[0, 1], process.D0[1, 0]) >= 0
    assert (-1e-13 * np.abs(process.D0).max() <= process.D1).all()
    phases = process.D0 + process.D1
    assert phases.sum(axis=1) == pytest.approx(0.0, abs=1e-12 * np.abs(process.D0).max())
    assert min(phases[0, 1], phases[1, 0]) > 0


@pytest.mark.parametrize("variation", VARIATIONS)
def test_a_grid_of_moments(variation: float) -> None:
    """Mean, variation and correlation are met to 1e-10, or refused with the reason."""
    met = 0
    refused = []
    for share in SHARES:
        correlation = share * correlation_bound(variation)
        for skew in SKEWS:
            third = None if skew is None else skew * 12.0 * (1 + variation) ** 2
            try:
                made = map_of_order_two(2.0, variation, correlation, third)
            except ValueError as error:
                refused.append((abs(correlation) > 1e-12, str(error)))
                continue
            assert_usable(made)
            found = gap_moments(made)
            assert found[0] == pytest.approx(2.0, rel=1e-10)
            assert found[1] == pytest.approx(variation, rel=1e-10)
            assert found[3] == pytest.approx(correlation, abs=1e-10)
            met += 1
    assert all("no MAP of order two has the decay" in text for _, text in refused)
    assert all(correlated for correlated, _ in refused), "a renewal process there always is"
    assert met >= 3 * len(SKEWS)
    if variation > 1:
        assert met >= 7 * len(SKEWS), "every positive correlation below the bound"


def random_processes(number: int) -> list[Process]:
    """Order two, rates over a factor of 400, a quarter of them 0, no phase left for ever."""
    rng = np.random.default_rng(41)
    found = []
    while len(found) < number:
        rates = np.exp(rng.uniform(-3, 3, (2, 3))) * (rng.random((2, 3)) > 0.25)
        hidden = np.diag(rates[:, 0])[:, ::-1].copy()
        seen = rates[:, 1:]
        hidden -= np.diag(hidden.sum(axis=1) + seen.sum(axis=1))
        phases = hidden + seen
        if min(phases[0, 1], phases[1, 0]) > 0 and abs(np.linalg.det(hidden)) > 1e-9:
            process = Process(hidden, seen)
            if abs(gap_moments(process)[1] - 1) > 1e-6:
                found.append(process)
    return found


def test_every_process_of_order_two_is_found_again() -> None:
    """All four numbers, so that what is called infeasible is."""
    for process in random_processes(800):
        wanted = gap_moments(process)
        mean, variation, third, correlation = wanted
        made = map_of_order_two(mean, variation, correlation, third)
        assert_usable(made)
        assert gap_moments(made) == pytest.approx(wanted, rel=1e-9, abs=1e-10)


def test_planted_errors_in_the_moments_are_seen() -> None:
    """A phase that is kept a hundred-millionth too often."""
    made = map_of_order_two(2.0, 3.0, 0.2)
    shifted = Process(made.D0, made.D1 + 1e-8 * np.array([[1.0, -1.0], [-1.0, 1.0]]))
    assert gap_moments(shifted)[3] != pytest.approx(0.2, abs=1e-10)


def test_phases_that_never_change_are_refused() -> None:
    for variation in (1.5, 4.0):
        with pytest.raises(ValueError, match="phases would never change"):
            map_of_order_two(1.0, variation, correlation_bound(variation))


@pytest.mark.parametrize("rounding", [1e-16, -1e-16, 1e-13, -1e-13])
@pytest.mark.parametrize("variation", [0.7, 1.0, 3.0])
def test_rounding_is_no_correlation(variation: float, rounding: float) -> None:
    assert decay_of(variation, 0.0) == 0.0
    made = map_of_order_two(1.0, variation, rounding * correlation_bound(variation))
    plain = map_of_order_two(1.0, variation, 0.0)
    assert np.array_equal(made.D0, plain.D0)
    assert np.array_equal(made.D1, plain.D1)
    assert np.linalg.matrix_rank(made.D1, tol=1e-12) == 1, "a renewal process"


def fit_of_gaps(gaps: np.ndarray) -> Any:
    return fit_deliveries(batches_of(np.append(0.0, np.cumsum(gaps)), 0.0), "map")


def test_a_third_moment_that_no_map_has_is_said() -> None:
    """Gaps of at most two lengths: less skewed than any process of order two of that variation."""
    rng = np.random.default_rng(42)
    found = fit_of_gaps(np.where(rng.random(3000) < 0.5, 0.15, 1.85))
    assert any("third moment" in note and "instead of" in note for note in found.notes)
    rng = np.random.default_rng(43)
    found = fit_of_gaps(rng.exponential(np.where(rng.random(3000) < 0.3, 5.0, 1.0)))
    assert not any("third moment" in note for note in found.notes)


def test_shares_of_three_moments_are_probabilities() -> None:
    """Close to the exponential law and close to the edge of what is feasible."""
    for excess in np.geomspace(1e-14, 1.0, 57):
        for skew in (1 + 1e-12, 1 + 1e-9, 1.0001, 1.3, 50.0):
            second = 2.0 * (1.0 + excess)
            third = 1.5 * second**2 * skew
            try:
                law = three_moments(1.0, second, third)
            except ValueError:
                continue
            assert all(0 <= p <= 1 for p in law.probabilities)
            assert all(rate > 0 for rate in law.rates)
            assert sum(law.probabilities) == pytest.approx(1.0, abs=1e-12)
            assert law.moment(2) == pytest.approx(second, rel=1e-12)
