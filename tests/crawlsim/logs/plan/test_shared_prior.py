"""Change rates from logs of visits: likelihoods, priors, intervals."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from simulated_logs import DAY, YEAR, bursty_site, urls_of, visit_log

from crawlsim.logs.fit.shared_prior import (
    Groups,
    Hierarchy,
    Within,
    estimates,
    fitted_priors,
    groups_of,
    joint_draws,
    log_likelihoods,
    means_of_folders,
    posterior,
    rate_grid,
    rates_given_means,
    shared_rates,
    sharpened,
)
from crawlsim.logs.plan.planning import forecast_of, stale_share
from crawlsim.logs.read.gaps import (
    WINDOWS,
    Gaps,
    gaps_of_changes,
    gaps_of_visits,
    window_starts,
)
from crawlsim.logs.read.log import ChangeLog, VisitLog


def gaps_in(rates: np.ndarray, number: int, seed: int = 3) -> Gaps:
    lengths = np.random.default_rng(seed).exponential(15 * DAY, (len(rates), number)) + DAY
    return gaps_of_visits(visit_log(rates, lengths))


def test_the_likelihood_is_that_of_censored_poisson_changes() -> None:
    gaps = gaps_in(np.array([0.1, 0.01, 0.5]) / DAY, 12)
    grid = rate_grid(gaps)
    (logs,) = log_likelihoods(gaps, slice(0, 3), grid, [-np.inf])
    for page in range(3):
        own = gaps.page == page
        seen = np.outer(grid, gaps.length[own])
        each = np.where(gaps.changed[own], np.log(-np.expm1(-seen)), -seen)
        np.testing.assert_allclose(np.exp(logs[page] - each.sum(axis=1)), 1.0, rtol=1e-12)


def test_the_likelihood_of_gaps_from_a_second_to_a_century() -> None:
    """Each gap is off by less than 1e-12 in the logarithm, whatever else a page has."""
    lengths = np.geomspace(1.0, 100 * YEAR, 151)
    grid = 1e-12 * np.exp(0.2 * np.arange(140))
    for first, changed in ((0, np.ones(151, bool)), (7, np.arange(151) % 3 == 1)):
        page = first + np.arange(151) // 2
        gaps = replace(
            gaps_in(np.ones(3), 2),
            page=page.astype(np.int32),
            start=np.zeros(151),
            length=lengths,
            changed=changed,
        )
        (logs,) = log_likelihoods(gaps, slice(first, first + 77), grid, [-np.inf])
        seen = np.outer(lengths, grid)
        each = np.where(changed[:, None], np.log(-np.expm1(-seen)), -seen)
        wanted = np.zeros((77, 140))
        np.add.at(wanted, page - first, each)
        sizes = np.maximum(1.0, np.abs(wanted))
        assert (np.abs(logs - wanted) / sizes).max() < 1e-12


def test_pages_with_the_same_evidence_have_the_same_rate() -> None:
    """Wherever they stand among others, up to errors of rounding."""
    once = gaps_in(np.geomspace(0.01, 1.0, 5) / DAY, 12)
    copies = 21
    many = replace(
        once,
        page=(once.page + 5 * np.arange(copies, dtype=np.int32)[:, None]).ravel(),
        **{
            name: np.tile(getattr(once, name), copies)
            for name in ("start", "length", "changed", "first", "visits")
        },
    )
    groups = Groups(np.zeros(5 * copies, np.int64), np.zeros(1, np.int64))
    for each in vars(shared_rates(many, groups)).values():
        rows = each.reshape(copies, 5)
        np.testing.assert_allclose(rows, np.broadcast_to(rows[0], rows.shape), rtol=1e-12)


@pytest.mark.parametrize("is_lognormal", [False, True])
@pytest.mark.parametrize("finer", [1, 4])
def test_rates_given_a_mean_are_cells_of_their_law(finer: int, is_lognormal: bool) -> None:
    """Cells end half a step of 0.2 from the points; the first begins at 0."""
    points, shape = 60, 0.75
    sd = np.sqrt(np.log1p(1 / shape))
    edges = np.exp(0.2 * (np.arange(points + 1) - 0.5))
    edges[0] = 0.0
    for number, row in enumerate(rates_given_means(Within(shape, is_lognormal), points, finer)):
        mean = np.exp(0.2 * number / finer)
        law = stats.gamma(shape, scale=mean / shape)
        if is_lognormal:
            law = stats.lognorm(sd, scale=mean * np.exp(-(sd**2) / 2))
        assert law.var() == pytest.approx(mean**2 / shape)
        cells = np.diff(law.cdf(edges))
        np.testing.assert_allclose(row, cells / cells.sum(), rtol=1e-5, atol=1e-13)


@pytest.mark.by_day("12.0")
@pytest.mark.parametrize("shape", [0.1, 0.75, 12.0])
def test_a_page_is_unseen_as_its_law_says(shape: float) -> None:
    """By Monte Carlo over quantiles: 4e5 rates, evenly over the law."""
    changes = np.array([0.01, 0.3, 2.0])
    places = (np.arange(400_000) + 0.5) / 400_000
    sd = np.sqrt(np.log1p(1 / shape))
    for within, rates in (
        (Within(shape), stats.gamma.ppf(places, shape, scale=1 / shape)),
        (
            Within(shape, is_lognormal=True),
            stats.lognorm.ppf(places, sd, scale=np.exp(-(sd**2) / 2)),
        ),
    ):
        still = np.exp(-np.outer(changes, rates))
        unseen, slope = within.unseen(changes)
        np.testing.assert_allclose(np.exp(unseen), still.mean(axis=1), rtol=2e-3)
        expected = changes * (rates * still).mean(axis=1)
        np.testing.assert_allclose(np.exp(slope), expected, rtol=2e-2)


@pytest.mark.thorough
@pytest.mark.parametrize("tail", ["gamma", "lognormal"])
def test_sums_of_rates_are_promised_with_heavy_tails_too(tail: str) -> None:
    """Six logs of 1000 pages with 14 gaps of four days: a page of four changes a day fills all.

    The errors of the sums are 3 % each, as the draws say; a prior of gamma laws alone was a tenth
    too low where rates are lognormal.
    """
    errors, inside = [], 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        rates = rng.gamma(1.0, 0.2, 1000)
        if tail == "lognormal":
            rates = 0.15 * np.exp(1.2 * rng.normal(size=1000))
        gaps = gaps_of_visits(visit_log(rates / DAY, rng.uniform(2, 6, (1000, 14)) * DAY))
        grid = rate_grid(gaps)
        (logs,) = log_likelihoods(gaps, slice(0, 1000), grid, [-np.inf])
        drawn = joint_draws([logs], groups_of(urls_of(1000)), grid, 4 * DAY, 120, rng)
        sums = grid[drawn].sum(axis=0) * DAY
        errors.append(sums.mean() / rates.sum() - 1)
        low, high = np.quantile(sums, [0.025, 0.975])
        inside += low <= rates.sum() <= high
    assert abs(np.mean(errors)) < 0.035
    assert inside >= 4


def test_windows_hold_the_gaps_that_begin_in_them() -> None:
    gaps = gaps_in(np.full(5, 0.05) / DAY, 40)
    grid = rate_grid(gaps)
    middle = float(np.median(gaps.start))
    recent, whole = log_likelihoods(gaps, slice(0, 5), grid, [middle, -np.inf])
    (of_recent,) = log_likelihoods(gaps.rows(gaps.start >= middle), slice(0, 5), grid, [-np.inf])
    np.testing.assert_allclose(recent, of_recent, rtol=1e-5, atol=1e-4)
    assert not np.allclose(recent, whole)


@pytest.mark.by_day(besides=("1.0", "3.0"))
@pytest.mark.parametrize("shape", [0.3, 1.0, 3.0])
@pytest.mark.statistical
def test_intervals_cover_the_rates(shape: float) -> None:
    """1200 pages, ten irregular visits each.

    The share of a binomial with 0.95 is below 0.93 or above 0.97 with probability 2e-3; a tenth
    of the width of the intervals missing gives 0.93.
    """
    rng = np.random.default_rng(7)
    rates = rng.gamma(shape, 1 / shape, 1200) / (20 * DAY)
    gaps = gaps_in(rates, 9)
    found = forecast_of(gaps, groups_of(urls_of(1200)), 1 / (30 * DAY)).estimates
    covered = (found.low <= rates) & (rates <= found.high)
    assert 0.93 <= covered.mean() <= 0.97
    assert (found.low <= found.rates).all()
    assert (found.rates <= found.high).all()
    assert (found.rates > 0).all()


def test_a_rate_is_the_posterior_mean_given_the_prior() -> None:
    """One folder: the posterior by quadrature, with the hierarchy that was fitted."""
    rates = np.random.default_rng(1).gamma(0.5, 2.0, 400) / (20 * DAY)
    gaps = gaps_in(rates, 8)
    groups = groups_of(np.array([f"page-{page}" for page in range(400)], object))
    grid = rate_grid(gaps)
    (prior,) = fitted_priors(gaps, groups, grid, [-np.inf], [4.0])
    (logs,) = log_likelihoods(gaps, slice(0, 400), grid, [-np.inf])
    found = estimates(posterior(prior, logs, groups.folder), grid)
    shape = prior.hierarchy.shape
    fine = np.exp(np.linspace(np.log(grid[0]) - 20, np.log(grid[-1]), 20_000))
    for page in range(0, 400, 50):
        own = gaps.page == page
        seen = np.outer(fine, gaps.length[own])
        likelihood = np.where(gaps.changed[own], -np.expm1(-seen), np.exp(-seen)).prod(axis=1)
        expected = 0.0
        for probability, mean in zip(prior.means[0], grid, strict=True):
            if probability > 1e-6:
                density = stats.gamma.pdf(fine, shape, scale=mean / shape) * fine * likelihood
                expected += probability * float(density @ fine / density.sum())
        assert found.rates[page] == pytest.approx(expected, rel=0.005)


def test_a_sharp_posterior_is_not_rounded_to_the_grid() -> None:
    rate = 0.0473 / DAY
    gaps = gaps_in(np.array([rate, rate / 7]), 4000)
    forecast = forecast_of(gaps, groups_of(np.array(["a", "b"], object)), 1 / DAY)
    found = forecast.estimates
    assert found.rates[0] == pytest.approx(rate, rel=0.08)
    assert (found.high / found.low - 1 < 0.25).all()
    assert (found.low < [rate, rate / 7]).all()
    assert (found.high > [rate, rate / 7]).all()
    again = sharpened(
        found,
        np.full((2, len(forecast.grid)), 1 / len(forecast.grid)),
        forecast.grid,
        gaps,
        slice(0, 2),
        1.0,
    )
    np.testing.assert_array_equal(again.rates, found.rates)  # a flat posterior is left alone


def test_pages_learn_from_their_folder() -> None:
    """Two folders, one lively, one asleep: pages seen twice are taken for their folder's."""
    urls = np.array(sorted(f"https://h.example/{name}/{n}" for name in "ab" for n in range(200)))
    rates = np.where([url.split("/")[3] == "a" for url in urls], 0.2, 0.002) / DAY
    lengths = np.full((400, 1), 10 * DAY)
    gaps = gaps_of_visits(visit_log(rates, lengths))
    found = forecast_of(gaps, groups_of(urls), 1 / (10 * DAY)).estimates
    unchanged = gaps.changes == 0
    lively = rates > rates.mean()
    assert found.rates[unchanged & lively].mean() > 10 * found.rates[unchanged & ~lively].mean()


