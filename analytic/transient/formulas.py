"""The formulas of systems that change: time averages over the window, and the time to recover."""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import NamedTuple

from analytic.index import conditions
from analytic.index.accesses import accessed_pages
from analytic.index.commits import searchable_at_once
from analytic.index.conditions import fleet_of
from analytic.index.formula import Formula, Values, dependent, premise, reason_against
from analytic.index.page_conditions import (
    constant_accesses,
    has_pages,
    no_buffer,
    randomized_policy,
    resolved_frequencies,
)
from analytic.index.page_rows import page_rows
from analytic.indexing_queue.chain import count_states
from analytic.indexing_queue.measures import control_cost, size_of
from analytic.indexing_queue.several_servers import size_of_servers
from analytic.machinery.active_robots import numbers_in_use
from analytic.machinery.arrival_process import joint_order
from analytic.machinery.refusal import Remembered
from analytic.transient.indexed import IndexedPages
from analytic.transient.measures import Columns, queue_columns, stops_of, total, window_rows
from analytic.transient.pages import DrawnPages, PagesFollowed, PagesOverTime, pages_followed
from analytic.transient.queue import QueueOverTime, Sums
from analytic.transient.recovery import recovery_times
from analytic.transient.rounds import PagesInOrder, PagesInRounds
from scenarios import Scenario
from scenarios.arrays import Array
from scenarios.timeline import observation_times

_MOST_RATES = 2 * 10**7
"""Transitions between states up to which a chain is followed: about 1 GB."""


@premise
def changed_over_time(scenario: Scenario) -> str | None:
    """[[interventions]] change the system."""
    return None if scenario.interventions else "there are no [[interventions]]"


def timers_of_several_servers(scenario: Scenario) -> str | None:
    """With several servers, obsolescence timers, if any, are exponential."""
    if conditions.one_server(scenario) is None:
        return None
    return conditions.exponential_patience_or_none(scenario)


@dependent
def course_fits(scenario: Scenario) -> str | None:
    """The chain has at most 2 × 10^7 transitions, by a rough count."""
    order, phases, patience, top = size_of(scenario)
    servers = conditions.buffer_of(scenario).servers
    if servers > 1:
        states, width = size_of_servers(order, phases, servers, top)
        moves = width
    else:
        if patience > 1 and top > _HIGHEST:
            return "its chain has more than 10^15 states, too many to be followed"
        states = count_states(order, phases, patience, top)
        moves = min(order, _DENSE_ORDER) + phases + top * min(patience - 1, 2) + 1
    if states * moves <= _MOST_RATES:
        return None
    return f"its chain has {states} states, too many to be followed"


def limited_at_once(scenario: Scenario) -> str | None:
    """Interventions limit robots only where they start at once."""
    given = scenario.model.hysteresis
    if given is None or given.start_up is None:
        return None
    limited = any(piece.robots is not None for piece in scenario.model.timeline.pieces)
    return "interventions limit robots that take a time to start" if limited else None


def stopped_indexings_alike(scenario: Scenario) -> str | None:
    """Interventions stop only some of the indexers where services are exponential."""
    if all(piece.indexers is None for piece in scenario.model.timeline.pieces):
        return None
    if conditions.exponential_service(scenario) is None:
        return None
    return "interventions stop some of the indexers, and services are not exponential"


_HIGHEST = 64
_DENSE_ORDER = 32
"""Phases of deliveries that follow upon one of them, at most, in a chain of many phases."""

QUEUE = (
    conditions.has_buffer,
    *conditions.MARKOVIAN_QUEUE,
    timers_of_several_servers,
    limited_at_once,
    stopped_indexings_alike,
    course_fits,
)
"""Conditions of the course of a queue."""


def no_response_priced(scenario: Scenario) -> str | None:
    """[costs] does not price the response time, nor staleness."""
    return response_unpriced(scenario) or conditions.priced(scenario)


def no_price_by_class(scenario: Scenario) -> str | None:
    """An active robot has one price, whatever the state."""
    if not scenario.prices.by_class:
        return None
    return "[costs] has a price of robots for each class, and they are switched one at a time"


def response_unpriced(scenario: Scenario) -> str | None:
    """[costs] does not price the response time."""
    if scenario.prices.response:
        return "[costs] prices the response time, which is not known over time"
    return None


def followable_accesses(scenario: Scenario) -> str | None:
    """Access times are constant, or pages are drawn at random and deliveries Markovian."""
    drawn = randomized_policy(scenario) is None
    if constant_accesses(scenario) is None:
        return None if drawn else conditions.every_access_delivers(scenario)
    if not drawn:
        return "pages are accessed in a fixed order, and access times are not constant"
    return conditions.markovian_accesses(scenario)


@dependent
def few_joint_phases(scenario: Scenario) -> str | None:
    """The robots have few joint phases."""
    if constant_accesses(scenario) is not None:
        joint_order(fleet_of(scenario), numbers_in_use(scenario))
    return None


