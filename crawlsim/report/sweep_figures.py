"""Figures of a sweep: curves of a measure against a varied entry, maps over two of them."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from crawlsim.report.drawing import (
    THEORY,
    axes_for,
    by_decades,
    dress,
    ink_on,
    legend_above,
    logarithmic,
    plain,
    svg_text,
)
from crawlsim.report.words import name_of, of_entry, value_in_words, with_unit
from scenarios.arrays import spans_decades
from scenarios.files import parse_value, value_text
from scenarios.measures import Subject

Row = Mapping[str, Any]
Key = tuple[str, Subject]

_COLOURS = ("#0072b2", "#c24a00", "#00805e", "#7a5195", "#b07800", "#555555", "#56b4e9", "#cc79a7")
_MARKERS = "os^DvPX*"
_LINES = ("-", "--", "-.", ":")
_ENDS = ("low", "high")
_LEGEND: dict[str, Any] = {"fontsize": 8.5, "frameon": False}

_MOST_PANELS = 6
_MOST_CURVES = 24
_WIDTH = 4.4
_HEIGHT = 2.9
_LETTER = 0.075
_HANDLE = 0.5
_LINE = 0.2
"""Inches: of a letter and a handle of a legend across, of a line of it down."""

_LABEL = 36
_UP = 32
_ROOM = 57
_LEAST_ROOM = 12
_SLANTED = (18, 24)
"""Letters: of a line of a label, of one up an axis, below an axis, of a tick's line that can be
wrapped, of a slanted tick, and of one that shorter ones would not tell from another."""

_MOST_LINES = 5
_MOST_TICKS = 12

_FEW_VALUES = 8
"""So many different numbers on an axis are its ticks."""

_MOST_ACROSS = 16
_FEW_ACROSS = 5
_LETTERS_ACROSS = 38
"""Maps with more values to a side are drawn without numbers in their cells, with more than a few
with shorter ones; so many letters fill a row."""

_MOST_MAPS = 4
_MAP_WIDTH = 4.8
_MAP_HEIGHT = 3.4


def _draw(ax: Axes, curves: Sequence[Curve], key: Key, entry: str, unit: str) -> str:
    """One measure against the first varied entry: theory as lines, simulation as points.

    What cannot be seen is said: lines that lie on each other, and zeros below an axis of decades.
    A line stands for formulas that were evaluated between the cells, or at every whole number. The
    others, and those of an entry that is not a number, are dashes that nothing joins.
    """
    mine = [
        [row for row in curve.rows if (row["measure"], row["subject"]) == key] for curve in curves
    ]
    simulated = [[row for row in rows if row["estimate"] is not None] for rows in mine]
    places = _places([row[entry] for rows in simulated for row in rows])
    dense = any(len(one) > len(cells) for one, cells in zip(mine, simulated, strict=True))
    joined = dense or _are_all_whole(places)
    alike: dict[bytes, list[str]] = {}
    points: list[tuple[float, float | None, str]] = []
    predicted: list[float] = []
    for curve, unordered, cells in zip(curves, mine, simulated, strict=True):
        place = _places([row[entry] for row in unordered]) if joined else places
        rows = sorted(unordered, key=lambda row: place[text_of(row[entry])])
        x = [place[text_of(row[entry])] for row in rows]
        theory = np.array([row["predicted"] for row in rows], dtype=float)  # None is nan
        # Beside a gap, where no formula applies, a line may have no length.
        mark = "_" if not joined or (not dense and np.isnan(theory).any()) else "none"
        line = curve.line if joined else "none"
        ax.plot(x, theory, color=curve.colour, lw=1.2, ls=line, marker=mark, ms=16)
        if np.isfinite(theory).any():
            alike.setdefault(np.round(theory, 12).tobytes(), []).append(curve.name)
        y = [row["estimate"] for row in cells]
        half = np.nan_to_num([[abs(row[end] - row["estimate"]) for row in cells] for end in _ENDS])
        style: Any = {"fmt": curve.marker, "ms": 4, "lw": 1.2, "color": curve.colour}
        at = [places[text_of(row[entry])] for row in cells]
        ax.errorbar(at, y, yerr=half, label=curve.name or None, **style)
        points += [(*point, curve.colour) for point in zip(at, y, strict=True)]
        predicted += theory.tolist()
    on_one_line = "; ".join(", ".join(names) for names in alike.values() if len(names) > 1)
    said = [f"the same line: {on_one_line}"] if on_one_line else []
    said.append(by_decades(ax, points, predicted))
    _set_ticks(ax, list(map(words_of, places)))
    dress(ax, _wrapped(of_entry(entry, unit), _LABEL), _wrapped(with_unit(*key, unit), _LABEL))
    return "; ".join(filter(None, said))


def _are_all_whole(places: Mapping[str, float]) -> bool:
    """Whether the values are whole numbers without one left out between them."""
    whole = all(re.fullmatch(r"[+-]?\d+", value) for value in places)
    return whole and all(b - a == 1 for a, b in pairwise(sorted(places.values())))


def _places(values: Sequence[Any]) -> dict[str, float]:
    """Where each value stands on the axis: at itself if it is a number, else in the order given."""
    distinct = list(dict.fromkeys(map(text_of, values)))
    if all(is_number(value) for value in distinct):
        return {value: float(value) for value in distinct}
    return {value: float(place) for place, value in enumerate(distinct)}


def _set_ticks(ax: Axes, values: Sequence[str]) -> None:
    """Decades, or whole numbers of whole ones; words wrapped or slanted so as not to meet."""
    if all(is_number(value) for value in values):
        numbers = sorted({float(value) for value in values})
        if numbers[0] > 0 and spans_decades(numbers):
            logarithmic(ax, "x")
            return
        least = (numbers[-1] - numbers[0]) / _FEW_VALUES / 2  # between ticks that do not meet
        if len(numbers) <= _FEW_VALUES and all(b - a >= least for a, b in pairwise(numbers)):
            ax.set_xticks(numbers, [f"{each:g}" for each in numbers])
        elif all(re.fullmatch(r"[+-]?\d+", value) for value in values):
            ax.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
        return
    ticks = range(0, len(values), math.ceil(len(values) / _MOST_TICKS))
    room = max(_ROOM // len(ticks) - 2, 1)
    if room >= _LEAST_ROOM or max(map(len, values)) <= room:
        ax.set_xticks(ticks, [_wrapped(values[n], room) for n in ticks])
    else:
        cut = [[t if len(t) <= n else f"{t[: n - 1]}…" for t in values] for n in _SLANTED]
        short = next((each for each in cut if len({*each}) == len({*values})), cut[0])
        slanted = [plain(short[n]) for n in ticks]
        ax.set_xticks(ticks, slanted, rotation=30, ha="right", rotation_mode="anchor")
    ax.set_xlim(-0.5, len(values) - 0.5)


def _wrapped(text: str, width: int) -> str:
    """Text in a few lines, as a figure can show it."""
    lines = textwrap.wrap(text, width, max_lines=_MOST_LINES, placeholder=" …")
    return "\n".join(plain(line, width) for line in lines)


@dataclass(frozen=True)
class SweepRows:
    """What came out of a sweep, as its figures and its page show it.

    Parameters
    ----------
    rows : sequence of mapping
        Tidy rows of `crawlsim sweep`: the varied entries, measure, subject, estimate, low, high,
        predicted.
    shown : sequence of (measure, subject)
        What may be drawn, the most important first.
    keys : sequence of str
        The varied entries; the first is the horizontal axis, the others make a curve each.
    unit : str
        Unit of time, for the labels.
    between : sequence of mapping
        Rows of formulas alone (`crawlsim.ranking.formulas_between`), whose estimates are None.
    """

    rows: Sequence[Row]
    shown: Sequence[Key]
    keys: Sequence[str]
    unit: str
    between: Sequence[Row] = ()

    @property
    def panels(self) -> list[Key]:
        """What is worth a panel: what varies over the grid, and the control cost; at most six."""
        seen = _estimates(self.rows)
        varying = [key for key in self.shown if len(seen[key]) > 1 or key[0] == "control_cost"]
        return (varying or list(self.shown))[:_MOST_PANELS]


def sweep_picture(sweep: SweepRows) -> str:
    """One SVG file with a panel for each measure that varies over the grid, at most six."""
    figure = sweep_figure(sweep)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + svg_text(figure.axes[0], "sweep") + "\n"


def sweep_figure(sweep: SweepRows) -> Figure:
    """The figure of `sweep_picture`: panels, and one legend for all of them below."""
    keys, unit = sweep.keys, sweep.unit
    figure, axes = _grid(len(sweep.panels), _WIDTH, _HEIGHT)
    every = curves_of([*sweep.rows, *sweep.between], keys)
    curves = every[:_MOST_CURVES]
    for key, ax in zip(sweep.panels, axes, strict=True):
        said = _draw(ax, curves, key, keys[0], unit)
        ax.set_title(_wrapped(said, _ROOM), fontsize=8.5, loc="left", color="#333333")
    if len(curves) > 1:
        title = ", ".join(of_entry(key, unit) for key in keys[1:])
        title += f": the first {len(curves)} of {len(every)}" * (len(every) > len(curves))
        _legend_below(figure, curves, title)
    colour = curves[0].colour if len(curves) == 1 else THEORY
    theory = Line2D([], [], color=colour, lw=1.2)
    simulated = Line2D([], [], color=colour, marker="o", ms=4, ls="none")
    names = ["formula", "simulation, 95 % interval"]
    figure.legend([theory, simulated], names, loc="outside upper left", ncols=2, **_LEGEND)
    return figure


def _grid(count: int, width: float, height: float) -> tuple[Figure, list[Axes]]:
    """A figure with this many panels of a size in inches, two abreast."""
    across = min(2, count)
    down = math.ceil(count / across)
    size = (width * across, height * down)
    figure = Figure(figsize=size, layout="constrained", facecolor="white")
    return figure, [figure.add_subplot(down, across, n + 1) for n in range(count)]


def _estimates(rows: Sequence[Row]) -> dict[Key, set[float]]:
    """The different estimates of each measure that are finite."""
    seen: dict[Key, set[float]] = {}
    for row in rows:
        values = seen.setdefault((row["measure"], row["subject"]), set())
        if math.isfinite(row["estimate"]):
            values.add(row["estimate"])
    return seen


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
        title_fontsize=8.5,
        alignment="left",
        **_LEGEND,
    )
    legend.get_title().set_color("#333333")


@dataclass(frozen=True, slots=True)
class Curve:
    """Rows of all measures that belong to one curve, and how it looks in every panel."""

    name: str
    rows: Sequence[Row]
    colour: str
    marker: str
    line: str


def curves_of(rows: Sequence[Row], keys: Sequence[str]) -> list[Curve]:
    """The curves; colours tell the second entry, markers and lines the others.

    Parameters
    ----------
    rows : sequence of mapping
        Tidy rows of a sweep.
    keys : sequence of str
        The varied entries, the first on the horizontal axis.
    """
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(text_of(row[key]) for key in keys[1:]), []).append(row)
    colours = list(dict.fromkeys(values[:1] for values in groups))
    marks = list(dict.fromkeys(values[1:] for values in groups))
    rounds = math.ceil(len(colours) / len(_COLOURS))
    names = [plain(", ".join(map(words_of, values))) for values in groups]
    curves = []
    for n, (name, (values, mine)) in enumerate(zip(names, groups.items(), strict=True), 1):
        hue = colours.index(values[:1])
        mark = marks.index(values[1:])
        mark = mark * rounds + hue // len(_COLOURS)
        looks = (_COLOURS[hue % len(_COLOURS)], _MARKERS[mark % len(_MARKERS)])
        own = f"{name} ({n})" if names.count(name) > 1 else name  # long values are cut off
        curves.append(Curve(own, mine, *looks, _LINES[mark % len(_LINES)]))
    return curves


def text_of(value: Any) -> str:
    """A varied value in words; what came from a CSV file is text already."""
    return value if isinstance(value, str) else value_text(value)


def words_of(text: str) -> str:
    """A varied value as a figure names it: a law without braces."""
    return value_in_words(parse_value(text)) if text.startswith("{") else text


def is_number(value: Any) -> bool:
    """Whether a value has a place of its own on an axis."""
    try:
        return not isinstance(value, bool) and math.isfinite(float(value))
    except (TypeError, ValueError):
        return False


def plot_sweep(
    rows: Sequence[Row],
    measure: str,
    keys: Sequence[str],
    ax: Axes | None = None,
    unit: str = "time unit",
    subject: Subject = None,
    label: str | None = None,
) -> Axes:
    """A measure over the first varied entry: simulation as points, theory as lines.

    Parameters
    ----------
    rows, measure, keys, ax, unit, subject
        As of `plot_heat_map`; further entries make a curve each. Rows of formulas alone, whose
        estimates are None, may be among them (`crawlsim.ranking.formulas_between`).
    label : str, optional
        Of the vertical axis, in place of the measure and its unit.
    """
    ax = axes_for(ax)
    curves = curves_of(rows, keys)[:_MOST_CURVES]
    if len(curves) == 1:
        curves = [replace(curves[0], name="simulation, 95 % interval")]
    said = _draw(ax, curves, (measure, subject), keys[0], unit)
    if label is not None:
        ax.set_ylabel(_wrapped(label, _UP))
    title = ", ".join(of_entry(key, unit) for key in keys[1:] if key)
    if any(row["predicted"] is not None and row["predicted"] == row["predicted"] for row in rows):
        if len(curves) == 1:
            ax.plot([], [], color=curves[0].colour, lw=1.2, label="formula")
        else:
            title += "; lines: formulas" if title else "lines: formulas"
    words = "\n".join(_wrapped(each, _ROOM) for each in (title, said) if each)
    legend_above(ax, columns=4 if title else 2, title=words or None)
    return ax


def plot_heat_map(
    rows: Sequence[Row],
    measure: str,
    keys: Sequence[str],
    ax: Axes | None = None,
    unit: str = "time unit",
    subject: Subject = None,
) -> Axes:
    """The estimates of a measure over the first two varied entries; the least one is framed.

    Parameters
    ----------
    rows : sequence of mapping
        Tidy rows of `crawlsim sweep`, those of one value of every further entry.
    measure : str
    keys : sequence of str
        The two entries: across, then up.
    ax : Axes, optional
        Where to draw; a new figure otherwise.
    unit : str
        Unit of time, for the label.
    subject : int, str or None

    Raises
    ------
    ValueError
        If there are no such rows.
    """
    mine = [row for row in rows if (row["measure"], row["subject"]) == (measure, subject)]
    if not mine:
        raise ValueError(f"there is no {name_of(measure, subject)} to draw")
    ax = axes_for(ax, _MAP_HEIGHT)
    across, up = ([*dict.fromkeys(text_of(row[key]) for row in mine)] for key in keys[:2])
    values = np.full((len(up), len(across)), math.nan)
    for row in mine:
        place = up.index(text_of(row[keys[1]])), across.index(text_of(row[keys[0]]))
        values[place] = row["estimate"]
    least = values[values > 0].min() if spans_decades(values) else None
    # On a scale of decades 0 has the colour of the least of the others.
    how: Any = {"norm": LogNorm()} if least else {}
    seen = values if least is None else np.where(values < least, least, values)
    image = ax.imshow(seen, origin="lower", aspect="auto", cmap="Blues", **how)
    label_map(ax, keys, across, up, unit)
    if max(values.shape) <= _MOST_ACROSS:
        _write_numbers(ax, image, values)
    bar = ax.figure.colorbar(image, ax=ax)
    bar.set_label(plain(with_unit(measure, subject, unit)), fontsize=9, color="#333333")
    bar.ax.tick_params(labelsize=8.5, colors="#444444")
    bar.outline.set_visible(False)
    return ax


def label_map(
    ax: Axes, keys: Sequence[str], across: Sequence[str], up: Sequence[str], unit: str
) -> None:
    """The two entries and their values beside a map; of many values some."""
    across_words, up_words = (_wrapped(of_entry(key, unit), _LABEL) for key in keys[:2])
    ax.set_xlabel(across_words, fontsize=9, color="#333333")
    ax.set_ylabel(up_words, fontsize=9, color="#333333")
    names_across, names_up = ([plain(words_of(name)) for name in one] for one in (across, up))
    every = [max(1, math.ceil(len(names) / _MOST_ACROSS)) for names in (across, up)]
    ax.set_xticks(range(0, len(across), every[0]), names_across[:: every[0]])
    ax.set_yticks(range(0, len(up), every[1]), names_up[:: every[1]])
    if max(map(len, names_across)) > 6:
        ax.tick_params(axis="x", rotation=30)
    ax.tick_params(labelsize=8.5, colors="#444444", length=0)
    ax.spines[:].set_visible(False)


def _write_numbers(
    ax: Axes, image: AxesImage, values: np.ndarray[Any, np.dtype[np.float64]]
) -> None:
    """Each value in its cell, light on dark; a frame around the least, around all of equal ones."""
    if np.isnan(values).all():
        return
    low = np.nanmin(values)
    few = values.shape[1] <= _FEW_ACROSS
    words = [f"{v:.3g}" if few or abs(v) >= 1.0 else f"{v:.2g}" for v in values.ravel().tolist()]
    shades = np.asarray(image.cmap(image.norm(np.asarray(image.get_array()))))
    letters = values.shape[1] * max(map(len, words))
    size = min(8.0, 8.0 * _LETTERS_ACROSS / letters)
    for ((row, column), value), word in zip(np.ndenumerate(values), words, strict=True):
        if math.isnan(value):
            continue
        ax.text(
            column,
            row,
            word,
            ha="center",
            va="center",
            fontsize=size,
            color=ink_on(shades[row, column]),
        )
    for row, column in np.argwhere(values == low).tolist():
        corner = (column - 0.48, row - 0.48)
        ax.add_patch(Rectangle(corner, 0.96, 0.96, fill=False, edgecolor="#c24a00", linewidth=2))


def heat_figure(sweep: SweepRows) -> Figure | None:
    """Maps of up to four measures that vary over the first two entries; None for a single entry.

    Of further entries the first value is shown, and the title says so.
    """
    keys, unit = sweep.keys, sweep.unit
    if len(keys) < 2:
        return None
    mine = of_first_values(sweep.rows, keys)
    seen = _estimates(mine)
    varying = [key for key in sweep.shown if len(seen.get(key, ())) > 1][:_MOST_MAPS]
    if not varying:
        return None
    figure, axes = _grid(len(varying), _MAP_WIDTH, _MAP_HEIGHT)
    for (measure, subject), ax in zip(varying, axes, strict=True):
        plot_heat_map(mine, measure, keys, ax, unit, subject)
    say_first_values(figure, sweep.rows, keys, unit)
    return figure


def of_first_values(rows: Sequence[Row], keys: Sequence[str]) -> list[Row]:
    """The rows that a map shows: those of the first value of every further entry."""
    first = [text_of(rows[0][key]) for key in keys[2:]]
    return [row for row in rows if [text_of(row[key]) for key in keys[2:]] == first]


def say_first_values(figure: Figure, rows: Sequence[Row], keys: Sequence[str], unit: str) -> None:
    """What the further entries are in a map, above it."""
    first = {key: words_of(text_of(rows[0][key])) for key in keys[2:]}
    fixed = [f"{of_entry(key, unit)}: {plain(value)}" for key, value in first.items()]
    if fixed:
        figure.suptitle(",\n".join(fixed), fontsize=9, color="#333333")
