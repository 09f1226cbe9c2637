"""A probed source as compiled code: the path of `sim.probes`, update by update."""

from __future__ import annotations

from typing import Any

import numpy as np

from scenarios import Scenario
from scenarios.processes import Rate
from sim import rules
from sim.compiled_engine.jit import kernel
from sim.probes import given_times, largest_wait
from sim.rates import Cycle, cycle, integral, mark, reached
from sim.streams import stream
from sim.tally import ProbingTally, Tally

__all__ = ["simulate_probing"]


def simulate_probing(scenario: Scenario, replication: int, seed: int) -> Tally:
    """One replication: one path of [0, horizon]."""
    assert scenario.source is not None
    assert scenario.probing is not None
    times, importance = given_times(scenario.probing), _cycle(scenario.source.importance)
    rate, own = _cycle(scenario.source.updates), stream(seed, replication, "update")
    updates, cost = probe(np.array(times), rate, importance, own)
    counted = ProbingTally(
        updates=updates,
        probes=len(times),
        seen=updates,
        pending=0,
        cost=float(cost),
        largest_wait=float(largest_wait(times, importance)),
    )
    tally = Tally(window=scenario.probing.horizon, probing=counted)
    tally.check(scenario.probing.horizon, 0)
    return tally


def _cycle(rate: Rate) -> Cycle:
    made = cycle(rate.breaks, rate.values, rate.period)
    edges, values, sums = map(np.array, made)
    return Cycle(edges, values, sums)  # type: ignore[arg-type]  # arrays are what compiles


@kernel
def probe(times: Any, updates: Cycle, importance: Cycle, stream: Any) -> tuple[int, float]:
    """Number of updates, and what they cost until the probe that sees them.

    An update waits for the first probe that is not before it.
    """
    count, cost = 0, 0.0
    expected = rules.draw_exponential(stream, 1.0)
    update = reached(updates, expected)
    for index in range(len(times)):
        seen_at = mark(importance, times[index])
        while update <= times[index]:
            count += 1
            cost += integral(importance, mark(importance, update), seen_at)
            expected += rules.draw_exponential(stream, 1.0)
            update = reached(updates, expected)
    return count, cost
