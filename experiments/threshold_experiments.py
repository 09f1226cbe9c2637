"""Experiments in the shape of Tables 1-4 and Figures 1-4 of avrachenkov2011, computed exactly.

Run as ``python -m experiments.threshold_experiments --out out/thresholds``: prints the tables as
Markdown and writes them with the figures there, in some seconds. The paper's delivery processes and
prices are not legible in the text at hand: those of the library scenario `optimal-thresholds` are
ours, so that the numbers are not the paper's. What is varied, and the families of variable service
and obsolescence times, are the paper's.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from analytic.indexing_queue.thresholds import ThresholdSearch, best_thresholds
from crawlsim.report import plot_threshold_costs
from crawlsim.report.drawing import dress, legend_above
from scenarios import Scenario, load

BASE = "optimal-thresholds"
MEAN_SERVICE = 0.657
MEAN_PATIENCE = 5.0

BUFFERS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 30)
SERVICE_FACTORS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9, 1, 3, 5, 7, 9, 11, 13, 15)
PATIENCE_FACTORS = (0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9, 1, 3, 5, 10, 20, 50, 100, 200)
SERVICE_RATES = (1 / MEAN_SERVICE, 2.0, 3.0, 4.0, 6.0, 9.0)
PATIENCE_RATES = (1 / MEAN_PATIENCE, 0.3, 0.5, 1.0, 3.0, 7.0)
"""Rates of the first phase; the first of each makes the law exponential."""

COLOURS = ("#0072b2", "#c24a00", "#00805e", "#b07800", "#8a4a8f", "#5a6270")

Row = dict[str, Any]


def with_mean(mean: float) -> dict[str, Any]:
    """An exponential law."""
    return {"exponential": {"mean": mean}}


def variable(mean: float, rate: float) -> tuple[dict[str, Any], float]:
    """The paper's family: phases with probabilities 0.9 and 0.1, a given mean; and its variance.

    The rate of the second phase is ``0.1 / (mean - 0.9 / rate)``.
    """
    slow = 0.1 / (mean - 0.9 / rate)
    law = {"hyperexponential": {"probabilities": [0.9, 0.1], "rates": [rate, slow]}}
    return law, 2 * (0.9 / rate**2 + 0.1 / slow**2) - mean**2


def table_1(base: Scenario) -> list[Row]:
    """The best thresholds of every list of numbers."""
    return [row._asdict() for row in best_thresholds(base).table]


def varied(base: Scenario, name: str, cases: Iterable[tuple[Any, str, Any]]) -> Iterator[Row]:
    """For each case the optimum, the cost of each fixed number, and the gain in per cent."""
    for value, key, entry in cases:
        search = best_thresholds(base.with_(key, entry))
        best = search.optimum
        fixed = {f"J{n}": search.cost_of([n], []) for n in search.numbers}
        row = {"robots": best.robots, "at": best.at, "J*": best.cost}
        yield {name: value} | row | fixed | {"gain": best.gain}


def table_2(base: Scenario) -> list[Row]:
    """The optimum by waiting places."""
    return [*varied(base, "N", ((n, "buffer.waiting_places", n) for n in BUFFERS))]


def by_factor(
    base: Scenario, name: str, key: str, mean: float, factors: Sequence[float]
) -> list[Row]:
    """The optimum by a mean that is divided by factors; the factor stands first."""
    means = [mean / factor for factor in factors]
    rows = varied(base, name, ((each, key, with_mean(each)) for each in means))
    return [{"factor": factor} | row for factor, row in zip(factors, rows, strict=True)]


def table_3(base: Scenario) -> list[Row]:
    """The optimum by the mean service time."""
    return by_factor(base, "mean service", "buffer.service", MEAN_SERVICE, SERVICE_FACTORS)


def table_4(base: Scenario) -> list[Row]:
    """The optimum by the mean time until obsolescence."""
    key = "buffer.obsolescence"
    name = "mean obsolescence"
    return by_factor(base, name, key, MEAN_PATIENCE, PATIENCE_FACTORS)


def by_variance(
    base: Scenario, key: str, mean: float, rates: Sequence[float]
) -> dict[float, ThresholdSearch]:
    """The search for each variance of one law."""
    laws = [variable(mean, rate) for rate in rates]
    return {variance: best_thresholds(base.with_(key, law)) for law, variance in laws}


def variances(searches: dict[float, ThresholdSearch]) -> list[Row]:
    """The optimum by variance."""
    return [
        {"variance": variance} | search.optimum._asdict() for variance, search in searches.items()
    ]


def draw(searches: dict[float, ThresholdSearch], varied: str, robots: Sequence[int] | None) -> Axes:
    """Cost against the threshold for each variance: of two numbers, or of the best two."""
    ax = Figure(figsize=(4.8, 3.4), layout="constrained").add_subplot()
    dress(ax, "threshold (pages in the system)", "cost per time unit")
    for colour, (variance, search) in zip(COLOURS, searches.items(), strict=True):
        pairs = [row for row in search.table if len(row.robots) == 2]
        pair = robots or min(pairs, key=lambda row: row.cost).robots
        costs = search.costs_against_threshold(pair)
        name = f"variance {variance:.3g}" + ("" if robots else f": {pair[0]}, {pair[1]}")
        ax.plot(costs, color=colour, marker="o", ms=3.5, lw=1.1, label=name)
    ax.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
    pair = f"{robots[0]} robots, then {robots[1]}" if robots else "for each its best two numbers"
    legend_above(ax)
    title = f"Variance of the {varied}:\n{pair}"
    ax.get_figure(root=True).suptitle(title, x=0.02, ha="left", fontsize=9)
    return ax


def markdown(title: str, rows: Sequence[Row]) -> str:
    """A table as Markdown below its title."""
    columns = list(rows[0])
    lines = [title, "", "| " + " | ".join(columns) + " |", "|" + "--:|" * len(columns)]
    lines += ["| " + " | ".join(cell(row[name]) for name in columns) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def cell(value: Any) -> str:
    """A number with four digits, a list as it is written."""
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables, and write them and the figures."""
    parser = argparse.ArgumentParser(description="Experiments on optimal thresholds.")
    out = Path("out/thresholds")
    parser.add_argument("--out", type=Path, default=out, help="folder (%(default)s)")
    parsed = parser.parse_args(arguments)
    base = load(BASE)
    service = by_variance(base, "buffer.service", MEAN_SERVICE, SERVICE_RATES)
    patience = by_variance(base, "buffer.obsolescence", MEAN_PATIENCE, PATIENCE_RATES)
    tables = {
        "Table 1: the best thresholds of every list of numbers": table_1(base),
        "Table 2: waiting places": table_2(base),
        "Table 3: mean service time": table_3(base),
        "Table 4: mean time until obsolescence": table_4(base),
        "Figures 2 and 3: variance of service": variances(service),
        "Figure 4: variance of the time until obsolescence": variances(patience),
    }
    text = "\n".join(markdown(title, rows) for title, rows in tables.items())
    figures = {
        "figure-1": plot_threshold_costs(best_thresholds(base)),
        "figure-2": draw(service, "service times", (3, 1)),
        "figure-3": draw(service, "service times", None),
        "figure-4": draw(patience, "times until obsolescence", None),
    }
    parsed.out.mkdir(parents=True, exist_ok=True)
    (parsed.out / "tables.md").write_text(text, encoding="utf-8")
    for name, ax in figures.items():
        ax.figure.savefig(parsed.out / f"{name}.svg")
    print(text)


if __name__ == "__main__":
    main()
