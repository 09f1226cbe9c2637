"""The readable engine: SimPy components, put together for one replication of a scenario."""

from __future__ import annotations

from scenarios import Scenario, ScenarioError
from sim.event_log import EventLog
from sim.search_engine import SearchEngine
from sim.tally import Tally

__all__ = ["covers", "simulate"]

_LATER = ("source", "probing", "servers")
"""Sections that this version checks but does not simulate."""


def covers(scenario: Scenario) -> None:
    """Raise `ScenarioError` naming the key that this engine does not simulate."""
    for section in _LATER:
        if getattr(scenario, section) is not None:
            allowed = "is not simulated by this version; it simulates [robots] with [buffer]"
            raise ScenarioError(section, getattr(scenario, section), allowed)
    rule = scenario.activation
    if rule is not None and rule.key == "optimal":
        allowed = "is still to be resolved; give static, threshold or switching"
        raise ScenarioError("activation.optimal", rule.root, allowed)
    policy = scenario.robots.accessing if scenario.robots else None
    if getattr(policy, "frequencies", None) == "optimal":
        allowed = "is still to be resolved; give the frequencies"
        raise ScenarioError("robots.accessing.frequencies", "optimal", allowed)


def simulate(scenario: Scenario, replication: int, seed: int, log: EventLog | None = None) -> Tally:
    """One replication.

    Parameters
    ----------
    scenario : Scenario
    replication : int
        Which one; it selects the streams.
    seed : int
    log : EventLog, optional
        Receives every event.

    Raises
    ------
    ScenarioError
        If the scenario has a part that this engine does not simulate.
    """
    covers(scenario)
    return SearchEngine(scenario, replication, seed, log).run()
