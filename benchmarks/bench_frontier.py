"""What pages that fall due cost: an access of a million of them, and one drawn at random, in turns.

A million pages, 200 exponential robots, some ten thousand accesses per unit time, compiled engine,
whole replications; and the exact waits of 100,000 pages with a thousand intervals.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from racing import about, compared, write

from analytic.frontier import closed_network_obsolescence
from scenarios import Scenario, scenario_from
from scenarios.laws import Exponential
from sim import compiled_engine

PAGES = 1_000_000
LIMIT = "<= 1.5"
KINDS = 1000
LOADS = (0.5, 0.9, 1.1)
_HORIZON = 200.0


def system(accessing: dict[str, Any]) -> Scenario:
    """Robots that could do a third more than is due."""
    return scenario_from(
        {
            "name": "million",
            "pages": {"change_rates": {"zipf": {"pages": PAGES, "exponent": 0.5, "total": 5e3}}},
            "robots": {
                "available": 200,
                "access_time": {"exponential": {"mean": 0.015}},
                "accessing": accessing,
            },
            "run": {"horizon": _HORIZON, "warmup": 0.0},
        }
    )


def nanoseconds(scenario: Scenario, replication: int) -> float:
    """CPU time of a replication for each access."""
    start = time.process_time()
    tally = compiled_engine.simulate(scenario, replication, 1)
    took = time.process_time() - start
    assert tally.pages is not None
    return 1e9 * took / float(tally.pages.deliveries.sum())


def seconds_exactly(load: float) -> float:
    """CPU seconds for the obsolescence rates of 100,000 pages at a load of 50 robots."""
    kinds = np.linspace(1.0, 100.0, KINDS)
    intervals = np.repeat(kinds, 100)
    changes = np.random.default_rng(1).exponential(0.02, len(intervals))
    law = Exponential(mean=float(50 * load / (1.0 / intervals).sum()))
    start = time.process_time()
    closed_network_obsolescence(changes, intervals, 50, law)
    return time.process_time() - start


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Time pages that fall due.")
    parser.add_argument("--rounds", type=int, default=5, help="of each system (%(default)s)")
    parser.add_argument("--out", type=Path, default=Path("out/bench_frontier.json"))
    parsed = parser.parse_args(arguments)
    due, drawn = system({"policy": "due", "intervals": 100.0}), system({"policy": "randomized"})
    for each in (due, drawn):
        compiled_engine.simulate(each.with_("run.horizon", 0.5), 0, 1)
    turns = [(nanoseconds(due, n), nanoseconds(drawn, n)) for n in range(parsed.rounds)]
    ratio = statistics.median(one / other for one, other in turns)
    ours, theirs = (statistics.median(each) for each in zip(*turns, strict=True))
    print(f"an access of pages that fall due: {ours:.0f} ns, drawn: {theirs:.0f} ns, {ratio:.2f}")
    exactly = {load: seconds_exactly(load) for load in LOADS}
    print("; ".join(f"exactly, load {load}: {took:.2f} s" for load, took in exactly.items()))
    parsed.out.parent.mkdir(parents=True, exist_ok=True)
    what = "an access of a million pages that fall due"
    rows = [compared(what, ours, "drawn at random", theirs, "CPU ns", ratio, LIMIT)]
    found = {"turns": turns, "exact seconds": exactly}
    write(parsed.out, {**about(parsed.rounds, "numba"), **found, "compared": rows})


if __name__ == "__main__":
    main()
