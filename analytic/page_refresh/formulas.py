"""The index of formulas for pages without a buffer, and how they read a scenario."""

from __future__ import annotations

import numpy as np

from analytic import page_conditions as conditions
from analytic.active_robots import most_active
from analytic.formula import Formula, Values
from analytic.page_refresh.hosts import (
    hosts_never_wait,
    in_time_bound,
    mean_known,
    scenario_in_time_bound,
    waits_or_shared,
)
from analytic.page_refresh.limits import LIMITS
from analytic.page_refresh.obsolescence import (
    crawl_rates,
    cyclic_obsolescence,
    equal_spacing_bound,
    randomized_obsolescence,
    sequence_obsolescence,
    spaced_obsolescence,
    stale_answers,
)
from analytic.page_refresh.optimum import best_random_shares, proportional_bound, schedule_bound
from analytic.page_refresh.plans import planned_slots
from analytic.page_refresh.several_robots import (
    exponential_robots_obsolescence,
    random_rounds_obsolescence,
    robots_in_step_obsolescence,
)
from analytic.transforms import mean_time
from scenarios import Scenario
from scenarios.accessing.policy import Periodic, Planned
from scenarios.arrays import Array
from scenarios.page_data import access_shares, change_rates, page_weights


def _obsolescence(scenario: Scenario) -> Array:
    """Exact obsolescence rates of a scenario that meets the conditions of (3) or Lemma 4.1."""
    assert scenario.pages is not None
    assert scenario.robots is not None
    policy = scenario.robots.accessing
    assert policy is not None
    rates = change_rates(scenario.pages)
    law = conditions.law_between_accesses(scenario)
    if isinstance(policy, Planned) and not isinstance(policy, Periodic):
        skipped, sequence = planned_slots(scenario)
        return sequence_obsolescence(rates, sequence, law, skipped)
    shares = access_shares(policy, scenario.pages)
    if isinstance(policy, Periodic):
        return cyclic_obsolescence(rates, policy.cycle_of(shares), law)
    return randomized_obsolescence(rates, shares, law)


def _shared_obsolescence(scenario: Scenario) -> Array:
    """Exact obsolescence rates of several robots in step, or exponential ones, on one sequence."""
    assert scenario.pages is not None
    assert scenario.robots is not None
    policy = scenario.robots.accessing
    law = conditions.access_law(scenario)
    assert policy is not None
    assert law is not None
    rates = change_rates(scenario.pages)
    shares = access_shares(policy, scenario.pages)
    time = mean_time(law)
    robots = most_active(scenario)
    if not isinstance(policy, Periodic):
        return random_rounds_obsolescence(rates, shares, time, robots)
    exponential = conditions.one_robot_or_memoryless(scenario) is None
    find = exponential_robots_obsolescence if exponential else robots_in_step_obsolescence
    return find(rates, policy.cycle_of(shares), time, robots)


def _freshness(scenario: Scenario) -> Values:
    yield from _measures(scenario, _obsolescence(scenario))


def _shared_freshness(scenario: Scenario) -> Values:
    yield from _measures(scenario, _shared_obsolescence(scenario))


def _measures(scenario: Scenario, rates: Array) -> Values:
    """What follows from the obsolescence rates."""
    assert scenario.pages is not None
    weights = page_weights(scenario.pages)
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
    shares = _most_realised_shares(scenario)
    law = conditions.law_between_accesses(scenario)
    bounds = spaced_obsolescence(change_rates(scenario.pages), shares, law)
    yield "weighted_obsolescence", None, float(page_weights(scenario.pages) @ bounds)
    for page, bound in enumerate(bounds.tolist()):
        yield "obsolescence_rate", page, bound


def _proportional(scenario: Scenario) -> Values:
    assert scenario.pages is not None
    rates = change_rates(scenario.pages)
    weights = page_weights(scenario.pages)
    law = conditions.law_between_accesses(scenario)
    bound = proportional_bound(rates, law, _visits_per_access(scenario))
    yield "weighted_obsolescence", None, float(weights.sum() / rates.sum()) * bound


