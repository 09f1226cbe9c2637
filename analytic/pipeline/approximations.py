"""What is approximated where nothing exact applies, and what each approximation needs."""

from __future__ import annotations

import numpy as np

from analytic import conditions, page_conditions
from analytic.active_robots import robots_at
from analytic.formula import Formula, Values, dependent
from analytic.indexing_queue import chain_of, count_states, sojourn_transform
from analytic.indexing_queue.marginals import fate_rates, marginals_of
from analytic.indexing_queue.measures import (
    Solved,
    converged,
    fits_in_memory,
    one_closed_class,
    size_of,
    solution_of,
    solved,
)
from analytic.phase_type import exponential_rate
from analytic.pipeline import conditions as own
from analytic.pipeline.closed_forms import (
    decomposed,
    page_change_rates,
    thinned_ages,
    thinned_cyclic,
    thinned_randomized,
)
from analytic.pipeline.exploring import MOST_STATES
from analytic.pipeline.methods import exact_method
from analytic.pipeline.reading import (
    MOST_SOLUTIONS,
    PAPER,
    freshness_rows,
    kinds_of_pages,
    page_changes,
    page_shares,
)
from analytic.pipeline.replaced_copies import replacement_ages_and_rates
from analytic.pipeline.stand_ins import stand_in, variance_of_timers_kept, with_phases
from analytic.pipeline.timer_laws import drop_rates, timed_rates_and_ages
from analytic.pipeline.walked import counts_fit
from scenarios import Scenario
from scenarios.accessing.policy import Periodic
from scenarios.arrays import Array

_MOST_FOLLOWED = 5 * 10**7
"""States times change rates: those of about a minute."""


@dependent
def _no_method(scenario: Scenario) -> str | None:
    """No exact method covers it."""
    method = exact_method(scenario)
    return f"{method.number} is exact" if method else None


# --- (9) losses and delays --------------------------------------------------------------------


def _decomposed(scenario: Scenario) -> Values:
    mu = page_changes(scenario)
    chain = chain_of(scenario)
    law = solution_of(scenario).stationary
    rates = fate_rates(chain, marginals_of(chain, law))
    kinds, which = np.unique(mu, return_inverse=True)
    discount = sojourn_transform(chain, law, kinds)["served"][which.ravel()]
    lost = 1.0 - rates["served"] / rates["delivered"]
    thinned, ages = _thinned(scenario, mu, lost)
    delayed = ages + _mean_delay(scenario)
    return freshness_rows(scenario, decomposed(thinned, discount), delayed)


def _mean_delay(scenario: Scenario) -> float:
    """Mean sojourn of the indexed pages."""
    found = solved(scenario)
    assert isinstance(found, Solved)
    return next(value for name, of, value in found.rows if (name, of) == ("sojourn_time", "served"))


def _thinned(scenario: Scenario, mu: Array, lost: float) -> tuple[Array, Array]:
    """Rates and ages without a buffer, accesses lost."""
    assert scenario.robots is not None
    between = own.law_without_buffer(scenario)
    assert between is not None
    policy = scenario.robots.accessing
    shares = page_shares(scenario)
    if isinstance(policy, Periodic):
        cycle = policy.cycle_of(shares)
        ages = thinned_ages(shares, between, lost, cycle)
        return thinned_cyclic(mu, cycle, between, lost), ages
    ages = thinned_ages(shares, between, lost)
    return thinned_randomized(mu, shares, between, lost), ages


@dependent
def _discounts_fit(scenario: Scenario) -> str | None:
    """A page can be followed to its end for each change rate."""
    states = count_states(*size_of(scenario))
    rates = len(np.unique(page_changes(scenario)))
    if states * rates <= _MOST_FOLLOWED:
        return None
    return f"{states} states for each of {rates} change rates take too long"


def _pace_known(scenario: Scenario) -> str | None:
    """The mean time between accesses is known."""
    known = own.law_without_buffer(scenario) is not None
    return None if known else "the mean time between accesses is not known"