PAGES = (
    has_pages,
    searchable_at_once,
    no_buffer,
    conditions.no_host_spacing,
    resolved_frequencies,
    followable_accesses,
    few_joint_phases,
)
"""Conditions of the course of pages without a buffer."""


@dependent
def few_numbers(scenario: Scenario) -> str | None:
    """States times half the levels times kinds of pages are at most 10^7."""
    order, phases, patience, top = size_of(scenario)
    numbers = count_states(order, phases, patience, top) * (top / 2 + 2)
    kinds = len(accessed_pages(scenario).kinds.counts)
    if kinds * numbers <= _MOST_NUMBERS:
        return None
    return f"following {kinds} kinds of pages through a buffer takes {kinds * numbers:.2g} numbers"


_MOST_NUMBERS = 10**7

INDEXED = (
    has_pages,
    searchable_at_once,
    *QUEUE,
    conditions.one_server,
    conditions.services_alike,
    conditions.first_come_first_served,
    conditions.exponential_patience_or_none,
    randomized_policy,
    resolved_frequencies,
    few_numbers,
)
"""Conditions of the course of the copies in the index, behind a buffer."""


def pages_over_time(scenario: Scenario) -> PagesOverTime:
    """The pages of a scenario that meets the conditions `PAGES` or `INDEXED`."""
    if scenario.buffer is not None:
        return IndexedPages(queue_of(scenario))
    if constant_accesses(scenario) is not None:
        return DrawnPages(scenario)
    return (PagesInOrder if randomized_policy(scenario) else PagesInRounds)(scenario)


@Remembered
def pages_seen(scenario: Scenario) -> PagesFollowed:
    """The pages of a scenario that meets those conditions, followed to the horizon."""
    run = scenario.run
    times = observation_times(run)
    stops = stops_of(times, run.warmup, run.horizon)
    segments = pages_over_time(scenario).follow(scenario.model.timeline.pieces, stops)
    return pages_followed(segments, scenario, times, (run.warmup, run.horizon))


def _pages_window(scenario: Scenario) -> Values:
    """Time averages; a file with prices has its control cost, too."""
    seen = pages_seen(scenario)
    window = scenario.run.window
    weighted = float(page_weights_of(scenario) @ seen.stale_time) / window
    yield "weighted_obsolescence", None, weighted
    yield from page_rows(scenario, "obsolescence_rate", seen.stale_time / window)
    yield from page_rows(scenario, "crawl_rate", seen.crawled / window)
    yield "stale_answer_probability", None, seen.stale_answers
    costs = scenario.prices
    if costs.model_fields_set and scenario.buffer is None and not costs.byte:
        cost = costs.staleness * weighted + costs.robots * seen.robots_time / window
        yield "control_cost", None, cost + costs.delivery * float(seen.crawled.sum()) / window


def page_weights_of(scenario: Scenario) -> Array:
    """Weights of the pages of a scenario that has some."""
    return accessed_pages(scenario).weights


CRAWLING = (has_pages, *QUEUE, resolved_frequencies, randomized_policy)
"""Conditions under which each page has its share of what is delivered to a buffer."""


def index_not_followed(scenario: Scenario) -> str | None:
    """The copies in the index are not followed, which gives the deliveries, too."""
    if reason_against(INDEXED, scenario) is None:
        return "the copies in the index are followed"
    return None


def _crawling(scenario: Scenario) -> Values:
    delivered = followed(scenario).window.delivered / scenario.run.window
    yield from page_rows(scenario, "crawl_rate", accessed_pages(scenario).shares * delivered)


class Followed(NamedTuple):
    """A queue followed from its start to the horizon.

    Attributes
    ----------
    columns : mapping
        At the times of observation.
    window : Sums
        Integrals over the window (warmup, horizon].
    """

    columns: Columns
    window: Sums


@lru_cache(maxsize=1)
def queue_of(scenario: Scenario) -> QueueOverTime:
    """The queue of a scenario that meets the conditions `QUEUE`, with what was built for it."""
    return QueueOverTime(scenario)


@Remembered
def followed(scenario: Scenario) -> Followed:
    """The queue of a scenario that meets the conditions `QUEUE`, followed to the horizon."""
    queue = queue_of(scenario)
    run = scenario.run
    times = observation_times(run)
    stops = stops_of(times, run.warmup, run.horizon)
    segments = list(queue.follow(queue.start(), scenario.model.timeline.pieces, stops))
    capacity = conditions.buffer_of(scenario).capacity
    columns = queue_columns(segments, times, run.observe or math.nan, capacity)
    return Followed(columns, total(segments, run.warmup, run.horizon))


def _window(scenario: Scenario) -> Values:
    return list(window_rows(followed(scenario).window, scenario.run.window))


def _cost(scenario: Scenario) -> Values:
    yield "control_cost", None, _cost_of_queue(scenario)


def _cost_to_the_index(scenario: Scenario) -> Values:
    stale = page_weights_of(scenario) @ pages_seen(scenario).stale_time
    cost = scenario.prices.staleness * float(stale) / scenario.run.window
    yield "control_cost", None, _cost_of_queue(scenario) + cost


