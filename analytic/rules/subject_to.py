"""The best rule of each kind, subject to bounds on measures."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from analytic.index.formula import AS_LONG, is_shortened
from analytic.index.optimum import NoOptimumError, Optimum
from analytic.pipeline.costs import prices_pages
from analytic.rules.bound import Bound, require_quotient
from analytic.rules.fixed import fixed_within
from analytic.rules.free import free_within
from analytic.rules.levels import levels_within
from analytic.rules.switching import switching_within
from analytic.rules.thresholds import thresholds_within
from scenarios import Scenario
from scenarios.base import listed

FAMILIES: dict[str, Callable[[Scenario, Sequence[Bound]], Optimum]] = {
    "static": fixed_within,
    "threshold": thresholds_within,
    "levels": levels_within,
    "free": free_within,
    "switching": switching_within,
}
"""By target, what finds the best rule that keeps some bounds."""


def best_within(scenario: Scenario, target: str, *bounds: Bound) -> Optimum:
    """The cheapest rule of a kind that keeps all bounds; the table has no others.

    Parameters
    ----------
    scenario : Scenario
    target : str
        Of `FAMILIES`.
    *bounds : Bound

    Returns
    -------
    Optimum
        Its lower bound is the cost of the cheapest mixture of rules of this kind that keeps them;
        None where the mean response has a price, which is not a rate.

    Raises
    ------
    NoOptimumError
        If no rule keeps them, or costs and rates have no exact value here.
    """
    if is_shortened(scenario):
        raise NoOptimumError(AS_LONG)
    if target not in FAMILIES:
        raise NoOptimumError(f"a bound goes with --target {listed(FAMILIES)}")
    for each in bounds:
        require_quotient(each)
    if prices_pages(scenario):
        raise NoOptimumError("a bound does not go with a price of staleness, or of bytes")
    return FAMILIES[target](scenario, bounds)
