"""What the set-up of a replication takes, in every scenario of the library.

The horizon is next to nothing and there is no warm-up, so that hardly anything but the set-up, the
tally and its checks is left: CPU milliseconds, the least of several turns of each.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from typing import Any

from racing import options, provenance, within, write

from analytic import resolve
from scenarios import Scenario, library_names, load
from sim import compiled_engine

_NOTHING = 1e-3
_EACH = 15
"""Replications of a turn."""


def set_up(scenario: Scenario, rounds: int, seed: int) -> float:
    """CPU milliseconds of a replication that is over at once."""
    short = scenario.with_({"run.warmup": 0.0, "run.horizon": _NOTHING})
    compiled_engine.simulate(short, 0, seed)
    turns = []
    for number in range(rounds):
        start = time.process_time()
        for replication in range(_EACH):
            compiled_engine.simulate(short, replication, seed + number)
        turns.append((time.process_time() - start) / _EACH)
    return 1e3 * min(turns)


def main(arguments: Sequence[str] | None = None) -> None:
    about = "Time the set-up of a replication in every scenario of the library."
    parsed = options(about, "out/bench_setup.json", 1.0, arguments)
    found: dict[str, Any] = {}
    for name in library_names():
        scenario = resolve(load(name))
        if scenario.run.observe is None and scenario.probing is None:
            found[name] = set_up(scenario, parsed.rounds, parsed.seed)
    slowest = sorted(found, key=lambda name: found[name], reverse=True)
    print("| scenario | CPU milliseconds |\n|---|--:|")
    for name in slowest[:10]:
        print(f"| {name} | {found[name]:.2f} |")
    median = statistics.median(found.values())
    print(f"median of {len(found)}: {median:.2f}")
    row = within(
        f"set-up of a replication, {slowest[0]}", found[slowest[0]], 1.0, "CPU milliseconds"
    )
    write(parsed.out, provenance(parsed) | {"milliseconds": found, "compared": [row]})


if __name__ == "__main__":
    main()
