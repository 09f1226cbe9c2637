"""How often each page is visited: rules that share out a budget within limits of pages and hosts.

Every rule gives each page a rate of visits that falls with the price of a visit. The price of a
host that may not be visited more often is raised until its pages keep to the limit, and the price
of all until the budget is spent, in visits or in bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from crawlsim.logs.plan.quantities import bytes_in_words, in_words
from scenarios import ScenarioError
from scenarios.arrays import Array, but_for_rounding
from scenarios.text import counted

DAY = 86400.0

_LOWEST = -7.0
_HIGHEST = 9.0
_STEP = 0.25
_TINY = 1e-200
_FARTHEST = 600.0
_SLOPE = 1e-4
_HALVINGS = 45
_MOST_PAGES = 8192
_ROUNDING = 1e-9
_ENOUGH = 1.0005
"""Rounds four digits of bytes up, so that the value named is enough."""


@dataclass(frozen=True)
class Limits:
    """What a crawler can and may do.

    Attributes
    ----------
    budget : float
        Visits per second, all pages together, or what `takes` counts.
    least, most : float or ndarray, shape (pages,)
        Visits per second of one page.
    host : ndarray of int, shape (pages,)
    host_budgets : ndarray, shape (hosts,)
        Visits per second of each host; infinite where there is no limit.
    takes : callable, optional
        Bytes per second of each page from its visits per second, where `budget` is one of bytes.
    """

    budget: float
    least: float | Array
    most: float | Array
    host: NDArray[np.int64]
    host_budgets: Array
    takes: Callable[[Array], Array] | None = None

    def spent(self, visits: Array) -> Array:
        """What visits of each page take of the budget."""
        return visits if self.takes is None else self.takes(visits)

    def a_day(self, number: float) -> str:
        """A part of the budget in words."""
        if self.takes is None:
            return f"{number * DAY:.6g}"
        return bytes_in_words(number * DAY)


def leave_room(limits: Limits) -> bool:
    """Whether some schedule keeps the limits."""
    try:
        refuse_what_cannot_be(limits, np.full(len(limits.host_budgets), "", object))
    except ScenarioError:
        return False
    return True


def refuse_what_cannot_be(
    limits: Limits, host_names: NDArray[np.object_], option: str = "--max"
) -> None:
    """Refuse limits that no schedule keeps.

    Parameters
    ----------
    limits : Limits
    host_names : ndarray of str, shape (hosts,)
    option : str
        That set the longest time between two visits.

    Raises
    ------
    ScenarioError
        Naming the option, and the nearest value that is possible.
    """
    pages = len(limits.host)
    hosts = len(limits.host_budgets)
    least = np.broadcast_to(limits.least, pages)
    most = np.broadcast_to(limits.most, pages)
    asked = f"{limits.a_day(limits.budget)}/day"
    budget = "--visits" if limits.takes is None else "--budget"
    longest = in_words(1 / least.max()) if least.max() > 0 else ""
    needed = float(limits.spent(least).sum()) if least.any() else 0.0
    if needed > limits.budget * (1 + _ROUNDING):
        of_day = f"{_above(needed * DAY)} visits"
        if limits.takes is not None:
            of_day = bytes_in_words(needed * DAY * _ENOUGH)
        raise ScenarioError(
            option,
            longest,
            f"{counted(pages, 'page')} {'needs' if pages == 1 else 'need'} at least "
            f"{of_day} a day, and {budget} allows {asked}",
        )
    needs = np.bincount(limits.host, least, hosts)
    short = np.flatnonzero(needs > limits.host_budgets * (1 + _ROUNDING))
    if len(short):
        name = host_names[short[0]]
        need = float(needs[short[0]])
        raise ScenarioError(
            option,
            longest,
            f"the pages of {name} need at least {_above(need * DAY)} visits a day, and the host "
            f"allows {limits.host_budgets[short[0]] * DAY:.6g}",
        )
    possible = most_possible(limits)
    if possible < limits.budget * (1 - _ROUNDING):
        kept = []
        if np.isfinite(most).any():
            kept.append(f"at least {in_words(1 / most.min())} between two visits of a page")
        if np.isfinite(limits.host_budgets).any():
            kept.append("the limits of the hosts")
        allowed = f"no more than {limits.a_day(possible)}/day keeps to {' and '.join(kept)}"
        if limits.takes is None:
            allowed = (
                f"visits no more often than {possible * DAY:.6g}/day keep to {' and '.join(kept)}"
            )
        raise ScenarioError(budget, asked, allowed)


def most_possible(limits: Limits) -> float:
    """What pages and hosts allow to be spent at most, all together; of bytes by even visits."""
    hosts = len(limits.host_budgets)
    there = np.bincount(limits.host, minlength=hosts) > 0
    most = np.bincount(limits.host, np.broadcast_to(limits.most, len(limits.host)), hosts)
    visits = float(np.minimum(most[there], limits.host_budgets[there]).sum())
    if limits.takes is None or np.isinf(visits):
        return visits
    return float(limits.takes(evenly(replace(limits, budget=visits, takes=None))).sum())


def _above(number: float) -> str:
    """A number rounded up, so that the value named is enough."""
    digits = max(0, 5 - int(np.floor(np.log10(number))))
    return f"{np.ceil(number * 10**digits) / 10**digits:.{digits}f}"


def shared_out(visits_at: Callable[[Array], Array], limits: Limits) -> Array:
    """Visits per second of each page under a rule.

    Parameters
    ----------
    visits_at : callable
        Visits per second of each page, given the logarithm of the price of a visit to each;
        continuous and falling.
    limits : Limits
        As `refuse_what_cannot_be` let them pass.

    Returns
    -------
    ndarray, shape (pages,)
        Sums to the budget.
    """

    def visits(prices: Array | float) -> Array:
        return np.clip(visits_at(prices + no_price), limits.least, limits.most)

    def together(price: float) -> Array:
        return visits(np.maximum(price, own[limits.host]))

    no_price = np.zeros(len(limits.host))
    own = np.full(len(limits.host_budgets), -np.inf)
    limited = np.isfinite(limits.host_budgets)
    if limited.any():
        own = np.where(limited, _prices_of_hosts(visits, limits), -np.inf)

    def surplus(price: float) -> float:
        return float(limits.spent(together(price)).sum()) - limits.budget

    low, high = _bracket(surplus)
    if low == high:
        return together(low)
    return together(optimize.brentq(surplus, low, high, xtol=1e-14))


def _prices_of_hosts(visits: Callable[[Array], Array], limits: Limits) -> Array:
    """Logarithm of the least price at which each host is within its limit."""
    hosts = len(limits.host_budgets)
    lows = np.full(hosts, -_FARTHEST)
    highs = np.full(hosts, _FARTHEST)
    for _ in range(_HALVINGS):
        middle = (lows + highs) / 2
        sums = np.bincount(limits.host, visits(middle[limits.host]), hosts)
        over = sums > limits.host_budgets
        lows = np.where(over, middle, lows)
        highs = np.where(over, highs, middle)
    return highs


def _bracket(surplus: Callable[[float], float]) -> tuple[float, float]:
    """A price that is too low and one that is too high; twice the same if it is right."""
    low = -1.0
    high = 1.0
    while surplus(low) < 0 and low > -_FARTHEST:
        low = max(2 * low, -_FARTHEST)  # twice as far visits would overflow
    while surplus(high) > 0 and high < _FARTHEST:
        high = min(2 * high, _FARTHEST)
    if surplus(low) <= 0:
        return low, low
    return (high, high) if surplus(high) >= 0 else (low, high)


def evenly(limits: Limits) -> Array:
    """Every page as often as every other, as far as the limits allow."""
    return shared_out(lambda prices: np.exp(-prices), limits)


def in_proportion(rates: Array, limits: Limits) -> Array:
    """Every page in proportion to its change rate."""
    return shared_out(lambda prices: rates * np.exp(-prices), limits)


def by_harmonic_cost(rates: Array, weights: Array, limits: Limits) -> Array:
    """The rule of LambdaCrawl, whose cost is the harmonic number of the changes not yet seen.

    Notes
    -----
    The positive root f of ``f (f + r) = w r / price``, where a page that changes at rate r is
    visited at the times of a Poisson process (Kolobov, Peres, Lu and Horvitz, NeurIPS 2019).
    """

    def visits(prices: Array) -> Array:
        worth = weights * np.exp(-prices)
        return 2 * worth / (1 + np.sqrt(1 + 4 * worth / rates))

    return shared_out(visits, limits)


def by_random_visits(rates: Array, weights: Array, limits: Limits) -> Array:
    """The rule that is best for freshness if visits are Poisson: ``sqrt(w r / price) - r`` or 0.

    Notes
    -----
    Azar, Horvitz, Lubetzky, Peres and Shahaf, Tractable near-optimal policies for crawling, PNAS
    2018.
    """

    def visits(prices: Array) -> Array:
        return np.maximum(np.sqrt(weights * rates * np.exp(-prices)) - rates, 0.0)

    return shared_out(visits, limits)


def by_delay(rates: Array, weights: Array, limits: Limits) -> Array:
    """The visits that make the mean time from a change to the visit that finds it shortest.

    Notes
    -----
    At equal intervals that time is half an interval, so that ``sum w r / (2 f)`` is least where
    visits are as the roots of ``w r``; of uncertain rates their means count.
    """
    worth = np.sqrt(weights * rates)
    return shared_out(lambda prices: worth * np.exp(-prices), limits)


RULES_OF_OTHERS: Mapping[str, Callable[[Array, Array, Limits], Array]] = {
    "lambdacrawl": by_harmonic_cost,
    "azar": by_random_visits,
    "proportional": lambda rates, _weights, limits: in_proportion(rates, limits),
    "uniform": lambda _rates, _weights, limits: evenly(limits),
}
"""Visits from change rates, weights and limits, by names that can be asked for."""


@dataclass(frozen=True)
class Worth:
    """What one more visit of a page is worth, for each of some rates of visits.

    Attributes
    ----------
    log_visits : ndarray, shape (points,)
        Equally spaced logarithms of visits per second, increasing.
    log_values : ndarray, shape (pages, points)
        Logarithms of the gain of expected freshness, which falls with the visits.
    """

    log_visits: Array
    log_values: NDArray[np.float32]

    def visits(self, prices: Array) -> Array:
        """Visits of each page at which one more is worth its price, within the grid."""
        logs = np.empty(len(prices))
        for first in range(0, len(prices), _MOST_PAGES):
            part = slice(first, first + _MOST_PAGES)
            logs[part] = self._log_visits_of(self.log_values[part], prices[part])
        return np.exp(logs)

    def _log_visits_of(self, values: NDArray[np.float32], prices: Array) -> Array:
        above = np.count_nonzero(values > prices[:, None].astype(np.float32), axis=1)
        right = np.clip(above, 1, len(self.log_visits) - 1)
        row = np.arange(len(prices))
        before = values[row, right - 1].astype(float)
        after = values[row, right].astype(float)
        inside = np.clip((before - prices) / np.maximum(before - after, _TINY), 0.0, 1.0)
        return self.log_visits[right - 1] + inside * _STEP


def visit_grid(visits_of_a_page: float) -> Array:
    """Logarithms of visits per second around the mean of all pages."""
    middle = np.log(visits_of_a_page)
    return middle + np.arange(_LOWEST, _HIGHEST, _STEP)


def values_of_visits(weights: Array, grid: Array, log_visits: Array) -> NDArray[np.float32]:
    """Logarithms of the gain of expected freshness by one more visit per second.

    Parameters
    ----------
    weights : ndarray, shape (pages, points)
        Posterior probabilities of the change rates in `grid`.
    grid : ndarray, shape (points,)
    log_visits : ndarray, shape (visits,)

    Notes
    -----
    A page that changes at rate r and is visited f times per second at equal intervals is fresh for
    a share ``(f / r) (1 - exp(-r / f))`` of the time (coffman1998, Theorem 3.3), with derivative
    ``(1 - (1 + x) exp(-x)) / r`` at ``x = r / f``: the distribution function of an Erlang law.
    Where ten visits of a page would be as useless as one, a slight fall is put in, so that each
    number of visits has its price.
    """
    ratio = grid[:, None] / np.exp(log_visits)
    gain = special.gammainc(2.0, ratio) / grid[:, None]
    values = np.log(np.maximum(weights @ gain, _TINY)) - _SLOPE * np.arange(len(log_visits))
    return values.astype(np.float32)


def by_freshness(worth: Worth, importance: Array, limits: Limits) -> Array:
    """The visits that make the expected freshness largest.

    Parameters
    ----------
    worth : Worth
    importance : ndarray, shape (pages,)
        Weight of each page.
    limits : Limits
    """
    logs = np.log(np.maximum(importance, _TINY))
    return shared_out(lambda prices: worth.visits(prices - logs), limits)


def in_tiers(visits: Array, tiers: Array, limits: Limits) -> Array:
    """The visits of each page moved to a rate of a crawler that knows only a few.

    Parameters
    ----------
    visits : ndarray, shape (pages,)
        Between the least and the largest of the tiers.
    tiers : ndarray, shape (tiers,)
        Rates of visits, increasing.
    limits : Limits
        Whose budget is spent.

    Returns
    -------
    ndarray, shape (pages,)
        Spends the budget but for what one page more would cost.

    Notes
    -----
    A page goes up where its place between two tiers is above a threshold, one for all pages.
    """
    lower = np.clip(np.searchsorted(tiers, visits, "right") - 1, 0, len(tiers) - 1)
    upper = np.minimum(lower + 1, len(tiers) - 1)
    step = tiers[upper] - tiers[lower]
    place = np.where(step > 0, (visits - tiers[lower]) / np.where(step > 0, step, 1.0), 0.0)
    order = np.argsort(-but_for_rounding(place), kind="stable")
    least = limits.spent(tiers[lower])
    more = step if limits.takes is None else limits.takes(tiers[upper]) - least
    spent = least.sum() + np.cumsum(more[order])
    raised = order[: int(np.searchsorted(spent, limits.budget * (1 + _ROUNDING), "right"))]
    result = tiers[lower]
    result[raised] = tiers[upper][raised]
    return result
