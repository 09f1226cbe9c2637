"""What signals are worth, from visits beside them: the likelihood, the estimates, the intervals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from crawlsim.fitting import Options, Trace, fit, fitted_scenario
from crawlsim.logs.fit import signal_worth
from crawlsim.logs.fit.shared_prior import Groups
from crawlsim.logs.fit.signal_worth import Beside, posterior_draws, signals_beside
from crawlsim.logs.read.gaps import Gaps, gaps_of_visits
from crawlsim.logs.read.log import VisitLog
from crawlsim.logs.read.signals import Heard, SignalLog
from experiments.signal_logs import DAY, coverage, fitted, made_site

ONE = Groups(np.zeros(1, np.int64), np.zeros(1, np.int64))


def log_of(*visits: tuple[float, bool]) -> VisitLog:
    """One page."""
    time, changed = zip(*visits, strict=True)
    urls = np.array(["https://example.org/"], object)
    return VisitLog(urls, np.zeros(len(time), np.int32), np.array(time), np.array(changed))


def test_signals_are_counted_between_visits() -> None:
    """Those at a visit count before it; before the first visit none, after the last to the rate."""
    gaps = gaps_of_visits(log_of((10.0, False), (20.0, True), (30.0, False)))
    time = np.array([5.0, 10.0, 12.0, 20.0, 25.0, 31.0])
    heard = Heard(np.zeros(6, np.int64), time, 0.0, 40.0)
    found = signals_beside(gaps, heard)
    assert found.signals.tolist() == [2, 1]
    assert found.heard.tolist() == [4]
    assert found.listened.tolist() == [30.0]


def test_of_gaps_without_a_listener_only_late_ones_count() -> None:
    gaps = gaps_of_visits(log_of((10.0, False), (20.0, True), (30.0, False), (40.0, False)))
    heard = Heard(np.zeros(2, np.int64), np.array([16.0, 28.0]), 15.0, 35.0)
    found = signals_beside(gaps, heard, recent=12.0)
    assert found.gaps.start.tolist() == [20.0, 30.0]
    assert found.signals.tolist() == [1, -1]
    assert found.heard.tolist() == [2]


def test_a_gap_that_ends_after_the_listening_counts_only_where_it_is_late() -> None:
    gaps = gaps_of_visits(log_of((10.0, False), (20.0, True), (30.0, False), (40.0, False)))
    heard = Heard(np.zeros(2, np.int64), np.array([16.0, 24.0]), 5.0, 25.0)
    found = signals_beside(gaps, heard, recent=5.0)
    assert found.gaps.start.tolist() == [10.0]
    assert found.signals.tolist() == [1]


def test_visits_without_a_listener_say_how_often_pages_change() -> None:
    """As many signals as usual stand for those that nobody heard."""
    gaps = gaps_of_visits(log_of((0.0, False), (2.0, True), (5.0, False)))
    unheard = Beside(gaps, np.array([-1, 2]), np.array([2]), np.array([3.0]))
    logs = signal_worth._page_likelihoods(unheard, np.ones(1), np.array([0.7]))[0]
    precision = 1 / (1 + np.exp(-signal_worth._LOGITS[9]))
    silent = np.exp(signal_worth._RATES[30])
    fresh = [np.exp(-2 * (silent + 0.7 * precision)), np.exp(-3 * silent) * (1 - precision) ** 2]
    assert logs[9, 30] == pytest.approx(np.log((1 - fresh[0]) * fresh[1]), rel=1e-5)


def test_the_likelihood_is_that_of_the_model() -> None:
    """Against the product of the probabilities, one gap after the other."""
    gaps = gaps_of_visits(log_of((0.0, False), (2.0, True), (5.0, False), (6.0, True)))
    beside = Beside(gaps, np.array([0, 3, 1]), np.array([4]), np.array([6.0]))
    logs = signal_worth._page_likelihoods(beside, np.array([0.5]), np.ones(1))[0]
    for place, logit in ((3, signal_worth._LOGITS[3]), (14, signal_worth._LOGITS[14])):
        precision = 1 / (1 + np.exp(-logit))
        for rate in (20, 41):
            silent = 0.5 * np.exp(signal_worth._RATES[rate])
            same = [
                np.exp(-silent * length) * (1 - precision) ** number
                for length, number in ((2.0, 0), (3.0, 3), (1.0, 1))
            ]
            expected = np.log([1 - same[0], same[1], 1 - same[2]]).sum()
            assert logs[place, rate] == pytest.approx(expected, rel=1e-4, abs=1e-4)


def test_the_posterior_of_one_page_is_the_integral() -> None:
    """With silent changes known to be all but impossible, precision is that of coin tosses.

    Of a hundred short gaps each with a signal, of which thirty had a change, the posterior of the
    precision is nearly the beta law; silent changes can only take something off.
    """
    number = 100
    gaps = Gaps(
        page=np.zeros(2 * number, np.int32),
        start=np.arange(2.0 * number),
        length=np.ones(2 * number),
        changed=np.arange(2 * number) < 30,
        first=np.zeros(1),
        visits=np.array([2 * number + 1]),
        begin=0.0,
        end=2.0 * number,
        interval=1.0,
    )
    signals = (np.arange(2 * number) < number).astype(np.int64)
    beside = Beside(gaps, signals, np.array([number]), np.array([2.0 * number]))
    draws = posterior_draws(beside, ONE, 400, np.random.default_rng(1))
    exact = stats.beta(31, 71)
    assert draws.precision.mean() == pytest.approx(exact.mean(), abs=0.012)
    assert draws.precision.std() == pytest.approx(exact.std(), rel=0.15)
    assert draws.silent.mean() < 0.02


def test_levels_give_what_the_integral_over_a_page_says() -> None:
    """The probability of a page's visits, given the precision and the mean of its folder."""
    gaps = gaps_of_visits(log_of((0.0, False), (2.0, True), (5.0, False), (6.0, True)))
    beside = Beside(gaps, np.array([0, 3, 1]), np.array([4]), np.array([6.0]))
    scale = np.array([0.4])
    logs = signal_worth._page_likelihoods(beside, scale, np.ones(1))
    found = signal_worth._of_pages(logs, np.array([1.3]))[0]
    place, level = 8, 12
    precision = 1 / (1 + np.exp(-signal_worth._LOGITS[place]))
    mean = 0.4 * np.exp(signal_worth._LEVELS[level])

    def at(silent: float) -> float:
        same = [
            np.exp(-silent * length) * (1 - precision) ** number
            for length, number in ((2.0, 0), (3.0, 3), (1.0, 1))
        ]
        law = stats.gamma(1.3, scale=mean / 1.3)
        return float((1 - same[0]) * same[1] * (1 - same[2]) * law.pdf(silent))

    exact, _ = integrate.quad(at, 0, 60 * mean, limit=200)
    assert found[place, level] == pytest.approx(np.log(exact), abs=0.02)


