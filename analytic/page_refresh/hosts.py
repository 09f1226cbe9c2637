"""The best frequencies where hosts limit their accesses, and the bound over all schedules in time.

A host that wants s between the starts of its accesses has at most 1/s of them per unit time, and r
robots with accesses of mean m have r/m. Whatever law, order and waiting: per unit time, no page of
rate x is fresher than one whose copy is renewed at equal distances 1/x.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analytic import page_conditions as conditions
from analytic.page_refresh.obsolescence import equal_spacing_bound, erlang_two
from analytic.page_refresh.optimum import best_shares
from analytic.page_refresh.plans import planned_slots
from analytic.transforms import log_transform, mean_time, shortest
from scenarios import Scenario
from scenarios.accessing.policy import Periodic, Planned
from scenarios.arrays import Array
from scenarios.laws import Deterministic, Distribution
from scenarios.page_data import (
    access_shares,
    change_rates,
    host_spacings,
    page_hosts,
    page_weights,
)

Indices = NDArray[np.intp]

_MARGIN = 1e-9
"""What sums of access times may miss by rounding, relatively."""


class CappedShares(NamedTuple):
    """The best frequencies within the limits of hosts.

    Attributes
    ----------
    shares : ndarray, shape (pages,)
        Accesses of each page per access that the robots have time for; they may sum to less than 1.
    tight : ndarray of bool, shape (hosts,)
        The hosts at their limits.
    """

    shares: Array
    tight: NDArray[np.bool_]


def capped_shares(
    rates: ArrayLike, weights: ArrayLike, law: Distribution, hosts: ArrayLike, caps: ArrayLike
) -> CappedShares:
    """Access frequencies of the least weighted obsolescence with at most `caps` for each host.

    Parameters
    ----------
    rates, weights : array_like, shape (pages,)
        Change rates mu and weights c, >= 0.
    law : Distribution
        Law of one access time.
    hosts : array_like of int, shape (pages,)
        The host of each page.
    caps : array_like, shape (hosts,)
        Largest sum of the frequencies of each host's pages; inf where there is no limit.

    Raises
    ------
    ValueError
        If a rate or weight is negative or not finite, or a cap is not positive.

    Notes
    -----
    coffman1998 (7) with host constraints, solved as in kolobov2019: without the caps first; hosts
    above theirs are tight, they share out their caps by themselves, and the rest is solved again
    with what is left. A cost that is convex in each frequency, with caps on disjoint groups inside
    one total, never needs fewer accesses at a host once others give theirs up: a host found tight
    stays so. ``B`` accesses in place of 1 are the problem with ``l / B`` in place of l.
    """
    mu = np.asarray(rates, dtype=float)
    c = np.asarray(weights, dtype=float)
    host = np.asarray(hosts, dtype=np.intp)
    cap = np.asarray(caps, dtype=float)
    if not np.all(cap > 0):
        raise ValueError("caps must be positive")
    shares = np.zeros(len(mu))
    tight = np.zeros(len(cap), dtype=bool)
    asked = (mu > 0) & (c > 0)
    exponent = log_transform(law, np.where(asked, mu, 1.0))
    weighted = np.divide(c, mu, out=np.zeros(len(mu)), where=asked) * exponent
    left = 1.0
    while True:
        free = asked & ~tight[host]
        if not free.any() or left <= 0.0:
            return CappedShares(shares, tight)
        found = left * best_shares(exponent[free], weighted[free], Deterministic(value=1.0 / left))
        over = np.bincount(host[free], found, len(cap)) > cap * (1 + 4e-16)
        if not over.any():
            shares[free] = found
            return CappedShares(shares, tight)
        for pages in _pages_of(np.flatnonzero(over), host, free):
            limit = float(cap[host[pages[0]]])
            alone = Deterministic(value=1.0 / limit)
            shares[pages] = limit * best_shares(exponent[pages], weighted[pages], alone)
        tight |= over
        left -= float(cap[over].sum())


def _pages_of(hosts: Indices, host: Indices, asked: NDArray[np.bool_]) -> list[Indices]:
    """The pages of each of some hosts."""
    wanted = np.zeros(host.max() + 1, dtype=bool)
    wanted[hosts] = True
    pages = np.flatnonzero(asked & wanted[host])
    pages = pages[np.argsort(host[pages], kind="stable")]
    return np.split(pages, np.flatnonzero(np.diff(host[pages])) + 1)


def in_time_bound(
    rates: ArrayLike, weights: ArrayLike, time: float, hosts: ArrayLike, caps: ArrayLike
) -> float:
    """The weighted obsolescence that no schedule in time beats, open or closed loop.

    Parameters
    ----------
    rates, weights : array_like, shape (pages,)
        Change rates mu and weights c, >= 0.
    time : float
        Mean time per access, all robots together.
    hosts : array_like of int, shape (pages,)
    caps : array_like, shape (hosts,)
        As for `capped_shares`.

    Notes
    -----
    Proof: between deliveries that lie G apart a page is out of date in the mean for
    ``G - (1 - e^{-mu G}) / mu``, whatever the deliveries go by, since they do not see the changes.
    This is convex in G, so at rate x a page is out of date for at least the fraction
    ``1 - (x/mu) (1 - e^{-mu/x})`` of the time, which is coffman1998, Theorem 3.3, for constant
    access times. It is convex in x; the rates sum to at most ``1 / time``, those of a host to
    ``caps / time``.
    """
    law = Deterministic(value=time)
    shares = capped_shares(rates, weights, law, hosts, caps).shares
    total = max(1.0, float(shares.sum()))
    return float(np.asarray(weights, dtype=float) @ equal_spacing_bound(rates, shares / total, law))


def _limits(scenario: Scenario, time: float) -> tuple[Indices, Array]:
    """Host of each page, and caps as shares of accesses of which there is one per `time`."""
    pages = scenario.pages
    robots = scenario.robots
    assert pages is not None
    assert robots is not None
    if robots.host_spacing is None:
        return np.zeros(pages.count, dtype=np.intp), np.array([np.inf])
    spacing = host_spacings(robots, pages)
    with np.errstate(divide="ignore"):
        return page_hosts(pages), time / spacing


def scenario_in_time_bound(scenario: Scenario) -> float:
    """`in_time_bound` of a scenario whose mean time per access is known."""
    assert scenario.pages is not None
    rates = change_rates(scenario.pages)
    weights = page_weights(scenario.pages)
    time = conditions.time_per_access(scenario)
    return in_time_bound(rates, weights, time, *_limits(scenario, time))


def shares_within_limits(scenario: Scenario, law: Distribution) -> CappedShares:
    """`capped_shares` of a scenario, for a given law of the time between accesses."""
    assert scenario.pages is not None
    rates = change_rates(scenario.pages)
    weights = page_weights(scenario.pages)
    return capped_shares(rates, weights, law, *_limits(scenario, mean_time(law)))


def price_factors(scenario: Scenario, law: Distribution) -> Array:
    """What the values of an index are to be multiplied by, for each page of a scenario.

    An access to a page of a tight host has to be worth more than elsewhere: the price of an access,
    ``w P(2, l / x)`` for any page of the host that is accessed, over that of all hosts with room.
    Divided by it, an index asks for each host's limit and no more.
    """
    assert scenario.pages is not None
    host, cap = _limits(scenario, mean_time(law))
    rates = change_rates(scenario.pages)
    weights = page_weights(scenario.pages)
    found = capped_shares(rates, weights, law, host, cap)
    price = np.zeros(len(rates))
    some = found.shares > 0
    with np.errstate(divide="ignore"):
        worth = weights[some] / rates[some]
    price[some] = worth * erlang_two(log_transform(law, rates[some]) / found.shares[some])
    at_host = np.zeros(len(cap))
    np.maximum.at(at_host, host, price)
    elsewhere = at_host[~found.tight & (at_host > 0)]
    least = elsewhere.max() if len(elsewhere) else at_host[at_host > 0].min(initial=np.inf)
    if not 0 < least < np.inf:
        return np.ones(len(rates))
    at_host[~found.tight] = least
    factor: Array = np.where(at_host > 0, least / np.where(at_host > 0, at_host, 1.0), 1.0)[host]
    return np.minimum(factor, 1.0)


def waits_or_shared(scenario: Scenario) -> str | None:
    """Several robots, or accesses that wait for their hosts."""
    if conditions.one_robot(scenario) is not None or hosts_never_wait(scenario) is not None:
        return None
    return "one robot that never waits"


def mean_known(scenario: Scenario) -> str | None:
    """The mean time between accesses is known."""
    known = np.isfinite(conditions.time_per_access(scenario))
    return None if known else "the mean time between accesses is not known"


def hosts_never_wait(scenario: Scenario) -> str | None:
    """No access has to wait for its host."""
    pages = scenario.pages
    robots = scenario.robots
    if pages is None or robots is None or not np.any(host_spacings(robots, pages)):
        return None
    if conditions.one_robot(scenario) is not None:
        return "several robots may wait for a host"
    law = conditions.access_law(scenario)
    least = 0.0 if law is None else shortest(law)
    spacing = host_spacings(robots, pages)
    if least >= spacing.max():
        return None
    waits = "accesses may wait for their hosts"
    if least == 0.0 or conditions.resolved_frequencies(scenario) is not None:
        return waits
    distance = _least_distances(scenario)
    return None if np.all(distance * least > spacing * (1 + _MARGIN)) else waits


def _least_distances(scenario: Scenario) -> Array:
    """Least number of slots between two accesses to each host; 1 where pages are drawn."""
    assert scenario.pages is not None
    assert scenario.robots is not None
    policy = scenario.robots.accessing
    pages = scenario.pages
    if isinstance(policy, Periodic):
        cycle = policy.cycle_of(access_shares(policy, pages))
        sequence = np.concatenate([cycle, cycle])
    elif isinstance(policy, Planned) and conditions.planned_policy(scenario) is None:
        sequence = planned_slots(scenario)[1]
    else:
        return np.ones(pages.host_count)
    visits = page_hosts(pages)[sequence]
    order = np.argsort(visits, kind="stable")
    gaps = np.where(np.diff(visits[order]) == 0, np.diff(order), len(sequence)).astype(float)
    least = np.full(pages.host_count, np.inf)
    np.minimum.at(least, visits[order[1:]], gaps)
    return np.where(np.isinf(least), float(len(sequence)), least)
