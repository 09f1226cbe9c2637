"""The figures of eckstein2005, drawn from what is computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analytic.probing import expected_cost
from crawlsim.report.drawing import SIMULATED, THEORY, dress, legend_above, logarithmic, panel
from papers.lines import Line
from papers.probe_policies import (
    HORIZON,
    POLICIES,
    SLOTS,
    SOURCES,
    actual_costs,
    costs_table,
    discrepancies,
    drawn_updates,
    profile,
)

_COLOURS = {"of the trace": SIMULATED, "95 % from": THEORY, "95 % to": THEORY}
_COLOURS |= zip(POLICIES, ("#5a6270", "#00805e", "#b07800", "#0072b2"), strict=True)
_PROBES = "probes in four weeks"


def of_two_probes() -> list[tuple[float, float]]:
    """The first of two probes at each hour, and their expected cost; DBWorld, ratio 3."""
    rates = profile("dbworld", 3)
    times = (np.arange(1, SLOTS) * HORIZON / SLOTS).tolist()
    return [(time, expected_cost(rates, (time, HORIZON))) for time in times]


def _cost_of_an_update() -> Figure:
    """Figure 1: an update at 4:00, work from 8:00 to 18:00."""
    ax = panel(None, "hour of the probe", "cost of the update")
    ax.plot([4, 8, 18, 24], [0, 4, 34, 40], color=SIMULATED)
    return _figure(ax)


def _cost_of_two() -> Figure:
    """Figure 2."""
    ax = panel(None, "time of the first of two probes, days", "expected cost")
    ax.plot(*zip(*of_two_probes(), strict=True), color=SIMULATED, lw=1.1)
    return _figure(ax)


def _scatter() -> Figure:
    """Figure 3, of traces of ours."""
    axes = _of_both_sources("day", "hour of the update")
    for ax, source, weeks in zip(axes, SOURCES, (20, 26), strict=True):
        updates = drawn_updates(source, 7.0 * weeks)
        ax.plot(updates, 24 * (updates % 1), ".", color=SIMULATED, ms=2.5)
    return _figure(axes[0])


def _against_n(
    table: Callable[[str], Sequence[Line]], label: str, names: Sequence[str], log: bool
) -> Figure:
    """Columns of a table against the number of probes, DBWorld above MicroNet."""
    axes = _of_both_sources(_PROBES, label)
    for ax, source in zip(axes, SOURCES, strict=True):
        rows = table(source)
        numbers = [row["n"] for row in rows]
        for name in names:
            values = [row[name] if row[name] > 0 or not log else np.nan for row in rows]
            ax.plot(numbers, values, "o-", color=_COLOURS[name], ms=3.5, lw=1.1, label=name)
        if log:
            logarithmic(ax, "x", "y")
    legend_above(axes[0], columns=4)
    return _figure(axes[0])


def _of_both_sources(x: str, y: str) -> list[Axes]:
    axes = list(Figure(figsize=(5.2, 6.0), layout="constrained").subplots(2))
    for ax, title in zip(axes, SOURCES.values(), strict=True):
        dress(ax, x, f"{title}: {y}")
    return axes


def _figure(ax: Axes) -> Figure:
    figure = ax.figure
    assert isinstance(figure, Figure)
    return figure


def _of_policies(name: str, label: str, ratio: int = 3, log: bool = True) -> Callable[[], Any]:
    return lambda: _against_n(lambda s: costs_table(s, ratio, name), label, POLICIES, log)


def _of_a_trace(improved: bool) -> Callable[[], Any]:
    return lambda: _against_n(
        lambda source: list(actual_costs(source, improved)), "actual cost", POLICIES, True
    )


FIGURES: Mapping[str, Callable[[], Any]] = {
    "Figure 1": _cost_of_an_update,
    "Figure 2": _cost_of_two,
    "Figure 3": _scatter,
    "Figure 4": _of_policies("cost", "expected cost"),
    "Figure 5": _of_policies("cost", "expected cost", ratio=1),
    "Figure 6": _of_a_trace(False),
    "Figure 7": lambda: _against_n(
        lambda source: list(discrepancies(source)),
        "difference over actual cost",
        ("of the trace", "95 % from", "95 % to"),
        False,
    ),
    "Figure 8": _of_policies("improved", "expected cost, improved"),
    "Figure 9": _of_a_trace(True),
    "Figure 10": _of_policies("improvement", "share of the cost saved", log=False),
    "Figure 11": _of_policies("moves", "moves of Algorithm 10"),
}
