"""Verdicts on Poisson changes under the clocks of real logs.

Logs of truly Poisson pages with clocks of a second and a day must not be called bursty: the false
alarm of one log is at most seven tests at 0.001. The planted bursts and regular changes are seen.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from crawlsim.fitting import Fit, Options, Trace, fit
from crawlsim.logs.fit.clocks import clock_step, fill_steps
from crawlsim.logs.fit.trace import UNITS
from crawlsim.logs.read.columns import MONDAY
from crawlsim.scheduling import ChangeLog

DAY = 86_400.0


def fit_of(
    page: np.ndarray, seconds: np.ndarray, step: float, options: Options | None = None
) -> Fit:
    """A fit of changes whose times are rounded down to steps of a clock, in days."""
    values = np.floor(seconds / step) * step / DAY
    names = [f"p{n}" for n in range(int(page.max()) + 1)]
    return fit(trace_of(values, page.astype(np.int32), names), options)


def trace_of(values: np.ndarray, page: np.ndarray, names: list[str], unit: str = "day") -> Trace:
    """Changes at dates, given as the trace counts them."""
    since_1970 = values * UNITS[unit] - MONDAY
    return Trace(ChangeLog.of(names, page, since_1970), unit)


def poisson(pages: int, each: float, years: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Pages with rates between a fifth and five times the mean, from time 0 on."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(each * np.exp(rng.uniform(-1.6, 1.6, pages)))
    page = np.concatenate([np.arange(pages), np.repeat(np.arange(pages), counts)])
    end = years * 365.25 * DAY
    return page, np.concatenate([np.zeros(pages), rng.uniform(0, end, counts.sum())])


@pytest.mark.thorough
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
    assert any("errors are larger" in note for note in found.notes)


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
    assert "errors are smaller" in text
    assert "larger" not in text


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


@pytest.mark.parametrize("length", [1e-7, 1e-4, 0.04, 0.9])
def test_a_log_that_is_short_in_its_unit_has_no_long_step(
    length: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten days in years: all times were multiples of a step of 5000 years, each of 0 of them."""
    times = np.random.default_rng(16).uniform(0.0, length, 5000)
    assert clock_step(times, "year") == 0.0
    tick = length / 2**20
    assert clock_step(np.floor(times / tick) * tick, "year") == pytest.approx(tick, rel=1e-6)
    if length < 0.05:
        monkeypatch.setattr("crawlsim.logs.fit.clocks._least_gap", lambda *_: np.inf)  # as before
        assert clock_step(times, "year") > length


@pytest.mark.parametrize("digits", [0, 1, 2, 3, 4, 5, 6, 8])
def test_decimal_clocks_of_all_digits(digits: int) -> None:
    times = np.random.default_rng(8).uniform(0, 1000, 3000)
    rounded = np.array([float(f"{each:.{digits}f}") for each in times])
    for unit in ("day", "time unit"):
        assert clock_step(rounded, unit) == pytest.approx(10.0**-digits, rel=1e-12)


@pytest.mark.parametrize("step", [0.25, 0.2, 0.05, 0.04, 1 / 7, 1e-3 / DAY])
def test_parts_of_decimals_and_thousandths_of_a_second(step: float) -> None:
    times = np.floor(np.random.default_rng(9).uniform(0, 1000, 3000) / step) * step
    assert clock_step(times, "day") == pytest.approx(step, rel=1e-12)


def source_by_clock(
    seed: int, updates: int, rate: float, step: float, digits: int | None = None
) -> Trace:
    """A homogeneous Poisson source; times are cut to steps of a clock, or rounded to digits."""
    rng = np.random.default_rng(seed)
    times = np.sort(rng.uniform(0.0, updates / rate, rng.poisson(updates)))
    values = np.floor(times / step) * step if digits is None else np.round(times, digits)
    page = np.zeros(len(values), np.int32)
    return trace_of(values, page, ["p"])


CONSTANT = Options(section="source", pieces=1)


@pytest.mark.parametrize(
    ("updates", "rate", "step", "digits"),
    [
        (1000, 0.1, 1.0, None),
        (10_000, 3.0, 0.1, None),
        (100_000, 10.0, 1e-3, None),
        (1_000_000, 10.0, 1e-3, None),
        (500_000, 432.0, 1 / DAY, None),
        (300_000, 10_000.0, 1e-6, 6),
    ],
)
def test_long_poisson_logs_of_ordinary_clocks(
    updates: int, rate: float, step: float, digits: int | None
) -> None:
    """Up to a million updates of which a step hides some: at 0.001, of up to three tests each."""
    options = replace(CONSTANT, period=min(7.0, updates / rate / 20))
    found = fit(source_by_clock(10, updates, rate, step, digits), options)
    assert found.summary["clock_step"] == pytest.approx(step)
    assert found.summary["verdict"] == "poisson", found.notes
    assert found.find("update_rate", "from 0").estimate == pytest.approx(rate, rel=0.12)


