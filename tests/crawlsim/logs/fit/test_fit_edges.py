"""Edges of windows, pieces and stops by hand: what is on an edge, and what a unit of time is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from matplotlib.patches import StepPatch
from scipy import linalg, optimize

from crawlsim.logs.fit import page_changes, source_changes
from crawlsim.logs.fit.batches import batches_of
from crawlsim.logs.fit.crawl_logs import fit_crawls
from crawlsim.logs.fit.gap_likelihood import log_likelihood_of_gaps
from crawlsim.logs.fit.order_two import Process, fit_modulated, likelihood_of
from crawlsim.logs.fit.page_changes import pages_around
from crawlsim.logs.fit.poisson_verdict import Burstiness, Clock
from crawlsim.logs.fit.result import Options, rows_in_window
from crawlsim.logs.fit.source_changes import fit_source, periodic_intensity
from crawlsim.logs.fit.trace import Kind, Trace
from crawlsim.logs.read.log import ChangeLog, NumberLog, VisitLog
from crawlsim.report.fit_report import plot_intensity
from experiments.windows import TrainAndTest


def trace_of(
    kind: Kind, values: list[float], page: list[int] | None = None, changed: list[int] | None = None
) -> Trace:
    times = np.array(values, float)
    if page is None:
        return Trace(NumberLog(times, kind == "deliveries"), "day")
    names = [f"p{number}" for number in sorted(set(page))]
    rows = (names, np.array(page, np.int32), times)
    if changed is None:
        return Trace(ChangeLog.of(*rows, dated=False), "day")
    return Trace(VisitLog.of(*rows, np.array(changed, bool), dated=False), "day")


def test_rows_at_both_ends_of_a_window_are_in_it() -> None:
    options = Options(since="2", until="4")
    deliveries = rows_in_window(trace_of("deliveries", [1, 2, 3, 4, 5]), options)
    assert deliveries.values.tolist() == [2, 3, 4]
    crawls = trace_of("crawls", [1, 2, 3, 4, 5], [0, 0, 1, 2, 3], [0, 1, 0, 1, 1])
    inside = rows_in_window(crawls, options)
    assert inside.values.tolist() == [2, 3, 4]
    assert inside.log.changed.tolist() == [True, False, True]
    assert inside.pages == ("p0", "p1", "p2")
    twice = replace(crawls, log=replace(crawls.log, repeated=3))
    assert rows_in_window(twice, options).values.tolist() == [2, 3, 4]


@pytest.mark.parametrize(("since", "until", "count"), [("2", "4.5", 3), ("1.5", "4", 4)])
def test_updates_of_a_source_are_those_after_since_until_the_end(
    since: str, until: str, count: int
) -> None:
    """One at the beginning of the window is before it, one at its end is in it."""
    trace = trace_of("changes", [1.0, 2.0, 2.5, 3.25, 4.0, 5.0], [0] * 6)
    found = fit_source(trace, Options(since=since, until=until, pieces=1, period=1.0))
    assert found.summary["changes"] == count
    assert found.details.intensity.counts.tolist() == [count]


def test_gaps_of_a_poisson_process_without_phases_have_its_likelihood() -> None:
    """Both phases alike and never left: the eigenvalues are one, e^(D0 t) is e^-2t of the unit."""
    gaps = np.array([0.3, 1.7, 0.9])
    found = log_likelihood_of_gaps(gaps, -2.0 * np.eye(2), 2.0 * np.eye(2), np.array([0.4, 0.6]))
    assert found == pytest.approx(3 * np.log(2.0) - 2.0 * gaps.sum())


def test_gaps_of_equal_eigenvalues_with_one_switch() -> None:
    """Equal rates out and one way only: a Jordan block, whose exponential has the term t e^-3t."""
    hidden = np.array([[-3.0, 1.0], [0.0, -3.0]])
    events = np.array([[2.0, 0.0], [1.0, 2.0]])
    start = np.array([0.7, 0.3])
    gaps = np.array([0.2, 1.1, 0.6])
    vector = start
    for gap in gaps:
        vector = vector @ linalg.expm(hidden * gap) @ events
    expected = np.log(vector.sum())
    assert log_likelihood_of_gaps(gaps, hidden, events, start) == pytest.approx(expected)


def test_time_in_pieces_ends_with_the_piece() -> None:
    """Watched from 1 to 9.5 of a period of 4, pieces [0, 1), [1, 4): 2 + 0.5 … by hand."""
    found = periodic_intensity(np.array([1.5, 4.5, 9.0]), [0.0, 1.0], 4.0, (1.0, 9.5))
    assert found.exposures.tolist() == [2.0, 6.5]
    assert found.counts.tolist() == [1, 2]
    assert found.values == pytest.approx([1 / 2, 2 / 6.5])


def test_pages_crawled_once_are_counted_as_left_out() -> None:
    times = [0.0, 1.0, 2.0, 0.5, 0.7]
    page = [0, 0, 0, 1, 2]
    found = fit_crawls(trace_of("crawls", times, page, [0, 1, 0, 1, 1]), Options())
    assert found.summary["left_out"] == 2
    assert found.summary["pages"] == 1


def test_the_error_of_a_saved_share_has_one_degree_less() -> None:
    """Two windows: the residuals of a ratio of sums, by hand."""
    uniform = np.array([2.0, 4.0])
    other = np.array([1.0, 4.0])
    costs = {"uniform": uniform, "threshold": other}
    found = TrainAndTest(np.arange(2.0), costs, costs, np.array([3, 3]))
    row = found.table()[1]
    residuals = other - 5 / 6 * uniform
    assert row.less == pytest.approx(1 / 6)
    assert row.less_error == pytest.approx(np.sqrt(2 * (residuals**2).sum()) / 6)


def test_a_gap_as_long_as_the_longest_is_no_stop() -> None:
    starts = np.cumsum([0.0, *([1.0, 2.0] * 12), 5.0])
    found = batches_of(starts, threshold=0.0, longest_gap=2.0)
    assert found.stops == 1
    assert found.gaps.tolist() == [1.0, 2.0] * 12


def test_a_clock_of_days_hides_changes_and_ends_a_day_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A page seen on N of T days has -log(1 - (N-1)/T) a day; a row may be of the evening."""
    seen: list[tuple[object, ...]] = []

    def noted(*given: object, **_: object) -> Burstiness:
        seen.append(given)
        return Burstiness(np.empty(0), (), None, Clock(0.0, 0.0, 0))

    monkeypatch.setattr(page_changes, "clock_step", lambda *_: 1.0)
    monkeypatch.setattr(page_changes, "burstiness_of", noted)
    slow = [0.0, 10.0, 30.0, 100.0]
    fast = [0.0, *(float(10 * each) for each in range(1, 10))]
    trace = trace_of("changes", [*slow, *fast], [0] * len(slow) + [1] * len(fast))
    page_changes.fit_pages(trace, Options())
    ((_, window, expected, _, clock),) = seen
    assert isinstance(clock, Clock)
    assert (window, clock.step) == ((1.0, 101.0), 1.0)
    assert expected(np.array([101.0, 150.0])) == pytest.approx([12.0, 12.0])  # type: ignore[operator]
    per_day = {number: -np.log(1.0 - (number - 1) / 100) for number in (3, 9)}
    assert clock.expected == pytest.approx((3 * per_day[3] + 9 * per_day[9]) / 12)


