"""A scenario with every "optimal" replaced by the numbers that solve it."""

from __future__ import annotations

from analytic.page_conditions import policy_of
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
    policy = policy_of(scenario)
    if policy is not None and policy.unresolved is not None:
        if isinstance(policy, IndexPolicy):
            scenario = _with_index(scenario, policy)
        else:
            best = optimize(scenario, "frequencies", "robots.accessing.frequencies", "optimal")
            scenario = scenario.with_(best.changes)
    if isinstance(scenario.activation, Optimal):
        best = optimize(scenario, scenario.activation.family, "activation.optimal")
        scenario = scenario.with_(best.changes)
    if scenario.servers is not None and scenario.servers.routing == "optimal":
        best = optimize(scenario, "routing", "servers.routing", "optimal")
        scenario = scenario.with_(best.changes)
    if scenario.probing is None or isinstance(scenario.probing.policy, Times):
        return scenario
    if scenario.probing.policy == "optimal":
        return answered(best_probes, scenario, "optimal", "probing.policy").scenario
    return scenario.with_("probing.policy", {"times": list(probe_times(scenario))})


def _with_index(scenario: Scenario, policy: IndexPolicy) -> Scenario:
    """The scenario with the two numbers per page of which the policy makes its index."""
    numbers = index_numbers(scenario, policy)
    if numbers is None:
        allowed = "is missing, and the mean time between accesses is not known"
        raise ScenarioError(f"robots.accessing.{policy.unresolved}", MISSING, allowed)
    missing = {key: each for key, each in numbers.items() if getattr(policy, key) is None}
    return scenario.with_({f"robots.accessing.{key}": each for key, each in missing.items()})