def test_the_only_folder_of_a_host_is_like_its_host() -> None:
    """What hosts differ by is not counted twice, which would make each of them a law to itself."""
    urls = np.array([f"https://h{n // 20:02}.example/{n:04}" for n in range(800)], object)
    gaps = gaps_in(np.random.default_rng(2).gamma(1.0, 0.05, 800) / DAY, 12)
    grid = rate_grid(gaps)
    (prior,) = fitted_priors(gaps, groups_of(urls), grid, [-np.inf], [4.0])
    assert prior.hierarchy.folders == pytest.approx(0.1)
    assert prior.hierarchy.hosts < 0.3


def test_small_folders_are_joined_and_none_is_lost() -> None:
    names = [f"https://big.example/one/{n}" for n in range(5)]
    names += [f"https://big.example/{n}/only" for n in range(4)]
    names += [f"https://tiny{n}.example/x" for n in range(6)]
    groups = groups_of(np.array(sorted(names), object))
    assert len(groups.folder) == len(names)
    assert len(np.unique(groups.folder)) == len(groups.host) == 3
    assert sorted(np.bincount(groups.folder)) == [4, 5, 6]


def test_a_scheme_and_a_query_change_no_folder() -> None:
    names = ["http://a.example/x/1", "https://a.example/x/2?q=/y/", "https://a.example/x/3#/z/"]
    names += [f"https://a.example/y/{n}" for n in range(3)]
    groups = groups_of(np.array(names, object))
    assert len(set(groups.folder[:3])) == 1
    assert len(set(groups.folder)) == 2


