"""Probed sources as compiled code: the path of each of `sim.probes`, update by update."""

from __future__ import annotations

from typing import Any

import numpy as np

from scenarios import Scenario
from sim import rules
from sim.compiled_engine.jit import PAUSE, inner, kernel
from sim.compiled_engine.records import record
from sim.compiled_engine.seeding import Streams
from sim.probes import Probed, largest_wait, probed_sources, probing_tally
from sim.rates import Cycle, integral, mark, reached
from sim.tally import ProbingTally, Tally


def simulate_probing(scenario: Scenario, replication: int, seed: int) -> Tally:
    """One replication: one path of [0, horizon] of each source."""
    own = Streams(seed, replication)
    counted = [
        _simulate_source(probed, own.stream("update", source))
        for source, probed in enumerate(probed_sources(scenario))
    ]
    return probing_tally(scenario, counted)


def _simulate_source(probed: Probed, own: Any) -> ProbingTally:
    path = _path(np.array(probed.times), _arrays(probed.updates), _arrays(probed.importance), own)
    return ProbingTally(
        updates=int(path.updates),
        probes=len(probed.times),
        seen=int(path.updates),
        pending=0,
        cost=float(path.cost),
        fresh_time=float(path.fresh_time),
        largest_wait=float(largest_wait(probed.times, probed.importance)),
    )


def _arrays(made: Cycle) -> Cycle:
    edges, values, sums = map(np.array, made)
    return Cycle(edges, values, sums)  # type: ignore[arg-type]  # arrays are what compiles


def _path(times: Any, updates: Cycle, importance: Cycle, own: Any) -> Any:
    """Number of updates, what they cost until the probe that sees them, fresh time, as a record."""
    path = record(updates=0, cost=0.0, fresh_time=0.0, expected=0.0, update=0.0, last=0.0, probe=0)
    begin_path(path, updates, own)
    while not probe(path, times, updates, importance, own):
        pass
    return path


@kernel
def begin_path(path: Any, updates: Cycle, own: Any) -> None:
    """The first update."""
    next_update(path, updates, own)


@inner
def next_update(path: Any, updates: Cycle, own: Any) -> None:
    """The next update: a unit more of the expected number, on the scale of time."""
    path.expected += rules.draw_exponential(own, 1.0)
    path.update = reached(updates, path.expected)


@kernel
def probe(path: Any, times: Any, updates: Cycle, importance: Cycle, own: Any) -> bool:
    """Go on until the last probe (True), or until it is time to pause (False).

    An update waits for the first probe that is not before it. The source is fresh from the probe
    before, at `last`, until the first update after it, or until the next probe.
    """
    for _ in range(PAUSE):
        if path.probe == len(times):
            return True
        now = times[path.probe]
        if path.update <= now:
            if path.last >= 0:
                path.fresh_time += path.update - path.last
                path.last = -1.0
            path.updates += 1
            path.cost += integral(importance, mark(importance, path.update), mark(importance, now))
            next_update(path, updates, own)
        else:
            if path.last >= 0:
                path.fresh_time += now - path.last
            path.last = now
            path.probe += 1
    return False
