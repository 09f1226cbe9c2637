"""What a scenario file leaves to be found before the system can be simulated."""

from __future__ import annotations

from scenarios.activation import Optimal
from scenarios.scenario import Scenario
from scenarios.sections import Times


def leaves_something_open(scenario: Scenario) -> bool:
    """Whether anything is "optimal", or probe times are given by a policy.

    Parameters
    ----------
    scenario : Scenario
    """
    accessing = scenario.robots.accessing if scenario.robots else None
    return (
        (accessing is not None and accessing.unresolved is not None)
        or isinstance(scenario.activation, Optimal)
        or (scenario.servers is not None and scenario.servers.routing == "optimal")
        or (scenario.probing is not None and not isinstance(scenario.probing.policy, Times))
    )
