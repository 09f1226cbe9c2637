"""Race of the engines on the benchmark queue: pages per CPU second, and whether they agree.

The contestants take turns (A B C A B C …), so that whatever else the machine does slows all of
them alike. A turn simulates as much time as takes the contestant about `--seconds`.
"""

from __future__ import annotations

import argparse
import gc
import importlib.metadata
import json
import math
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import ciw_queue
import idiomatic_simpy
from outcome import Outcome

from scenarios import Scenario, ScenarioError
from scenarios.files import load
from sim import rules
from sim.replicate import ENGINES

BASELINE = "SimPy, idiomatic"
QUEUE = Path(__file__).with_name("queue.toml")
PACKAGES = ("ciw", "crawlsim", "numpy", "simpy")
FRACTIONS = ("lost", "obsolete", "served")

Contestant = Callable[[float, int], Outcome]
"""Simulates the time from 0 to a horizon with a seed."""


def contestants(scenario: Scenario) -> dict[str, Contestant]:
    """All that simulate the queue: the baseline, the peers, and each engine that covers it."""
    race: dict[str, Contestant] = {BASELINE: idiomatic_simpy.run, "Ciw": ciw_queue.run}
    for name, engine in ENGINES.items():
        try:
            engine.covers(scenario)
        except ScenarioError as refusal:
            print(f"crawlsim, {name} is not raced: {refusal}", file=sys.stderr)
        else:
            race[f"crawlsim, {name}"] = engine_run(engine, scenario)
    return race


def engine_run(engine: Any, scenario: Scenario) -> Contestant:
    """An engine of this project as a contestant."""

    def run(horizon: float, seed: int) -> Outcome:
        changed = scenario.with_("run.horizon", horizon)
        start = time.process_time()
        counted = engine.simulate(changed, 0, seed).buffer
        seconds = time.process_time() - start
        obsolete, served = counted.ended[rules.OBSOLETE], counted.ended[rules.SERVED]
        return Outcome(counted.delivered, counted.lost, obsolete, served, seconds)

    return run


def horizon_for(run: Contestant, seconds: float) -> float:
    """Horizon that takes about so many CPU seconds; the first run may compile and says nothing."""
    horizon = 500.0
    run(horizon, 0)
    while (took := run(horizon, 0).seconds) < seconds / 10:
        horizon *= 4
    return horizon * seconds / took


def race(
    entrants: dict[str, Contestant], rounds: int, seconds: float, seed: int
) -> dict[str, list[Outcome]]:
    """The outcomes of every contestant, one per round."""
    horizons = {name: horizon_for(run, seconds) for name, run in entrants.items()}
    outcomes: dict[str, list[Outcome]] = {name: [] for name in entrants}
    for turn in range(rounds):
        for name, run in entrants.items():
            gc.collect()
            outcomes[name].append(run(horizons[name], seed + turn))
    return outcomes


def summary(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Speeds of one contestant, and the fractions of its pages with their standard errors."""
    speeds = [outcome.pages / outcome.seconds for outcome in outcomes]
    entry: dict[str, Any] = {
        "pages_per_second": speeds,
        "median": statistics.median(speeds),
        "min": min(speeds),
        "max": max(speeds),
        "pages": sum(outcome.pages for outcome in outcomes),
    }
    for name in FRACTIONS:
        shares = [getattr(outcome, name) / outcome.pages for outcome in outcomes]
        entry[name] = statistics.fmean(shares)
        entry[f"{name}_error"] = standard_error(shares)
    return entry


def standard_error(values: Sequence[float]) -> float | None:
    """Standard error of the mean; None for a single value."""
    return statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None


def report(outcomes: dict[str, list[Outcome]]) -> dict[str, dict[str, Any]]:
    """The summaries, each with the ratio of its median speed to the baseline's."""
    summaries = {name: summary(turns) for name, turns in outcomes.items()}
    for entry in summaries.values():
        entry["ratio"] = entry["median"] / summaries[BASELINE]["median"]
    return summaries


def table(summaries: dict[str, dict[str, Any]]) -> str:
    """The summaries as a Markdown table."""
    columns = ("contestant", "pages per CPU second", "ratio", *FRACTIONS)
    lines = ["| " + " | ".join(columns) + " |", "|---" + "|--:" * (len(columns) - 1) + "|"]
    for name, entry in summaries.items():
        median, low, high = (three_digits(entry[key]) for key in ("median", "min", "max"))
        shares = [with_error(entry[key], entry[f"{key}_error"]) for key in FRACTIONS]
        cells = [name, f"{median} [{low} … {high}]", f"{entry['ratio']:.2f}", *shares]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def three_digits(value: float) -> str:
    """A speed such as 64,400: more digits than three would be noise."""
    return f"{float(f'{value:.3g}'):,.0f}"


def with_error(value: float, error: float | None) -> str:
    return f"{value:.5f}" if error is None else f"{value:.5f} ± {error:.5f}"


def provenance(arguments: argparse.Namespace) -> dict[str, Any]:
    """What one needs to know to run this again."""
    return {
        "scenario": QUEUE.name,
        "rounds": arguments.rounds,
        "seconds": arguments.seconds,
        "seed": arguments.seed,
        "python": platform.python_version(),
        "packages": {name: importlib.metadata.version(name) for name in PACKAGES},
    }


def write(path: Path, content: dict[str, Any]) -> None:
    """Write JSON; the file appears complete or not at all."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        partial.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def at_least_one(text: str) -> int:
    if (value := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"must be >= 1, not {value}")
    return value


def long_enough(text: str) -> float:
    if not 0.01 <= (value := float(text)) < math.inf:
        raise argparse.ArgumentTypeError(f"must be >= 0.01 and finite, not {value}")
    return value


def natural(text: str) -> int:
    if (value := int(text)) < 0:
        raise argparse.ArgumentTypeError(f"must be >= 0, not {value}")
    return value


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Race the engines on the benchmark queue.")
    parser.add_argument(
        "--rounds", type=at_least_one, default=5, help="turns of each (%(default)s)"
    )
    parser.add_argument(
        "--seconds", type=long_enough, default=3.0, help="CPU seconds of a turn (%(default)s)"
    )
    parser.add_argument("--seed", type=natural, default=1, help="of round 1 (%(default)s)")
    parser.add_argument(
        "--out", type=Path, default=Path("out/bench_queue.json"), help="JSON file (%(default)s)"
    )
    parsed = parser.parse_args(arguments)
    try:
        parsed.out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        parser.error(f"--out {parsed.out}: {error.strerror}")
    if parsed.out.is_dir():
        parser.error(f"--out {parsed.out}: is a folder")
    return parsed


def main(arguments: Sequence[str] | None = None) -> None:
    parsed = parse(arguments)
    outcomes = race(contestants(load(QUEUE)), parsed.rounds, parsed.seconds, parsed.seed)
    summaries = report(outcomes)
    print(table(summaries))
    write(parsed.out, provenance(parsed) | {"contestants": summaries})


if __name__ == "__main__":
    main()
