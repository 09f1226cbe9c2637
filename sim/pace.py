"""Whether the clock of a simulation can move at all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from scenarios import Scenario, ScenarioError
from scenarios.deliveries import as_modes
from sim.draws import draws_of_process
from sim.layout import mean_times, robots_at_levels

__all__ = ["require_progress"]

_DRAWS = 4096


def require_progress(scenario: Scenario) -> None:
    """Raise `ScenarioError` for times between events that are too short to be told from 0.

    A number of 64 bits has 53 for its digits: times of 1e-100 are lost when they are added to a
    clock, and the simulation would never reach its horizon.
    """
    horizon = scenario.run.horizon
    for section, name, total in _sums(scenario):
        if horizon + total == horizon:
            allowed = (
                "gives times so short that they do not move a clock near the horizon "
                f"({horizon:g}); choose another unit of time"
            )
            raise ScenarioError(f"{section}.{name}", scenario.as_file()[section][name], allowed)


def _sums(scenario: Scenario) -> Iterator[tuple[str, str, float]]:
    """The key of all that goes on for ever, and the time that thousands of its events take."""
    robots, clients, servers = scenario.robots, scenario.clients, scenario.servers
    if robots is not None and robots.deliveries is None:
        yield "robots", "access_time", _total(robots.access_time)
    if robots is not None and robots.deliveries is not None:
        modes = as_modes(robots.deliveries)
        means = [mean_times(modes[used]) for used in set(robots_at_levels(scenario))]
        longest = max(np.inf if mean is None else mean for mode in means for mean in mode)
        yield "robots", "deliveries", _DRAWS * longest
    if clients is not None:
        yield "clients", "query_rate", _DRAWS / clients.query_rate
    if servers is not None:
        yield "servers", "arrivals", _total(servers.arrivals)


def _total(process: Any) -> float:
    draw = draws_of_process(process, np.random.default_rng(0))
    return sum(draw() for _ in range(_DRAWS))
