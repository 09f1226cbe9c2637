"""Figures of a search for the best decision: the cost against what is decided."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import wrap
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from analytic.indexing_queue.fixed_robots import StaticSearch
from analytic.indexing_queue.thresholds import ThresholdSearch
from analytic.pipeline.best_robots import BestTargets
from analytic.pipeline.best_thresholds import BestThresholds
from analytic.probing.search import ProbeSearch
from analytic.robot_control.switching import SwitchingSearch
from crawlsim.report.drawing import THEORY, axes_for, dress, legend_above, plain
from crawlsim.report.frequencies import plot_frequencies
from crawlsim.report.orders import plot_word
from crawlsim.report.plots import plot_probes

_COLOURS = ("#0072b2", "#c24a00", "#00805e", "#b07800", "#8a4a8f", "#5a6270")
_MARKERS = "os^Dv<"
_HEIGHT = 3.2
_FEW_LEVELS = 40
_LEGEND = 24
_ALONE = 56
"""Letters on a line of a legend of two columns, and of one."""


def plot_threshold_costs(search: ThresholdSearch | BestThresholds, ax: Axes | None = None) -> Axes:
    """Cost against the threshold between two numbers of robots, and the optimum over all lists.

    Parameters
    ----------
    search : ThresholdSearch or BestThresholds
        Of `analytic.optimize(scenario, "threshold").search`. At most six pairs are drawn, those
        with the least cost at their best threshold.
    ax : Axes, optional
        Where to draw; a new figure otherwise.

    Raises
    ------
    TypeError
        If it is another search, such as that of fixed numbers (`plot_static_costs`).

    Notes
    -----
    At the highest level as threshold the robots are never switched. With a single number allowed
    there is no threshold, and only the optimum is drawn.
    """
    if not isinstance(search, ThresholdSearch | BestThresholds):
        kind = type(search).__name__
        raise TypeError(f'must be the search of optimize(scenario, "threshold"), not a {kind}')
    ax = axes_for(ax, _HEIGHT)
    unit = plain(search.time_unit)
    dress(ax, "threshold (pages in the system)", f"cost per {unit}")
    pairs = sorted((row for row in search.table if len(row.robots) == 2), key=lambda row: row.cost)[
        : len(_COLOURS)
    ]
    for row, colour, marker in zip(pairs, _COLOURS, _MARKERS, strict=False):
        costs = search.costs_against_threshold(row.robots)
        mark = marker if search.top <= _FEW_LEVELS else None
        label = f"{row.robots[0]} robots, then {row.robots[1]}"
        ax.plot(costs, color=colour, marker=mark, ms=3.5, lw=1.1, label=label)
    best = search.optimum
    ax.axhline(best.cost, color=THEORY, lw=0.9, ls="--", label=_described(best.robots, best.at))
    _beside(ax, search.other)
    ax.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
    ax.set_xlim(-0.03 * max(search.top, 1), 1.03 * max(search.top, 1))
    legend_above(ax, columns=2)
    return ax


def _beside(ax: Axes, other: tuple[str, float] | None) -> None:
    """The cost of what another criterion decides."""
    if other is not None and np.isfinite(other[1]):
        ax.axhline(other[1], color=_COLOURS[1], lw=0.9, ls=":", label=_by(other))


def _by(other: tuple[str, float], letters: int = _LEGEND, decided: str = "") -> str:
    """Another criterion in a legend, what it decides, and what that costs."""
    return "\n".join(wrap(f"by {other[0]}: {decided}{other[1]:.6g}", letters))


def _described(robots: tuple[int, ...], at: tuple[int, ...]) -> str:
    """The optimum in a legend."""
    numbers = ", ".join(map(str, robots))
    levels = ", ".join(map(str, at))
    return f"optimum: {numbers} at {levels}" if at else f"optimum: always {numbers}"


def plot_static_costs(search: StaticSearch, ax: Axes | None = None) -> Axes:
    """Cost against a fixed number of robots, with its least value marked.

    Parameters
    ----------
    search : StaticSearch
        Of `analytic.optimize(scenario, "static").search`.
    ax : Axes, optional
        Where to draw; a new figure otherwise.
    """
    ax = axes_for(ax, _HEIGHT)
    dress(ax, "active robots", f"cost per {plain(search.time_unit)}")
    numbers = np.arange(len(search.costs))
    mark = "o" if len(numbers) <= _FEW_LEVELS else None
    ax.plot(numbers, search.costs, color=_COLOURS[0], marker=mark, ms=3.5, lw=1.1)
    best = search.optimum
    label = f"optimum: {best}, {search.costs[best]:.6g}"
    ax.plot(best, search.costs[best], "D", color=THEORY, ms=6, mfc="none", label=label)
    if search.other is not None and np.isfinite(search.other[1]):
        criterion, cost, robots = search.other
        name = _by((criterion, cost), _ALONE, f"{robots}, ")
        ax.plot(robots, cost, "s", color=_COLOURS[1], ms=8, mfc="none", label=name)
    ax.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
    legend_above(ax, columns=1)
    return ax


def plot_switching_policy(
    search: SwitchingSearch, event: str, ax: Axes | None = None, phase: int = 0
) -> Axes:
    """Where the optimal rule switches a robot on, as in Figures 2 to 4 of talim2001.

    Parameters
    ----------
    search : SwitchingSearch
        Of `analytic.optimize(scenario, "switching").search`.
    event : {"service", "delivery"}
        The paper's s = 0 and s = 1.
    ax : Axes, optional
        Where to draw; a new figure otherwise.
    phase : int
        Of the service, where it has several.
    """
    ax = axes_for(ax, _HEIGHT)
    dress(ax, "active robots before the event", "pages before the event")
    curves = search.curves(phase)
    top = search.queue.capacity
    first = 1 if event == "service" else 0
    highest = curves.after_service if event == "service" else curves.after_delivery
    for level in range(first, top + 1):
        robots = np.arange(1 - first, search.queue.available + 1)
        on = highest[robots] >= level
        marks: dict[str, Any] = {"color": _COLOURS[first], "ls": "none", "ms": 4.5}
        ax.plot(robots[on], np.full(on.sum(), level), "o", **marks)
        ax.plot(robots[~on], np.full((~on).sum(), level), "o", mfc="none", mew=0.7, **marks)
    name = "service completion" if event == "service" else "delivery"
    cost = f"cost {search.cost:.6g}"
    ax.set_title(f"{name} (filled: switch on), {cost}", fontsize=9, loc="left", color="#333333")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator("auto", integer=True))
    ax.set_ylim(-0.5, top + 0.5)
    return ax


def plot_targets(search: BestTargets, ax: Axes | None = None) -> Axes:
    """Targets of the switching rule by level, end to end and by the papers' criterion.

    Parameters
    ----------
    search : BestTargets
        Of `analytic.optimize(scenario, "switching").search` where staleness has a price.
    ax : Axes, optional
        Where to draw; a new figure otherwise.
    """
    ax = axes_for(ax, _HEIGHT)
    dress(ax, "pages in the system", "robots wanted")
    rules = [(f"best found: {search.cost:.6g}", search.targets, "o", _COLOURS[0])]
    if search.other is not None and search.other_targets:
        rules.append((_by(search.other, _ALONE), search.other_targets, "s", _COLOURS[1]))
    for name, targets, marker, colour in rules:
        mark = marker if len(targets) <= _FEW_LEVELS else None
        size = 3.5 if marker == "o" else 7.0  # open around the other where both are alike
        ax.plot(targets, color=colour, marker=mark, ms=size, mfc="none", lw=1.1, label=name)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator("auto", integer=True))
    legend_above(ax, columns=1)
    return ax


def plot_switching(search: SwitchingSearch | BestTargets, ax: Axes | None = None) -> Axes:
    """The figure of the best switching rule: its curves, or its targets where staleness counts.

    Parameters
    ----------
    search : SwitchingSearch or BestTargets
        Of `analytic.optimize(scenario, "switching").search`.
    ax : Axes, optional
        Where to draw; a new figure otherwise.
    """
    if isinstance(search, BestTargets):
        return plot_targets(search, ax)
    return plot_switching_curves(search, ax)


def plot_switching_curves(search: SwitchingSearch, ax: Axes | None = None) -> Axes:
    """The two switching curves of the optimal rule, of the first phase of the service.

    Parameters
    ----------
    search : SwitchingSearch
        Of `analytic.optimize(scenario, "switching").search`.
    ax : Axes, optional
        Where to draw; a new figure otherwise.
    """
    ax = axes_for(ax, _HEIGHT)
    dress(ax, "active robots before the event", "highest level to switch on at")
    curves = search.curves()
    robots = np.arange(search.queue.available + 1)
    mark = "o" if len(robots) <= _FEW_LEVELS else None
    phases = search.queue.phases
    of_phase = f" (service phase 0 of 0 … {phases - 1})" if phases > 1 else ""
    for values, skip, name, colour in (
        (curves.after_service, curves.after_service < 1, "at a service", _COLOURS[0]),
        (curves.after_delivery, curves.after_delivery < 0, "at a delivery", _COLOURS[1]),
    ):
        shown = np.where(skip, np.nan, values)
        ax.plot(robots, shown, color=colour, marker=mark, ms=3.5, lw=1.1, label=name + of_phase)
    ax.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
    ax.yaxis.set_major_locator(MaxNLocator("auto", integer=True))
    legend_above(ax)
    return ax


def plot_best_probes(search: ProbeSearch, ax: Axes | None = None) -> Axes:
    """Intensity of the updates, their importance, and the best probe times.

    Parameters
    ----------
    search : ProbeSearch
        Of `analytic.optimize(scenario, "probes").search`.
    ax : Axes, optional
        Where to draw; a new figure otherwise.
    """
    return plot_probes(search.scenario, axes_for(ax, _HEIGHT))


PLOTS: dict[str, Callable[[Any, Axes | None], Axes]] = {
    "static": plot_static_costs,
    "threshold": plot_threshold_costs,
    "switching": plot_switching,
    "template": plot_word,
    "routing": plot_word,
    "frequencies": plot_frequencies,
    "probes": plot_best_probes,
}
"""The figure of each target of `crawlsim optimize` that has one."""
