"""What simulating under interventions costs: the same horizon with them and without, in turns.

Compiled engine. A plan of five interventions; the time is that of whole replications.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from racing import about, compared, write

from analytic import resolve
from scenarios import Scenario, load
from sim import compiled_engine

SYSTEMS = {
    "one robot, fixed order": ("cyclic-constant", 3e7),
    "one robot, at random": ("randomized-exponential", 1e7),
    "a queue": ("one-robot", 1e7),
    "pages behind a buffer": ("pipeline-light", 3e6),
}
"""Library scenarios, and horizons that take a third of a second or more."""


def plan(horizon: float, *, has_pages: bool) -> list[dict[str, Any]]:
    """Five interventions; the mean speeds are 1, so that about as much happens as without them."""
    other = "change_factor" if has_pages else "service_speed"
    spans = [
        (0.10, 0.30, {"robot_speed": 0.7}),
        (0.30, 0.50, {"robot_speed": 1.3}),
        (0.55, 0.56, {"robot_speed": 0.0}),
        (0.56, 0.57, {"robot_speed": 2.0}),
        (0.60, 0.90, {other: 1.5 if has_pages else 0.9}),
    ]
    return [
        {"at": begin * horizon, "until": end * horizon, **effect} for begin, end, effect in spans
    ]


LIMIT = "<= 1.3"


def seconds(scenario: Scenario, replication: int) -> float:
    """CPU seconds of a replication."""
    start = time.process_time()
    compiled_engine.simulate(scenario, replication, 1)
    return time.process_time() - start


def turns(name: str, horizon: float, rounds: int) -> list[tuple[float, float]]:
    """CPU seconds with interventions and without, of each round."""
    given = load(name)
    lasting = {"run.horizon": horizon, "run.warmup": 0.0}
    changes = {"interventions": plan(horizon, has_pages=given.pages is not None)}
    plain = resolve(given.with_(lasting))
    changed = resolve(given.with_({**lasting, **changes}))
    for each in (plain, changed):
        seconds(each, 0)
    found = []
    for replication in range(1, rounds + 1):
        without = seconds(plain, replication)
        found.append((seconds(changed, replication), without))
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Time simulations under interventions.")
    parser.add_argument("--rounds", type=int, default=7, help="of each system (%(default)s)")
    parser.add_argument("--out", type=Path, default=Path("out/bench_interventions.json"))
    parsed = parser.parse_args(arguments)
    found = {}
    rows = []
    print("| system | with over without | least | most |\n|:--|--:|--:|--:|")
    for name, (scenario, horizon) in SYSTEMS.items():
        both = turns(scenario, horizon, parsed.rounds)
        each = found[name] = [changed / plain for changed, plain in both]
        median = statistics.median(each)
        ours, theirs = (statistics.median(times) for times in zip(*both, strict=True))
        what = f"under interventions, {name}"
        rows.append(compared(what, ours, "without any", theirs, "CPU seconds", median, LIMIT))
        print(f"| {name} | {median:.2f} | {min(each):.2f} | {max(each):.2f} |", flush=True)
    parsed.out.parent.mkdir(parents=True, exist_ok=True)
    write(parsed.out, {**about(parsed.rounds, "numba"), "ratios": found, "compared": rows})


if __name__ == "__main__":
    main()
