"""Queues that fill or empty slowly, and whether a correct one is ever called wrong.

``python -m experiments.slow_queues`` checks them at one short run each and prints a table: offered
loads around 1, up to a hundred thousand places, four kinds of queue. It takes a quarter of an hour.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import sim
from analytic import check_scenario, overall, predict
from analytic.transient.start_up import remembered_starts
from scenarios import Scenario, scenario_from

LOADS = (0.9, 1.0, 1.02, 1.1, 2.0)
PLACES = (10, 100, 1000, 10_000, 100_000)
TWO_PHASES = {"probabilities": [0.9, 0.1], "rates": [1.8, 0.2]}
KINDS: dict[str, dict[str, Any]] = {
    "exponential services": {"service": {"exponential": {"mean": 1.0}}},
    "two phases": {
        "service": {"hyperexponential": {"probabilities": [0.9, 0.1], "rates": [1.8, 0.2]}}
    },
    "constant services": {"service": {"deterministic": {"value": 1.0}}},
    "three indexers": {"servers": 3, "service": {"exponential": {"mean": 3.0}}},
}
RUN = {"horizon": 20_000.0, "warmup": 1000.0, "replications": 10, "seed": 5}


class Checked(NamedTuple):
    """The verdict on one queue, on how many rows, and whether its start was warned of."""

    kind: str
    load: float
    places: int
    verdict: str
    disagreeing: int
    is_warned: bool


def slow_queue(kind: str, load: float, places: int, **run: Any) -> Scenario:
    """One of the queues, with other settings of its run."""
    return scenario_from(
        {
            "name": "slow-queue",
            "robots": {"available": 2, "access_time": {"exponential": {"mean": 2.0 / load}}},
            "buffer": {"waiting_places": places, **KINDS[kind]},
            "run": RUN | run,
        }
    )


def checked(kind: str, load: float, places: int, **run: Any) -> Checked:
    """What `check` says of it."""
    scenario = slow_queue(kind, load, places, **run)
    predictions, _ = predict(scenario)
    rows = check_scenario(scenario, predictions, sim.run(scenario))
    disagreeing = sum(row.verdict == "disagrees" for row in rows)
    warned = bool(remembered_starts(scenario))
    return Checked(kind, load, places, overall(rows), disagreeing, warned)


def table(seed: int) -> Iterator[Checked]:
    """All of them, at one seed."""
    for kind, load, places in product(KINDS, LOADS, PLACES):
        yield checked(kind, load, places, seed=seed)


def main() -> None:
    """Print the table for the documents."""
    counts: Counter[str] = Counter()
    print("| queue | places | " + " | ".join(f"load {load:g}" for load in LOADS) + " |")
    print("|---|--:|" + "---|" * len(LOADS))
    cells: dict[tuple[str, int], list[str]] = {}
    for one in table(int(RUN["seed"])):
        counts[one.verdict] += 1
        cell = one.verdict + (", warned" if one.is_warned else "")
        print(one, file=sys.stderr, flush=True)
        cells.setdefault((one.kind, one.places), []).append(cell)
        if one.disagreeing:
            print(f"WRONG: {one}")
    for (kind, places), row in cells.items():
        print(f"| {kind} | {places} | " + " | ".join(row) + " |")
    print(dict(counts))


if __name__ == "__main__":
    main()