def _any_schedule(scenario: Scenario) -> Values:
    assert scenario.pages is not None
    rates = change_rates(scenario.pages)
    weights = page_weights(scenario.pages)
    law = conditions.law_between_accesses(scenario)
    bound = schedule_bound(rates, weights, law, _visits_per_access(scenario))
    yield "weighted_obsolescence", None, bound


def _visits_per_access(scenario: Scenario) -> float:
    """Visits of all pages per access that a bound may count on: 1 in the long run.

    A policy without a period is costed along a finite sequence, at whose start every copy may be
    as good as new: one visit of each page for nothing.
    """
    assert scenario.pages is not None
    policy = scenario.robots.accessing if scenario.robots else None
    if not isinstance(policy, Planned) or isinstance(policy, Periodic):
        return 1.0
    before, slots = conditions.slots_of_run(scenario)
    return 1.0 + scenario.pages.count / max(slots - before, 1)


def _any_random_choice(scenario: Scenario) -> Values:
    assert scenario.pages is not None
    rates = change_rates(scenario.pages)
    weights = page_weights(scenario.pages)
    law = conditions.law_between_accesses(scenario)
    shares = best_random_shares(rates, weights, law)
    best = float(weights @ randomized_obsolescence(rates, shares, law))
    yield "weighted_obsolescence", None, best


def _any_schedule_in_time(scenario: Scenario) -> Values:
    yield "weighted_obsolescence", None, scenario_in_time_bound(scenario)


def _planned_visits(scenario: Scenario) -> tuple[Array, int]:
    """Of a policy without a period: visits of each page in the window, and its slots."""
    assert scenario.pages is not None
    skipped, sequence = planned_slots(scenario)
    counts = np.bincount(sequence[skipped:], minlength=scenario.pages.count)
    return counts.astype(float), len(sequence) - skipped


def _most_realised_shares(scenario: Scenario) -> Array:
    """The same for a bound: n visits cut a window into n + 1 distances, the two ends included."""
    policy = scenario.robots.accessing if scenario.robots else None
    if isinstance(policy, Planned) and not isinstance(policy, Periodic):
        visits, slots = _planned_visits(scenario)
        most: Array = np.minimum((visits + 1) / slots, 1.0)
        return most
    return _realised_shares(scenario)


def _realised_shares(scenario: Scenario) -> Array:
    """Access frequencies that the policy really gives; a period has whole numbers of slots."""
    assert scenario.pages is not None
    assert scenario.robots is not None
    policy = scenario.robots.accessing
    assert policy is not None
    if isinstance(policy, Planned) and not isinstance(policy, Periodic):
        visits, slots = _planned_visits(scenario)
        return visits / slots
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
    hosts_never_wait,
)
_SCHEDULED = (*_FRESHNESS, conditions.resolved_frequencies)

