"""The fast engine: the events of the SimPy engine as compiled loops, on the same random numbers.

Every replication gives the same tally as the SimPy engine, to the last bit. A replication runs
without the interpreter's lock, so that threads are enough to use all cores.

One world per kind of system: `replication` (pages, robots, buffer, clients; `refresh` is its
shortest loop), `page_set`, `servers`, `probes`. The event log is the SimPy engine's.
"""

from __future__ import annotations

from importlib.util import find_spec

from scenarios import Scenario, ScenarioError
from scenarios.interrupts import interrupts_watched
from scenarios.law_points import LawPoints
from sim import simpy_engine
from sim.compiled_engine.added_laws import require_compiled
from sim.event_log import EventLog
from sim.tally import Tally

__all__ = ["covers", "simulate", "unlocked", "writes_log"]

_IS_THERE = find_spec("numba") is not None  # which is not imported before it is needed

writes_log = False
unlocked = True


def covers(scenario: Scenario) -> None:
    """Raise `ScenarioError` naming the key that this engine does not simulate."""
    if not _IS_THERE:
        allowed = "needs numba, which is not installed here; simpy gives the same numbers"
        raise ScenarioError("engine", "compiled", allowed)
    simpy_engine.covers(scenario)
    require_compiled(scenario)


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
        Must be None.
    points : LawPoints, optional
        Where distributions are to be compared, of a scenario with a buffer.

    Raises
    ------
    ScenarioError
        If the scenario has a part that this engine does not simulate, or a log is asked for.
    """
    covers(scenario)
    if log is not None:
        raise ScenarioError("engine", "compiled", "writes no event log; simpy does")
    with interrupts_watched():
        return _simulated(scenario, replication, seed, points)


def _simulated(scenario: Scenario, replication: int, seed: int, points: LawPoints | None) -> Tally:
    """By the world of its kind; only that one is imported, for each takes its time."""
    if scenario.servers is not None:
        from sim.compiled_engine.servers import simulate_servers

        return simulate_servers(scenario, replication, seed)
    if scenario.page_set is not None:
        from sim.compiled_engine.page_set import simulate_page_set

        return simulate_page_set(scenario, replication, seed)
    if scenario.probing is not None:
        from sim.compiled_engine.probes import simulate_probing

        return simulate_probing(scenario, replication, seed)
    from sim.compiled_engine.replication import Replication

    return Replication(scenario, replication, seed, points).run()
