"""The best levels: against searches by force, a second bound, and stored gains."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq, minimize
from scipy.special import gammaincinv
from systems import signals_with

from analytic.page_refresh import in_time_bound
from analytic.signals import Levels, best_levels, crawl_values, cycles_at, signal_worths
from analytic.signals import levels as levels_module
from scenarios.arrays import Array
from scenarios.signals import SignalRates

PRECISIONS, RECALLS = (0.2, 0.5, 0.9, 1.0), (0.0, 0.3, 0.7, 0.95, 1.0)


def dual_bound(signals: SignalRates, weights: Array, accesses: float, price: float) -> float:
    """Freshness that no policy exceeds, for any price: each page by itself at its best level.

    ``sum max_x (w F - price) / T + price accesses``, the maximum taken over a fine grid.
    """
    total = price * accesses
    for page in range(len(weights)):
        one = SignalRates(*(each[page : page + 1] for each in signals))
        change = float(one.silent[0] + one.true[0])
        grid = np.geomspace(1e-4, 400.0, 6_000) / change
        if one.silent[0] == 0:
            grid = np.arange(1.0, 200.0)
        many = SignalRates(*(np.repeat(each, len(grid)) for each in one))
        lengths, fresh = cycles_at(many, grid)
        total += max(float(((weights[page] * fresh - price) / lengths).max()), 0.0)
    return total


@pytest.mark.parametrize("accesses", [0.3, 2.0, 8.0, 60.0])
def test_no_policy_is_better_than_the_dual_allows(accesses: float) -> None:
    """Twenty pages of all kinds: the freshness and the bound from their price meet."""
    stream = np.random.default_rng(3)
    p, r = (each.ravel() for each in np.meshgrid(PRECISIONS, RECALLS))
    signals, weights = signals_with(stream.exponential(1.0, 20), p, r), stream.exponential(1.0, 20)
    best = best_levels(signals, weights, accesses)
    reached = float(weights @ best.fresh)
    assert best.rates.sum() == pytest.approx(min(accesses, best.rates.sum()), rel=1e-11)
    assert dual_bound(signals, weights, accesses, best.price) == pytest.approx(reached, rel=1e-5)
    wrong = dual_bound(signals, weights, accesses, 1.2 * best.price)
    assert wrong > reached * (1 + 1e-4)


def test_all_pages_have_the_same_value_at_their_levels() -> None:
    stream = np.random.default_rng(4)
    signals = signals_with(
        stream.lognormal(0, 2, 500), stream.uniform(0.1, 0.9, 500), stream.uniform(0, 0.95, 500)
    )
    weights = stream.exponential(1.0, 500)
    best = best_levels(signals, weights, 100.0)
    accessed = best.rates > 0
    values = crawl_values(signals, weights, best.levels)
    assert best.rates.sum() == pytest.approx(100.0, rel=1e-12)
    np.testing.assert_allclose(values[accessed], best.price, rtol=1e-9)
    assert np.all(values[~accessed] <= best.price)
    assert np.all(np.isinf(best.levels[~accessed]))
    np.testing.assert_allclose(best.rates, cycles_at(signals, best.levels).rates, rtol=1e-10)


@pytest.mark.by_day("2")
@pytest.mark.parametrize("pages", [2, 3])
def test_a_search_over_all_levels(pages: int) -> None:
    """By force: no levels that use as many accesses are fresher."""
    signals = signals_with(
        [1.0, 0.4, 2.5][:pages], [0.4, 0.8, 0.2][:pages], [0.6, 0.3, 0.8][:pages]
    )
    weights, accesses = np.array([1.0, 2.0, 1.5])[:pages], 1.3
    best = best_levels(signals, weights, accesses)

    def stale(logarithms: Array) -> float:
        """Levels on one ray: the last page gets what accesses are left."""
        found = cycles_at(signals, np.append(np.exp(logarithms), 0.0))
        left = accesses - float(found.rates[:-1].sum())
        if left <= 1e-3:
            return float(weights.sum())
        last = SignalRates(*(each[-1:] for each in signals))

        def too_late(level: float) -> float:
            return float(cycles_at(last, np.array([level])).lengths[0]) - 1.0 / left

        level = brentq(too_late, 0.0, 1e4, xtol=1e-11)
        shares = [*found.fresh_shares[:-1], cycles_at(last, np.array([level])).fresh_shares[0]]
        return float(weights @ (1.0 - np.array(shares)))

    reached = float(weights @ (1.0 - best.fresh))
    searched = minimize(
        stale,
        np.full(pages - 1, np.log(5.0)),
        method="Nelder-Mead",
        options={"xatol": 1e-5, "fatol": 1e-11},
    )
    assert searched.fun == pytest.approx(reached, rel=1e-8)
    assert stale(np.log(best.levels[:-1])) == pytest.approx(reached, rel=1e-9)
    assert stale(np.log(best.levels[:-1]) + 0.1) > reached * (1 + 1e-5)  # levels off by a tenth


def test_without_signals_it_is_the_plan_that_is_known() -> None:
    """The lower bound of schedules in time, coffman1998 (7)."""
    mu, weights = np.array([0.5, 0.3, 0.2, 1.0, 0.1]), np.array([1.0, 2.0, 0.5, 1.0, 3.0])
    for accesses in (0.1, 1.0, 10.0):
        best = best_levels(signals_with(mu, 0.5, 0.0), weights, accesses)
        known = in_time_bound(mu, weights, 1.0 / accesses, np.zeros(5, dtype=int), [np.inf])
        assert float(weights @ (1.0 - best.fresh)) == pytest.approx(known, rel=1e-8)


@pytest.mark.thorough
def test_more_recall_and_more_precision_are_never_worse() -> None:
    stream = np.random.default_rng(8)
    change, weights = stream.exponential(1.0, 50), stream.exponential(1.0, 50)

    def stale(precision: float, recall: float) -> float:
        best = best_levels(signals_with(change, precision, recall), weights, 40.0)
        return float(weights @ (1.0 - best.fresh))

    by_recall = [stale(0.4, each) for each in (0.0, 0.2, 0.5, 0.9, 0.999, 1.0)]
    by_precision = [stale(each, 0.7) for each in (1e-9, 0.01, 0.2, 0.6, 0.99, 1 - 1e-9, 1.0)]
    assert np.all(np.diff(by_recall) < 0)
    assert np.all(np.diff(by_precision) < 1e-12)
    assert by_recall[-2] == pytest.approx(by_recall[-1], rel=0.05)
    assert by_precision[-2] == pytest.approx(by_precision[-1], rel=1e-6)
    assert by_precision[0] == pytest.approx(stale(0.5, 0.0), rel=1e-6)


def saved(changes_per_access: float, precision: float, recall: float) -> float:
    """Share of the stale time that signals save; gamma(1) rates, and weights of their own."""
    quantiles = gammaincinv(1.0, (np.arange(2000) + 0.5) / 2000)
    change = quantiles / quantiles.mean()
    weights = np.random.default_rng(5).permutation(change)
    accesses = len(change) / changes_per_access

    def stale(recall: float) -> float:
        best = best_levels(signals_with(change, precision, recall), weights, accesses)
        return float(weights @ (1.0 - best.fresh))

    return 1.0 - stale(recall) / stale(0.0)


@pytest.mark.parametrize(
    ("changes_per_access", "precision", "recall", "share"),
    [
        *[(0.3, 0.2, 0.5, 0.32), (0.3, 0.8, 0.8, 0.76)],
        *[(1.0, 0.2, 0.5, 0.13), (1.0, 0.8, 0.8, 0.60)],
        *[(3.0, 0.2, 0.5, 0.05), (3.0, 0.8, 0.8, 0.31)],
    ],
)
def test_stale_time_that_signals_save(
    changes_per_access: float, precision: float, recall: float, share: float
) -> None:
    assert saved(changes_per_access, precision, recall) == pytest.approx(share, abs=0.006)


def _used(best: Levels) -> float:
    return float(best.rates.sum())


def test_pages_whose_signals_tell_all_change_at_jumps() -> None:
    """Recall 1: a number of signals, and one page between two of them."""
    signals, weights = signals_with([1.0, 1.0, 2.0], 0.5, 1.0), np.ones(3)
    for accesses in (0.3, 1.1, 2.9, 5.0):
        best = best_levels(signals, weights, accesses)
        assert _used(best) == pytest.approx(accesses, rel=1e-11)
        by_levels = cycles_at(signals, best.levels).rates
        assert np.sum(np.abs(best.rates - by_levels) > 1e-9) <= 1
    every = best_levels(signals, weights, 100.0)
    assert every.levels.tolist() == [1.0, 1.0, 1.0]
    assert every.price == 0.0
    np.testing.assert_allclose(every.fresh, 1.0)
    assert _used(every) == pytest.approx(8.0)


def test_pages_whose_signals_are_true_are_given_up_at_a_jump() -> None:
    """Precision 1: at the price w / D a page is accessed at its signals, or never."""
    signals, weights = signals_with([1.0, 1.0, 4.0], 1.0, 0.5), np.ones(3)
    best = best_levels(signals, weights, 0.7)
    assert _used(best) == pytest.approx(0.7, rel=1e-11)
    assert best.price == pytest.approx(1.0)
    np.testing.assert_allclose(best.rates, [0.5, 0.2, 0.0], atol=1e-11)
    np.testing.assert_allclose(best.fresh, [0.5, 0.2, 0.0], atol=1e-11)
    assert best.worths.tolist() == [np.inf, np.inf, 0.0]
    more = best_levels(signals, weights, 3.0)
    assert np.all(np.isfinite(more.levels[:2]))


def test_one_page_that_is_seldom_accessed() -> None:
    """So seldom that no number can tell its price from the highest."""
    signals = signals_with([1.0, 1.0], 0.5, 0.5)
    best = best_levels(signals, np.ones(2), 1e-3)
    np.testing.assert_allclose(best.rates, 5e-4, rtol=1e-9)
    np.testing.assert_allclose(best.fresh, 5e-4, rtol=1e-9)


def test_pages_that_need_no_access() -> None:
    signals = SignalRates(np.array([0.0, 0.5, 0.5]), np.array([0.0, 0.5, 0.5]), np.ones(3))
    best = best_levels(signals, np.array([1.0, 0.0, 1.0]), 2.0)
    np.testing.assert_allclose(best.rates, [0.0, 0.0, 2.0], rtol=1e-11)
    assert best.fresh[:2].tolist() == [1.0, 0.0]
    assert np.isinf(best.levels[:2]).all()
    none = best_levels(signals, np.zeros(3), 2.0)
    assert none.rates.tolist() == [0.0, 0.0, 0.0]
    assert signal_worths(signals)[1] == pytest.approx(-np.log(2 / 3) / 0.5)


def test_planted_errors_are_seen() -> None:
    """A signal that counts for a tenth more or less than it should makes an index staler."""
    signals, level = signals_with(1.0, 0.4, 0.6), 1.7
    right = cycles_at(signals, np.array([level]))
    price = float(crawl_values(signals, np.ones(1), np.array([level]))[0])
    gain = float((right.fresh - price)[0] / right.lengths[0])
    for change in (0.9, 1.1):
        off = SignalRates(signals.silent, signals.true, signals.false * change)
        shifted = cycles_at(off, np.array([level]))
        assert abs(float((shifted.fresh - price)[0] / shifted.lengths[0]) - gain) > 1e-3


@pytest.mark.parametrize("accesses", [0.02, 3.0, 200.0])
def test_some_of_many_pages_tell_where_to_look_and_change_nothing(
    accesses: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every fourth of forty pages gives a height near that of all of them."""
    stream = np.random.default_rng(12)
    signals = signals_with(
        stream.lognormal(0, 1, 40), stream.uniform(0.3, 0.9, 40), stream.uniform(0, 0.9, 40)
    )
    weights = stream.exponential(1.0, 40)
    plain = best_levels(signals, weights, accesses)
    search = levels_module._Search(signals, weights)
    assert search._guess(accesses) == (0.0, 1.0)
    height = search.around(accesses)[0]
    monkeypatch.setattr(levels_module, "_SAMPLE", 10)
    guess, near = levels_module._Search(signals, weights)._guess(accesses)
    assert near == 0.05
    assert guess == pytest.approx(np.log(height), abs=1.5)
    assert guess != 0.0
    found = best_levels(signals, weights, accesses)
    np.testing.assert_allclose(found.rates, plain.rates, rtol=1e-9, atol=1e-12)
    assert found.price == pytest.approx(plain.price, rel=1e-9)
    monkeypatch.setattr(levels_module, "_SAMPLE", 21)
    assert levels_module._Search(signals, weights)._guess(accesses) == (0.0, 1.0)


def test_a_price_that_is_none_of_all_pages_is_no_guess(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pages that stand for all have the whole price, since they get no access."""
    signals = signals_with([1.0] * 4, 0.5, 0.0)
    monkeypatch.setattr(levels_module, "_SAMPLE", 2)
    search = levels_module._Search(signals, np.array([1.0, 1.0, 1.0, 1.0]))
    assert search._guess(0.0) == (0.0, 1.0)
    low = levels_module._Search(signals, np.array([1.0, 0.25, 1.0, 0.25]))
    high = levels_module._Search(signals, np.array([0.25, 1.0, 0.25, 1.0]))
    # the same price for every other page, beside four times as much in the end: V = most (1 - e^-h)
    accesses = 2.0
    own = -np.expm1(-np.exp(low._guess(accesses)[0]))
    beside = -np.expm1(-np.exp(high._guess(accesses)[0]))
    assert beside == pytest.approx(own / 4, rel=1e-9)