def test_bursts_of_a_source_are_sought_in_one_period_in_four_and_in_thirteen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of a week: in weeks, in months and in quarters."""
    seen: list[Sequence[float]] = []

    def noted(*given: Any, **_: object) -> Burstiness:
        seen.append(given[3])
        return Burstiness(np.empty(0), (), None, Clock(0.0, 0.0, 0))

    monkeypatch.setattr(source_changes, "burstiness_of", noted)
    updates = np.random.default_rng(1).uniform(0.0, 700.0, 500).tolist()
    found = fit_source(trace_of("changes", updates, [0] * 500), Options(period=7.0))
    assert seen == [[7.0, 28.0, 91.0]]
    assert found.system["probing"] == {"horizon": 28.0, "probes": 28, "policy": "threshold"}
    assert found.system["run"] == {"replications": 4000}


def test_the_rate_of_a_source_is_drawn_piece_by_piece_with_its_mean() -> None:
    """Of a week of seven days, ten updates on each of its first days and none on the last five."""
    week = [0.0, *np.linspace(0.05, 1.95, 20)]
    trace = trace_of("changes", [7.0 * n + time for n in range(10) for time in week], [0] * 210)
    fit = fit_source(trace, Options(since="0", until="70", period=7.0, pieces=7))
    ax = plot_intensity(fit)
    band, rate = (patch.get_data() for patch in ax.patches if isinstance(patch, StepPatch))
    assert rate.edges.tolist() == band.edges.tolist() == list(range(8))
    assert rate.values.tolist() == fit.details.intensity.values.tolist()
    assert band.baseline.tolist() == fit.details.intensity.low.tolist()
    (line,) = ax.lines
    assert line.get_label() == f"mean {fit.summary['changes'] / 70:.4g}"


def test_a_cycle_around_pages_is_an_access_of_each() -> None:
    found = pages_around([0.5, 1.0, 2.5])
    assert found["robots"]["access_time"]["exponential"]["mean"] == 0.25
    assert found["run"] == {"horizon": 1020 * 0.75, "warmup": 20 * 0.75, "replications": 40}


def test_a_switching_process_that_is_hardly_one_has_no_intervals() -> None:
    """Rates 0.13 and 0.94 that switch too soon: normal intervals held 0.34 of the slow rates."""
    rng = np.random.default_rng(72)
    gaps = gaps_of(rng, (0.13, 0.94, 1.6, 0.24), 1000)
    assert fit_modulated(gaps).parameters == ()
    gaps = gaps_of(rng, (1.0, 10.0, 0.2, 0.5), 1000)
    assert [each.low < each.estimate < each.high for each in fit_modulated(gaps).parameters] == [
        True
    ] * 4


def test_intervals_of_a_switching_process_end_where_the_likelihood_has_fallen() -> None:
    """With the end given and the others by another optimiser: 1.92 below the greatest."""
    gaps = gaps_of(np.random.default_rng(73), (1.0, 10.0, 0.2, 0.5), 200)
    found = fit_modulated(gaps)
    numbers = np.array([each.estimate for each in found.parameters])
    for end in (found.parameters[2].low, found.parameters[2].high):

        def loss(logs: np.ndarray, end: float = end) -> float:
            slow, fast, down = np.exp(np.clip(logs, -20, 20))
            hidden = np.array([[-slow - end, end], [down, -fast - down]])
            return -likelihood_of(gaps, Process(hidden, np.diag([slow, fast])))

        near = optimize.minimize(loss, np.log(numbers[[0, 1, 3]]), method="Nelder-Mead")
        assert found.log_likelihood + near.fun == pytest.approx(1.92, abs=0.1)


@pytest.mark.thorough
def test_no_process_is_more_likely_than_the_fitted_one() -> None:
    """Weak cases have several hills; the truth, at least, is never above."""
    rng = np.random.default_rng(74)
    numbers = (0.13, 0.94, 1.6, 0.24)
    for _ in range(8):
        gaps = gaps_of(rng, numbers, 1000)
        truth = likelihood_of(gaps, switching(*numbers))
        assert fit_modulated(gaps).log_likelihood > truth - 1e-3


def switching(slow: float, fast: float, up: float, down: float) -> Process:
    hidden = np.array([[-slow - up, up], [down, -fast - down]])
    return Process(hidden, np.diag([slow, fast]))


def gaps_of(
    rng: np.random.Generator, numbers: tuple[float, float, float, float], count: int
) -> np.ndarray:
    """Gaps between events of a process that begins in its slow phase."""
    rates = numbers[:2]
    switches = numbers[2:]
    time = 0.0
    last = 0.0
    phase = 0
    found = list[float]()
    while len(found) < count:
        total = rates[phase] + switches[phase]
        time += rng.exponential(1.0 / total)
        if rng.random() * total < rates[phase]:
            found.append(time - last)
            last = time
        else:
            phase = 1 - phase
    return np.array(found)


def test_the_fitted_process_does_not_depend_on_errors_of_rounding() -> None:
    """Where a search stops does, in the seventh digit; the top of the likelihood does not."""
    rng = np.random.default_rng(75)
    gaps = gaps_of(rng, (1.0, 10.0, 0.2, 0.5), 400)
    exact = [each.estimate for each in fit_modulated(gaps).parameters]
    rounded = gaps * (1 + 1e-13 * rng.standard_normal(len(gaps)))
    found = [each.estimate for each in fit_modulated(rounded).parameters]
    assert found == pytest.approx(exact, rel=1e-10)
