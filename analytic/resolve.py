"""Every "optimal" in a scenario becomes the numbers found."""

from __future__ import annotations

from analytic.probing import probe_times
from analytic.targets import optimize
from scenarios import Scenario, ScenarioError
from scenarios.activation import Optimal
from scenarios.scenario import require_scenario
from scenarios.sections import Times

__all__ = ["resolve"]


def resolve(scenario: Scenario) -> Scenario:
    """The scenario with every "optimal" replaced by the solution, and probe times computed.

    Raises
    ------
    ScenarioError
        Naming an "optimal" for which there is no solver or no exact answer, or a probing policy
        without such times.
    """
    require_scenario(scenario)
    unsolved = {
        "probing.policy": scenario.probing is not None and scenario.probing.policy == "optimal",
        "servers.routing": scenario.servers is not None and scenario.servers.routing == "optimal",
    }
    for key, is_unsolved in unsolved.items():
        if is_unsolved:
            allowed = "has no solver in this version; give the decision itself"
            raise ScenarioError(key, "optimal", allowed)
    return _with_probe_times(_with_robots(_with_frequencies(scenario)))


def _with_frequencies(scenario: Scenario) -> Scenario:
    """The scenario with the best frequencies for its accessing policy."""
    policy = scenario.robots.accessing if scenario.robots else None
    if getattr(policy, "frequencies", None) != "optimal":
        return scenario
    found = optimize(scenario, "frequencies", "robots.accessing.frequencies")
    return scenario.with_(found.changes)


def _with_robots(scenario: Scenario) -> Scenario:
    """The scenario with the best rule of the family that [activation] names."""
    rule = scenario.activation
    if not isinstance(rule, Optimal):
        return scenario
    found = optimize(scenario, rule.family, "activation.optimal")
    return scenario.with_(found.changes)


def _with_probe_times(scenario: Scenario) -> Scenario:
    """The scenario with the probe times of its policy in place of the policy."""
    if scenario.probing is None or isinstance(scenario.probing.policy, Times):
        return scenario
    return scenario.with_("probing.policy", {"times": list(probe_times(scenario))})
