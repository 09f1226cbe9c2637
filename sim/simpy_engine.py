"""The readable engine: SimPy components, put together for one replication of a scenario.

The components are loaded when they are put together: the compiled engine asks this module what it
covers, and needs none of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from scenarios import Scenario, ScenarioError
from scenarios.activation import Optimal
from scenarios.errors import MISSING
from scenarios.law_points import LawPoints

if TYPE_CHECKING:
    from sim.event_log import Log
    from sim.page_set import PagesComeAndGo
    from sim.probes import ProbedSources
    from sim.search_engine import SearchEngine
    from sim.servers import ParallelServers
    from sim.tally import Tally

    System = SearchEngine | PagesComeAndGo | ParallelServers | ProbedSources

writes_log = True
unlocked = False


def covers(scenario: Scenario) -> None:
    """Raise `ScenarioError` naming the key that this engine does not simulate."""
    for key, value, given in _unresolved(scenario):
        allowed = f"is still to be resolved (analytic.resolve); give {given}"
        raise ScenarioError(key, value, allowed)


def _unresolved(scenario: Scenario) -> Iterator[tuple[str, Any, str]]:
    """The keys of what is still to be found, their values, and what an engine needs instead."""
    rule = scenario.activation
    if isinstance(rule, Optimal):
        yield "activation.optimal", rule.root, "static, threshold, levels, free or switching"
    policy = scenario.model.accessing
    if policy is not None and (key := policy.unresolved):
        yield f"robots.accessing.{key}", getattr(policy, key) or MISSING, f"the {key}"
    if scenario.servers is not None and scenario.servers.routing == "optimal":
        yield "servers.routing", "optimal", "period or random"
    monitor = scenario.model.monitor
    if monitor is not None and not monitor.is_settled:
        asked = monitor.asked.policy
        if asked != "uniform" or monitor.is_shared:
            yield "probing.policy", asked, "times" if monitor.is_shared else "times or uniform"


def simulate(
    scenario: Scenario,
    replication: int,
    seed: int,
    log: Log | None = None,
    points: LawPoints | None = None,
) -> Tally:
    """One replication.

    Parameters
    ----------
    scenario : Scenario
    replication : int
        Which one; it selects the streams.
    seed : int
    log : Log, optional
        Receives every event.
    points : LawPoints, optional
        Where distributions are to be compared, of a scenario with a buffer.

    Raises
    ------
    ScenarioError
        If the scenario has a part that this engine does not simulate.
    """
    return put_together(scenario, replication, seed, log, points).run()


def put_together(
    scenario: Scenario,
    replication: int,
    seed: int,
    log: Log | None = None,
    points: LawPoints | None = None,
) -> System:
    """The components of one replication, before anything happens; as `simulate`."""
    from sim.page_set import PagesComeAndGo
    from sim.probes import ProbedSources
    from sim.search_engine import SearchEngine
    from sim.servers import ParallelServers

    covers(scenario)
    if scenario.servers is not None:
        return ParallelServers(scenario, replication, seed, log)
    if scenario.page_set is not None:
        return PagesComeAndGo(scenario, replication, seed, log)
    if scenario.probing is not None:
        return ProbedSources(scenario, replication, seed, log)
    return SearchEngine(scenario, replication, seed, log, points)