# --- (10), (11) waiting copies that their pages remove ------------------------------------------


def _poisson_by_level(scenario: Scenario) -> tuple[list[float], float]:
    """Rates of all deliveries by level, and that of the service."""
    access, service, places = conditions.poisson_parameters(scenario)
    at = robots_at(scenario)
    return [access * at(level) for level in range(places + 1)], service


def _dropped(scenario: Scenario) -> Values:
    mu = page_changes(scenario)
    shares = page_shares(scenario)
    return freshness_rows(scenario, page_change_rates(mu, shares, *_poisson_by_level(scenario)))


def _replaced(scenario: Scenario) -> Values:
    mu = page_changes(scenario)
    shares = page_shares(scenario)
    found = replacement_ages_and_rates(mu, shares, *_poisson_by_level(scenario))
    return freshness_rows(scenario, *found)


def _only_drops_changed(scenario: Scenario) -> str | None:
    """Waiting copies are dropped when their pages change, first come first served."""
    assert scenario.buffer is not None
    drops = scenario.buffer.obsolescence == "page-change"
    replaces = scenario.buffer.replace_older_copy
    return conditions.all_of(
        None if drops else "waiting copies are not dropped when their pages change",
        "newer copies replace older ones" if replaces else None,
        conditions.first_come_first_served(scenario),
    )


def _only_replaces(scenario: Scenario) -> str | None:
    """Newer copies replace waiting older ones, first come first served, nothing is dropped."""
    assert scenario.buffer is not None
    replaces = scenario.buffer.replace_older_copy
    return conditions.all_of(
        None if replaces else "newer copies do not replace older ones",
        conditions.no_timers(scenario),
        conditions.first_come_first_served(scenario),
    )


@dependent
def _places_fit(scenario: Scenario) -> str | None:
    """Levels and places of one copy are few enough."""
    assert scenario.buffer is not None
    waiting = min(scenario.buffer.waiting_places, len(page_changes(scenario)))
    states = 1 + (waiting + 1) * (waiting + 2) // 2
    if states > MOST_STATES:
        return f"levels and places of one copy are {states} states; they may be {MOST_STATES}"
    if states * kinds_of_pages(scenario) > MOST_SOLUTIONS:
        kinds = kinds_of_pages(scenario)
        return f"{states} states for each of {kinds} kinds of pages take too long"
    return None


# --- (13) timers of any law ---------------------------------------------------------------------


def _timed(scenario: Scenario) -> Values:
    timer = conditions.timers_of(scenario)
    (deliveries, service) = _poisson_by_level(scenario)
    assert timer is not None
    drops = drop_rates(timer, service, len(deliveries) - 2)
    mu = page_changes(scenario)
    shares = page_shares(scenario)
    return freshness_rows(scenario, *timed_rates_and_ages(mu, shares, deliveries, service, drops))


def _timers_with_memory(scenario: Scenario) -> str | None:
    """Waiting pages have timers that are not exponential."""
    timer = conditions.timers_of(scenario)
    exponential = timer is None or exponential_rate(timer) is not None
    return "waiting pages have no timers, or exponential ones" if exponential else None


@dependent
def _counts_fit(scenario: Scenario) -> str | None:
    """Old and new pages are few enough."""
    return counts_fit(scenario.with_("buffer.obsolescence", "never"))


# --- (12) laws of phase type in place of others -------------------------------------------------


@dependent
def _some_without_phases(scenario: Scenario) -> str | None:
    """Some law has no phases, too many, or is not exponential where copies leave together."""
    row = _covering(scenario)
    if row is not None:
        return f"{row.number.partition(',')[0]} covers it as it is"
    return None if with_phases(scenario) else "its laws are of phase type"


@dependent
def _covered_with_phases(scenario: Scenario) -> str | None:
    """With laws of phase type that have the same two moments, another row covers it."""
    replaced = with_phases(scenario)
    assert replaced is not None
    if exact_method(replaced) is not None or _covering(replaced) is not None:
        return None
    return f"not with phase-type laws either: {_nearest(replaced).reason_against(replaced)}"


