"""How long the optimal switching takes: policy iteration by structure, and by sparse elimination.

Each solver starts from as many robots as load one needs, and ends with bounds of the optimum; the
general one is left out where it would take minutes.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from racing import about, compared, write

from analytic.machinery.decision_process import policy_iteration
from analytic.machinery.phase_type import PhaseLaw
from analytic.machinery.robot_modes import Modes
from analytic.robot_control.switched_queue import Levels, SwitchedQueue
from analytic.robot_control.target_rules import best_targets
from papers import talim2001
from scenarios.sections import Costs

PRICES = Costs(loss=1.0, starvation=1.4)
SIZES = ((5, 16), (20, 40), (50, 100), (200, 200), (500, 500), (1000, 1000), (1000, 2000))
WIDTH = 1e-9
LARGEST_GENERAL = 12_000


def queue(capacity: int, available: int) -> SwitchedQueue:
    """Load one with as many robots as places."""
    service = PhaseLaw(np.ones(1), np.array([[-1.0]]))
    return SwitchedQueue(Levels(service, 0.0, capacity), Modes((1 / capacity,), (available,)))


def timed(work: Callable[[], Any], rounds: int) -> float:
    """Median seconds, after a round that is not timed."""
    work()
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def general(system: SwitchedQueue) -> Any:
    """The optimum by the general solver."""
    balanced = np.full(system.levels.number, min(system.levels.capacity, system.modes.available))
    process = system.process(system.costs(PRICES))
    return policy_iteration(process, system.towards(balanced), tolerance=WIDTH)


def measured(capacity: int, available: int, rounds: int) -> dict[str, Any]:
    """Seconds of both solvers, the optimum, its width and the iterations."""
    system = queue(capacity, available)
    rewards = system.costs(PRICES)
    found = best_targets(system, rewards, tolerance=WIDTH)
    seconds = timed(lambda: best_targets(system, rewards, tolerance=WIDTH), rounds)
    entry = {"K": capacity, "N": available, "states": system.states, "seconds": seconds}
    entry |= {"cost": found.gain, "width": found.upper - found.lower}
    entry |= {"iterations": found.iterations, "ratio": None}
    if system.states <= LARGEST_GENERAL:
        entry["ratio"] = timed(lambda: general(system), 1) / seconds
    return entry


def tables(rounds: int) -> float:
    """Seconds for the dynamic columns of all 54 rows of the tables, the printed iteration apart."""

    def work() -> None:
        for row in talim2001.PRINTED:
            talim2001.table_1(row, talim2001.true_price(row), iterate=False)
            talim2001.table_2(row, talim2001.true_price(row))

    return timed(work, rounds)


def table(entries: Sequence[dict[str, Any]]) -> str:
    """The results as a Markdown table."""
    lines = [
        "| K | N | states | seconds | iterations | optimum | width of the bounds | ratio |",
        "|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for each in entries:
        ratio = "" if each["ratio"] is None else f"{each['ratio']:,.0f}"
        lines.append(
            f"| {each['K']} | {each['N']} | {each['states']:,} | {each['seconds']:.3g} "
            f"| {each['iterations']} | {each['cost']:.6g} | {each['width']:.1e} | {ratio} |"
        )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Time the search for the optimal switching.")
    parser.add_argument("--rounds", type=int, default=3, help="of each system (%(default)s)")
    out = Path("out/bench_switching.json")
    parser.add_argument("--out", type=Path, default=out, help="JSON file (%(default)s)")
    parsed = parser.parse_args(arguments)
    entries = [measured(*size, parsed.rounds) for size in SIZES]
    seconds = tables(parsed.rounds)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(table(entries))
    print(f"\nall 54 rows of the tables: {seconds:.3g} s; most memory of all: {peak:,.0f} MB")
    parsed.out.parent.mkdir(parents=True, exist_ok=True)
    rows = [
        compared(
            f"best switching, {each['states']:,} states",
            each["seconds"],
            "sparse elimination",
            each["seconds"] * each["ratio"],
            "seconds",
            each["ratio"],
            "",
        )
        for each in entries
        if each["ratio"] is not None
    ]
    found = {"systems": entries, "tables": seconds, "megabytes": peak, "compared": rows}
    write(parsed.out, about(parsed.rounds, "numpy", "numba") | found)


if __name__ == "__main__":
    main()
