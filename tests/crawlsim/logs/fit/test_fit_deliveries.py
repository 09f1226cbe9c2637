"""Deliveries: batches that are not joined, correlations that are not dropped in silence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from crawlsim.fitting import Fit, Options, Trace, fit
from crawlsim.logs.fit.batches import _weibull, batch_cut, batches_of
from crawlsim.logs.fit.deliveries import batch_parameters, fit_deliveries
from crawlsim.logs.fit.order_two import (
    Process,
    correlation_bound,
    gap_correlations,
    gap_moments,
    map_of_order_two,
)
from crawlsim.logs.read.log import NumberLog


def fit_of(times: np.ndarray, **options: Any) -> Fit:
    return fit(Trace(NumberLog(times, of_times=True), "second"), Options(**options))


def poisson_batches(rng: np.random.Generator, within: float) -> np.ndarray:
    """Batches of 1 to 5 pages, independent exponential gaps of mean 1, and of mean `within`."""
    starts = np.cumsum(rng.exponential(1.0, 1000))
    sizes = rng.integers(1, 6, len(starts))
    parts = [
        start + np.append(0.0, np.cumsum(rng.exponential(within, size - 1)))
        for start, size in zip(starts, sizes, strict=True)
    ]
    return np.concatenate(parts)


@pytest.mark.thorough
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


@pytest.mark.thorough
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
    assert "these batches are made by the clock" in " ".join(found.notes)
    batches = fit_of(np.repeat(np.floor(times / 0.1) * 0.1, 2))
    assert "some of these batches are made by the clock" in " ".join(batches.notes)
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
        "crawlsim.logs.fit.order_two._parameters", lambda *given: (asked.append(given[2]), ())[1]
    )
    gaps = correlated(np.random.default_rng(27), 3000, 0.5)
    taken = fit_of(np.cumsum(gaps), process="renewal")
    assert "mmpp" in taken.summary["criteria"]
    assert not asked
    free = fit_deliveries(batches_of(np.cumsum(gaps)))
    assert free.chosen == min(free.tried, key=lambda name: free.tried[name].criterion(2999))
    fit_of(np.cumsum(gaps), process="mmpp")
    assert len(asked) == 1


# Batches whose gaps are not far shorter than those between


def geometric_batches(rng: np.random.Generator, ratio: float, pages: int) -> np.ndarray:
    """Batches of 3.2 pages on average, exponential gaps of mean 134 between them."""
    sizes = rng.geometric(1.0 / 3.2, round(pages / 3.2))
    within = rng.exponential(134.0 / ratio, sizes.sum())
    within[np.cumsum(sizes) - sizes] = 0.0
    elapsed = np.cumsum(within)
    starts = np.cumsum(rng.exponential(134.0, len(sizes)))
    times: np.ndarray = elapsed + np.repeat(starts - elapsed[np.cumsum(sizes) - sizes], sizes)
    return np.sort(times)


@pytest.mark.parametrize("ratio", [30, 50, 100, 300, 335, 500, 700, 3000])
def test_batches_are_found_from_a_ratio_of_thirty_on(ratio: int) -> None:
    """At 30 one batch in ten begins within the one before, so that sizes are a little large."""
    found = batches_of(geometric_batches(np.random.default_rng(ratio), ratio, 65_000))
    assert found.sizes.mean() == pytest.approx(3.2, rel=0.02 + 2.0 / ratio)
    assert "these are batches" in found.sureness


def test_batches_told_by_a_mixture_are_a_matter_of_reading() -> None:
    """Hyperexponential gaps make the same process; the words name the other reading."""
    found = batches_of(geometric_batches(np.random.default_rng(1), 100, 20_000))
    assert "a matter of reading" in found.sureness
    assert "hyperexponential gaps are one and the same process" in found.sureness
    assert "--batch-gap 0" in found.sureness


@pytest.mark.parametrize("ratio", [30, 100, 500])
def test_batches_of_a_thousand_pages_are_found_too(ratio: int) -> None:
    found = [
        batches_of(geometric_batches(np.random.default_rng(seed), ratio, 1000))
        for seed in range(20)
    ]
    sizes = [each.sizes.mean() for each in found if each.threshold > 0]
    assert len(sizes) >= 18
    assert np.mean(sizes) == pytest.approx(3.2, rel=0.1)


def switching_gaps(
    rng: np.random.Generator, number: int, rates: tuple[float, float], leaving: tuple[float, float]
) -> np.ndarray:
    """Gaps of a Poisson process that switches between two rates (MMPP)."""
    pieces = 2 * (2 + int(4 * number / sum(r / q for r, q in zip(rates, leaving, strict=True))))
    lengths = rng.exponential(np.resize(1.0 / np.array(leaving), pieces))
    counts = rng.poisson(np.resize(rates, pieces) * lengths)
    starts = np.repeat(np.cumsum(lengths) - lengths, counts)
    times = np.sort(starts + np.repeat(lengths, counts) * rng.random(counts.sum()))
    return np.diff(times)[:number]


def balanced_gaps(rng: np.random.Generator, number: int, variation: float) -> np.ndarray:
    """Hyperexponential gaps with balanced means."""
    short = 0.5 + 0.5 * np.sqrt((variation - 1.0) / (variation + 1.0))
    chosen = np.where(rng.random(number) < short, short, 1.0 - short)
    gaps: np.ndarray = rng.exponential(0.5 / chosen)
    return gaps


NO_BATCHES = {
    "Poisson": lambda rng, n: rng.exponential(1.0, n),
    "Erlang": lambda rng, n: rng.gamma(4.0, 1.0, n),
    "gamma, very variable": lambda rng, n: rng.gamma(0.2, 1.0, n),
    "lognormal": lambda rng, n: rng.lognormal(0.0, 2.0, n),
    "Weibull": lambda rng, n: rng.weibull(0.4, n),
    "Lomax": lambda rng, n: rng.pareto(1.5, n),
    "log-logistic": lambda rng, n: np.exp(rng.logistic(0.0, 1.0, n)),
    "hyperexponential, 0.3 of ten times the mean": lambda rng, n: rng.exponential(
        np.where(rng.random(n) < 0.3, 10.0, 1.0)
    ),
    "hyperexponential, 0.5 of ten times the mean": lambda rng, n: rng.exponential(
        np.where(rng.random(n) < 0.5, 10.0, 1.0)
    ),
    "hyperexponential, balanced, variation 3": lambda rng, n: balanced_gaps(rng, n, 3.0),
    "hyperexponential, balanced, variation 20": lambda rng, n: balanced_gaps(rng, n, 20.0),
    "hyperexponential, balanced, variation 84": lambda rng, n: balanced_gaps(rng, n, 84.0),
    "hyperexponential, three phases": lambda rng, n: rng.exponential(6.0 ** rng.integers(0, 3, n)),
    "MMPP, rates 1 and 10": lambda rng, n: switching_gaps(rng, n, (1.0, 10.0), (0.05, 0.1)),
    "MMPP, rates 0.1 and 1, quickly": lambda rng, n: switching_gaps(rng, n, (0.1, 1.0), (0.3, 0.2)),
    "MMPP, rates 1 and 10, rarely fast": lambda rng, n: switching_gaps(
        rng, n, (1.0, 10.0), (0.02, 1.0)
    ),
    "MMPP, rates 1 and 100, slowly": lambda rng, n: switching_gaps(
        rng, n, (1.0, 100.0), (0.1, 0.1)
    ),
    "MMPP, rates 1 and 100": lambda rng, n: switching_gaps(rng, n, (1.0, 100.0), (1.0, 1.0)),
    "MMPP, rates 0.1 and 10": lambda rng, n: switching_gaps(rng, n, (0.1, 10.0), (0.01, 0.1)),
}


@pytest.mark.by_day(
    besides=(
        "Poisson",
        "gamma, very variable",
        "Weibull",
        "hyperexponential, balanced, variation 3",
        "MMPP, rates 0.1 and 1, quickly",
        "MMPP, rates 1 and 10, rarely fast",
    )
)
@pytest.mark.parametrize("name", NO_BATCHES)
def test_streams_without_batches_give_none(name: str) -> None:
    """Eight streams each: an error of one in ten would be seen with a probability of 0.57."""
    rng = np.random.default_rng(77)
    for number in (300, 3000, 3000, 3000, 3000, 3000, 3000, 20_000):
        assert batch_cut(NO_BATCHES[name](rng, number)).threshold == 0.0


def test_a_doubt_names_the_option() -> None:
    """Gaps twelve times shorter: batches or a hyperexponential stream, nothing can tell."""
    times = geometric_batches(np.random.default_rng(78), 12.0, 5000)
    notes = " ".join(fit_of(times).notes)
    assert "Whether pages come in batches is in doubt" in notes
    assert "--batch-gap" in notes
    gap = float(notes.split("say --batch-gap ")[1].split()[0].rstrip("."))
    assert 1.0 < gap / (134.0 / 12.0) < 4.0
    said = " ".join(fit_of(times, batch_gap=gap).notes)
    assert "are one batch" in said
    assert "in doubt" not in said


@pytest.mark.thorough
def test_a_stream_that_is_nothing_but_poisson_raises_no_doubt() -> None:
    notes = " ".join(fit_of(np.cumsum(np.random.default_rng(79).exponential(1.0, 3000))).notes)
    assert "doubt" not in notes
    assert "every page is a batch of its own" in notes


@pytest.mark.parametrize("shape", [0.4, 1.0, 3.0])
def test_the_weibull_law_of_gaps_is_the_most_likely_one(shape: float) -> None:
    """Against scipy's maximum: a law that does not compete hides that gaps are of one kind."""
    gaps = np.random.default_rng(3).weibull(shape, 400)
    found = _weibull(np.log(gaps), np.full(400, 1 / 400))
    fitted = stats.weibull_min.fit(gaps, floc=0)
    assert found == pytest.approx(stats.weibull_min.logpdf(gaps, *fitted).mean(), abs=1e-6)


def test_twenty_gaps_between_batches_are_enough_and_nineteen_are_not() -> None:
    times = np.arange(21.0)
    assert len(batches_of(times, 0.5, None).gaps) == 20
    with pytest.raises(ValueError, match="too few gaps between batches: 19 of 20 batches"):
        batches_of(times[:20], 0.5, None)


def test_what_was_tried_has_the_log_likelihood_of_the_gaps() -> None:
    times = np.cumsum(np.random.default_rng(3).exponential(0.5, 400))
    found = fit_deliveries(batches_of(times, 0.0))
    gaps = found.batches.gaps
    poisson = stats.expon.logpdf(gaps, scale=gaps.mean()).sum()
    assert found.tried["poisson"].log_likelihood == pytest.approx(poisson)
