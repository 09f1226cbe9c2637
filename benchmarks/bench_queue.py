"""Race of the engines on the benchmark queue: pages per CPU second, and whether they agree.

The contestants take turns (A B C A B C …), so that whatever else the machine does slows all of
them alike. A turn simulates as much time as takes the contestant about `--seconds`.
"""

from __future__ import annotations

import math
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ciw_queue
import cpp_queue
import idiomatic_simpy
from outcome import Outcome
from racing import Contestant, compared, options, provenance, race, speeds, three_digits, write

from scenarios import Scenario, ScenarioError
from scenarios.files import load
from sim import rules
from sim.replicate import ENGINES

BASELINE = "SimPy, idiomatic"
CPP = "C++"
COMPILED = "crawlsim, compiled"
QUEUE = Path(__file__).with_name("queue.toml")
FRACTIONS = ("lost", "obsolete", "served")


def contestants(scenario: Scenario) -> dict[str, Contestant]:
    """All that simulate the queue: the baseline, the peers, and each engine that covers it."""
    entrants: dict[str, Contestant] = {BASELINE: idiomatic_simpy.run, "Ciw": ciw_queue.run}
    if cpp_queue.compiler() is None:
        print(f"{CPP} is not raced: there is no compiler", file=sys.stderr)
    else:
        entrants[CPP] = cpp_queue.run
    for name, engine in ENGINES.items():
        try:
            engine.covers(scenario)
        except ScenarioError as refusal:
            print(f"crawlsim, {name} is not raced: {refusal}", file=sys.stderr)
        else:
            entrants[f"crawlsim, {name}"] = engine_run(engine, scenario)
    return entrants


def engine_run(engine: Any, scenario: Scenario) -> Contestant:
    """An engine of this project as a contestant, its full tally and its checks included."""

    def run(horizon: float, seed: int) -> Outcome:
        changed = scenario.with_("run.horizon", horizon)
        start = time.process_time()
        counted = engine.simulate(changed, 0, seed).buffer
        seconds = time.process_time() - start
        obsolete = counted.ended[rules.OBSOLETE]
        served = counted.ended[rules.SERVED]
        return Outcome(counted.delivered, counted.lost, obsolete, served, seconds)

    return run


def summary(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Speeds of one contestant, and the fractions of its pages with their standard errors."""
    entry = speeds(outcomes)
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


def with_error(value: float, error: float | None) -> str:
    return f"{value:.5f}" if error is None else f"{value:.5f} ± {error:.5f}"


def rows(summaries: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """The compiled engine beside the baseline and C++, for the table of all benchmarks."""
    unit = "pages per CPU second"
    ours, simpy = summaries[COMPILED]["median"], summaries[BASELINE]["median"]
    found = [compared("queue", ours, BASELINE, simpy, unit, ours / simpy, ">= 230")]
    if CPP in summaries:
        theirs = summaries[CPP]["median"]
        of_time = theirs / ours
        found.append(compared("queue, time", ours, CPP, theirs, unit, of_time, "<= 1.3"))
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    about = "Race the engines on the benchmark queue."
    parsed = options(about, "out/bench_queue.json", 3.0, arguments)
    outcomes = race(contestants(load(QUEUE)), parsed.rounds, parsed.seconds, parsed.seed)
    summaries = report(outcomes)
    print(table(summaries))
    table_rows = rows(summaries)
    content = {"scenario": QUEUE.name, "contestants": summaries, "compared": table_rows}
    write(parsed.out, provenance(parsed) | content)


if __name__ == "__main__":
    main()
