"""A measure over two varied entries of a sweep, as a map of colours with the numbers in it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from crawlsim.report.curves import text_of
from crawlsim.report.drawing import axes_for, plain
from crawlsim.report.rows import name_of, with_unit
from scenarios.measures import Subject

_MOST_ACROSS = 16
"""Maps with more values to a side are drawn without numbers in their cells."""

_MOST_PANELS = 4
_WIDTH = 4.8
_HEIGHT = 3.4
_DARK = 0.55

Row = Mapping[str, Any]
Key = tuple[str, Subject]


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
    ax = axes_for(ax, _HEIGHT)
    across, up = ([*dict.fromkeys(text_of(row[key]) for row in mine)] for key in keys[:2])
    values = np.full((len(up), len(across)), math.nan)
    for row in mine:
        values[up.index(text_of(row[keys[1]])), across.index(text_of(row[keys[0]]))] = row[
            "estimate"
        ]
    image = ax.imshow(values, origin="lower", aspect="auto", cmap="Blues")
    _label(ax, keys, across, up)
    if max(values.shape) <= _MOST_ACROSS:
        _write_numbers(ax, values)
    bar = ax.figure.colorbar(image, ax=ax)
    bar.set_label(plain(with_unit(measure, subject, unit)), fontsize=9, color="#333333")
    bar.ax.tick_params(labelsize=8.5, colors="#444444")
    bar.outline.set_visible(False)
    return ax


def _label(ax: Axes, keys: Sequence[str], across: Sequence[str], up: Sequence[str]) -> None:
    ax.set_xlabel(plain(keys[0]), fontsize=9, color="#333333")
    ax.set_ylabel(plain(keys[1]), fontsize=9, color="#333333")
    every = [max(1, math.ceil(len(names) / _MOST_ACROSS)) for names in (across, up)]
    ax.set_xticks(range(0, len(across), every[0]), [plain(name) for name in across[:: every[0]]])
    ax.set_yticks(range(0, len(up), every[1]), [plain(name) for name in up[:: every[1]]])
    if max(map(len, across)) > 6:
        ax.tick_params(axis="x", rotation=30)
    ax.tick_params(labelsize=8.5, colors="#444444", length=0)
    ax.spines[:].set_visible(False)


def _write_numbers(ax: Axes, values: np.ndarray[Any, np.dtype[np.float64]]) -> None:
    """Each value in its cell, light on dark; a frame around the least, around all of equal ones."""
    if np.isnan(values).all():
        return
    low = np.nanmin(values)
    high = np.nanmax(values)
    size = 8 if values.shape[1] <= 8 else 6
    for (row, column), value in np.ndenumerate(values):
        if math.isnan(value):
            continue
        is_dark = high > low and (value - low) / (high - low) > _DARK
        ax.text(
            column,
            row,
            f"{value:.3g}",
            ha="center",
            va="center",
            fontsize=size,
            color="white" if is_dark else "#1d2329",
        )
    frame = {"fill": False, "edgecolor": "#c24a00", "linewidth": 2}
    for row, column in np.argwhere(values == low):
        ax.add_patch(_rectangle(int(column), int(row), frame))


def _rectangle(column: int, row: int, looks: Mapping[str, Any]) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((column - 0.48, row - 0.48), 0.96, 0.96, **looks)


def heat_figure(
    rows: Sequence[Row], shown: Sequence[Key], keys: Sequence[str], unit: str
) -> Figure | None:
    """Maps of up to four measures that vary over the first two entries; None for a single entry.

    Of further entries the first value is shown, and the title says so.

    Parameters
    ----------
    rows, shown, keys, unit
        As for `crawlsim.report.sweeps.sweep_figure`.
    """
    if len(keys) < 2:
        return None
    first = {key: text_of(rows[0][key]) for key in keys[2:]}
    mine = [row for row in rows if all(text_of(row[key]) == v for key, v in first.items())]
    varying = [key for key in shown if len(_values(mine, key)) > 1][:_MOST_PANELS]
    if not varying:
        return None
    across = min(2, len(varying))
    down = math.ceil(len(varying) / across)
    figure = Figure(figsize=(_WIDTH * across, _HEIGHT * down), layout="constrained")
    for index, (measure, subject) in enumerate(varying):
        ax = figure.add_subplot(down, across, index + 1)
        plot_heat_map(mine, measure, keys, ax, unit, subject)
    if first:
        figure.suptitle(_fixed(first), fontsize=9, color="#333333")
    figure.set_facecolor("white")
    return figure


def _fixed(entries: Mapping[str, str]) -> str:
    """What the further entries are, a line for each: of a long key or value the end is cut off."""
    return "at " + ",\n".join(f"{plain(key)} = {plain(value)}" for key, value in entries.items())


def _values(rows: Sequence[Row], key: Key) -> set[float]:
    return {
        row["estimate"]
        for row in rows
        if (row["measure"], row["subject"]) == key and math.isfinite(row["estimate"])
    }
