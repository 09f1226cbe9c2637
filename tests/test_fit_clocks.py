"""Verdicts on Poisson changes under the clocks of real logs.

Logs of truly Poisson pages with clocks of a second and a day must not be called bursty: the false
alarm of one log is at most six tests at 0.001. The planted bursts and regular changes are seen.
"""

from __future__ import annotations

import numpy as np
import pytest

from analytic.fitting import Fit, Options, Trace, fit
from analytic.fitting.clocks import clock_step, fill_steps
from analytic.fitting.reading import Broken

DAY = 86_400.0


def fit_of(
    page: np.ndarray, seconds: np.ndarray, step: float, options: Options | None = None
) -> Fit:
    """A fit of changes whose times are rounded down to steps of a clock, in days."""
    values = np.floor(seconds / step) * step / DAY
    names = tuple(f"p{n}" for n in range(int(page.max()) + 1))
    nothing = np.empty(0, dtype=bool)
    trace = Trace("changes", values, page.astype(np.int32), names, nothing, True, "day", Broken())
    return fit(trace, options)


def poisson(pages: int, each: float, years: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Pages with rates between a fifth and five times the mean, from time 0 on."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(each * np.exp(rng.uniform(-1.6, 1.6, pages)))
    page = np.concatenate([np.arange(pages), np.repeat(np.arange(pages), counts)])
    end = years * 365.25 * DAY
    return page, np.concatenate([np.zeros(pages), rng.uniform(0, end, counts.sum())])


@pytest.mark.parametrize("years", [1.0, 26.0])
@pytest.mark.parametrize("step", [1.0, 60.0, 3600.0, DAY])
def test_poisson_logs_are_not_called_bursty(step: float, years: float) -> None:
    """A million rows of 10,000 pages."""
    found = fit_of(*poisson(10_000, 68.0, years, 1), step)
    assert found.summary["verdict"] in ("poisson", "too coarse"), found.notes
    assert found.summary["clock_step"] == pytest.approx(step / DAY)
    if step <= 60.0:
        assert found.summary["verdict"] == "poisson", found.notes


def test_a_single_day_clock_hides_a_source() -> None:
    page, seconds = poisson(50, 40.0, 2.0, 2)
    found = fit_of(page, seconds, DAY, Options(section="source", pieces=7))
    assert found.summary["verdict"] == "too coarse"
    assert "too coarse to tell" in " ".join(found.notes)
    finer = fit_of(page, seconds, 1.0, Options(section="source", pieces=7))
    assert finer.summary["verdict"] == "poisson"


@pytest.mark.parametrize("step", [1.0, DAY])
def test_bursts_are_still_seen(step: float) -> None:
    rng = np.random.default_rng(3)
    page, seconds = poisson(200, 20.0, 10.0, 3)
    page = np.repeat(page, 3)
    seconds = np.repeat(seconds, 3) + rng.uniform(0, 3 * DAY, 3 * len(seconds))
    found = fit_of(page, seconds, step)
    assert found.summary["verdict"] == "not poisson"
    assert any("larger than their intervals" in note for note in found.notes)


def test_pages_that_change_together_are_several_changes() -> None:
    """Commits that change five pages: the counts vary five times as much."""
    rng = np.random.default_rng(4)
    commits = rng.uniform(0, 3000 * DAY, 6000)
    page = np.concatenate([np.arange(100), rng.permuted(np.tile(np.arange(100), (6000, 1)), axis=1)
                           [:, :5].ravel()])  # fmt: skip
    found = fit_of(page, np.concatenate([np.zeros(100), np.repeat(commits, 5)]), 1.0)
    week = next(each for each in found.summary["dispersion"] if each["width"] == 7.0)
    assert week["index"] == pytest.approx(5.0, abs=1.5)


def test_regular_changes_have_intervals_that_are_too_wide() -> None:
    """Gaps of Erlang(9): errors are a third; before, they were called larger by a factor of 1."""
    rng = np.random.default_rng(5)
    gaps = rng.gamma(9.0, 3 * DAY / 9, (20, 600))
    page = np.repeat(np.arange(20), 600)
    found = fit_of(page, np.cumsum(gaps, axis=1).ravel(), 1.0)
    assert found.summary["verdict"] == "not poisson"
    text = " ".join(found.notes)
    assert "smaller than their intervals say" in text
    assert "larger than" not in text


def test_few_changes_say_nothing() -> None:
    found = fit_of(*poisson(3, 3.0, 1.0, 6), 1.0)
    assert found.summary["poisson"] is None
    assert "too few to tell" in " ".join(found.notes)


def test_the_step_of_a_clock() -> None:
    rng = np.random.default_rng(7)
    times = rng.uniform(0, 1000, 100)
    assert clock_step(times, "day") == 0.0
    assert clock_step(np.floor(times), "day") == 1.0
    assert clock_step(np.floor(times * 24) / 24 + 20_000.3, "day") == pytest.approx(1 / 24)
    assert clock_step(np.floor(times * 100) / 100, "time unit") == pytest.approx(0.01)
    assert clock_step(np.arange(10.0), "day") == 0.0
    spread = fill_steps(np.floor(times), 1.0, np.zeros(100))
    assert np.floor(spread).tolist() == np.sort(np.floor(times)).tolist()
    assert fill_steps(times, 0.0, np.zeros(100)).tolist() == np.sort(times).tolist()


@pytest.mark.parametrize("digits", [0, 1, 2, 3, 4, 5, 6, 8])
def test_decimal_clocks_of_all_digits(digits: int) -> None:
    times = np.random.default_rng(8).uniform(0, 1000, 3000)
    rounded = np.array([float(f"{each:.{digits}f}") for each in times])
    for unit in ("day", "time unit"):
        assert clock_step(rounded, unit) == pytest.approx(10.0**-digits, rel=1e-12)


@pytest.mark.parametrize("step", [0.25, 0.05, 1e-3 / DAY])
def test_parts_of_decimals_and_thousandths_of_a_second(step: float) -> None:
    times = np.floor(np.random.default_rng(9).uniform(0, 1000, 3000) / step) * step
    assert clock_step(times, "day") == pytest.approx(step, rel=1e-12)
