"""The formulas of coffman1998 for many slow pages, as rows of the index.

They are limits: shown beside the others, never judged. Their conditions say how near to the limit a
system has to be, for each to be off by some per cent at most.
"""

from __future__ import annotations

import numpy as np

from analytic import page_conditions as conditions
from analytic.formula import Formula, Values, dependent
from analytic.page_refresh.golden import (
    WORST_GOLDEN_RATIO,
    golden_guarantee,
    many_pages_cost,
    worst_golden_cost,
)
from analytic.page_refresh.hosts import hosts_never_wait
from analytic.page_refresh.optimum import proportional_bound
from analytic.transforms import log_transform, mean_time
from scenarios import Scenario
from scenarios.accessing.golden_ratio import GoldenRatio
from scenarios.page_data import access_shares, change_rates, page_weights

_SLOW = 0.02
_SLOTS = 50
_NEAR = 1e-3


@dependent
def _slow_pages(scenario: Scenario) -> str | None:
    """Pages are slow: each changes at most 0.02 times per mean access time."""
    assert scenario.pages is not None
    law = conditions.law_between_accesses(scenario)
    most = float(change_rates(scenario.pages).max()) * mean_time(law)
    return None if most <= _SLOW else f"a page changes {most:.3g} times per access, not slowly"


@dependent
def _golden_at_best(scenario: Scenario) -> str | None:
    """A golden-ratio policy at the best frequencies, 50 slots per page or more in its cycle."""
    assert scenario.pages is not None
    policy = scenario.robots.accessing if scenario.robots else None
    if not isinstance(policy, GoldenRatio):
        return "the accessing policy is not golden-ratio"
    shares = access_shares(policy, scenario.pages)
    law = conditions.law_between_accesses(scenario)
    exponents = log_transform(law, change_rates(scenario.pages))
    if not np.allclose(shares, exponents / exponents.sum(), rtol=_NEAR, atol=0.0):
        return "frequencies are not the best ones"
    slots = len(policy.cycle_of(shares))
    if slots < _SLOTS * scenario.pages.count:
        return f"a cycle of {slots} slots is short for {scenario.pages.count} pages"
    return None


def _price(scenario: Scenario) -> float:
    """Weight per change."""
    assert scenario.pages is not None
    weights = page_weights(scenario.pages)
    rates = change_rates(scenario.pages)
    return float(weights.sum() / rates.sum())


def _load(scenario: Scenario) -> tuple[float, float]:
    """Changes per access time, and accesses per unit time."""
    assert scenario.pages is not None
    mean = mean_time(conditions.law_between_accesses(scenario))
    return float(change_rates(scenario.pages).sum()) * mean, 1.0 / mean


def _best(scenario: Scenario) -> Values:
    load, pace = _load(scenario)
    yield "weighted_obsolescence", None, _price(scenario) * pace * float(many_pages_cost(load))


def _golden(scenario: Scenario) -> Values:
    load, pace = _load(scenario)
    yield "weighted_obsolescence", None, _price(scenario) * pace * worst_golden_cost(load)[0]


def _guaranteed(scenario: Scenario) -> Values:
    assert scenario.pages is not None
    law = conditions.law_between_accesses(scenario)
    bound = proportional_bound(change_rates(scenario.pages), law)
    yield "weighted_obsolescence", None, WORST_GOLDEN_RATIO * _price(scenario) * bound


_MANY = (
    conditions.has_pages,
    conditions.no_buffer,
    conditions.some_robot_works,
    conditions.independent_accesses,
    hosts_never_wait,
    conditions.one_robot,
    conditions.weights_as_change_rates,
    _slow_pages,
)
_GOLDEN = (*_MANY, conditions.resolved_frequencies, _golden_at_best)

LIMITS: tuple[Formula, ...] = (
    Formula(
        paper="coffman1998",
        number="(17)",
        quantity="weighted obsolescence of the best schedule of many slow pages",
        function=many_pages_cost,
        kind="asymptotic",
        origin="corrected",
        conditions=_MANY,
        evaluate=_best,
    ),
    Formula(
        paper="coffman1998",
        number="(18) corrected",
        quantity="weighted obsolescence of a golden-ratio policy of many slow pages, at most",
        function=worst_golden_cost,
        kind="asymptotic",
        origin="corrected",
        conditions=_GOLDEN,
        evaluate=_golden,
    ),
    Formula(
        paper="coffman1998",
        number="(19) corrected",
        quantity="weighted obsolescence of a golden-ratio policy, by the best at any load, at most",
        function=golden_guarantee,
        kind="asymptotic",
        origin="corrected",
        conditions=_GOLDEN,
        evaluate=_guaranteed,
    ),
)
"""Rows of the index for limits."""
