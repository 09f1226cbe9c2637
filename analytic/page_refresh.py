"""How often the copies of pages are out of date, without a buffer (coffman1998).

Notation of the docstrings: an access takes a time X of mean m; page i changes at rate mu_i;
``q = mu m``, ``h = E e^{-mu X}``, ``l = -ln h``, ``delta = q - l``, ``exc(t) = t - 1 + e^{-t}``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analytic import page_conditions as conditions
from analytic.active_robots import most_active
from analytic.formula import Formula, Values
from analytic.transforms import exc, excess, log_transform, mean_time
from scenarios import Scenario
from scenarios.accessing.policy import Periodic
from scenarios.distributions import Distribution
from scenarios.page_data import access_shares, change_rates, page_weights

__all__ = [
    "FORMULAS",
    "crawl_rates",
    "cyclic_obsolescence",
    "equal_spacing_bound",
    "interaccess_obsolescence",
    "randomized_obsolescence",
    "slot_distances",
    "stale_answers",
]

Array = NDArray[np.floating[Any]]

_ROUNDING = 1e-9
"""What the sum of all shares may be above 1."""


def interaccess_obsolescence(rates: ArrayLike, distances: ArrayLike, law: Distribution) -> Array:
    """Mean time out of date between two accesses d slots apart, times the change rate.

    Parameters
    ----------
    rates : array_like
        Change rates mu.
    distances : array_like
        Interaccess distances d in accesses, broadcast against `rates`.
    law : Distribution
        Law of one access time.

    Notes
    -----
    coffman1998, Lemma 3.1: ``mu E Z = d q - (1 - h^d) = d delta + exc(l d)``. The second form has
    no cancellation.
    """
    d = np.asarray(distances, dtype=float)
    return d * excess(law, rates) + exc(log_transform(law, rates) * d)


def slot_distances(cycle: ArrayLike, pages: int) -> tuple[NDArray[np.intp], Array]:
    """Page of each slot of a periodic schedule, and the slots until its next access.

    Returns
    -------
    (page, distance) : ndarrays, shape (slots,)
        Sorted by page. The distances of a page sum to the length of the cycle.

    Raises
    ------
    ValueError
        If the cycle is empty, or has a page that there is not.
    """
    cycle = np.asarray(cycle, dtype=np.intp)
    strange = cycle[(cycle < 0) | (cycle >= pages)]
    if not len(cycle) or len(strange):
        wrong = f"has page {strange[0]}" if len(strange) else "is empty"
        raise ValueError(f"the cycle {wrong}; pages are numbered 0 … {pages - 1}")
    order = np.argsort(cycle, kind="stable")
    page = cycle[order]
    distance = np.diff(order, append=0).astype(float)
    last = np.flatnonzero(np.diff(page, append=pages))
    first = np.concatenate([[0], last[:-1] + 1])
    distance[last] = order[first] + len(cycle) - order[last]
    return page, distance


def cyclic_obsolescence(rates: ArrayLike, cycle: ArrayLike, law: Distribution) -> Array:
    """Obsolescence rate of every page under a periodic schedule, shape (pages,).

    Parameters
    ----------
    rates : array_like, shape (pages,)
        Change rates mu.
    cycle : array_like of int, shape (slots,)
        The page of each slot.
    law : Distribution
        Law of one access time; successive times are independent.

    Notes
    -----
    coffman1998 (3): ``r = delta / q + (1 / (K q)) sum_j exc(l d_j)``; a page that is never visited
    is out of date from its first change on (r = 1), a page that never changes never is (r = 0).
    """
    mu = np.asarray(rates, dtype=float)
    page, distance = slot_distances(cycle, len(mu))
    stale = interaccess_obsolescence(mu[page], distance, law)
    q = mu * mean_time(law)
    total = np.bincount(page, weights=stale, minlength=len(mu))
    visited = np.bincount(page, minlength=len(mu)) > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.where(visited, total / (len(page) * q), 1.0)
    return np.where(mu > 0, rate, 0.0)


def randomized_obsolescence(rates: ArrayLike, shares: ArrayLike, law: Distribution) -> Array:
    """Obsolescence rate of every page when each access draws its page independently.

    Parameters
    ----------
    rates, shares : array_like, shape (pages,)
        Change rates mu and access frequencies f.
    law : Distribution
        Law of the time from one access to the next.

    Raises
    ------
    ValueError
        If a share is negative, or they sum to more than 1.

    Notes
    -----
    coffman1998, Lemma 4.1: ``r = 1 - (f / q) b / (b + f)``, ``b = 1/h - 1``; written as
    ``[q (1-h) + f (h delta - P)] / (q (1 - h + f h))`` with ``P = 1 - (1 + l) e^{-l}``, which
    keeps its digits for small mu and does not overflow for large.
    """
    mu, f = np.asarray(rates, dtype=float), _checked_shares(shares)
    exponent, delta, q = log_transform(law, mu), excess(law, mu), mu * mean_time(law)
    h, missed = np.exp(-exponent), -np.expm1(-exponent)
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = (q * missed + f * (h * delta - _erlang_two(exponent))) / (q * (missed + f * h))
    return np.where(mu > 0, rate, 0.0)


def _checked_shares(shares: ArrayLike) -> Array:
    """Access frequencies of all pages, or of some of them."""
    f = np.asarray(shares, dtype=float)
    if not np.all(f >= 0) or f.sum() > 1 + _ROUNDING:
        raise ValueError(f"shares must be >= 0 and sum to at most 1, not to {f.sum():.9g}")
    return f


def _erlang_two(x: Array) -> Array:
    """``1 - (1 + x) e^{-x}``, the Erlang-2 distribution function."""
    near = np.minimum(x, 1.0)
    return np.where(x <= 1.0, np.exp(-near) * exc(-near), 1.0 - (1.0 + x) * np.exp(-x))


def equal_spacing_bound(rates: ArrayLike, shares: ArrayLike, law: Distribution) -> Array:
    """Lower bound on the obsolescence rate of every page at given access frequencies.

    Parameters
    ----------
    rates, shares : array_like, shape (pages,)
        Change rates mu and access frequencies f.
    law : Distribution
        Law of one access time.

    Raises
    ------
    ValueError
        If a share is negative, or they sum to more than 1.

    Notes
    -----
    coffman1998, Theorem 3.3: ``r >= delta / q + (f / q) exc(l / f)``; 1 where f = 0. Equality iff
    all distances are equal to 1/f.
    """
    mu, f = np.asarray(rates, dtype=float), _checked_shares(shares)
    q, visited = mu * mean_time(law), f > 0
    spaced = np.where(visited, f, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        bound = (excess(law, mu) + spaced * exc(log_transform(law, mu) / spaced)) / q
    return np.where(mu > 0, np.where(visited, bound, 1.0), 0.0)


def crawl_rates(shares: ArrayLike, law: Distribution, robots: int) -> Array:
    """Accesses of every page per unit time: ``f robots / m``.

    coffman1998, section 2 (access frequencies), for robots that always work.
    """
    rates: Array = _checked_shares(shares) * robots / mean_time(law)
    return rates


def stale_answers(obsolescence: ArrayLike, weights: ArrayLike) -> float:
    """Probability that a query is answered from an out-of-date copy: ``sum c r / sum c``.

    coffman1998 (1) at Poisson queries, which see time averages.
    """
    c = np.asarray(weights, dtype=float)
    return float(c @ np.asarray(obsolescence, dtype=float) / c.sum())


def _obsolescence(scenario: Scenario) -> Array:
    """Exact obsolescence rates of a scenario that meets the conditions of (3) or Lemma 4.1."""
    assert scenario.pages is not None
    assert scenario.robots is not None
    policy = scenario.robots.accessing
    assert policy is not None
    rates, law = change_rates(scenario.pages), conditions.law_between_accesses(scenario)
    shares = access_shares(policy, scenario.pages)
    if isinstance(policy, Periodic):
        return cyclic_obsolescence(rates, policy.cycle_of(shares), law)
    return randomized_obsolescence(rates, shares, law)


def _freshness(scenario: Scenario) -> Values:
    assert scenario.pages is not None
    rates, weights = _obsolescence(scenario), page_weights(scenario.pages)
    total = float(weights @ rates)
    yield "weighted_obsolescence", None, total
    for page, rate in enumerate(rates.tolist()):
        yield "obsolescence_rate", page, rate
    if scenario.clients is not None:
        yield "stale_answer_probability", None, stale_answers(rates, weights)
    costs = scenario.costs
    if costs.model_fields_set:
        cost = costs.staleness * total + costs.robots * most_active(scenario)
        yield "control_cost", None, cost


def _bound(scenario: Scenario) -> Values:
    assert scenario.pages is not None
    assert scenario.robots is not None
    assert scenario.robots.accessing is not None
    shares = _realised_shares(scenario)
    law = conditions.law_between_accesses(scenario)
    bounds = equal_spacing_bound(change_rates(scenario.pages), shares, law)
    yield "weighted_obsolescence", None, float(page_weights(scenario.pages) @ bounds)
    for page, bound in enumerate(bounds.tolist()):
        yield "obsolescence_rate", page, bound


def _realised_shares(scenario: Scenario) -> Array:
    """Access frequencies that the policy really gives; a period has whole numbers of slots."""
    assert scenario.pages is not None
    assert scenario.robots is not None
    policy = scenario.robots.accessing
    assert policy is not None
    shares = access_shares(policy, scenario.pages)
    if not isinstance(policy, Periodic):
        return shares
    cycle = policy.cycle_of(shares)
    realised: Array = np.bincount(cycle, minlength=len(shares)) / len(cycle)
    return realised


def _crawling(scenario: Scenario) -> Values:
    shares = _realised_shares(scenario)
    law = conditions.access_law(scenario)
    assert law is not None
    rates = crawl_rates(shares, law, most_active(scenario))
    for page, (rate, share) in enumerate(zip(rates.tolist(), shares.tolist(), strict=True)):
        yield "crawl_rate", page, rate
        if rate > 0 or share == 0:
            yield "crawl_frequency", page, share


_FRESHNESS = (
    conditions.has_pages,
    conditions.no_buffer,
    conditions.some_robot_works,
    conditions.independent_accesses,
    conditions.resolved_frequencies,
)

FORMULAS: tuple[Formula, ...] = (
    Formula(
        paper="coffman1998",
        number="(3)",
        quantity="obsolescence rates under a periodic schedule, their weighted sum",
        function=cyclic_obsolescence,
        kind="exact",
        conditions=(*_FRESHNESS, conditions.periodic_policy, conditions.one_robot),
        evaluate=_freshness,
    ),
    Formula(
        paper="coffman1998",
        number="Lemma 4.1",
        quantity="obsolescence rates under independent random choices, their weighted sum",
        function=randomized_obsolescence,
        kind="exact",
        conditions=(*_FRESHNESS, conditions.randomized_policy, conditions.one_robot_or_memoryless),
        evaluate=_freshness,
    ),
    Formula(
        paper="coffman1998",
        number="Theorem 3.3",
        quantity="obsolescence rates at the given frequencies, at best",
        function=equal_spacing_bound,
        kind="lower bound",
        conditions=(*_FRESHNESS, conditions.one_robot),
        evaluate=_bound,
    ),
    Formula(
        paper="coffman1998",
        number="section 2",
        quantity="accesses of each page per unit time, and their shares",
        function=crawl_rates,
        kind="exact",
        conditions=(
            conditions.has_pages,
            conditions.robots_always_work,
            conditions.independent_accesses,
            conditions.resolved_frequencies,
        ),
        evaluate=_crawling,
    ),
)
"""The index: paper, number, quantity, function, kind, conditions."""