@pytest.mark.thorough
def test_tests_by_a_clock_are_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """A third of an update in a step; times that are only spread, as before, are all rejected."""
    logs = [source_by_clock(seed, 20_000, 330.0, 1e-3) for seed in range(60)]
    values = [fit(log, CONSTANT).summary["time_rescaling"]["p_value"] for log in logs]
    assert min(values) > 1e-3
    assert (np.array(values) < 0.05).mean() < 0.15

    def only_spread(times: np.ndarray, step: float, expected: np.ndarray) -> np.ndarray:
        return fill_steps(times, step, 0.0 * expected)

    monkeypatch.setattr("crawlsim.logs.fit.source_changes.fill_steps", only_spread)
    planted = [fit(log, CONSTANT).summary["time_rescaling"]["p_value"] for log in logs[:5]]
    assert max(planted) < 1e-10


@pytest.mark.thorough
def test_the_rate_knows_what_a_clock_hides() -> None:
    """95 % of the intervals hold the rate; counts over time, as before, are 15 % too low."""
    covered = []
    raw = []
    for seed in range(100):
        found = fit(source_by_clock(seed, 5000, 330.0, 1e-3), CONSTANT)
        rate = found.find("update_rate", "from 0")
        covered.append(rate.low <= 330.0 <= rate.high)
        raw.append(found.summary["changes"] / found.find("mean_update_rate").estimate / 5000 * 330)
        assert rate.standard_error == pytest.approx((rate.high - rate.low) / 3.92, rel=0.05)
    assert 89 <= sum(covered) <= 100
    assert np.mean(raw) == pytest.approx((1 - np.exp(-0.33)) / 0.33, rel=0.01)


def test_bursts_are_seen_through_a_clock() -> None:
    trace = source_by_clock(11, 20_000, 100.0, 1e-3)
    rng = np.random.default_rng(11)
    later = trace.values + rng.integers(1, 20, len(trace.values)) * 1e-3
    twice = np.round(np.sort(np.concatenate([trace.values, later])), 3)
    found = fit(trace_of(twice, np.zeros(len(twice), np.int32), ["p"]), CONSTANT)
    assert found.summary["verdict"] == "not poisson"


def test_a_page_of_many_changes_by_a_clock() -> None:
    trace = source_by_clock(12, 100_000, 10.0, 1e-3)
    found = fit(trace, Options(section="pages"))
    assert found.summary["verdict"] == "poisson", found.notes
    assert "distinct times, too low by a fraction of about 0.005" in " ".join(found.notes)


def test_steps_at_a_break_are_in_their_own_piece() -> None:
    """Hours, of which some begin a rounding before the day; rates of 0.9 and 0 a day."""
    rng = np.random.default_rng(15)
    times = rng.uniform(0.0, 3500.0, 3000)
    values = np.floor(times[times % 7.0 < 5.0] * 24) / 24 - 1e-12
    page = np.zeros(len(values), np.int32)
    trace = trace_of(values, page, ["p"])
    found = fit(trace, replace(CONSTANT, pieces=7))
    assert [found.find("update_rate", f"from {day}").estimate for day in (5, 6)] == [0.0, 0.0]
    assert found.summary["verdict"] == "poisson"
    assert (values % 7.0 > 6.99).any()  # before: updates of Monday on a Sunday


def test_pieces_finer_than_the_clock_show_the_clock() -> None:
    trace = source_by_clock(13, 500, 0.3, 1.0)
    found = fit(trace, Options(section="source"))
    assert found.summary["verdict"] == "too coarse"
    assert "not whole steps of the clock" in " ".join(found.notes)
    assert fit(trace, replace(CONSTANT, pieces=7)).summary["verdict"] == "poisson"


def test_a_deviation_that_does_nothing_is_called_so() -> None:
    """Gaps of a gamma law of shape 1.02: no chance among a million, and a distance of 0.003."""
    gaps = np.random.default_rng(14).gamma(1.02, 1 / 1.02, 1_000_000)
    page = np.zeros(len(gaps), np.int32)
    trace = trace_of(np.cumsum(gaps), page, ["p"], "second")
    found = fit(trace, replace(CONSTANT, period=1000.0))
    assert found.summary["verdict"] == "nearly poisson"
    assert found.summary["poisson"] is False
    text = " ".join(found.notes)
    assert "Not exactly Poisson" in text
    assert "too small to matter" in text
    assert "Not Poisson" not in text
