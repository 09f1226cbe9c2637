"""The log that is made for avrachenkov2011, section 7: it has the printed statistics."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest

from analytic.machinery.arrival_process import mean_rate
from papers import crawler_log, threshold_tables
from scenarios import load
from scenarios.deliveries import batch_matrices

SHORT = 8000
"""Timestamps of a log in small."""


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(crawler_log, "TIMESTAMPS", SHORT)
    return crawler_log.timestamps()


def test_the_process_of_the_log_has_the_printed_gaps() -> None:
    """By matrices; correlations fall by 0.7 from lag to lag, from 0.7 of the largest there is."""
    process = crawler_log.process_of_the_log()
    rest = np.linalg.inv(-process.D0)
    after = rest @ process.D1
    phases = np.linalg.lstsq(
        np.vstack([after.T - np.eye(2), np.ones(2)]), np.array([0.0, 0.0, 1.0]), rcond=None
    )[0]
    mean = float(phases @ rest @ np.ones(2))
    variance = float(2.0 * phases @ rest @ rest @ np.ones(2)) - mean**2
    assert mean == pytest.approx(212.03, rel=1e-10)
    assert variance == pytest.approx(51352.38, rel=1e-9)
    of_lags = [
        float(phases @ rest @ np.linalg.matrix_power(after, lag) @ rest @ np.ones(2)) - mean**2
        for lag in (1, 2, 3)
    ]
    assert of_lags[1] / of_lags[0] == pytest.approx(0.7, rel=1e-3)
    assert of_lags[2] / of_lags[1] == pytest.approx(of_lags[1] / of_lags[0], rel=1e-9)
    assert of_lags[0] / variance == pytest.approx(0.7 * 0.0622723, rel=1e-5)
    assert (process.D0.sum(axis=1) + process.D1.sum(axis=1)) == pytest.approx([0.0, 0.0])


def test_the_true_batches_have_the_printed_mean() -> None:
    batches = crawler_log.true_batches()
    process = crawler_log.process_of_the_log()
    assert batches.shape == (9, 2, 2)
    assert np.array_equal(batches[0], process.D0)
    assert batches[1:].sum(axis=0) == pytest.approx(process.D1)
    assert mean_rate(batches) == pytest.approx(3.265 / 212.03, rel=1e-10)
    assert abs(3.265 - crawler_log.MEAN_BATCH) < 0.002


def test_the_log_is_of_batches_with_gaps_between_them(log: Any) -> None:
    """Statistics by standard errors: 4 of them are exceeded once in ten thousand."""
    assert log.shape == (SHORT,)
    assert (np.diff(log) >= 0).all()
    assert np.array_equal(log, np.round(log, 3))
    assert not np.array_equal(log, np.round(log, 2))
    assert log[0] > 1.0  # it begins with a gap
    since = np.diff(log)
    gaps = since[since > 1.0]  # within a batch 0.05 on average
    within = since[since <= 1.0]
    stops = gaps > 0.9 * crawler_log.STOP
    assert stops.sum() == crawler_log.STOPS
    rest = gaps[~stops]
    error = math.sqrt(crawler_log.VARIANCE_OF_GAPS / len(rest))
    assert abs(rest.mean() - crawler_log.MEAN_GAP) < 4.5 * error
    spread = rest.std() / math.sqrt(crawler_log.VARIANCE_OF_GAPS)
    assert spread == pytest.approx(1.0, abs=0.12)
    assert within.mean() == pytest.approx(crawler_log.WITHIN, rel=0.08)
    sizes = np.diff(np.flatnonzero(since > 1.0))
    assert (sizes > 8).mean() < 0.01  # but for gaps that are shorter than that
    shares = np.array([(sizes == size).mean() for size in range(1, 9)])
    assert shares == pytest.approx(crawler_log.BATCHES, abs=0.04)


def test_gaps_of_the_whole_log_are_correlated() -> None:
    """Of 20,000 gaps the standard error is 0.007; without a correlation it is six of them off."""
    since = np.diff(crawler_log.timestamps())
    gaps = since[(since > 1.0) & (since < 0.9 * crawler_log.STOP)]
    centred = gaps - gaps.mean()
    found = float(centred[1:] @ centred[:-1] / (centred @ centred))
    assert found == pytest.approx(0.7 * 0.0622723, abs=4 / math.sqrt(len(gaps)))


def test_services_have_the_moments_of_the_sizes() -> None:
    law = crawler_log.service()
    moments = [
        math.factorial(k) * sum(p / r**k for p, r in zip(law.probabilities, law.rates, strict=True))
        for k in (1, 2, 3)
    ]
    scale = 8.2 / 49207.0356
    wanted = [size * scale**k for k, size in enumerate(crawler_log.SIZES, start=1)]
    assert moments == pytest.approx(wanted, rel=1e-9)
    assert law.moment(1) == pytest.approx(8.2)


def test_so_many_robots_deliver_as_much_more() -> None:
    batches = crawler_log.true_batches()
    scenario = crawler_log.system(batches)
    robots: Any = scenario.robots
    assert robots.available == 4
    for number, mode in enumerate(robots.deliveries.root, start=1):
        assert batch_matrices(mode) == pytest.approx(number * batches)
    assert scenario.costs.loss == scenario.costs.obsolescence == 20_000.0
    assert scenario.unresolved == {"activation.optimal": "threshold"}


def test_a_matrix_is_written_with_four_digits() -> None:
    assert crawler_log._rounded(np.array([[1.0, -0.123456], [1e-9, 20.0]])) == (
        "[[1, -0.1235], [1e-09, 20]]"
    )


# Tables in the shape of the paper's


@cache
def _searches() -> Any:
    base = load(threshold_tables.BASE)
    rates = threshold_tables.SERVICE_RATES[:3]
    return threshold_tables.by_variance(base, "buffer.service", 0.657, rates)


def test_curves_have_the_cost_of_two_numbers_at_each_threshold() -> None:
    for row, (variance, search) in zip(
        threshold_tables.against_threshold(_searches(), (3, 1)), _searches().items(), strict=True
    ):
        assert row["variance"] == variance
        assert row["robots"] == (3, 1)
        costs = [row[f"at {level}"] for level in range(search.top)]
        assert costs == [search.cost_of([3, 1], [level]) for level in range(search.top)]
        assert row[f"at {search.top}"] == search.cost_of([3], [])


def test_the_best_two_numbers_are_those_of_the_table() -> None:
    for row, search in zip(
        threshold_tables.against_threshold(_searches(), None), _searches().values(), strict=True
    ):
        pairs = {each.robots: each.cost for each in search.table if len(each.robots) == 2}
        assert row["robots"] == min(pairs, key=lambda pair: pairs[pair])
        costs = [value for name, value in row.items() if name.startswith("at ")]
        assert min(costs[:-1]) == pytest.approx(pairs[row["robots"]], rel=1e-12)


def test_every_two_numbers_have_a_curve() -> None:
    search = next(iter(_searches().values()))
    rows = threshold_tables.pairs_against_threshold(search)
    every = {(more, less) for more in range(2, 5) for less in range(1, more)}
    assert {row["robots"] for row in rows} == every
    for row in rows:
        at = [row[f"at {level}"] for level in range(search.top)]
        assert at == [search.cost_of(row["robots"], [level]) for level in range(search.top)]


def test_figures_are_of_the_searches_that_they_name(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[tuple[Any, ...]] = []
    monkeypatch.setattr(threshold_tables, "draw", lambda *all_: given.append(all_))
    for name in ("service", "patience"):
        monkeypatch.setattr(threshold_tables, f"by_variance_of_{name}", lambda name=name: name)
    threshold_tables.figure_2()
    threshold_tables.figure_3()
    threshold_tables.figure_4()
    assert given == [
        ("service", "service times", (3, 1)),
        ("service", "service times", None),
        ("patience", "times until obsolescence", None),
    ]


@pytest.mark.parametrize(
    ("name", "key", "mean", "rates"),
    [
        ("by_variance_of_service", "buffer.service", 0.657, threshold_tables.SERVICE_RATES),
        ("by_variance_of_patience", "buffer.obsolescence", 5.0, threshold_tables.PATIENCE_RATES),
    ],
)
def test_what_varies_is_what_the_search_says(
    name: str, key: str, mean: float, rates: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[tuple[Any, ...]] = []
    monkeypatch.setattr(threshold_tables, "by_variance", lambda *all_: given.append(all_))
    getattr(threshold_tables, name).__wrapped__()
    assert given == [(load(threshold_tables.BASE), key, mean, rates)]