FORMULAS: tuple[Formula, ...] = (
    Formula(
        paper="coffman1998",
        number="(3)",
        quantity="obsolescence rates under a periodic schedule, their weighted sum",
        function=cyclic_obsolescence,
        kind="exact",
        origin="printed",
        conditions=(*_SCHEDULED, conditions.periodic_policy, conditions.one_robot),
        evaluate=_freshness,
    ),
    Formula(
        paper="coffman1998",
        number="(3), slot by slot",
        quantity="obsolescence rates along the sequence that a policy without a period gives",
        function=sequence_obsolescence,
        kind="exact",
        origin="own",
        conditions=(*_SCHEDULED, conditions.planned_policy, conditions.one_robot),
        evaluate=_freshness,
    ),
    Formula(
        paper="coffman1998",
        number="(3), robots in step",
        quantity="obsolescence rates of several robots with constant access times",
        function=robots_in_step_obsolescence,
        kind="exact",
        origin="own",
        conditions=(
            *_SCHEDULED,
            conditions.periodic_policy,
            conditions.several_robots,
            conditions.constant_accesses,
            conditions.short_rounds,
        ),
        evaluate=_shared_freshness,
    ),
    Formula(
        paper="coffman1998",
        number="(3), exponential robots",
        quantity="obsolescence rates of several robots with exponential access times",
        function=exponential_robots_obsolescence,
        kind="exact",
        origin="own",
        conditions=(
            *_SCHEDULED,
            conditions.periodic_policy,
            conditions.several_robots,
            conditions.one_robot_or_memoryless,
            conditions.short_rounds,
        ),
        evaluate=_shared_freshness,
    ),
    Formula(
        paper="coffman1998",
        number="Lemma 4.1",
        quantity="obsolescence rates under independent random choices, their weighted sum",
        function=randomized_obsolescence,
        kind="exact",
        origin="printed",
        conditions=(*_SCHEDULED, conditions.randomized_policy, conditions.one_robot_or_memoryless),
        evaluate=_freshness,
    ),
    Formula(
        paper="coffman1998",
        number="Lemma 4.1, robots in step",
        quantity="obsolescence rates under random choices of robots with constant access times",
        function=random_rounds_obsolescence,
        kind="exact",
        origin="own",
        conditions=(
            *_SCHEDULED,
            conditions.randomized_policy,
            conditions.several_robots,
            conditions.constant_accesses,
        ),
        evaluate=_shared_freshness,
    ),
    Formula(
        paper="coffman1998",
        number="Theorem 3.3",
        quantity="obsolescence rates at the given frequencies, at best",
        function=equal_spacing_bound,
        kind="lower bound",
        origin="printed",
        conditions=(*_SCHEDULED, conditions.one_robot),
        evaluate=_bound,
    ),
    Formula(
        paper="coffman1998",
        number="Theorem 3.4",
        quantity="weighted obsolescence of the best schedule, weights as change rates",
        function=proportional_bound,
        kind="lower bound",
        origin="printed",
        conditions=(*_FRESHNESS, conditions.one_robot, conditions.weights_as_change_rates),
        evaluate=_proportional,
    ),
    Formula(
        paper="coffman1998",
        number="(7)",
        quantity="weighted obsolescence of the best schedule, any weights",
        function=schedule_bound,
        kind="lower bound",
        origin="printed",
        conditions=(*_FRESHNESS, conditions.one_robot, conditions.weights_of_their_own),
        evaluate=_any_schedule,
    ),
    Formula(
        paper="coffman1998",
        number="(7) in time",
        quantity="weighted obsolescence of the best schedule of several robots, or polite ones",
        function=in_time_bound,
        kind="lower bound",
        origin="own",
        conditions=(
            conditions.has_pages,
            conditions.no_buffer,
            conditions.some_robot_works,
            mean_known,
            waits_or_shared,
        ),
        evaluate=_any_schedule_in_time,
    ),
    Formula(
        paper="coffman1998",
        number="(12)-(15)",
        quantity="weighted obsolescence of the best independent random choices",
        function=best_random_shares,
        kind="lower bound",
        origin="corrected",
        conditions=(
            *_FRESHNESS,
            conditions.randomized_policy,
            conditions.one_robot_or_memoryless,
        ),
        evaluate=_any_random_choice,
    ),
    Formula(
        paper="coffman1998",
        number="section 2",
        quantity="accesses of each page per unit time, and their shares",
        function=crawl_rates,
        kind="exact",
        origin="printed",
        conditions=(
            conditions.has_pages,
            conditions.robots_always_work,
            conditions.independent_accesses,
            conditions.resolved_frequencies,
            hosts_never_wait,
        ),
        evaluate=_crawling,
    ),
    *LIMITS,
)
"""The index: paper, number, quantity, function, kind, conditions."""
