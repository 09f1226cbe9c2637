"""A plan: how often each page is visited, from what a log says of its changes.

docs/how-to/scheduling.md has the method, and what each part of it is for. In short: next year's
rate of a page is taken to be that of the last 1, 2, 3, 5 or 10 years, each as likely as the
others, with the uncertainty of each; the visits that make the expected freshness largest are mixed
with a share spread evenly, which pays where a site begins to live that was asleep.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from crawlsim.logs.fit.shared_prior import (
    LARGEST_SHAPE,
    MOST_GAPS,
    MOST_PAGES,
    Estimates,
    Groups,
    block_estimates,
    fitted_priors,
    joint_draws,
    log_likelihoods,
    posterior,
    rate_grid,
    sampled,
    stratified,
)
from crawlsim.logs.plan import allocation
from crawlsim.logs.plan.allocation import Limits, Worth
from crawlsim.logs.plan.byte_budget import Fetched, log_bytes_of_one_more, log_found
from crawlsim.logs.plan.hours import ActiveHours
from crawlsim.logs.read.gaps import YEAR, Gaps, window_starts
from scenarios.arrays import Array

DRAWS = 240
"""Posterior draws of each change rate; a whole number of them for each number of windows."""

_DRAWS_OF_MANY = 60
"""The same of each page by itself where there are too many to draw them together."""

EVEN_SHARE = 0.25
"""Of the budget, spread evenly over the pages where a log is long enough."""

CAUTIOUS_SHARE = 0.5
"""The same where little is known."""

OBJECTIVES = ("freshness", "delay", "harmonic")
"""What visits make best: the share of time up to date, the mean time from a change to the visit
that finds it, or the sum over pages of ln(1 + changes per visit)."""

_BY_RATES = {"delay": allocation.by_delay, "harmonic": allocation.by_harmonic_cost}

_SHORT_HISTORY = 1.5
_LONG_HISTORY = 2.5

_MOST_TOGETHER = 3000
_LARGEST_SHAPE_OF_A_PLAN = 0.55


@dataclass(frozen=True)
class Forecast:
    """What a log says of the change rates of its pages, and what visits of them are worth.

    Attributes
    ----------
    grid : ndarray, shape (points,)
        Change rates per second.
    draws : ndarray of int, shape (pages, draws)
        Draws of next year's rate of each page, as indices into `grid`; the first of them are by the
        shortest window, and so on. Of many pages each is drawn by itself, and fewer times.
    sampled : ndarray of int, shape (some,)
        Pages, all of them where they are not too many.
    together : ndarray of int, shape (some, DRAWS)
        Draws of their rates together, with what they share drawn too.
    worth : Worth
        Of visits, next year's rate being uncertain.
    estimates : Estimates
        Rates over the whole log.
    hours : ActiveHours, optional
        In which visits take place; default always.
    fetched : Fetched, optional
        Bytes of visits, where the budget is one of bytes; `worth` is then of the bytes spent.
    by_visits : Worth, optional
        What `worth` would be if all visits cost alike; None where they do.
    """

    grid: Array
    draws: NDArray[np.uint8]
    sampled: NDArray[np.int64]
    together: NDArray[np.uint8]
    worth: Worth
    estimates: Estimates
    hours: ActiveHours | None = None
    fetched: Fetched | None = None
    by_visits: Worth | None = None

    def cost(self, objective: str) -> Callable[[Array, Array], Array]:
        """What a page costs by an objective, from its change rate and its visits per second."""
        if self.hours is not None and objective in (of_nights := _costs_with(self.hours)):
            return of_nights[objective]
        return _COSTS[objective]


def forecast_of(
    gaps: Gaps,
    groups: Groups,
    visits_of_a_page: float,
    *,
    costs: tuple[Array, float] | None = None,
    seed: int = 0,
) -> Forecast:
    """What a log says of its pages.

    Parameters
    ----------
    gaps : Gaps
    groups : Groups
    visits_of_a_page : float
        Visits per second of a page, on average.
    costs : (ndarray, float), optional
        Bytes of each page, and of a visit of one that has not changed; default all visits alike.
    seed : int
        Of the draws.

    Notes
    -----
    The shape of the prior is at most 0.55 for the plan: many pages that change in one sweep over a
    site make its pages look more alike than they are, since the likelihood takes them for as many
    independent changes. The estimates over the whole log have no such limit.
    """
    grid = rate_grid(gaps)
    starts = window_starts(gaps)
    whole = [*starts, min(gaps.begin, starts[-1])]
    shapes = [_LARGEST_SHAPE_OF_A_PLAN] * len(starts) + [LARGEST_SHAPE]
    priors = fitted_priors(gaps, groups, grid, whole, shapes)
    log_visits = allocation.visit_grid(visits_of_a_page)
    values = np.empty((gaps.pages, len(log_visits)), np.float32)
    by_bytes = found = None
    if costs is not None:
        by_bytes = np.empty_like(values)
        found = np.empty_like(values)
    alone = _DRAWS_OF_MANY
    draws = np.empty((gaps.pages, alone), np.uint8)
    every = Estimates(*(np.empty(gaps.pages) for _ in range(3)))
    rng = np.random.default_rng(seed)
    for pages, rows in gaps.blocks(MOST_PAGES, MOST_GAPS):
        some = gaps.rows(rows)
        folder = groups.folder[pages]
        logs = log_likelihoods(some, pages, grid, whole)
        by_window = [
            posterior(prior, each, folder) for prior, each in zip(priors, logs, strict=True)
        ]
        of_all = by_window.pop()
        mean = sum(by_window[1:], by_window[0]) / len(starts)
        values[pages] = allocation.values_of_visits(mean, grid, log_visits)
        if costs is not None and by_bytes is not None and found is not None:
            sizes, unchanged = costs
            price = log_bytes_of_one_more(mean, grid, log_visits, sizes[pages], unchanged)
            by_bytes[pages] = values[pages] - price
            found[pages] = log_found(mean, grid, log_visits)
        for index, weights in enumerate(by_window):
            own = slice(index * alone // len(starts), (index + 1) * alone // len(starts))
            draws[pages, own] = stratified(weights, own.stop - own.start, rng)
        every.take(pages, block_estimates(of_all, grid, some, pages, priors[-1]))
    sample = sampled(gaps.pages)
    if len(sample) > _MOST_TOGETHER:
        sample = sample[np.linspace(0, len(sample) - 1, _MOST_TOGETHER).astype(np.int64)]
    shared = groups.of(sample)
    of_sample = log_likelihoods(gaps.of(sample), slice(0, len(sample)), grid, starts)
    number = DRAWS // len(starts)
    together = joint_draws(of_sample, shared, grid, gaps.interval, number, rng)
    if len(sample) == gaps.pages:
        draws = together
    forecast = Forecast(grid, draws, sample, together, Worth(log_visits, values), every)
    if costs is None or by_bytes is None or found is None:
        return forecast
    return replace(
        forecast,
        worth=Worth(log_visits, by_bytes),
        by_visits=forecast.worth,
        fetched=Fetched(*costs, log_visits, found),
    )


def even_share_of(gaps: Gaps) -> float:
    """Share of the budget that is spread evenly: less of it where a log of more years speaks.

    Notes
    -----
    The worst years that were replayed are those in which a young site is built anew, which a log
    of a year cannot foresee.
    """
    years = (gaps.end - gaps.begin) / YEAR
    known = np.clip((years - _SHORT_HISTORY) / (_LONG_HISTORY - _SHORT_HISTORY), 0.0, 1.0)
    return float(CAUTIOUS_SHARE + known * (EVEN_SHARE - CAUTIOUS_SHARE))


def planned(
    forecast: Forecast,
    importance: Array,
    limits: Limits,
    even_share: float,
    objective: str = "freshness",
) -> Array:
    """Visits per second of each page.

    Parameters
    ----------
    forecast : Forecast
    importance : ndarray, shape (pages,)
    limits : Limits
    even_share : float
        Of the budget, spread evenly; the limits hold for both parts together, and of bytes the
        budget too, since a page that is visited more often has changed at fewer of its visits.
    objective : str
        One of `OBJECTIVES`.
    """
    even = allocation.evenly(limits)
    if even_share == 1:
        return even
    left = 1 - even_share
    of_hosts = np.bincount(limits.host, even, len(limits.host_budgets))
    rest = replace(
        limits,
        least=np.maximum(limits.least - even_share * even, 0.0) / left,
        most=(limits.most - even_share * even) / left,
        host_budgets=(limits.host_budgets - even_share * of_hosts) / left,
    )
    if (takes := limits.takes) is not None:
        rest = replace(rest, takes=lambda best: takes(left * best + even_share * even))
    if objective == "freshness":
        best = allocation.by_freshness(forecast.worth, importance, rest)
    else:
        best = _BY_RATES[objective](forecast.estimates.rates, importance, rest)
    return np.clip(left * best + even_share * even, limits.least, limits.most)


def stale_share(rates: Array, visits: Array) -> Array:
    """Share of time for which pages are out of date, if they are visited at equal intervals.

    Parameters
    ----------
    rates, visits : ndarray
        Changes, of a Poisson process, and visits per second.
    """
    ratio = rates / visits
    return 1 + np.expm1(-ratio) / ratio


_COSTS: Mapping[str, Callable[[Array, Array], Array]] = {
    "freshness": stale_share,
    "delay": lambda rates, visits: rates / (2 * visits),
    "harmonic": lambda rates, visits: np.log1p(rates / visits),
}
"""Objective -> what a page costs, from its change rate and its visits per second."""


def _costs_with(hours: ActiveHours) -> Mapping[str, Callable[[Array, Array], Array]]:
    """The costs to which nights make a difference."""
    return {"freshness": hours.stale_share, "delay": hours.delayed}


def _changes(rates: Array, visits: Array) -> Array:
    return np.broadcast_to(rates, np.broadcast_shapes(rates.shape, visits.shape))


def expected_costs(forecast: Forecast, visits: Array, importance: Array, objective: str) -> Array:
    """What visits cost by an objective, for each draw of all rates together, shape (DRAWS,).

    Of "delay" it is the mean time from a change to the visit that finds it, over all changes; of
    the others the mean over pages.
    """
    costs = _costs_of_draws(forecast, visits, importance, forecast.cost(objective))
    if objective == "delay":
        costs = costs / _costs_of_draws(forecast, visits, importance, _changes)
    return costs


def stale_shares(forecast: Forecast, visits: Array, importance: Array) -> Array:
    """Expected share of time out of date, for each draw of all rates together, shape (DRAWS,).

    Parameters
    ----------
    forecast : Forecast
    visits : ndarray, shape (pages,)
        Per second, at equal intervals of active time.
    importance : ndarray, shape (pages,)
        Weight of each page in the mean.
    """
    return expected_costs(forecast, visits, importance, "freshness")


def _costs_of_draws(
    forecast: Forecast,
    visits: Array,
    importance: Array,
    cost: Callable[[Array, Array], Array],
) -> Array:
    """Weighted mean of a cost over pages, for each draw of all rates together, shape (DRAWS,).

    Notes
    -----
    Of many pages some are drawn together, and what these differ from their draws one by one is
    taken for all.
    """
    some = forecast.sampled
    of_some = (visits[some], importance[some], cost)
    together = _means_of_draws(forecast.grid, forecast.together, *of_some)
    if len(some) == len(visits):
        return together
    alone = _means_of_draws(forecast.grid, forecast.draws[some], *of_some)
    of_all = _means_of_draws(forecast.grid, forecast.draws, visits, importance, cost)
    return together * (of_all.mean() / alone.mean())


def expected_bytes(forecast: Forecast, visits: Array) -> Array:
    """Bytes per second of all pages, for each draw of all rates together, shape (DRAWS,)."""
    fetched = forecast.fetched
    assert fetched is not None
    found = _costs_of_draws(forecast, visits, fetched.sizes, _found) * fetched.sizes.sum()
    other = _costs_of_draws(forecast, visits, np.ones(len(visits)), _found) * len(visits)
    return np.asarray(found + fetched.unchanged * (visits.sum() - other))


def _found(rates: Array, visits: Array) -> Array:
    """Visits per second that find a change."""
    return -visits * np.expm1(-rates / visits)


def left_fresh(
    forecast: Forecast, visits: Array, importance: Array, pages: NDArray[np.bool_]
) -> float:
    """Expected share of time, of that of all pages, for which some of them are up to date."""
    if not pages.any():
        return 0.0
    fresh = 1 - stale_of(forecast, visits, importance, pages)
    return float(fresh * importance[pages].sum() / importance.sum())


def stale_of(
    forecast: Forecast, visits: Array, importance: Array, pages: NDArray[np.bool_]
) -> float:
    """Expected share of time for which some of the pages are out of date."""
    of_some = (forecast.draws[pages], visits[pages], importance[pages])
    return float(_means_of_draws(forecast.grid, *of_some, forecast.cost("freshness")).mean())


def _means_of_draws(
    grid: Array,
    draws: NDArray[np.uint8],
    visits: Array,
    importance: Array,
    cost: Callable[[Array, Array], Array],
) -> Array:
    """Weighted mean of the costs of pages for each draw of their rates, shape (DRAWS,)."""
    total = np.zeros(draws.shape[1])
    for first in range(0, len(visits), MOST_PAGES):
        pages = slice(first, first + MOST_PAGES)
        costs = cost(grid, visits[pages, None])
        drawn = np.take_along_axis(costs, draws[pages].astype(np.intp), axis=1)
        total += importance[pages] @ drawn
    return total / importance.sum()
