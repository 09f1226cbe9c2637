"""The readable engine: SimPy components, put together for one replication of a scenario.

The components are loaded when they are put together: the compiled engine asks this module what it
covers, and needs none of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scenarios import Scenario, ScenarioError
from scenarios.errors import MISSING
from scenarios.law_points import LawPoints
from sim.added_laws import require_times

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


_INSTEAD = {
    "activation.optimal": "static, threshold, levels, free or switching",
    "servers.routing": "period or random",
    "probing.policy": "times, or uniform of one source",
}


def covers(scenario: Scenario) -> None:
    """Raise `ScenarioError` naming the key that this engine does not simulate."""
    for key, value in scenario.unresolved.items():
        if value == "uniform" and scenario.sources is None:
            continue  # probes of one source
        given = _INSTEAD.get(key) or f"the {key.rpartition('.')[2]}"
        allowed = f"is still to be resolved (analytic.resolve); give {given}"
        raise ScenarioError(key, value or MISSING, allowed)
    require_times(scenario)


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
