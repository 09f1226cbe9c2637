"""How many events rare losses take, split and counted, and whether the exact value is met.

One robot of half the indexer's speed, buffers of several sizes; what counting takes is a lower
bound, computed from the width of the interval.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

from racing import compared, options, provenance, write

from scenarios import Scenario, scenario_from
from sim import rare_losses

LOAD = 0.5
PLACES = (13, 21, 28)
RARE = 1.5e-7
"""From here on a thousand times fewer events are asked for: at 1e-7, and the second is 1.2e-7."""


def queue(places: int) -> Scenario:
    """An M/M/1 queue with so many waiting places."""
    return scenario_from(
        {
            "name": "rare",
            "robots": {"available": 1, "access_time": {"exponential": {"rate": LOAD}}},
            "buffer": {"waiting_places": places, "service": {"exponential": {"rate": 1.0}}},
            "run": {"horizon": 2100.0, "warmup": 100.0, "replications": 10},
        }
    )


def measured(places: int, seed: int) -> dict[str, Any]:
    """One estimate beside the exact value."""
    start = time.process_time()
    found = rare_losses(queue(places), seed=seed)
    seconds = time.process_time() - start
    capacity = places + 1
    exact = (1.0 - LOAD) * LOAD**capacity / (1.0 - LOAD ** (capacity + 1))
    scores = math.log(found.probability / exact) / found.log_error
    return found.record() | {"exact": exact, "errors": scores, "seconds": seconds}


def main(arguments: Sequence[str] | None = None) -> None:
    about = "Find rare losses by splitting."
    parsed = options(about, "out/bench_rare.json", 1.0, arguments)
    rare_losses(queue(2), seed=0)  # compiles
    print("| exact | estimate | standard errors off | events | counting | ratio | CPU s |")
    print("|--:|--:|--:|--:|--:|--:|--:|")
    rows = []
    table = []
    for places in PLACES:
        row = measured(places, parsed.seed)
        rows.append(row)
        cells = [f"{row[key]:.3g}" for key in ("exact", "probability", "errors")]
        cells += [f"{row[key]:.2g}" for key in ("events", "plain_events", "saving", "seconds")]
        print("| " + " | ".join(cells) + " |", flush=True)
        both = (row["events"], "counting", row["plain_events"], "events", row["saving"])
        limit = ">= 1000" if row["exact"] <= RARE else ""
        table.append(compared(f"a loss in {1 / row['exact']:.0e}", *both, limit))
    write(parsed.out, provenance(parsed) | {"systems": rows, "compared": table})


if __name__ == "__main__":
    main()