def test_change_times_are_read_as_visits() -> None:
    log = bursty_site(60, 5.0, 1)
    gaps = gaps_of_changes(log, 30 * DAY)
    brute = {}
    for page in range(60):
        own = log.time[log.page == page]
        last = int((log.time.max() - own[0]) // (30 * DAY))
        at = own[0] + 30 * DAY * np.arange(last + 1)
        before = np.searchsorted(own, at, side="right")
        brute[page] = (int((np.diff(before) > 0).sum()), last + 1)
    assert gaps.changes.tolist() == [brute[page][0] for page in range(60)]
    assert gaps.visits.tolist() == [brute[page][1] for page in range(60)]
    unseen = np.bincount(gaps.page, gaps.length, 60)
    np.testing.assert_allclose(unseen, 30 * DAY * (gaps.visits - 1))


def test_no_gap_of_change_times_straddles_a_cut() -> None:
    gaps = gaps_of_changes(bursty_site(60, 5.0, 1), 30 * DAY)
    for years in (1, 2, 3):
        cut = gaps.end - years * YEAR
        inside = (gaps.start < cut - 30 * DAY) & (gaps.start + gaps.length > cut + 30 * DAY)
        assert not inside.any()


@pytest.mark.parametrize(
    ("years", "windows"), [(0.5, 1), (1.0, 1), (1.1, 2), (2.5, 3), (4.0, 4), (7.0, 5), (30.0, 5)]
)
def test_the_windows_are_those_that_the_log_reaches(years: float, windows: int) -> None:
    gaps = gaps_in(np.full(3, 0.01) / DAY, 5)
    some = replace(gaps, begin=0.0, end=years * YEAR)
    expected = [(years - each) * YEAR for each in WINDOWS[:windows]]
    assert window_starts(some) == pytest.approx(expected)


def test_the_tree_of_folders_and_hosts_is_summed_exactly() -> None:
    """Against the sum over every combination of means: of all, two hosts and three folders."""
    rng = np.random.default_rng(8)
    means = 4
    of_folder = rng.normal(0, 2, (3, means))
    groups = Groups(np.arange(3), np.array([0, 0, 1]))
    hierarchy = Hierarchy(shape=1.0, folders=0.3, hosts=0.4)

    def given(above: int, sd: float) -> np.ndarray:
        weights = np.exp(-((0.2 * (np.arange(means) - above)) ** 2) / (2 * sd**2))
        return weights / weights.sum()

    expected = np.zeros((3, means))
    for root, *hosts in itertools.product(range(means), repeat=3):
        above = np.prod([given(root, hierarchy.hosts)[host] for host in hosts])
        for folders in itertools.product(range(means), repeat=3):
            weight = above
            for folder, mean in enumerate(folders):
                below = given(hosts[groups.host[folder]], hierarchy.folders)[mean]
                weight *= below * np.exp(of_folder[folder, mean])
            expected[range(3), folders] += weight
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(means_of_folders(of_folder, groups, hierarchy), expected)


@pytest.mark.thorough
def test_a_page_unlike_all_others_of_its_folder_has_a_rate_too() -> None:
    """Three thousand pages that never change, and one that changes every second."""
    cold = [(page, 30 * DAY * visit) for page in range(1, 3001) for visit in range(10)]
    page, time = np.array([*((0, float(visit)) for visit in range(5000)), *cold]).T
    log = VisitLog(
        np.array([f"https://example.org/{each}" for each in range(3001)], object),
        page.astype(np.int32),
        1.5e9 + time,
        (page == 0) & (time > 0),
    )
    found = forecast_of(gaps_of_visits(log), groups_of(log.urls), 1 / DAY)
    assert np.isfinite(found.worth.log_values).all()
    assert found.estimates.rates[0] > 0.9
    assert (found.estimates.rates[1:] * DAY < 1e-4).all()


def test_a_cut_of_change_times_keeps_the_quiet_time_before_it() -> None:
    """A page that changed once, years before: a back-test must know that it has slept."""
    log = ChangeLog(np.array(["a"], object), np.zeros(2, np.int32), np.array([0.0, 90.0]) * DAY)
    gaps = gaps_of_changes(log, 30 * DAY, 5 * YEAR)
    for years in range(1, 5):
        known = gaps.before(gaps.end - years * YEAR)
        assert known.end - (known.start + known.length).max() < 30 * DAY


@pytest.mark.thorough
def test_shapes_do_not_count_by_where_the_grid_lies() -> None:
    """One gap of each page tells no shape from another: more changes, other draws, no jumps."""
    pages = 3000
    alone = Groups(np.zeros(pages, np.int64), np.zeros(1, np.int64))
    stale = []
    for changed in (360, 380, 400):
        gaps = Gaps(
            page=np.arange(pages, dtype=np.int32),
            start=np.zeros(pages),
            length=np.ones(pages),
            changed=np.arange(pages) < changed,
            first=np.zeros(pages),
            visits=np.full(pages, 2),
            begin=0.0,
            end=1.0,
            interval=1.0,
        )
        grid = rate_grid(gaps)
        (logs,) = log_likelihoods(gaps, slice(0, pages), grid, [0.0])
        drawn = joint_draws([logs], alone, grid, 1.0, 240, np.random.default_rng(0))
        of_draws = stale_share(grid[drawn], np.array(0.2)).mean(axis=0) / changed
        stale.append(float(np.median(of_draws)))
    assert (np.diff(stale) < 0).all()