@pytest.mark.statistical
def test_a_site_of_known_precision_and_recall() -> None:
    """One log of 150 pages; the errors of both are some 0.03."""
    site = made_site(150, 13, 1.0, 0.3, 0.6, np.random.default_rng(5))
    precision, recall, total = fitted(site)
    assert precision[1] < 0.3 < precision[2]
    assert recall[1] < 0.6 < recall[2]
    assert precision[2] - precision[1] < 0.15
    changes = (site.rates.silent + site.rates.true) * DAY
    held = (total[:, 1] <= changes) & (changes <= total[:, 2])
    assert 0.9 <= held.mean() <= 1.0
    assert total[:, 0].mean() == pytest.approx(changes.mean(), rel=0.1)


@pytest.mark.thorough
@pytest.mark.statistical
def test_a_prior_that_does_not_know_the_signals_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the prior is for: without it signals take the credit for changes that have none."""
    site = made_site(300, 13, 1.0, 0.2, 0.5, np.random.default_rng(2))
    right, _, _ = fitted(site)
    monkeypatch.setattr(signal_worth, "_POWERS", (0.0,))
    wrong, _, _ = fitted(site)
    assert abs(right[0] - 0.2) < 0.04
    assert wrong[0] > right[0] + 0.02


def test_nothing_is_said_where_no_signal_was_heard_between_visits() -> None:
    site = made_site(20, 8, 1.0, 0.5, 0.5, np.random.default_rng(3))
    begin, end = site.log.time.min(), site.log.time.max()
    times = np.array([begin - 5.0, end + 5.0, end + 9.0])
    signals = SignalLog(site.signals.urls, np.array([0, 1, 2], np.int32), times)
    found = fit(Trace(site.log, "day"), Options(signals=signals))
    precision = found.find("precision", "example.org")
    assert (precision.low, precision.high) == (0.0, 1.0)


def test_hosts_have_their_own() -> None:
    """Half of the pages on a host whose signals are true, half on one whose signals are not."""
    sites = [
        made_site(60, 13, 1.0, precision, 0.6, np.random.default_rng(seed), host=host)
        for seed, (precision, host) in enumerate(((0.9, "https://a.org"), (0.1, "https://b.org")))
    ]
    urls = np.concatenate([each.log.urls for each in sites])
    log = VisitLog(
        urls,
        np.concatenate([sites[0].log.page, sites[1].log.page + 60]).astype(np.int32),
        np.concatenate([each.log.time for each in sites]),
        np.concatenate([each.log.changed for each in sites]),
    )
    signals = SignalLog(
        urls,
        np.concatenate([sites[0].signals.page, sites[1].signals.page + 60]).astype(np.int32),
        np.concatenate([each.signals.time for each in sites]),
    )
    found = fit(Trace(log, "day"), Options(signals=signals))
    good = found.find("precision", "a.org")
    bad = found.find("precision", "b.org")
    assert good.low > 0.6
    assert bad.high < 0.3
    assert found.changes["pages.signals"]["precision"][0] > 0.6


def test_the_fitted_scenario_hears_signals() -> None:
    site = made_site(12, 13, 1.0, 0.5, 0.5, np.random.default_rng(4))
    scenario = fitted_scenario(fit(Trace(site.log, "day"), Options(signals=site.signals)), "made")
    assert scenario.pages is not None
    assert scenario.pages.signals is not None


@pytest.mark.nightly
@pytest.mark.statistical
@pytest.mark.parametrize(("precision", "recall"), [(0.2, 0.5), (0.8, 0.8)])
@pytest.mark.parametrize("changes", [0.3, 1.0, 3.0])
def test_intervals_cover(precision: float, recall: float, changes: float) -> None:
    """Of 200 made-up logs; the standard error of a coverage is 0.015."""
    found = coverage(200, 100, changes, precision, recall)
    assert found.precision >= 0.9
    assert found.recall >= 0.9
    assert 0.93 <= found.pages <= 0.99
