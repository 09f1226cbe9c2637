"""Figures of a sweep: a measure against a varied entry."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analytic.report.drawing import axes_for, dress, legend_above, plain, svg_text
from scenarios.measures import MEASURES

__all__ = ["plot_sweep", "sweep_picture"]

_COLOURS = ("#0072b2", "#c24a00", "#00805e", "#7a5195", "#b07800", "#555555", "#56b4e9", "#cc79a7")
_MOST_PANELS, _PANEL = 6, (4.4, 2.9)

Row = Mapping[str, Any]


def plot_sweep(
    rows: Sequence[Row],
    measure: str,
    keys: Sequence[str],
    ax: Axes | None = None,
    unit: str = "time unit",
) -> Axes:
    """A measure against the first varied entry: theory as lines, simulation as points.

    Parameters
    ----------
    rows : sequence of mapping
        Tidy rows of `crawlsim sweep`: the varied entries, measure, subject, estimate, low, high,
        predicted.
    measure : str
        Its rows without a subject are drawn.
    keys : sequence of str
        The varied entries; the first is the horizontal axis, the others make a curve each.
    ax : Axes, optional
        Where to draw; a new figure otherwise.
    unit : str
        Unit of time, for the label.
    """
    ax = axes_for(ax)
    mine = [row for row in rows if row["measure"] == measure and row["subject"] is None]
    places = _places([row[keys[0]] for row in mine])
    curves: dict[str, list[Row]] = {}
    for row in mine:
        name = ", ".join(f"{key.split('.')[-1]} = {row[key]}" for key in keys[1:])
        curves.setdefault(name, []).append(row)
    for index, (name, curve) in enumerate(curves.items()):
        _draw_curve(ax, [places[row[keys[0]]] for row in curve], curve, index, name)
    if not all(_is_number(value) for value in places):
        ax.set_xticks(list(places.values()), [plain(str(value)) for value in places])
    known = MEASURES[measure].unit
    units = "" if known == "1" else f" ({known.replace('time', unit)})"
    dress(ax, plain(keys[0]), plain(measure.replace("_", " ")) + units)
    if len(curves) > 1:
        legend_above(ax)
    return ax


def _places(values: Sequence[Any]) -> dict[Any, float]:
    """Where each value stands on the axis: at itself, or in the order given if it is no number."""
    distinct = list(dict.fromkeys(values))
    if all(_is_number(value) for value in distinct):
        return {value: float(value) for value in distinct}
    return {value: float(place) for place, value in enumerate(distinct)}


def _is_number(value: Any) -> bool:
    try:
        return math.isfinite(float(value))
    except (TypeError, ValueError):
        return False


def _draw_curve(ax: Axes, x: list[float], curve: Sequence[Row], index: int, name: str) -> None:
    colour = _COLOURS[index % len(_COLOURS)]
    if all(row["predicted"] is not None for row in curve):
        ax.plot(x, [row["predicted"] for row in curve], color=colour, lw=1.2)
    y = [row["estimate"] for row in curve]
    spread = [[_half(row, "low") for row in curve], [_half(row, "high") for row in curve]]
    label = plain(name) if name else None
    ax.errorbar(x, y, yerr=spread, fmt="o", ms=3.5, lw=1.2, color=colour, label=label)


def _half(row: Row, end: str) -> float:
    width = abs(row[end] - row["estimate"])
    return 0.0 if math.isnan(width) else width


def sweep_picture(
    rows: Sequence[Row], measures: Sequence[str], keys: Sequence[str], unit: str
) -> str:
    """One SVG file with a panel for each of the first six measures that vary over the grid."""
    present = [name for name in measures if _varies(rows, name)][:_MOST_PANELS]
    across = min(2, max(len(present), 1))
    down = max(math.ceil(len(present) / across), 1)
    figure = Figure(figsize=(_PANEL[0] * across, _PANEL[1] * down), layout="constrained")
    ax = figure.add_subplot(down, across, 1)
    for index, measure in enumerate(present):
        ax = figure.add_subplot(down, across, index + 1) if index else ax
        plot_sweep(rows, measure, keys, ax, unit)
    figure.set_facecolor("white")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + svg_text(ax, "sweep") + "\n"


def _varies(rows: Sequence[Row], measure: str) -> bool:
    mine = [row for row in rows if row["measure"] == measure and row["subject"] is None]
    return len({row["estimate"] for row in mine}) > 1
