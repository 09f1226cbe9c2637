"""How long the best probe times take: by prices and lower envelopes, and by the paper's programme.

The source is that of the library scenario dbworld-uniform. Compiled code on both sides, the sums
over the grid included; the paper's programme, O(n N²), is left out where it would take minutes.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from racing import about, compared, within, write

from analytic.probing import (
    best_schedule,
    grid_of,
    profile_of,
    refined,
    times_of,
)
from analytic.probing.programme import layered_schedule, paper_schedule
from scenarios import load

SIZES = ((672, 28), (10_000, 100), (100_000, 300), (1_000_000, 1000))
HORIZON = 28.0
LARGEST_NAIVE = 10_000
RATIO = {10_000: ">= 500"}
SECONDS = {672: 1e-3, 1_000_000: 1.5}
"""What was to be reached, by the number of slots."""
LARGEST_LAYERED = 40_000_000


def timed(work: Callable[[], Any], rounds: int) -> float:
    """Median seconds of some rounds."""
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def measured(profile: Any, slots: int, probes: int, rounds: int) -> dict[str, Any]:
    """Seconds of every method, and what was found."""

    def best() -> Any:
        return best_schedule(grid_of(profile, slots), probes)

    found = best()
    entry: dict[str, Any] = {"slots": slots, "probes": probes, "cost": found.cost}
    entry |= {"gap": found.cost - found.lower_bound, "prices": found.prices}
    entry["seconds"] = timed(best, rounds)
    entry["layers"] = entry["ratio"] = None
    if slots * probes <= LARGEST_LAYERED:
        entry["layers"] = timed(lambda: layered_schedule(grid_of(profile, slots), probes), rounds)
    if slots <= LARGEST_NAIVE:
        naive = timed(lambda: paper_schedule(grid_of(profile, slots), probes), 1)
        entry["ratio"] = naive / entry["seconds"]
    times = times_of(HORIZON, slots, found.slots)
    start = time.perf_counter()
    near = refined(profile, times)
    entry["refining"] = time.perf_counter() - start
    return entry | {"refined": near.cost, "slack": near.slack}


def table(entries: Sequence[dict[str, Any]]) -> str:
    """The results as a Markdown table."""
    lines = [
        "| N | n | ms, prices | prices | ms, layers | ratio | cost | cost - bound | ms, refined |",
        "|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for each in entries:
        layers = "" if each["layers"] is None else f"{1e3 * each['layers']:.3g}"
        ratio = "" if each["ratio"] is None else f"{each['ratio']:,.0f}"
        lines.append(
            f"| {each['slots']:,} | {each['probes']} | {1e3 * each['seconds']:.3g} "
            f"| {each['prices']} | {layers} | {ratio} | {each['cost']:.8g} | {each['gap']:.1e} "
            f"| {1e3 * each['refining']:.3g} |"
        )
    return "\n".join(lines)


def rows_of(entries: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of the table of all benchmarks."""
    rows = []
    for each in entries:
        slots, seconds = each["slots"], each["seconds"]
        what = f"best probe times, {slots:,} slots"
        if slots in SECONDS:
            rows.append(within(what, seconds, SECONDS[slots], "seconds"))
        if each["ratio"] is not None:
            naive = seconds * each["ratio"]
            limit = RATIO.get(slots, "")
            rows.append(
                compared(what, seconds, "the paper's", naive, "seconds", each["ratio"], limit)
            )
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Time the search for the best probe times.")
    parser.add_argument("--rounds", type=int, default=5, help="of each size (%(default)s)")
    out = Path("out/bench_probing.json")
    parser.add_argument("--out", type=Path, default=out, help="JSON file (%(default)s)")
    parsed = parser.parse_args(arguments)
    profile = profile_of(load("dbworld-uniform"))
    for method in (paper_schedule, layered_schedule, best_schedule):
        found = method(grid_of(profile, 100), 5)  # compiled, or taken from the cache
    refined(profile, times_of(HORIZON, 100, found.slots))
    entries = [measured(profile, *size, parsed.rounds) for size in SIZES]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(table(entries))
    print(f"\nmost memory of all: {peak:,.0f} MB")
    parsed.out.parent.mkdir(parents=True, exist_ok=True)
    write(
        parsed.out,
        about(parsed.rounds, "numpy", "numba")
        | {"sizes": entries, "megabytes": peak, "compared": rows_of(entries)},
    )


if __name__ == "__main__":
    main()
