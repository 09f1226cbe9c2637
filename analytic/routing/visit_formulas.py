"""The index of formulas of open-loop routing for pages, and what they say of a scenario."""

from __future__ import annotations

import math

import numpy as np

from analytic import page_conditions as conditions
from analytic.active_robots import most_active
from analytic.arrival_process import embedded_period
from analytic.formula import Formula, Values, dependent
from analytic.routing.bounds import linear_bound
from analytic.routing.spacing import visit_costs
from analytic.routing.visits import (
    OPEN_LOOP,
    access_matrices,
    accesses,
    dependent_accesses,
    dependent_obsolescence,
)
from analytic.routing.words import primitive_length
from scenarios import Scenario
from scenarios.accessing.policy import Periodic, Planned
from scenarios.page_data import access_shares, change_rates, page_weights

MOST_BOUNDED = 60
"""Pages up to which the linear bound is given beside every schedule."""


def _period(scenario: Scenario) -> list[int]:
    """The page of each access of a period."""
    policy = scenario.robots.accessing if scenario.robots else None
    assert isinstance(policy, Periodic)
    assert scenario.pages is not None
    period: list[int] = policy.cycle_of(access_shares(policy, scenario.pages)).tolist()
    return period


def _freshness(scenario: Scenario) -> Values:
    assert scenario.pages is not None
    rates = change_rates(scenario.pages)
    weights = page_weights(scenario.pages)
    stale = dependent_obsolescence(accesses(scenario), rates, _period(scenario))
    total = float(weights @ stale)
    yield "weighted_obsolescence", None, total
    for page, each in enumerate(stale.tolist()):
        yield "obsolescence_rate", page, each
    if scenario.clients is not None and weights.sum() > 0:
        yield "stale_answer_probability", None, total / float(weights.sum())
    if scenario.costs.model_fields_set:
        costs = scenario.costs
        yield "control_cost", None, costs.staleness * total + costs.robots * most_active(scenario)


def _bound(scenario: Scenario) -> Values:
    assert scenario.pages is not None
    rates = change_rates(scenario.pages)
    weights = page_weights(scenario.pages)
    bound = linear_bound(visit_costs(accesses(scenario), rates, weights))
    yield "weighted_obsolescence", None, max(bound.value, 0.0)


def long_run(scenario: Scenario) -> str | None:
    """The accessing policy has a period, or draws its pages: its cost is that of the long run."""
    policy = scenario.robots.accessing if scenario.robots else None
    if isinstance(policy, Planned) and not isinstance(policy, Periodic):
        return "the accessing policy is costed along a finite run, at whose start copies are new"
    return None


@dependent
def not_locked(scenario: Scenario) -> str | None:
    """The period of the schedule and the phases of the access times do not lock in step."""
    matrices = access_matrices(scenario)
    if matrices is None or conditions.periodic_policy(scenario) is not None:
        return None
    if conditions.resolved_frequencies(scenario) is not None:
        return None  # no schedule yet
    own = embedded_period(*matrices)
    length = primitive_length(_period(scenario))
    if math.gcd(own, length) == 1:
        return None
    return (
        f"access times of period {own} and a schedule of period {length} lock in step: "
        "one run depends on its start"
    )


def few_pages(scenario: Scenario) -> str | None:
    """At most 60 pages, not all of them without changes or weight."""
    assert scenario.pages is not None
    if scenario.pages.count > MOST_BOUNDED:
        return f"{scenario.pages.count} pages; the linear bound is given up to {MOST_BOUNDED}"
    worth = change_rates(scenario.pages) * page_weights(scenario.pages)
    return None if np.any(worth > 0) else "no page changes, or none has a weight"


VISIT_FORMULAS: tuple[Formula, ...] = (
    Formula(
        paper="altman2000",
        number="section 6",
        quantity="obsolescence rates under a periodic schedule, dependent access times",
        function=dependent_obsolescence,
        kind="exact",
        origin="printed",
        conditions=(
            *OPEN_LOOP,
            conditions.resolved_frequencies,
            conditions.periodic_policy,
            dependent_accesses,
            not_locked,
        ),
        evaluate=_freshness,
    ),
    Formula(
        paper="altman2000",
        number="section 6, linear bound",
        quantity="weighted obsolescence of the best schedule, any weights and access times",
        function=linear_bound,
        kind="lower bound",
        origin="own",
        conditions=(*OPEN_LOOP, few_pages, long_run, not_locked),
        evaluate=_bound,
    ),
)
"""Pages as servers: paper, number, quantity, function, kind, conditions."""
