"""What the simple rules cost, exactly and simulated: one system under rules of growing power.

Run as ``python docs/control_gap.py talim-switching --out out/gap``. Each rule is the best of its
kind; they are simulated under common random numbers, so that differences of costs are known better
than the costs. "one at a time" is the switching of talim2001, "free" that of avrachenkov2011: these
are different powers, and the last row is no rival of the others.
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

import sim
from analytic.control_gap import RuleCost, control_gap
from analytic.report.drawing import SIMULATED, THEORY, dress, legend_above
from scenarios import Scenario, load

Row = dict[str, Any]
BASE = "targets by level"


def costs(scenario: Scenario, rule: RuleCost) -> list[float]:
    """The control cost of each replication, on the scenario's own seed."""
    results = sim.run(scenario.with_(rule.changes))
    frame = results.replications_frame()
    return list(frame[frame.measure == "control_cost"]["value"])


def error(values: Sequence[float]) -> float:
    """Standard error of the mean."""
    return statistics.stdev(values) / math.sqrt(len(values))


def simulated(scenario: Scenario, rules: Sequence[RuleCost]) -> list[Row]:
    """Cost and difference to the optimal targets, simulated under common random numbers.

    `factor` is what the common numbers save: the variance of the difference with independent runs
    over that with common ones.
    """
    runs = {rule.rule: costs(scenario, rule) for rule in rules if rule.changes is not None}
    rows = []
    for name, values in runs.items():
        gaps = [one - other for one, other in zip(values, runs[BASE], strict=True)]
        apart = statistics.variance(values) + statistics.variance(runs[BASE])
        row = {"rule": name, "simulated": statistics.fmean(values), "± SE": error(values)}
        if name != BASE:
            row |= {"difference": statistics.fmean(gaps), "± SE ": error(gaps)}
            row |= {"factor": apart / statistics.variance(gaps)}
        rows.append(row)
    return rows


def joined(rules: Sequence[RuleCost], runs: Sequence[Row]) -> list[Row]:
    """Exact and simulated costs, a row for each rule."""
    by_rule = {row["rule"]: row for row in runs}
    shown = ("rule", "switching", "decision", "cost", "more")
    return [
        {name: getattr(rule, name) for name in shown} | by_rule.get(rule.rule, {}) for rule in rules
    ]


def markdown(rows: Sequence[Row]) -> str:
    """The table as Markdown; empty cells where a scenario file has no words for a rule."""
    columns = list(max(rows, key=len))
    lines = ["| " + " | ".join(columns) + " |", "|" + "--:|" * len(columns)]
    for row in rows:
        cells = (row.get(name, "") for name in columns)
        lines.append("| " + " | ".join(map(_cell, cells)) + " |")
    return "\n".join(lines) + "\n"


def _cell(value: Any) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def figure(rows: Sequence[Row]) -> Figure:
    """Costs of all rules, exact and simulated with 95 % intervals."""
    drawn = Figure(figsize=(6.4, 2.8), layout="constrained")
    ax = drawn.add_subplot()
    dress(ax, "cost per time unit", "")
    for place, row in enumerate(reversed(rows)):
        name = "exact" if place == 0 else None
        ax.plot(row["cost"], place, "D", color=THEORY, ms=6, mfc="none", label=name)
        if "simulated" in row:
            width, name = 1.96 * row["± SE"], "simulated" if place == 0 else None
            ax.errorbar(
                row["simulated"], place, xerr=width, fmt="o", color=SIMULATED, ms=3, label=name
            )
    names = [f"{row['rule']} ({row['switching'].split(',')[0]})" for row in reversed(rows)]
    ax.set_yticks(range(len(rows)), names)
    ax.set_xlim(left=0)
    legend_above(ax)
    return drawn


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table, and write it and the figure."""
    parser = argparse.ArgumentParser(description="What the simple rules cost.")
    parser.add_argument("scenario", nargs="?", default="talim-switching", help="name or file")
    parser.add_argument("--out", type=Path, default=Path("out/gap"), help="folder (%(default)s)")
    parsed = parser.parse_args(arguments)
    scenario = load(parsed.scenario)
    rules = control_gap(scenario)
    rows = joined(rules, simulated(scenario, rules))
    parsed.out.mkdir(parents=True, exist_ok=True)
    text = markdown(rows)
    (parsed.out / "gap.md").write_text(text, encoding="utf-8")
    figure(rows).savefig(parsed.out / "gap.svg")
    print(text)


if __name__ == "__main__":
    main()
