"""The exact solution of the indexing queue by size: seconds, memory, accuracy.

Ordered timers in two phases (hyperexponential), batches of up to three pages from a BMAP of two
phases, phase-type service, three modes; and the same with exponential timers. Each size has a
process of its own, in which a small chain is solved first: compiled code is found, not made.
"""

from __future__ import annotations

import argparse
import multiprocessing
import platform
import resource
import statistics
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from racing import within, write

from analytic.indexing_queue import (
    QueueChain,
    closure,
    controlled_chain,
    sojourn_moments,
    solve_chain,
)
from analytic.indexing_queue.chain import count_states
from analytic.machinery.phase_type import PhaseLaw

BATCHES = np.array(
    [
        [[-1.1, 0.1], [0.05, -0.35]],
        [[0.5, 0.0], [0.05, 0.1]],
        [[0.3, 0.0], [0.0, 0.05]],
        [[0.15, 0.05], [0.0, 0.1]],
    ]
)
SERVICE = PhaseLaw(np.array([0.4, 0.6]), np.array([[-2.0, 1.0], [0.0, -1.5]]))
TIMERS = {
    "H2": PhaseLaw(np.array([0.7, 0.3]), np.diag([-1.5, -0.2])),
    "exponential": PhaseLaw(np.ones(1), np.array([[-0.4]])),
}
CASES = [
    ("H2", 8, 2.0),
    ("H2", 13, 2.0),
    ("H2", 13, 200.0),
    ("H2", 16, 2.0),
    ("H2", 18, 2.0),
    ("H2", 20, 2.0),
    ("exponential", 30, 2.0),
    ("exponential", 100, 2.0),
    ("exponential", 1000, 2.0),
    ("closure", 30, 2.0),
    ("closure", 100, 2.0),
]
"""Timers, waiting places, load (a factor of the rates of arrival)."""

LIMITS = {
    ("H2", 13): 0.5,
    ("H2", 16): 5.0,
    ("H2", 20): 180.0,
    ("exponential", 100): 0.3,
}
"""Seconds that a case was to take, whatever the load."""


def built(timers: str, waiting: int, load: float) -> QueueChain:
    """The chain of a case."""
    kept = [0.0, 0.3, 0.6, 1.0]
    modes = np.stack([keep * BATCHES for keep in kept])  # the rates off the diagonal count
    for mode, keep in zip(modes, kept, strict=True):
        mode[0] = BATCHES[0] + (1 - keep) * BATCHES[1:].sum(axis=0)
    timer = TIMERS["H2" if timers == "closure" else timers]

    def robots(level: int) -> int:
        return 3 if level <= 3 else 1

    return controlled_chain(load * modes, robots, SERVICE, timer, waiting + 1, "partial")


def measured(case: tuple[str, int, float], rounds: int) -> dict[str, Any]:
    """Seconds and memory of one case, in a process of its own."""
    timers, waiting, load = case
    small = built(timers, 3, load)
    list(sojourn_moments(small, solve_chain(small).stationary))
    solve_chain(built("H2", 9, load))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds = []
    sojourn = []
    entry = {}
    for _ in range(rounds):
        start = time.perf_counter()
        chain = built(timers, waiting, load)
        if timers == "closure":
            found = closure(chain)
            seconds.append(time.perf_counter() - start)
            entry = {"method": "closure", "passes": found.rounds}
            continue
        solution = solve_chain(chain)
        seconds.append(time.perf_counter() - start)
        start = time.perf_counter()
        list(sojourn_moments(chain, solution.stationary))
        sojourn.append(time.perf_counter() - start)
        entry = dict(zip(solution._fields[1:], solution[1:], strict=True))
    return entry | {
        "timers": timers,
        "waiting_places": waiting,
        "load": load,
        "states": count_states(2, 2, len(chain.patience.start), chain.top),
        "seconds": statistics.median(seconds),
        "sojourn_seconds": statistics.median(sojourn) if sojourn else None,
        "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "memory_before_mb": before / 1024,
    }


def table(entries: Sequence[dict[str, Any]]) -> str:
    """The measurements as a Markdown table."""
    columns = "timers, places | load | states | method | passes | seconds | sojourn | MB | error"
    lines = [f"| {columns} |", "|---" + "|--:" * 8 + "|"]
    for each in entries:
        sojourn = each["sojourn_seconds"]
        error = each.get("error")
        cells = [
            f"{each['timers']}, {each['waiting_places']}",
            f"{each['load']:g}",
            f"{each['states']:,}" if each["states"] < 10**12 else f"{each['states']:.0e}",
            each["method"],
            str(each["passes"]),
            f"{each['seconds']:.3g}",
            "" if sojourn is None else f"{sojourn:.2g}",
            f"{each['memory_mb']:.0f}",
            "" if error is None else f"{error:.0e}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Solve indexing queues of many sizes.")
    parser.add_argument("--rounds", type=int, default=3, help="of each size (%(default)s)")
    parser.add_argument("--out", type=Path, default=Path("out/bench_chain.json"))
    parsed = parser.parse_args(arguments)
    parsed.out.parent.mkdir(parents=True, exist_ok=True)
    spawn = multiprocessing.get_context("spawn")
    entries = []
    for case in CASES:
        with spawn.Pool(1) as process:
            entries.append(process.apply(measured, (case, parsed.rounds)))
    print(table(entries))
    rows = [
        within(
            f"exact queue, {each['timers']}, {each['states']:,} states, load {each['load']:g}",
            each["seconds"],
            LIMITS[each["timers"], each["waiting_places"]],
            "seconds",
        )
        for each in entries
        if (each["timers"], each["waiting_places"]) in LIMITS
    ]
    packages = {name: version(name) for name in ("crawlsim", "numba", "numpy", "scipy")}
    provenance = {"rounds": parsed.rounds, "python": platform.python_version()}
    write(parsed.out, provenance | {"packages": packages, "cases": entries, "compared": rows})


if __name__ == "__main__":
    main()
