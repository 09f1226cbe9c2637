"""Figures of a sweep: a measure against a varied entry."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from crawlsim.report.curves import Curve, curves_of, is_number, is_whole, text_of
from crawlsim.report.drawing import THEORY, axes_for, dress, legend_above, plain, svg_text
from crawlsim.report.rows import name_of, with_unit
from scenarios.measures import Subject

_MOST_PANELS = 6
_MOST_CURVES = 24
_WIDTH = 4.4
_HEIGHT = 2.9
_LETTER = 0.075
_HANDLE = 0.5
_LINE = 0.2
"""Inches: of a letter and a handle of a legend across, of a line of it down."""

_ROOM = 57
_LEAST_ROOM = 12
_SLANTED = 18
"""Letters: below an axis, of a tick's line that can be wrapped, of a slanted tick."""

_MOST_LINES = 5
_MOST_TICKS = 12

_FEW_VALUES = 8
"""So many different numbers on an axis are its ticks."""

Row = Mapping[str, Any]
Key = tuple[str, Subject]


def plot_sweep(
    rows: Sequence[Row],
    measure: str,
    keys: Sequence[str],
    ax: Axes | None = None,
    unit: str = "time unit",
    subject: Subject = None,
) -> Axes:
    """A measure against the first varied entry: theory as lines, simulation as points.

    Where the entry is no number its values stand side by side and nothing joins them.

    Parameters
    ----------
    rows : sequence of mapping
        Tidy rows of `crawlsim sweep`: the varied entries, measure, subject, estimate, low, high,
        predicted.
    measure : str
    keys : sequence of str
        The varied entries; the first is the horizontal axis, the others make a curve each.
    ax : Axes, optional
        Where to draw; a new figure otherwise.
    unit : str
        Unit of time, for the label.
    subject : int, str or None
        The subject whose rows are drawn.

    Raises
    ------
    ValueError
        If there are no such rows.
    """
    if not any((row["measure"], row["subject"]) == (measure, subject) for row in rows):
        raise ValueError(f"there is no {name_of(measure, subject)} to draw")
    ax = axes_for(ax)
    curves = curves_of(rows, keys)
    _draw(ax, curves, (measure, subject), keys[0])
    _label(ax, (measure, subject), keys[0], unit)
    if len(curves) > 1:
        legend_above(ax, title=", ".join(map(plain, keys[1:])))
    return ax


def _draw(ax: Axes, curves: Sequence[Curve], key: Key, entry: str) -> None:
    """One measure of one subject."""
    mine = [
        [row for row in curve.rows if (row["measure"], row["subject"]) == key] for curve in curves
    ]
    places = _places([row[entry] for rows in mine for row in rows])
    joined = all(is_number(value) for value in places)
    for curve, unordered in zip(curves, mine, strict=True):
        rows = sorted(unordered, key=lambda row: places[text_of(row[entry])])
        x = [places[text_of(row[entry])] for row in rows]
        _draw_theory(ax, x, rows, curve, joined)
        _draw_points(ax, x, rows, curve)
    _set_ticks(ax, list(places))


def _places(values: Sequence[Any]) -> dict[str, float]:
    """Where each value stands on the axis: at itself, or in the order given if it is no number."""
    distinct = list(dict.fromkeys(map(text_of, values)))
    if all(is_number(value) for value in distinct):
        return {value: float(value) for value in distinct}
    return {value: float(place) for place, value in enumerate(distinct)}


def _draw_theory(
    ax: Axes, x: Sequence[float], rows: Sequence[Row], curve: Curve, joined: bool
) -> None:
    """A line with gaps where no formula applies; dashes beside a gap, and for words."""
    y = [math.nan if row["predicted"] is None else row["predicted"] for row in rows]
    line = curve.line if joined else "none"
    mark = "_" if not joined or any(map(math.isnan, y)) else "none"
    ax.plot(x, y, color=curve.colour, lw=1.2, ls=line, marker=mark, ms=16)


def _draw_points(ax: Axes, x: Sequence[float], rows: Sequence[Row], curve: Curve) -> None:
    ax.errorbar(
        x,
        [row["estimate"] for row in rows],
        yerr=[[_half(row, "low") for row in rows], [_half(row, "high") for row in rows]],
        fmt=curve.marker,
        ms=4,
        lw=1.2,
        color=curve.colour,
        label=curve.name or None,
    )


def _half(row: Row, end: str) -> float:
    width = abs(row[end] - row["estimate"])
    return 0.0 if math.isnan(width) else width


