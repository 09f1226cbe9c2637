"""What the simple rules cost, exactly and simulated: one system under rules of growing power.

Run as ``python -m experiments.control_gap talim-switching --out out/gap``. Each rule is the best of
its kind; they are simulated under common random numbers, so that differences of costs are known
better than the costs.

Two powers are compared, and they are not the same thing. A rule of avrachenkov2011 switches any
number of robots on **and off** at any event ("free"). A rule of talim2001 switches on at most one
robot per event and recalls none ("one at a time"): the number of active robots follows the level
with a delay. The best of the first kind can cost far less than the best of the second; that is the
price of the switching rule, not a fault of the optimisation.
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from matplotlib.figure import Figure

import sim
from analytic.robot_control.switching import best_switching
from analytic.rules.fixed import optimal_fixed_number
from analytic.rules.thresholds import optimal_thresholds
from crawlsim.report.drawing import SIMULATED, THEORY, dress, legend_above
from experiments.curve_rules import best_curves, best_level, level_targets
from scenarios import Scenario, load

Row = dict[str, Any]
BASE = "targets by level"


class RuleCost(NamedTuple):
    """The best rule of one kind.

    Attributes
    ----------
    rule : str
        Its kind, in words.
    switching : str
        "none", "one at a time, none recalled" or "free".
    decision : str
        What was found.
    cost : float
        Exact cost per unit time.
    more : float
        Per cent above the best rule that switches one robot at a time.
    changes : mapping or None
        What puts it into the scenario; None where a scenario file has no words for it.
    """

    rule: str
    switching: str
    decision: str
    cost: float
    more: float
    changes: Mapping[str, Any] | None


LIMITED = "one at a time, none recalled"


def control_gap(scenario: Scenario) -> list[RuleCost]:
    """The best rule of every kind for one system, dearest kinds first within a power.

    A fixed number; one level or two constant levels for switching on; targets by level, which are
    the optimum of talim2001; thresholds with free switching (avrachenkov2011).

    Raises
    ------
    NoOptimumError
        If one of the optima is not known.
    """
    search = best_switching(scenario)
    queue = search.queue
    costs = scenario.prices
    least = search.cost
    fixed = optimal_fixed_number(scenario)
    free = optimal_thresholds(scenario)
    level, level_cost = best_level(queue, costs)
    curves = best_curves(queue, costs)
    levels = range(1, queue.levels.number, queue.levels.phases)
    simple = [int(n) for n in level_targets(queue, level)[[0, *levels]]]
    rows: list[tuple[str, str, str, float | None, Mapping[str, Any] | None]] = [
        ("fixed number", "none", f"{fixed.decision['robots']} robots", fixed.cost, fixed.changes),
        (
            "one level for all",
            LIMITED,
            f"on iff at most {level} pages are left",
            level_cost,
            _switching(simple),
        ),
        (
            "two levels for all",
            LIMITED,
            f"on iff a service meets at most {curves.service}, a delivery {curves.delivery}",
            curves.cost,
            None,
        ),
        ("targets by level", LIMITED, f"{search.decision}", least, _switching(search.decision)),
        ("thresholds", "free", _listed(free.decision), free.cost, free.changes),
    ]
    return [
        RuleCost(rule, power, decision, cost, 100 * (cost / least - 1), changes)
        for rule, power, decision, cost, changes in rows
        if cost is not None
    ]


def _switching(targets: list[Any]) -> dict[str, Any]:
    return {"activation": {"switching": {"targets": targets}}}


def _listed(decision: Mapping[str, Any]) -> str:
    numbers, levels = (", ".join(map(str, decision[key])) for key in ("robots", "at"))
    return f"{numbers} robots at {levels}" if levels else f"{numbers} robots"


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
            width = 1.96 * row["± SE"]
            name = "simulated" if place == 0 else None
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
