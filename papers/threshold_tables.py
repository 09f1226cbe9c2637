"""Tables 1 to 4 and Figures 1 to 4 of avrachenkov2011 for a system of ours, computed exactly.

The paper's delivery processes and prices are not legible in the text at hand: those of the library
scenario `optimal-thresholds` are ours, so that the numbers are not the paper's. What is varied, and
the families of variable service and obsolescence times, are the paper's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from analytic.rules.thresholds import ThresholdSearch, best_thresholds
from scenarios import Scenario, load

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BASE = "optimal-thresholds"
MEAN_SERVICE = 0.657
MEAN_PATIENCE = 5.0

BUFFERS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 30)
SERVICE_FACTORS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9, 1, 3, 5, 7, 9, 11, 13, 15)
PATIENCE_FACTORS = (
    *(0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9, 1, 3, 5),
    *(10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 200),
)
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
        fixed = {f"J_{n}": search.cost_of([n], []) for n in search.numbers}
        row = {"robots": best.robots, "at": best.at, "J*": best.cost}
        yield {name: value} | row | fixed | {"gain, %": best.gain}


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


@cache
def by_variance_of_service() -> Mapping[float, ThresholdSearch]:
    """Of Figures 2 and 3."""
    return by_variance(load(BASE), "buffer.service", MEAN_SERVICE, SERVICE_RATES)


@cache
def by_variance_of_patience() -> Mapping[float, ThresholdSearch]:
    """Of Figure 4."""
    return by_variance(load(BASE), "buffer.obsolescence", MEAN_PATIENCE, PATIENCE_RATES)


def pair_of(search: ThresholdSearch, robots: Sequence[int] | None) -> Sequence[int]:
    """Two numbers of robots, or the best two."""
    pairs = [row for row in search.table if len(row.robots) == 2]
    return robots or min(pairs, key=lambda row: row.cost).robots


def against_threshold(
    searches: Mapping[float, ThresholdSearch], robots: Sequence[int] | None
) -> list[Row]:
    """The curves of a figure: for each variance the cost at each threshold."""
    return [
        {"variance": variance, "robots": tuple(pair)}
        | {f"at {level}": float(c) for level, c in enumerate(search.costs_against_threshold(pair))}
        for variance, search in searches.items()
        for pair in [pair_of(search, robots)]
    ]


def pairs_against_threshold(search: ThresholdSearch) -> list[Row]:
    """The curves of Figure 1: for every two numbers of robots the cost at each threshold."""
    return [
        {"robots": row.robots}
        | {f"at {at}": float(c) for at, c in enumerate(search.costs_against_threshold(row.robots))}
        for row in search.table
        if len(row.robots) == 2
    ]


def draw(
    searches: Mapping[float, ThresholdSearch], varied: str, robots: Sequence[int] | None
) -> Figure:
    """Cost against the threshold for each variance: of two numbers, or of the best two."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    from crawlsim.report.drawing import dress, legend_above

    figure = Figure(figsize=(4.8, 3.4), layout="constrained")
    ax: Axes = figure.add_subplot()
    dress(ax, "threshold (pages in the system)", "cost per time unit")
    for colour, (variance, search) in zip(COLOURS, searches.items(), strict=True):
        pair = pair_of(search, robots)
        costs = search.costs_against_threshold(pair)
        name = f"variance {variance:.3g}" + ("" if robots else f": {pair[0]}, {pair[1]}")
        ax.plot(costs, color=colour, marker="o", ms=3.5, lw=1.1, label=name)
    ax.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
    title = f"{robots[0]} robots, then {robots[1]}" if robots else "for each its best two numbers"
    legend_above(ax)
    figure.suptitle(f"Variance of the {varied}:\n{title}", x=0.02, ha="left", fontsize=9)
    return figure


def costs_against_threshold(search: ThresholdSearch) -> Figure:
    """Cost against the threshold between every two numbers of robots."""
    from crawlsim.report.optimum_figures import plot_threshold_costs

    figure = plot_threshold_costs(search).get_figure(root=True)
    assert figure is not None
    return figure


def figure_1() -> Figure:
    """The same for the base example."""
    return costs_against_threshold(best_thresholds(load(BASE)))


def figure_2() -> Figure:
    """Cost against the threshold between three robots and one, by the variance of service."""
    return draw(by_variance_of_service(), "service times", (3, 1))


def figure_3() -> Figure:
    """The same between the best two numbers."""
    return draw(by_variance_of_service(), "service times", None)


def figure_4() -> Figure:
    """The same by the variance of the times until obsolescence."""
    return draw(by_variance_of_patience(), "times until obsolescence", None)