def _set_ticks(ax: Axes, values: Sequence[str]) -> None:
    """Whole numbers for whole numbers; words wrapped or slanted so that they do not meet."""
    if all(is_number(value) for value in values):
        numbers = sorted({float(value) for value in values})
        if len(numbers) <= _FEW_VALUES and _are_apart(numbers):
            ax.set_xticks(numbers, [f"{each:g}" for each in numbers])
        elif all(is_whole(value) for value in values):
            ax.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
        return
    ticks = range(0, len(values), math.ceil(len(values) / _MOST_TICKS))
    room = max(_ROOM // len(ticks) - 2, 1)
    if room >= _LEAST_ROOM or max(map(len, values)) <= room:
        ax.set_xticks(ticks, [_wrapped(values[n], room) for n in ticks])
    else:
        slanted = [plain(_shortened(values[n], _SLANTED)) for n in ticks]
        ax.set_xticks(ticks, slanted, rotation=30, ha="right", rotation_mode="anchor")
    ax.set_xlim(-0.5, len(values) - 0.5)


def _are_apart(numbers: Sequence[float]) -> bool:
    """Whether the ticks of these values do not meet."""
    width = numbers[-1] - numbers[0]
    return all(b - a >= width / _FEW_VALUES / 2 for a, b in pairwise(numbers))


def _wrapped(text: str, width: int) -> str:
    """Text in a few lines, as a figure can show it."""
    lines = textwrap.wrap(text, width, max_lines=_MOST_LINES, placeholder=" …")
    return "\n".join(map(plain, lines))


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _label(ax: Axes, key: Key, entry: str, unit: str) -> None:
    dress(ax, plain(entry), _wrapped(with_unit(*key, unit), 36))


def sweep_picture(rows: Sequence[Row], shown: Sequence[Key], keys: Sequence[str], unit: str) -> str:
    """One SVG file with a panel for each measure that varies over the grid, at most six.

    Parameters
    ----------
    rows : sequence of mapping
        As for `plot_sweep`.
    shown : sequence of (measure, subject)
        What may be drawn, the most important first.
    keys : sequence of str
        The varied entries.
    unit : str
        Unit of time, for the labels.
    """
    figure = sweep_figure(rows, shown, keys, unit)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + svg_text(figure.axes[0], "sweep") + "\n"


def sweep_figure(
    rows: Sequence[Row], shown: Sequence[Key], keys: Sequence[str], unit: str
) -> Figure:
    """The figure of `sweep_picture`: panels, and one legend for all of them below."""
    panels = _panels(rows, shown)
    across = min(2, len(panels))
    down = math.ceil(len(panels) / across)
    figure = Figure(figsize=(_WIDTH * across, _HEIGHT * down), layout="constrained")
    every = curves_of(rows, keys)
    curves = every[:_MOST_CURVES]
    for index, key in enumerate(panels):
        ax = figure.add_subplot(down, across, index + 1)
        _draw(ax, curves, key, keys[0])
        _label(ax, key, keys[0], unit)
    if len(curves) > 1:
        title = ", ".join(keys[1:])
        title += f": the first {len(curves)} of {len(every)}" * (len(every) > len(curves))
        _legend_below(figure, curves, title)
    _legend_of_kinds(figure)
    figure.set_facecolor("white")
    return figure


def _panels(rows: Sequence[Row], shown: Sequence[Key]) -> list[Key]:
    """What is drawn: of the measures shown those that vary, or all where none does."""
    seen: dict[Key, set[float]] = {}
    for row in rows:
        values = seen.setdefault((row["measure"], row["subject"]), set())
        values |= {row["estimate"]} if math.isfinite(row["estimate"]) else set()
    varying = [key for key in shown if len(seen[key]) > 1 or key[0] == "control_cost"]
    return (varying or list(shown))[:_MOST_PANELS]


def _legend_below(figure: Figure, curves: Sequence[Curve], title: str) -> None:
    """One legend of the curves of all panels; the figure grows by as much as it needs."""
    names = [curve.name for curve in curves]
    width = figure.get_figwidth()
    columns = int((width - _HANDLE) / (_HANDLE + _LETTER * max(map(len, names))))
    columns = max(1, min(columns, len(names)))
    title = textwrap.fill(title, int(width / _LETTER))
    lines = math.ceil(len(names) / columns) + 1 + title.count("\n")
    figure.set_figheight(figure.get_figheight() + _LINE * lines)
    legend = figure.legend(
        [Line2D([], [], color=c.colour, marker=c.marker, ms=4, ls=c.line) for c in curves],
        names,
        title=title,
        loc="outside lower left",
        ncols=columns,
        fontsize=8.5,
        title_fontsize=8.5,
        frameon=False,
        alignment="left",
    )
    legend.get_title().set_color("#333333")


def _legend_of_kinds(figure: Figure) -> None:
    """What a line and what a point is."""
    theory = Line2D([], [], color=THEORY, lw=1.2)
    simulated = Line2D([], [], color=THEORY, marker="o", ms=4, ls="none")
    figure.legend(
        [theory, simulated],
        ["formula", "simulation, 95 % interval"],
        loc="outside upper left",
        ncols=2,
        fontsize=8.5,
        frameon=False,
    )
