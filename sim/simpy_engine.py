"""The readable engine: SimPy components, put together for one replication of a scenario."""

from __future__ import annotations

from scenarios import Scenario, ScenarioError
from scenarios.errors import MISSING
from scenarios.law_points import LawPoints
from scenarios.sections import Times
from sim.event_log import EventLog
from sim.probes import ProbedSource
from sim.search_engine import SearchEngine
from sim.servers import ParallelServers
from sim.tally import Tally

writes_log = True
unlocked = False


def covers(scenario: Scenario) -> None:
    """Raise `ScenarioError` naming the key that this engine does not simulate."""
    rule = scenario.activation
    if rule is not None and rule.key == "optimal":
        allowed = "is still to be resolved (analytic.resolve); give static, threshold or switching"
        raise ScenarioError("activation.optimal", rule.root, allowed)
    policy = scenario.robots.accessing if scenario.robots else None
    if policy is not None and policy.unresolved:
        key = policy.unresolved
        value = getattr(policy, policy.unresolved)
        allowed = f"is still to be resolved (analytic.resolve); give the {key}"
        raise ScenarioError(f"robots.accessing.{key}", value or MISSING, allowed)
    if scenario.servers is not None and scenario.servers.routing == "optimal":
        allowed = "is still to be resolved; give period or random"
        raise ScenarioError("servers.routing", "optimal", allowed)
    probes = scenario.probing.policy if scenario.probing else "uniform"
    if probes != "uniform" and not isinstance(probes, Times):
        allowed = "is still to be resolved (analytic.resolve); give times or uniform"
        raise ScenarioError("probing.policy", probes, allowed)


def simulate(
    scenario: Scenario,
    replication: int,
    seed: int,
    log: EventLog | None = None,
    points: LawPoints | None = None,
) -> Tally:
    """One replication.

    Parameters
    ----------
    scenario : Scenario
    replication : int
        Which one; it selects the streams.
    seed : int
    log : EventLog, optional
        Receives every event.
    points : LawPoints, optional
        Where distributions are to be compared, of a scenario with a buffer.

    Raises
    ------
    ScenarioError
        If the scenario has a part that this engine does not simulate.
    """
    covers(scenario)
    if scenario.servers is not None:
        return ParallelServers(scenario, replication, seed, log).run()
    if scenario.probing is not None:
        return ProbedSource(scenario, replication, seed, log).run()
    return SearchEngine(scenario, replication, seed, log, points).run()
