"""Laws of sizes: two peaks, not too many phases, how well they fit, and what they are chosen by."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from crawlsim.fitting import fit, read_trace
from crawlsim.logs.fit.batches import batches_of
from crawlsim.logs.fit.deliveries import fit_deliveries
from crawlsim.logs.fit.hyper_erlang import HyperErlang
from crawlsim.logs.fit.sizes import MOST_PHASES, Quality, fit_sizes, quality_of, quality_words


def two_peaks(rng: np.random.Generator, shape: float, number: int = 3000) -> np.ndarray:
    """Six tenths around 1, the others around 10; the coefficient of variation 1 / root shape."""
    means = np.where(rng.random(number) < 0.6, 1.0, 10.0)
    values: np.ndarray = rng.gamma(shape, means / shape)
    return values


@pytest.mark.parametrize("number", [3000, 40_000])
def test_two_peaks_are_found(number: int) -> None:
    found = fit_sizes(two_peaks(np.random.default_rng(51), 11.0, number))
    assert found.best.law.shapes == pytest.approx((11, 11), abs=1)
    assert found.best.law.means == pytest.approx([1.0, 10.0], rel=0.03)
    assert found.quality.distance < 0.02
    assert not found.quality.poor
    assert "goes with the observations" in found.notes()[0]


@pytest.mark.parametrize("shape", [100.0, 1000.0])
def test_peaks_that_are_too_narrow_are_said_to_be(shape: float) -> None:
    """They would need 200 phases and more."""
    found = fit_sizes(two_peaks(np.random.default_rng(52), shape))
    assert found.quality.poor
    assert found.notes()[0].startswith("The fit is poor")
    assert found.best.law.means == pytest.approx([1.0, 10.0], rel=0.03)


def test_no_law_has_more_phases_than_the_solvers_bear() -> None:
    rng = np.random.default_rng(53)
    for values in (rng.gamma(60.0, 1.0, 2000), rng.gamma(250.0, 1.0, 2000), two_peaks(rng, 500.0),
                   rng.gamma(35.0, 1.0, 2000), 1e4 + rng.random(300)):  # fmt: skip
        found = fit_sizes(values)
        assert all(sum(each.law.shapes) <= MOST_PHASES for each in found.candidates)
    assert fit_sizes(rng.gamma(60.0, 1.0, 2000)).best.parameters <= 2


def test_the_distance_is_that_of_the_distribution_functions() -> None:
    """By hand, of few observations and of many."""
    law = HyperErlang((1.0,), (1,), (1.0,))
    values = np.array([0.5, 1.0, 3.0])
    below = -np.expm1(-values)
    steps = np.arange(4) / 3
    expected = max((steps[1:] - below).max(), (below - steps[:-1]).max())
    assert quality_of(values, law).distance == pytest.approx(expected)
    many = np.random.default_rng(54).gamma(2.0, 0.5, 20_000)
    together = quality_of(many, law).distance
    sorted_law = -np.expm1(-np.sort(many))
    places = np.arange(20_001) / 20_000
    exact = max((places[1:] - sorted_law).max(), (sorted_law - places[:-1]).max())
    assert together == pytest.approx(exact, abs=1e-9)
    assert not Quality(0.3, 0.01).poor
    assert not Quality(0.04, 1e-9).poor
    assert Quality(0.06, 1e-9).poor
    for p_value, words in (
        (0.06, "goes with"),
        (0.04, "is rejected, but never off by more than 4.2"),
    ):
        assert f"The law {words}" in quality_words(Quality(0.042, p_value))


def test_mean_variation_and_tail_of_law_and_data_stand_side_by_side(tmp_path: Path) -> None:
    """The tail of the law against the integral of its density, that of the data by counting."""
    values = np.sort(two_peaks(np.random.default_rng(58), 1000.0, 1000))
    path = tmp_path / "sizes.csv"
    path.write_text("\n".join(["bytes", *map(repr, values.tolist())]))
    found = fit(read_trace(path))
    law = found.details.best.law
    tail = law.quantile(0.99)
    assert law.survival(tail) == pytest.approx(0.01, rel=1e-9)
    assert HyperErlang((1.0,), (1,), (2.0,)).quantile(0.99) == pytest.approx(np.log(100) / 2)
    of_data = found.summary["quantile_99"]
    assert values[988] <= of_data <= values[990]
    assert found.summary["candidates"][0]["quantile_99"] == pytest.approx(tail)
    first, second, *_ = found.notes
    assert f"99% below {tail:.4g}; of the data {values.mean():.4g}, " in first
    assert f" and {of_data:.4g}." in first
    assert "`empirical` draws the observations themselves" in second


@pytest.mark.thorough
def test_candidates_are_chosen_by_bic() -> None:
    """Of samples of 200 exponential times BIC takes a larger law seldom, AIC far more often."""
    rng = np.random.default_rng(55)
    found = [fit_sizes(rng.exponential(1.0, 200)) for _ in range(40)]
    for each in found[0].candidates:
        wanted = each.parameters * np.log(200) - 2 * each.log_likelihood
        assert each.criterion == pytest.approx(wanted, rel=1e-12)
    larger = sum(each.best.name != "exponential" for each in found)
    by_aic = [
        min(each.candidates, key=lambda law: law.parameters - law.log_likelihood) for each in found
    ]
    assert larger <= 4
    assert sum(law.name != "exponential" for law in by_aic) > larger


def test_processes_are_chosen_by_bic() -> None:
    rng = np.random.default_rng(56)
    gaps = rng.exponential(1.0, 500)
    found = fit_deliveries(batches_of(np.append(0.0, np.cumsum(gaps)), 0.0))
    for each in found.tried.values():
        wanted = each.parameters * np.log(500) - 2 * each.log_likelihood
        assert each.criterion(500) == pytest.approx(wanted, rel=1e-12)
    assert {name: each.parameters for name, each in found.tried.items()} == {
        "poisson": 1, "renewal": found.tried["renewal"].parameters, "map": 4, "mmpp": 4,
    }  # fmt: skip
    assert found.chosen in ("poisson", "renewal")


def test_a_renewal_process_of_a_poor_law_says_so() -> None:
    gaps = two_peaks(np.random.default_rng(57), 1000.0)
    found = fit_deliveries(batches_of(np.append(0.0, np.cumsum(gaps)), 0.0), "renewal")
    assert any(note.startswith("The fit is poor") for note in found.notes)
