"""What can be optimised: one function for each kind of decision."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from analytic.optimum import Optimum
from analytic.pipeline.best_frequencies import end_to_end_frequencies
from analytic.pipeline.best_robots import end_to_end_robots, end_to_end_switching
from analytic.pipeline.best_thresholds import end_to_end_thresholds
from analytic.probing.search import optimal_probes
from analytic.refusal import NoAnswerError
from analytic.routing import optimal_routing, optimal_template
from scenarios import Scenario, ScenarioError
from scenarios.base import one_of
from scenarios.scenario import require_scenario

T = TypeVar("T")

TARGETS: dict[str, Callable[[Scenario], Optimum]] = {
    "static": end_to_end_robots,
    "threshold": end_to_end_thresholds,
    "switching": end_to_end_switching,
    "frequencies": end_to_end_frequencies,
    "template": optimal_template,
    "routing": optimal_routing,
    "probes": optimal_probes,
}
"""Every target by its name; a new one is one function and one line here."""


def optimize(
    scenario: Scenario, target: str, key: str = "target", given: str | None = None
) -> Optimum:
    """The best decision of one kind.

    Parameters
    ----------
    scenario : Scenario
    target : str
        A key of `TARGETS`.
    key : str
        What a refusal names: the entry or option that asked for it.
    given : str, optional
        What a refusal quotes as the value of that entry; the target otherwise.

    Raises
    ------
    ScenarioError
        If there is no such target, or no optimum of this kind for the scenario.
    """
    require_scenario(scenario)
    if target not in TARGETS:
        allowed = f"must be {one_of(target, TARGETS)}; nothing else has a solver in this version"
        raise ScenarioError(key, target, allowed)
    return answered(TARGETS[target], scenario, given or target, key)


def answered(solver: Callable[[Scenario], T], scenario: Scenario, given: str, key: str) -> T:
    """The answer of a solver; where there is none, the error has the key and value given."""
    try:
        return solver(scenario)
    except NoAnswerError as reason:
        raise ScenarioError(key, given, f"has no exact answer: {reason}", scenario.name) from None
