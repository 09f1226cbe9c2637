"""The benchmark queue in Ciw, a queueing simulator.

The robots are two classes of arrivals: those that are always active, and those whose pages baulk
above the threshold. Ciw rejects an arrival at a full queue before it asks whether it baulks, so
of the rejected arrivals only those of the first class are lost pages.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from typing import Any

import ciw  # type: ignore[import-untyped]  # it has no type hints
from idiomatic_simpy import DELIVERY_RATE, FEWER_ROBOTS, PLACES, ROBOTS, THRESHOLD
from outcome import Outcome

ACTIVE = "always active"
EXTRA = "active up to the threshold"

# Start probabilities and generators; the last state is absorption.
SERVICE = ([0.5, 0.5, 0.0], [[-2.0, 1.0, 1.0], [0.0, -1.0, 1.0], [0.0, 0.0, 0.0]])
LIFETIME = ([0.7, 0.3, 0.0], [[-0.125, 0.05, 0.075], [0.0, -0.1, 0.1], [0.0, 0.0, 0.0]])


def above_threshold(level: int, **_: object) -> float:
    """Probability that a page of the extra robots is not delivered."""
    return 1.0 if level > THRESHOLD else 0.0


def network() -> Any:
    """One node with two classes that differ in their arrivals only."""
    robots = {ACTIVE: FEWER_ROBOTS, EXTRA: ROBOTS - FEWER_ROBOTS}
    rates = {name: count * DELIVERY_RATE for name, count in robots.items()}
    return ciw.create_network(
        arrival_distributions={name: [ciw.dists.Exponential(rates[name])] for name in robots},
        service_distributions={name: [ciw.dists.PhaseType(*SERVICE)] for name in robots},
        reneging_time_distributions={name: [ciw.dists.PhaseType(*LIFETIME)] for name in robots},
        baulking_functions={ACTIVE: [None], EXTRA: [above_threshold]},
        number_of_servers=[1],
        queue_capacities=[PLACES - 1],
    )


def run(horizon: float, seed: int) -> Outcome:
    """Simulate the time from 0 to the horizon; reading the records is not timed."""
    start = time.process_time()
    ciw.seed(seed)
    simulation = ciw.Simulation(network())
    simulation.simulate_until_max_time(horizon)
    seconds = time.process_time() - start
    return outcome(simulation, seconds)


def outcome(simulation: Any, seconds: float) -> Outcome:
    """Count the records by their kind; pages still in the system have none."""
    records = simulation.get_all_records()
    kinds = Counter((record.record_type, record.customer_class) for record in records)
    lost = kinds["rejection", ACTIVE]
    obsolete, served = (kinds[kind, ACTIVE] + kinds[kind, EXTRA] for kind in ("renege", "service"))
    inside = simulation.nodes[1].number_of_individuals
    return Outcome(lost + obsolete + served + inside, lost, obsolete, served, seconds)


if __name__ == "__main__":
    print(run(float(sys.argv[1]) if len(sys.argv) > 1 else 20_000.0, seed=1))
