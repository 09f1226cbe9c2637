"""Deliveries: batches that are not joined, correlations that are not dropped in silence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from analytic.fitting import Fit, Options, Trace, fit
from analytic.fitting.batches import batches_of
from analytic.fitting.deliveries import batch_parameters, fit_deliveries
from analytic.fitting.order_two import (
    Process,
    correlation_bound,
    gap_correlations,
    gap_moments,
    map_of_order_two,
)
from analytic.fitting.reading import Broken


def fit_of(times: np.ndarray, **options: Any) -> Fit:
    nothing = np.empty(0, np.int32)
    names = ("deliveries", times, nothing, (), nothing.astype(bool), False, "second", Broken())
    return fit(Trace(*names), Options(**options))


def poisson_batches(rng: np.random.Generator, within: float) -> np.ndarray:
    """Batches of 1 to 5 pages, independent exponential gaps of mean 1, and of mean `within`."""
    starts = np.cumsum(rng.exponential(1.0, 1000))
    sizes = rng.integers(1, 6, len(starts))
    parts = [
        start + np.append(0.0, np.cumsum(rng.exponential(within, size - 1)))
        for start, size in zip(starts, sizes, strict=True)
    ]
    return np.concatenate(parts)


@pytest.mark.statistical
@pytest.mark.parametrize("within", [1e-5, 1e-3])
def test_the_mean_size_of_batches_is_covered(within: float) -> None:
    """Three hundred traces: 95 % within 91-98 %, which fails with probability 0.004."""
    rng = np.random.default_rng(21)
    covered = 0
    for _ in range(300):
        found = batches_of(poisson_batches(rng, within))
        (mean,) = (p for p in batch_parameters(found.sizes) if p.name == "mean_batch_size")
        covered += mean.low <= 3.0 <= mean.high
    assert 0.91 <= covered / 300 <= 0.98


def test_the_share_of_joined_batches_is_said() -> None:
    found = fit_of(poisson_batches(np.random.default_rng(22), 1e-3))
    assert 0.001 < found.summary["joined_batches"] < 0.01
    assert any("are joined to it" in note for note in found.notes)


def correlated(rng: np.random.Generator, number: int, shape: float) -> np.ndarray:
    """Gaps whose law is kept for about ten of them."""
    keep = rng.random(number) < 0.9
    means = np.where(rng.random(number) < 0.5, 1.0, 4.0)
    place = np.maximum.accumulate(np.where(keep, 0, np.arange(number)))
    gaps: np.ndarray = rng.gamma(shape, means[place] / shape)
    return gaps


def test_correlation_that_is_dropped_is_said() -> None:
    times = np.cumsum(correlated(np.random.default_rng(23), 4000, 1.0))
    for process in ("renewal", "poisson"):
        text = " ".join(fit_of(times, process=process).notes)
        assert "losses and waits will be too small" in text
        assert "--process map or --process mmpp" in text
    assert "too small" not in " ".join(fit_of(times, process="mmpp").notes)
    alone = np.cumsum(np.random.default_rng(24).exponential(1.0, 4000))
    assert "too small" not in " ".join(fit_of(alone, process="renewal").notes)


def test_impossible_correlations_take_the_nearest() -> None:
    """Erlang gaps that keep their law: far more correlation than order two can have."""
    gaps = correlated(np.random.default_rng(25), 4000, 8.0)
    variation = float(gaps.var() / gaps.mean() ** 2)
    found = fit_deliveries(batches_of(np.append(0.0, np.cumsum(gaps)), 0.0), "map")
    (made,) = (each.process for name, each in found.tried.items() if name == "map")
    moments = gap_moments(made)
    assert abs(moments[3]) <= correlation_bound(variation) + 1e-9
    assert any("instead" in note for note in found.notes)
    assert (made.D1 >= -1e-12).all()
    text = " ".join(fit_of(np.append(0.0, np.cumsum(gaps)), process="map", batch_gap=0.0).notes)
    factor = float(text.split("the factor ")[1].split(";")[0])
    assert abs(factor) <= 1.0


def test_a_bound_is_a_correlation() -> None:
    assert correlation_bound(0.3) == 0.0
    assert correlation_bound(0.5) == pytest.approx(0.5)
    assert all(correlation_bound(c) <= 0.5 for c in np.geomspace(0.01, 1e6, 50))


def test_ties_of_a_clock_are_no_batches() -> None:
    """Poisson pages by a clock: as many ties as by chance; batches of it are more."""
    times = np.cumsum(np.random.default_rng(24).exponential(1.0, 3000))
    found = fit_of(np.floor(times / 0.1) * 0.1)
    assert found.summary["clock_step"] == pytest.approx(0.1)
    assert "these batches are the clock's" in " ".join(found.notes)
    batches = fit_of(np.repeat(np.floor(times / 0.1) * 0.1, 2))
    assert "some of these batches are the clock's" in " ".join(batches.notes)
    assert "clock" not in " ".join(fit_of(times).notes)


def test_correlations_within_chance_give_independent_gaps() -> None:
    """Unless BIC gains ten: of hyperexponential gaps."""
    rng = np.random.default_rng(25)
    for _ in range(10):
        gaps = rng.exponential(np.where(rng.random(1500) < 0.3, 4.0, 0.5))
        found = fit_deliveries(batches_of(np.cumsum(gaps)))
        lag = next(each for each in found.parameters if each.name == "lag_correlation")
        least = min(each.criterion(1499) for each in found.tried.values())
        if lag.low <= 0.0 <= lag.high:
            assert found.chosen == "renewal" or found.tried["renewal"].criterion(1499) > least + 10
        assert not any(note.startswith("the MAP") for note in found.notes)
    asked = fit_of(np.cumsum(gaps), process="mmpp")
    assert "is within chance" in " ".join(asked.notes)


def test_correlations_of_a_process() -> None:
    """The order-two formula, and none for independent gaps of three phases."""
    process = map_of_order_two(1.0, 2.0, 0.12)
    mean, variation, _, first = gap_moments(process)
    decay = 2 * variation * first / (variation - 1)
    assert gap_correlations(process, 4) == pytest.approx(first * decay ** np.arange(4), abs=1e-12)
    steps = np.array([[-3.0, 3.0, 0.0], [0.0, -2.0, 1.0], [0.0, 0.0, -0.5]])
    renewal = Process(steps, np.outer(-steps.sum(axis=1), [0.7, 0.2, 0.1]))
    assert gap_correlations(renewal, 3) == pytest.approx([0.0] * 3, abs=1e-12)
    assert mean == pytest.approx(1.0)


def test_intervals_of_a_process_that_is_not_taken_are_not_sought(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They take most of the time of a fit; taken, the process has them."""
    asked: list[float] = []
    monkeypatch.setattr(
        "analytic.fitting.modulated._parameters", lambda *given: (asked.append(given[2]), ())[1]
    )
    gaps = correlated(np.random.default_rng(27), 3000, 0.5)
    taken = fit_of(np.cumsum(gaps), process="renewal")
    assert "mmpp" in taken.summary["criteria"]
    assert not asked
    fit_of(np.cumsum(gaps), process="mmpp")
    assert len(asked) == 1
