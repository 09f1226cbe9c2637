"""Every "optimal" in a scenario becomes the numbers found."""

from __future__ import annotations

from analytic.page_refresh import index_numbers
from analytic.probing import best_probes, probe_times
from analytic.targets import answered, optimize
from scenarios import Scenario, ScenarioError
from scenarios.accessing.index import IndexPolicy
from scenarios.activation import Optimal
from scenarios.errors import MISSING
from scenarios.scenario import require_scenario
from scenarios.sections import Times


def resolve(scenario: Scenario) -> Scenario:
    """The scenario with every "optimal" replaced by the solution, and probe times computed.

    Raises
    ------
    ScenarioError
        Naming an "optimal" for which there is no solver or no exact answer, or a probing policy
        without such times.
    """
    require_scenario(scenario)
    return _with_probe_times(_with_routing(_with_robots(_with_frequencies(scenario))))


def _with_frequencies(scenario: Scenario) -> Scenario:
    """The scenario with what its accessing policy lacks: the best frequencies, or its index."""
    policy = scenario.robots.accessing if scenario.robots else None
    if policy is None or policy.unresolved is None:
        return scenario
    if isinstance(policy, IndexPolicy):
        return _with_index(scenario, policy)
    found = optimize(scenario, "frequencies", "robots.accessing.frequencies", "optimal")
    return scenario.with_(found.changes)


def _with_index(scenario: Scenario, policy: IndexPolicy) -> Scenario:
    """The scenario with the two numbers per page from which the policy reckons its index."""
    numbers = index_numbers(scenario, policy)
    if numbers is None:
        allowed = "is missing, and the mean time between accesses is not known"
        raise ScenarioError(f"robots.accessing.{policy.unresolved}", MISSING, allowed)
    missing = {key: each for key, each in numbers.items() if getattr(policy, key) is None}
    return scenario.with_({f"robots.accessing.{key}": each for key, each in missing.items()})


def _with_robots(scenario: Scenario) -> Scenario:
    """The scenario with the best rule of the family that [activation] names."""
    rule = scenario.activation
    if not isinstance(rule, Optimal):
        return scenario
    found = optimize(scenario, rule.family, "activation.optimal")
    return scenario.with_(found.changes)


def _with_routing(scenario: Scenario) -> Scenario:
    """The scenario with the best order of its servers."""
    if scenario.servers is None or scenario.servers.routing != "optimal":
        return scenario
    found = optimize(scenario, "routing", "servers.routing", "optimal")
    return scenario.with_(found.changes)


def _with_probe_times(scenario: Scenario) -> Scenario:
    """The scenario with the probe times of its policy in place of the policy."""
    if scenario.probing is None or isinstance(scenario.probing.policy, Times):
        return scenario
    if scenario.probing.policy == "optimal":
        return answered(best_probes, scenario, "optimal", "probing.policy").scenario
    return scenario.with_("probing.policy", {"times": list(probe_times(scenario))})