def _cost_of_queue(scenario: Scenario) -> float:
    """The prices of what the queue does, times how much of it there is per unit time."""
    sums, window = followed(scenario).window, scenario.run.window
    rates = {
        "delivered": sums.delivered / window,
        "lost": sums.lost / window,
        "obsolete": sums.obsolete / window,
    }
    others = {
        "starvation": float(sums.levels[0]) / window,
        "robots": sums.robots / window,
        "response": math.nan,
    }
    return control_cost(rates, others, scenario.prices)


def _recovery(scenario: Scenario) -> Values:
    of_levels, of_losses = recovery_times(queue_of(scenario))
    yield "recovery_time", None, of_levels
    if of_losses is not None:
        yield "loss_recovery_time", None, of_losses


_row = partial(Formula, paper="courses", kind="exact", origin="own", over_time=True)

OF_THE_QUEUE = (
    _row(
        number="queue, window",
        quantity="levels, rates and shares of a changing queue over the window",
        latex=r"p'(t)=p(t)\,Q(t),\qquad\bar p_n=\frac{1}{b-a}\int_a^bp_n(t)\,dt,\qquad "
        r"P_{\mathrm{loss}}=\frac{\int_a^b\ell(t)\,dt}{\int_a^b\lambda(t)\,dt}",
        function=QueueOverTime.follow,
        conditions=(changed_over_time, *QUEUE),
        evaluate=_window,
    ),
    _row(
        number="queue, cost",
        quantity="control cost of a changing queue over the window",
        latex=r"J=\frac{1}{b-a}\int_a^b\left(c_{\mathrm{loss}}\,\ell(t)+c_{\mathrm{obs}}\,o(t)"
        r"+c_{\mathrm{starv}}\,p_0(t)+c_{\mathrm{rob}}\,r(t)\right)\,dt",
        function=control_cost,
        conditions=(
            changed_over_time,
            *QUEUE,
            no_response_priced,
            no_price_by_class,
            conditions.switches_not_priced,
        ),
        evaluate=_cost,
    ),
)
"""Those of the window of a queue; the first condition is that something changes the system."""

FORMULAS: tuple[Formula, ...] = (
    *OF_THE_QUEUE,
    _row(
        number="queue, recovery",
        quantity="times from the last change until queue and losses are near the long run for good",
        latex=r"\sup\left\{t\ge0:\ \left|\bar n(t_0+t)-\bar n(\infty)\right|>0.05\,\bar n(\infty)"
        r"\right\},\qquad\bar n(t)=\sum_nn\,p_n(t)",
        function=recovery_times,
        conditions=(changed_over_time, *QUEUE),
        evaluate=_recovery,
    ),
    _row(
        number="pages, window",
        quantity="obsolescence rates and deliveries of pages of a changing system over the window",
        latex=r"\bar r_i=\frac{1}{b-a}\int_a^bs_i(t)\mathbf{e}\,dt,\qquad "
        r"s_i'=s_i\sum_k(1-f_i)^kD_k+\mu_i\,(\phi-s_i)",
        function=DrawnPages.follow,
        conditions=(changed_over_time, *PAGES),
        evaluate=_pages_window,
    ),
    _row(
        number="index, window",
        quantity="obsolescence rates behind the buffer of a changing system over the window",
        latex=r"\bar r_i=\frac{1}{b-a}\int_a^b(1-u_i(t)\mathbf{e})\,dt,\qquad "
        r"u_i'=u_i(Q-B)+\left(f_iw_i+(1-f_i)\,u_i\right)B-\mu_iu_i",
        function=IndexedPages.follow,
        conditions=(changed_over_time, *INDEXED),
        evaluate=_pages_window,
    ),
    _row(
        number="index, cost",
        quantity="control cost, staleness included, of a changing system over the window",
        latex=r"J=\frac{1}{b-a}\int_a^b\left(c_{\mathrm{loss}}\,\ell(t)+c_{\mathrm{obs}}\,o(t)"
        r"+c_{\mathrm{starv}}\,p_0(t)+c_{\mathrm{rob}}\,r(t)\right)\,dt+c_{\mathrm{stale}}"
        r"\sum_ic_i\bar r_i",
        function=control_cost,
        conditions=(
            changed_over_time,
            *INDEXED,
            conditions.staleness_priced,
            conditions.bytes_unpriced,
            response_unpriced,
            no_price_by_class,
            conditions.switches_not_priced,
        ),
        evaluate=_cost_to_the_index,
    ),
    _row(
        number="deliveries, window",
        quantity="deliveries of each page to the buffer of a changing system over the window",
        latex=r"\bar\lambda_i=\frac{f_i}{b-a}\int_a^b\lambda(t)\,dt",
        function=QueueOverTime.follow,
        conditions=(changed_over_time, *CRAWLING, index_not_followed),
        evaluate=_crawling,
    ),
)
"""The index: paper, number, quantity, function, kind, conditions."""
