"""Gaps within pages: regular and bursty pages are found however many are pooled."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import special, stats

from crawlsim.fitting import Fit, Options, Trace, fit
from crawlsim.logs.fit.poisson_tests import moments_of_logarithms, page_gaps, unevenness
from crawlsim.scheduling import ChangeLog

Gaps = Callable[[np.random.Generator, int], np.ndarray]

LAWS: dict[str, Gaps] = {
    "Poisson": lambda rng, number: rng.exponential(1.0, number),
    "Erlang(4)": lambda rng, number: rng.gamma(4.0, 0.25, number),
    "gamma(0.5)": lambda rng, number: rng.gamma(0.5, 2.0, number),
}


def fit_of(law: str, pages: int, seed: int, step: float = 0.0, until: str | None = None) -> Fit:
    """A year of pages with about twenty changes each, of rates that differ, in days."""
    rng = np.random.default_rng(seed)
    rows = []
    for page in range(pages):
        rate = 20.0 * np.exp(0.5 * rng.normal()) / 365.0
        gaps = LAWS[law](rng, int(600.0 * rate + 60.0)) / rate
        times = np.cumsum(np.append(30.0 * rng.random(), gaps))
        rows += [(time, page) for time in times[times < 365.0]]
    time, page = np.array(rows).T
    time = np.floor(time / step) * step if step else time
    names = list(map(str, range(pages)))
    trace = Trace(ChangeLog.of(names, page.astype(np.int32), time, dated=False), "day")
    return fit(trace, Options(section="pages", until=until))


@pytest.mark.parametrize(
    ("pages", "step"),
    [(5, 0.0), (5, 1 / 24), (30, 0.0), (30, 1.0), (300, 0.0), (300, 1.0)],
)
def test_pages_are_told_from_poisson_ones(pages: int, step: float) -> None:
    """A clock of days hides the short gaps of bursts: five pages are too few to see them by it."""
    for law, word in (("Erlang(4)", "regular"), ("gamma(0.5)", "bursty")):
        found = fit_of(law, pages, 81, step)
        assert found.summary["verdict"] == "not poisson", found.notes
        assert f"Single pages are more {word}" in " ".join(found.notes)
    found = fit_of("Poisson", pages, 81, step)
    assert found.summary["verdict"] == "poisson", found.notes
    assert found.summary["gaps_within_pages"]["coefficient_of_variation"] == pytest.approx(
        1.0, abs=0.15
    )


def test_what_regular_pages_do_is_said() -> None:
    found = fit_of("Erlang(4)", 300, 82)
    text = " ".join(found.notes)
    assert "the formulas are too optimistic" in text
    assert "the error of the rate of one page is smaller than its interval says" in text
    within = found.summary["gaps_within_pages"]
    assert within["coefficient_of_variation"] == pytest.approx(0.55, abs=0.06)
    assert found.summary["time_rescaling"]["distance"] < 0.02  # pooled, as before: all but Poisson


def test_without_the_test_regular_pages_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted error: tests of all pages together."""
    monkeypatch.setattr("crawlsim.logs.fit.page_changes.page_gaps", lambda *_: None)
    found = fit_of("Erlang(4)", 30, 81, 1.0)
    assert found.summary["gaps_within_pages"] is None
    assert found.summary["verdict"] == "poisson"


@pytest.mark.thorough
@pytest.mark.statistical
@pytest.mark.parametrize("parts", [[4], [11], [61], [4] * 20, [4] * 10 + [60]])
def test_p_values_of_uniform_spacings(parts: list[int]) -> None:
    """Of 20,000 about 20 are below 0.001; the moments are exact within five standard errors."""
    rng = np.random.default_rng(83)
    number = 20_000
    sums = np.zeros((len(parts), number))
    for place, k in enumerate(parts):
        gaps = rng.exponential(1.0, (number, k))
        sums[place] = -np.log(k * gaps / gaps.sum(axis=1, keepdims=True)).sum(axis=1)
    mean, variance = (each.sum() for each in moments_of_logarithms(parts))
    total = sums.sum(axis=0)
    assert total.mean() == pytest.approx(mean, abs=5 * np.sqrt(variance / number))
    assert total.var() == pytest.approx(variance, rel=0.15)
    sizes = np.array(parts, float)
    values = np.array([unevenness(sizes, each) for each in sums.T])
    assert stats.binom.ppf(5e-4, number, 1e-3) <= (values < 1e-3).sum() <= 40
    assert (values < 0.05).mean() == pytest.approx(0.05, abs=0.008)
    normal = special.erfc(np.abs(total - mean) / np.sqrt(2 * variance))
    if len(parts) == 1 and parts[0] < 20:
        assert (normal < 1e-3).sum() > 60  # the planted error: a normal law


def test_gaps_by_hand() -> None:
    """Quarters of one page; another is watched until its last change; two are too short."""
    page = np.array([0, 0, 0, 1, 1, 1, 1, 2], np.int32)
    times = np.array([1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 4.0, 2.0])
    first = np.array([0.0, 0.0, 0.0, np.nan])
    end = np.full(4, 4.0)
    found = page_gaps(page, times, first, end)
    assert found is not None
    assert (found.pages, found.gaps) == (2, 8)
    assert found.coefficient_of_variation == pytest.approx(
        0.5
    )  # 1 of equal gaps, over 4/5, less 1: a quarter
    assert found.p_value < 1e-6
    assert page_gaps(page[-1:], times[-1:], first, end) is None
