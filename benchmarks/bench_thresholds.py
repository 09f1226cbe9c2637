"""How long the full table of thresholds takes: all lists of four numbers, all thresholds.

Against the same costs from one chain per policy, solved by the formula that `crawlsim solve` uses;
of that, a few policies are timed and the rest is extrapolated.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from racing import about, compared, write

from analytic import predict
from analytic.rules.thresholds import best_thresholds
from scenarios import Scenario, load

BATCHES = "optimal-thresholds"
H2 = {"hyperexponential": {"probabilities": [0.6, 0.4], "rates": [0.1, 1.0]}}
TWO_PHASES = {"phase-type": {"alpha": [0.4, 0.6], "T": [[-2.0, 1.0], [0.0, -1.5]]}}
SAMPLE = 20


def systems() -> dict[str, Scenario]:
    """The systems of the table in README.md, by name."""
    single = load("four-robots-one-threshold")
    batches = load(BATCHES)
    places = "buffer.waiting_places"
    return {
        "exponential robots, service and timers, N = 30": single.with_(places, 30),
        "exponential robots, service and timers, N = 100": single.with_(places, 100),
        "BMAP of 2 phases, exponential service and timers, N = 30": batches.with_(places, 30),
        "BMAP of 2 phases, PH(2) service, exponential timers, N = 30": batches.with_(
            {places: 30, "buffer.service": TWO_PHASES}
        ),
        "BMAP of 2 phases, PH(2) service, H2 timers, N = 7": batches.with_(
            {places: 7, "buffer.service": TWO_PHASES, "buffer.obsolescence": H2}
        ),
    }


def timed(work: Callable[[], Any], rounds: int) -> list[float]:
    """Seconds of each round, after one that is not timed."""
    work()
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return seconds


def one_by_one(scenario: Scenario, count: int) -> float:
    """Seconds for that many policies, extrapolated from a few with all four numbers in use."""
    start = time.perf_counter()
    for at in range(SAMPLE):
        rule = {"robots": [4, 3, 2, 1], "at": [at % 4, at % 4 + 1, at % 4 + 2]}
        policy = scenario.with_({"activation": {"threshold": rule}, "run.seed": at})
        assert any(row.measure == "control_cost" for row in predict(policy)[0])
    return (time.perf_counter() - start) / SAMPLE * count


def measured(scenario: Scenario, rounds: int) -> dict[str, Any]:
    """Policies, seconds of the table, and the ratio to one chain at a time."""
    seconds = timed(lambda: best_thresholds(scenario).table, rounds)
    count = len(best_thresholds(scenario).costs)
    alone = one_by_one(scenario, count)
    median = statistics.median(seconds)
    return {"policies": count, "seconds": seconds, "median": median, "ratio": alone / median}


def table(results: dict[str, dict[str, Any]]) -> str:
    """The results as a Markdown table."""
    lines = ["| system | policies | seconds for the table | ratio |", "|---|--:|--:|--:|"]
    for name, entry in results.items():
        cells = f"{entry['policies']:,} | {entry['median']:.3f} | {entry['ratio']:,.0f}"
        lines.append(f"| {name} | {cells} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Time the search for optimal thresholds.")
    parser.add_argument("--rounds", type=int, default=5, help="of each system (%(default)s)")
    out = Path("out/bench_thresholds.json")
    parser.add_argument("--out", type=Path, default=out, help="JSON file (%(default)s)")
    parsed = parser.parse_args(arguments)
    results = {name: measured(system, parsed.rounds) for name, system in systems().items()}
    print(table(results))
    parsed.out.parent.mkdir(parents=True, exist_ok=True)
    table_rows = [
        compared(
            f"best thresholds, {name}",
            entry["median"],
            "a chain per policy",
            entry["median"] * entry["ratio"],
            "seconds",
            entry["ratio"],
            "",
        )
        for name, entry in results.items()
    ]
    content = {"systems": results, "compared": table_rows}
    write(parsed.out, about(parsed.rounds, "numpy") | content)


if __name__ == "__main__":
    main()