def _nearest(scenario: Scenario) -> Formula:
    """The approximation for what the buffer of a scenario does."""
    assert scenario.buffer is not None
    dropping, replacing, _, alone = _OF_PHASES
    if scenario.buffer.replace_older_copy:
        return replacing
    return dropping if scenario.buffer.obsolescence == "page-change" else alone


def _covering(scenario: Scenario) -> Formula | None:
    return next((row for row in _OF_PHASES if row.reason_against(scenario) is None), None)


def _with_phases(scenario: Scenario) -> Values:
    replaced = with_phases(scenario)
    assert replaced is not None
    method = exact_method(replaced)
    row = _covering(replaced)
    if method is not None:
        return freshness_rows(
            replaced, method.rates(replaced), method.ages and method.ages(replaced)
        )
    assert row is not None
    return row.evaluate(replaced)


_TIMED = Formula(
    paper=PAPER,
    number="(13), timers of any law",
    quantity="obsolescence rates and ages with timers of any law, many waiting places",
    function=timed_rates_and_ages,
    kind="approximation",
    origin="own",
    conditions=(
        *own.PATH,
        conditions.pages_leave_the_queue_alone,
        page_conditions.randomized_policy,
        _timers_with_memory,
        conditions.first_come_first_served,
        conditions.not_switching,
        conditions.poisson_accesses,
        conditions.exponential_service,
        _counts_fit,
        _no_method,
    ),
    evaluate=_timed,
)


@dependent
def _not_by_timer_law(scenario: Scenario) -> str | None:
    """(13) does not cover it."""
    return None if _TIMED.reason_against(scenario) else "(13) knows the law of the level"


_OF_PHASES: tuple[Formula, ...] = (
    Formula(
        paper=PAPER,
        number="(10), copies dropped independently",
        quantity="obsolescence rates with page-change dropping, many pages",
        function=page_change_rates,
        kind="approximation",
        origin="own",
        conditions=(
            *own.PATH,
            page_conditions.randomized_policy,
            _only_drops_changed,
            conditions.not_switching,
            conditions.poisson_accesses,
            conditions.exponential_service,
            _no_method,
        ),
        evaluate=_dropped,
    ),
    Formula(
        paper=PAPER,
        number="(11), copies replaced independently",
        quantity="obsolescence rates and ages with replacement of older copies, many pages",
        function=replacement_ages_and_rates,
        kind="approximation",
        origin="own",
        conditions=(
            *own.PATH,
            page_conditions.randomized_policy,
            _only_replaces,
            conditions.not_switching,
            conditions.poisson_accesses,
            conditions.exponential_service,
            _places_fit,
            _no_method,
        ),
        evaluate=_replaced,
    ),
    _TIMED,
    Formula(
        paper=PAPER,
        number="(9), decomposition",
        quantity="obsolescence rates and ages, losses and delays taken to be independent",
        function=decomposed,
        kind="approximation",
        origin="own",
        conditions=(
            *own.PATH,
            conditions.pages_leave_the_queue_alone,
            own.listed_or_random,
            page_conditions.robots_always_work,
            _pace_known,
            *own.MARKOVIAN,
            conditions.phase_type_timers,
            conditions.first_come_first_served,
            _not_by_timer_law,
            fits_in_memory,
            one_closed_class,
            _discounts_fit,
            converged,
            _no_method,
        ),
        evaluate=_decomposed,
    ),
)

APPROXIMATIONS: tuple[Formula, ...] = (
    *_OF_PHASES,
    Formula(
        paper=PAPER,
        number="(12), laws by two moments",
        quantity="any of these with laws of phase type in place of others",
        function=stand_in,
        kind="approximation",
        origin="own",
        conditions=(
            *own.PATH,
            _no_method,
            _some_without_phases,
            _covered_with_phases,
            variance_of_timers_kept,
        ),
        evaluate=_with_phases,
    ),
)
"""Rows of the index, none of which is judged."""
