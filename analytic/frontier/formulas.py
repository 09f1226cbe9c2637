"""The index of formulas of pages that fall due, and what they say of a scenario."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from analytic.frontier.catching_up import Outage, catch_up_time, steady_wait
from analytic.frontier.closed_network import (
    MOST_WORK,
    Access,
    Found,
    Network,
    brought_after_wait,
    exponential_access,
    found_when_due,
    frontier_obsolescence,
    mean_waits,
    time_until_first,
    wait_quantile,
    with_other_accesses,
)
from analytic.index import page_conditions
from analytic.index.accesses import access_law, accessed_pages, time_per_access
from analytic.index.conditions import every_access_delivers, hearing_nothing, no_host_spacing
from analytic.index.formula import (
    Formula,
    Values,
    dependent,
    premise,
    reason_against,
    shorter_accesses_too,
)
from analytic.index.page_rows import changes_found, page_rows, quantile_rows
from analytic.machinery.active_robots import most_active
from analytic.machinery.phase_type import exponential_rate
from analytic.machinery.refusal import NoAnswerError
from analytic.machinery.transforms import exc, excess, log_transform, mean_time, moments
from analytic.page_refresh.formulas import freshness_measures, refresh_quantiles_asked
from analytic.page_refresh.refresh_times import (
    Gaps,
    Unseen,
    has_known_sums,
    quantiles,
    unseen_between,
)
from scenarios import Scenario
from scenarios.accessing.policy import Indices
from scenarios.arrays import Array
from scenarios.laws import Deterministic, Distribution
from scenarios.model import Frontier, FrontierOrder, present
from scenarios.page_data import due_intervals
from scenarios.page_groups import only_sums

_MOST_APART = 1e8

_MOST_OF_QUANTILES = MOST_WORK / 10
"""Kinds of intervals times numbers of pages at the robots times quantiles."""


@premise
def pages_fall_due(scenario: Scenario) -> str | None:
    """Pages fall due after intervals, and robots rest while none is due."""
    due = scenario.model.frontier is not None
    return hearing_nothing(scenario) if due else "pages do not fall due"


def _frontier(scenario: Scenario) -> Frontier:
    return present(scenario.model.frontier)


def _intervals(scenario: Scenario) -> Array:
    return due_intervals(_frontier(scenario).policy, present(scenario.model.pages))


def counted_from_delivery(scenario: Scenario) -> str | None:
    """Intervals count from deliveries."""
    starts = _frontier(scenario).from_start
    return "intervals count from the start of an access" if starts else None


def known_accesses(scenario: Scenario) -> str | None:
    """Access times are independent, and of one law."""
    reasons = page_conditions.independent_accesses, page_conditions.working_robots_alike
    return next((reason for each in reasons if (reason := each(scenario))), None)


def first_due_first(scenario: Scenario) -> str | None:
    """The page that fell due first is accessed first."""
    order = _frontier(scenario).order
    first = order is FrontierOrder.FIRST_DUE
    return None if first else f'due pages are taken in the order "{order.value}"'


@dependent
def robot_for_each(scenario: Scenario) -> str | None:
    """There is a robot for each page."""
    return robots_missing(scenario, _intervals(scenario))


def robots_missing(scenario: Scenario, away: Array) -> str | None:
    """That there are fewer robots than pages that are due after a finite time; None if not."""
    pages, robots = int(np.isfinite(away).sum()), most_active(scenario)
    return None if robots >= pages else f"{robots} robots for {pages} pages, which may have to wait"


@dependent
def fewer_robots(scenario: Scenario) -> str | None:
    """There are fewer robots than pages."""
    alone = robot_for_each(scenario) is None
    return "there is a robot for each page, and none ever waits" if alone else None


@dependent
def some_time_between(scenario: Scenario) -> str | None:
    """No page is due again at once."""
    return None if _intervals(scenario).all() else "a page is due again at once"


@dependent
def comparable_times(scenario: Scenario) -> str | None:
    """Intervals and access times differ by a factor of 1e8 at most."""
    intervals = _intervals(scenario)
    due = intervals[np.isfinite(intervals)]
    ratios = due / mean_time(present(access_law(scenario)))
    within = ratios.min(initial=1.0) >= 1 / _MOST_APART and ratios.max(initial=1.0) <= _MOST_APART
    return None if within else "intervals and access times differ by more than 1e8 times"


@dependent
def exponential_accesses(scenario: Scenario) -> str | None:
    """Access times are exponential."""
    known = exponential_rate(present(access_law(scenario))) is not None
    return None if known else "access times are not exponential"


@dependent
def other_accesses(scenario: Scenario) -> str | None:
    """Access times are not exponential, and have a variance."""
    if exponential_accesses(scenario) is None:
        return "access times are exponential: the exact law is known"
    known = math.isfinite(moments(present(access_law(scenario)))[1])
    return None if known else "the variance of access times is infinite"


def alone_obsolescence(
    change_rates: ArrayLike, intervals: ArrayLike, law: Distribution, share: float = 1.0
) -> Array:
    """Obsolescence rate of pages that each have a robot whenever they fall due.

    ``1 - (1 - e^{-mu I} E e^{-mu s X}) / (mu (I + m))``, without cancellation, where an access
    takes ``m = E X (1 - (1 - s) e^{-mu I})`` in the mean.

    Parameters
    ----------
    change_rates, intervals : array_like, shape (pages,)
    law : Distribution
        Of the access time X.
    share : float
        s, of X that is enough where the page is unchanged when its access starts.

    Returns
    -------
    ndarray, shape (pages,)
    """
    mu, away = np.asarray(change_rates, dtype=float), np.asarray(intervals, dtype=float)
    cycles = mu * (away + lengths_alone(mu, away, law, share))
    missed = exc(mu * away + log_transform(law, share * mu)) + excess(law, share * mu)
    missed -= mu * mean_time(law) * (1.0 - share) * np.expm1(-mu * away)
    stale: Array = np.divide(missed, cycles, out=np.zeros_like(cycles), where=cycles > 0)
    return stale


def lengths_alone(mu: Array, away: Array, law: Distribution, share: float) -> Array:
    """Mean length of the accesses of each page: shorter where it is unchanged when they start."""
    lengths: Array = mean_time(law) * (1.0 - (1.0 - share) * np.exp(-mu * away))
    return lengths


def closed_network_obsolescence(
    change_rates: ArrayLike, intervals: ArrayLike, robots: int, law: Distribution
) -> Array:
    """Obsolescence rate of pages that wait for robots in the order in which they fall due.

    Exact for exponential access times, an approximation by two moments for others.

    Parameters
    ----------
    change_rates, intervals : array_like, shape (pages,)
        Intervals greater than 0.
    robots : int
    law : Distribution
        Of the access time.

    Returns
    -------
    ndarray, shape (pages,)
    """
    return _visits(np.asarray(change_rates), np.asarray(intervals), robots, law).stale


def closed_network_delays(
    intervals: ArrayLike, robots: int, law: Distribution, shares: Sequence[float]
) -> tuple[Array, Array]:
    """Quantiles of the time that pages wait for robots, in the order in which they fall due.

    Parameters
    ----------
    intervals : array_like, shape (pages,)
        Greater than 0.
    robots : int
    law : Distribution
        Of the access time: exponential.
    shares : sequence of float

    Returns
    -------
    of_all : ndarray, shape (shares,)
        Every access counts alike.
    of_each : ndarray, shape (pages, shares)

    Raises
    ------
    NoAnswerError
        If there are too many different intervals for so many pages.
    """
    network, of_page, found = _found(np.asarray(intervals, dtype=float), robots, mean_time(law))
    if found.law.size * len(shares) > _MOST_OF_QUANTILES:
        raise NoAnswerError("there are too many different intervals for quantiles of their waits")
    accesses = network.counts / (network.intervals + mean_waits(found) + 1.0)
    step = mean_time(law) / network.capacity
    together = accesses @ found.law / accesses.sum()
    of_all, *of_kinds = (
        [wait_quantile(each, step, share) for share in shares] for each in (together, *found.law)
    )
    return np.array(of_all), np.array(of_kinds)[of_page]


def _found(intervals: Array, robots: int, mean: float) -> tuple[Network, Indices, Found]:
    """The network in units of an access, so that no power of a time overflows; kinds of pages."""
    kinds, of_page, counts = np.unique(intervals, return_inverse=True, return_counts=True)
    network = Network(kinds / mean, counts, robots, 1.0)
    return network, of_page, found_when_due(network)


class Visits(NamedTuple):
    """Of each page: the mean wait, accesses per unit time, and the obsolescence rate."""

    waits: Array
    rates: Array
    stale: Array


def _visits(mu: Array, intervals: Array, robots: int, law: Distribution) -> Visits:
    """Those of pages that may have to wait."""
    mean, second = moments(law)
    if isinstance(law, Deterministic) and np.ptp(intervals) == 0.0:
        return _in_step(mu, float(intervals[0]), robots, law)
    changes = mu * mean
    network, of_page, found = _found(intervals, robots, mean)
    access = exponential_access(changes, 1.0)
    if exponential_rate(law) is None:
        found = with_other_accesses(found, network, time_until_first(law, robots) / mean)
        access = Access(log_transform(law, mu), (1.0, 1.0, second / mean**2))
    waits = mean_waits(found)[of_page] * mean
    stale = frontier_obsolescence(changes, of_page, found, network, access)
    return Visits(waits, 1.0 / (intervals + waits + mean), stale)


def _in_step(mu: Array, interval: float, robots: int, law: Deterministic) -> Visits:
    """Those of pages of one interval and constant accesses, which take turns before long."""
    cycle = max(interval + law.value, len(mu) * law.value / robots)
    waits, rates = np.full(len(mu), cycle - interval - law.value), np.full(len(mu), 1.0 / cycle)
    away = np.full(len(mu), cycle - law.value)
    return Visits(waits, rates, alone_obsolescence(mu, away, law))


def _due_pages(scenario: Scenario) -> tuple[Array, Array, Array]:
    """Which pages are ever due, and the change rates and intervals of those."""
    intervals = _intervals(scenario)
    due = np.isfinite(intervals)
    return due, accessed_pages(scenario).change_rates[due], intervals[due]


def _alone(scenario: Scenario) -> Values:
    due, mu, away = _due_pages(scenario)
    law = present(access_law(scenario))
    unchanged = present(scenario.robots).unchanged
    share = 1.0 if unchanged is None else unchanged.share_of_time
    stale = alone_obsolescence(mu, away, law, share)
    if share == 1:
        return rows_at_once(scenario, due, away, stale)
    lengths = lengths_alone(mu, away, law, share)
    return rows_at_once(scenario, due, away, stale, lengths, np.exp(-mu * away))


def rows_at_once(
    scenario: Scenario,
    due: Array,
    away: Array,
    stale: Array,
    lengths: Array | None = None,
    same: Array | None = None,
) -> Values:
    """What pages have that never wait: how they are out of date, and delays of 0.

    Parameters
    ----------
    scenario : Scenario
    due : ndarray of bool, shape (pages,)
        Which pages are ever due.
    away, stale : ndarray, shape (due pages,)
        Mean times from a delivery until a page is due, and obsolescence rates.
    lengths : ndarray, shape (due pages,), optional
        Mean lengths of accesses, where not all are alike.
    same : ndarray, shape (due pages,), optional
        Shares of accesses that find no change, where that is decided at their start.
    """
    if lengths is None:
        rates, busy = 1.0 / (away + mean_time(present(access_law(scenario)))), None
    else:
        rates = 1.0 / (away + lengths)
        busy = float(rates @ lengths)
    yield from visit_rows(scenario, Visits(np.zeros(len(rates)), rates, stale), due, busy, same)
    shares = _frontier(scenario).policy.delay_quantiles
    at_once = np.zeros(len(shares)), np.zeros((len(rates), len(shares)))
    yield from due_quantile_rows(scenario, "frontier_delay_quantile", shares, due, at_once)


def _waiting(scenario: Scenario) -> Values:
    due, mu, away = _due_pages(scenario)
    law = present(access_law(scenario))
    yield from visit_rows(scenario, _visits(mu, away, most_active(scenario), law), due)


def _delays(scenario: Scenario) -> Values:
    due, _, away = _due_pages(scenario)
    law, shares = present(access_law(scenario)), _frontier(scenario).policy.delay_quantiles
    found = closed_network_delays(away, most_active(scenario), law, shares)
    return due_quantile_rows(scenario, "frontier_delay_quantile", shares, due, found)


def _refresh_quantiles(scenario: Scenario) -> Values:
    """Quantiles of the time to refresh; with a robot for each page nobody waits."""
    due, mu, away = _due_pages(scenario)
    law, robots = present(access_law(scenario)), most_active(scenario)
    if robots >= len(mu):
        unseen = unseen_alone(mu, away, law)
    else:
        unseen = unseen_in_network(mu, away, robots, mean_time(law))
    shares = present(scenario.model.pages).refresh_quantiles
    found = quantiles(unseen, len(mu), shares)
    return due_quantile_rows(scenario, "time_to_refresh_quantile", shares, due, found)


def due_quantile_rows(
    scenario: Scenario,
    measure: str,
    shares: Sequence[float],
    due: Array,
    found: tuple[Array, Array],
) -> Values:
    """Quantiles of all accesses or changes, and of those of each page that is ever due."""
    if not due.any():
        return []
    of_all, of_each = found
    pages = dict(zip(np.flatnonzero(due).tolist(), of_each, strict=True))
    return quantile_rows(scenario, measure, shares, of_all, pages)


def unseen_alone(change_rates: ArrayLike, intervals: ArrayLike, law: Distribution) -> Unseen:
    """Changes of each page that wait for long, with a robot for each: the cycle is I + X.

    Own result: `analytic.page_refresh.refresh_times`.

    Parameters
    ----------
    change_rates, intervals : array_like, shape (pages,)
    law : Distribution
        Of the access time: constant, or gamma.
    """
    mu, away = np.asarray(change_rates, dtype=float), np.asarray(intervals, dtype=float)
    pages = len(mu)
    rates = 1.0 / (away + mean_time(law))
    gaps = Gaps(np.arange(pages), rates, mu, np.ones(pages), away=away)
    return unseen_between(gaps, law, pages)


def unseen_in_network(
    change_rates: ArrayLike, intervals: ArrayLike, robots: int, mean: float
) -> Unseen:
    """The same where pages wait for one of few robots with exponential accesses: I + W + X.

    Own result: `analytic.page_refresh.refresh_times`, with the waits of the closed network.

    Parameters
    ----------
    change_rates, intervals : array_like, shape (pages,)
    robots : int
    mean : float
        Of an access.

    Raises
    ------
    NoAnswerError
        If there are too many pages for so many different waits.
    """
    mu, away = np.asarray(change_rates, dtype=float), np.asarray(intervals, dtype=float)
    network, of_page, found = _found(away, robots, mean)
    rates = 1.0 / (away + mean_waits(found)[of_page] * mean + mean)
    brought = brought_after_wait(mu * mean, found.law, of_page, network.capacity)

    def unseen(times: Array) -> Array:
        result: Array = rates * brought((times - away) / mean)
        return result

    return unseen


def visit_rows(
    scenario: Scenario,
    visits: Visits,
    due: Array,
    busy: float | None = None,
    same: Array | None = None,
) -> Values:
    """What follows from the visits to the pages that are ever due; the others stay as they are.

    Parameters
    ----------
    scenario : Scenario
    visits : Visits
    due : ndarray of bool, shape (pages,)
    busy : float, optional
        Robots with an access, where accesses are not all alike.
    same : ndarray, shape (due pages,), optional
        As those of `rows_at_once`.
    """
    accessed = accessed_pages(scenario)
    rates: Array = np.zeros(len(due))
    rates[due] = visits.rates
    stale: Array = np.where(accessed.change_rates > 0, 1.0, 0.0)
    stale[due] = visits.stale
    found = changes_found(scenario, stale)
    if same is not None:
        found[due] = visits.rates * (1.0 - same)
    yield from freshness_measures(scenario, accessed.weights, stale, rates, found)
    yield from page_rows(scenario, "crawl_rate", rates)
    total = float(rates.sum())
    if total > 0:
        yield from page_rows(scenario, "crawl_frequency", rates / total)
        length = float(visits.rates @ visits.waits)
        yield "frontier_length", None, length
        yield "frontier_delay", None, length / total
    if not only_sums(scenario):
        for page, wait in zip(np.flatnonzero(due).tolist(), visits.waits.tolist(), strict=True):
            yield "frontier_delay", page, wait
    if busy is None:
        busy = total * mean_time(present(access_law(scenario)))
    yield "busy_robots", None, busy


@dependent
def refresh_times_known(scenario: Scenario) -> str | None:
    """No page waits and access times are constant or gamma, or the closed network holds."""
    if robot_for_each(scenario) is None:
        known = has_known_sums(present(access_law(scenario)))
        return None if known else "access times are neither constant nor gamma"
    return reason_against((*_WAITING, exponential_accesses), scenario)


def delay_quantiles_asked(scenario: Scenario) -> str | None:
    """The file asks for quantiles of the delay."""
    asked = _frontier(scenario).policy.delay_quantiles
    return None if asked else "there are no delay_quantiles in robots.accessing"


def interventions_end(scenario: Scenario) -> str | None:
    """There are interventions, all of which end."""
    if not scenario.interventions:
        return "there are no [[interventions]]"
    ended = scenario.model.timeline.end is not None
    return None if ended else "an intervention repeats, or never ends"


def before_the_horizon(scenario: Scenario) -> str | None:
    """They end before the horizon."""
    ended = scenario.model.timeline.end
    late = ended is not None and ended >= scenario.run.horizon
    return "the last intervention ends after the horizon" if late else None


@dependent
def length_known(scenario: Scenario) -> str | None:
    """It is known how many pages wait in the long run, or given how many may."""
    known = caught_up_of(scenario) is not None
    return None if known else "give robots.accessing.caught_up: no formula gives the mean length"


def caught_up_of(scenario: Scenario) -> float | None:
    """How many pages may wait when the robots have caught up: as given, or as many as usual.

    Usual is what waits without interventions, taken in the order in which it fell due: the order
    says which pages wait rather than how many.

    Parameters
    ----------
    scenario : Scenario
        With a frontier.
    """
    given = _frontier(scenario).policy.caught_up
    if given is not None:
        return given
    usual = scenario.with_({"interventions": None, "robots.accessing.order": None})
    row = next((each for each in STEADY if each.reason_against(usual) is None), None)
    if row is None:
        return None
    values = row.evaluate(usual)
    return next((value for measure, _, value in values if measure == "frontier_length"), None)


def with_caught_up(scenario: Scenario) -> Scenario:
    """The scenario that says how many pages may wait, where interventions end and it is known.

    Parameters
    ----------
    scenario : Scenario
    """
    frontier = scenario.model.frontier
    asked = frontier is not None and frontier.policy.caught_up is None
    if not asked or scenario.model.timeline.end is None:
        return scenario
    enough = caught_up_of(scenario)
    return scenario if enough is None else scenario.with_("robots.accessing.caught_up", enough)


def expected_cycles(scenario: Scenario, intervals: Array) -> Array:
    """About how long it takes from one delivery of each page to the next; inf: for ever.

    Parameters
    ----------
    scenario : Scenario
        With a frontier and a mean access time that is known.
    intervals : ndarray, shape (pages,)
        From a delivery until the page is due again, in the mean.
    """
    time = time_per_access(scenario)
    robots = most_active(scenario)
    cycles = intervals + time * robots
    due = cycles[np.isfinite(cycles)]
    late = steady_wait(np.ones(len(due)), due, 1.0 / time) if len(due) and robots else math.inf
    return cycles + late


def _catching_up(scenario: Scenario) -> Values:
    intervals = _intervals(scenario)
    kinds, counts = np.unique(intervals[np.isfinite(intervals)], return_counts=True)
    mean = mean_time(present(access_law(scenario)))
    robots = most_active(scenario)
    timeline = scenario.model.timeline
    first = min(timeline.begins)
    changed = [piece for piece in timeline.pieces if piece.end > first]
    active = [min(robots, robots if each.robots is None else each.robots) for each in changed]
    capacities = [
        piece.robot_speed * number / mean for piece, number in zip(changed, active, strict=True)
    ]
    released = np.maximum(np.diff([robots, *active]), 0).tolist()
    begins = [max(piece.begin, first) for piece in changed]
    outage = Outage(begins, capacities, released, robots / mean, present(timeline.end))
    enough = present(caught_up_of(scenario))
    yield "catch_up_time", None, catch_up_time(kinds, counts, mean, outage, enough)


_FALLING_DUE = (
    pages_fall_due,
    page_conditions.no_buffer,
    page_conditions.robots_always_work,
    page_conditions.resolved_frequencies,
    known_accesses,
    counted_from_delivery,
    every_access_delivers,
    no_host_spacing,
)
_WAITING = (*_FALLING_DUE, first_due_first, fewer_robots, some_time_between, comparable_times)

_row = partial(Formula, paper="frontier", kind="exact", origin="own")

FORMULAS: tuple[Formula, ...] = (
    _row(
        number="a robot for each page",
        quantity="obsolescence rates and accesses of pages that never wait for a robot",
        latex=r"\begin{split}"
        r"r_i&=1-\frac{1-e^{-\mu_iI_i}\,\mathbb{E}\,e^{-\mu_i\sigma X}}"
        r"{\mu_i\,(I_i+\mathbb{E}X\,(1-(1-\sigma)\,e^{-\mu_iI_i}))}\\"
        r"y_i&=\frac{1}{I_i+\mathbb{E}X\,(1-(1-\sigma)\,e^{-\mu_iI_i})}"
        r"\end{split}",
        function=alone_obsolescence,
        conditions=(*_FALLING_DUE, robot_for_each, shorter_accesses_too),
        evaluate=_alone,
    ),
    _row(
        number="closed network",
        quantity="waits, accesses and obsolescence rates of pages that wait for a robot",
        latex=r"\begin{split}"
        r"q_i(k)&\propto e_{N-1-k}(I\setminus I_i)\,f(k),\qquad "
        r"f(k)=k!\prod_{j=1}^k\frac{1}{\nu\min(j,R)},\qquad m_k=(k-R+1)^+\\"
        r"W_i&=\sum_{k=0}^{N-1}q_i(k)\,\frac{m_k}{R\nu},\qquad "
        r"y_i=\frac{1}{I_i+W_i+1/\nu},\qquad r_i=1-\frac{y_i}{\mu_i}(1-L_i)\\"
        r"L_i&=e^{-\mu_iI_i}\,\frac{\nu}{\nu+\mu_i}\sum_{k=0}^{N-1}q_i(k)"
        r"\left(\frac{R\nu}{R\nu+\mu_i}\right)^{m_k}"
        r"\end{split}",
        function=closed_network_obsolescence,
        conditions=(*_WAITING, exponential_accesses),
        evaluate=_waiting,
    ),
    _row(
        number="other access times",
        quantity="the same where access times are not exponential, by mean values",
        latex=r"\begin{split}"
        r"W_i&\approx\frac{\mathbb{E}X}{R}\,s_i\sum_{j\ne i}y_jW_j+b_iE,\qquad "
        r"y_i=\frac{1}{I_i+W_i+\mathbb{E}X}\\"
        r"E&=\int_0^\infty\left(\frac{1}{\mathbb{E}X}\int_x^\infty\mathbb{P}(X>u)\,du\right)^R"
        r"dx"
        r"\end{split}",
        function=closed_network_obsolescence,
        kind="approximation",
        conditions=(*_WAITING, other_accesses),
        evaluate=_waiting,
    ),
    _row(
        number="closed network, quantiles",
        quantity="quantiles of the wait for a robot, of all accesses and of each page",
        latex=r"\begin{split}"
        r"\mathbb{P}(W_i>x)&=\sum_{k=0}^{N-1}q_i(k)\sum_{n<m_k}e^{-R\nu x}"
        r"\frac{(R\nu x)^n}{n!},\qquad m_k=(k-R+1)^+\\"
        r"w_i(p)&=\min\{x:\mathbb{P}(W_i>x)\le1-p\},\qquad "
        r"w(p)=\min\left\{x:\frac{\sum_iy_i\,\mathbb{P}(W_i>x)}{\sum_iy_i}\le1-p\right\}"
        r"\end{split}",
        function=closed_network_delays,
        conditions=(*_WAITING, delay_quantiles_asked, exponential_accesses),
        evaluate=_delays,
    ),
    _row(
        number="time to refresh, pages that fall due",
        quantity="quantiles of the time until a change can be searched, of all and of each page",
        latex=r"\begin{split}"
        r"\mathbb{P}(T_i>x)&=\frac{\mathbb{E}\bigl(1-e^{-\mu_i(C_i-x)^+}\bigr)}"
        r"{1-\mathbb{E}\,e^{-\mu_iC_i}},\qquad C_i=I_i+W_i+X\\"
        r"t_i(p)&=\min\{x:\mathbb{P}(T_i>x)\le1-p\}"
        r"\end{split}",
        function=unseen_in_network,
        conditions=(*_FALLING_DUE, refresh_quantiles_asked, refresh_times_known),
        evaluate=_refresh_quantiles,
    ),
    _row(
        number="catching up",
        quantity="time after an outage until the frontier is as short as usual, as a fluid",
        latex=r"F=\min\{u\ge0:w(t_0+u)\le w_0\},\qquad w'(t)=\sum_id_i(t-I_i-\mathbb{E}X)-d(t),"
        r"\qquad d(t)\le\frac{R(t)}{\mathbb{E}X}",
        function=catch_up_time,
        kind="approximation",
        conditions=(
            pages_fall_due,
            page_conditions.no_buffer,
            page_conditions.robots_always_work,
            page_conditions.resolved_frequencies,
            known_accesses,
            every_access_delivers,
            no_host_spacing,
            interventions_end,
            before_the_horizon,
            length_known,
        ),
        evaluate=_catching_up,
        over_time=True,
    ),
)
"""The index: paper, name, quantity, function, kind, conditions."""

STEADY = FORMULAS[:3]
"""Those of waits, accesses and freshness."""
