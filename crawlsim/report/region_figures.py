"""Regions of decisions: over two varied entries, which decision is the best one."""

from __future__ import annotations

import math
import re
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from crawlsim.report.drawing import axes_for, ink_on
from crawlsim.report.sweep_figures import (
    label_map,
    of_first_values,
    say_first_values,
    text_of,
)

_WIDTH = 6.4
_HEIGHT = 3.4
_LINE = 0.19
_LETTERS = 88
"""Inches of a line of the legend, and letters on it."""

_MOST_NAMED = 12
"""Decisions in the legend; of more, those of the most cells."""

_MOST_ACROSS = 24
"""Maps with more cells to a side have no marks in them."""

_NUMBER = re.compile(r"-?\d+")
_LIGHT, _DARK = 0.12, 0.92


def distinct_decisions(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The decisions that there are, in the order of the numbers in them."""
    decisions = {row["decision"] for row in rows if row.get("decision")}
    return sorted(decisions, key=lambda each: ([int(n) for n in _NUMBER.findall(each)], each))


def numbered_decisions(rows: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> list[str]:
    """What the numbers in the map of a sweep stand for, in their order; none where there is no map.

    Parameters
    ----------
    rows : sequence of mapping
        Tidy rows of a sweep.
    keys : sequence of str
        The varied entries.
    """
    found = distinct_decisions(of_first_values(rows, keys)) if len(keys) > 1 else []
    return [] if len(found) < 2 or _are_numbers(found) else found


def plot_regions(
    rows: Sequence[Mapping[str, Any]],
    keys: Sequence[str],
    ax: Axes | None = None,
    unit: str = "time unit",
) -> Axes:
    """Which decision is best over the first two varied entries, a colour for each.

    Parameters
    ----------
    rows : sequence of mapping
        Tidy rows of `crawlsim sweep` with a column `decision`, those of one value of every further
        entry.
    keys : sequence of str
        The two entries: across, then up.
    ax : Axes, optional
        Where to draw; a new figure otherwise.
    unit : str
        Unit of time, for the labels.

    Raises
    ------
    ValueError
        If nothing was decided.

    Notes
    -----
    A decision that is one number stands in its cells; others are numbered, and a legend explains
    them as far as a line holds them.
    """
    found = distinct_decisions(rows)
    if not found:
        raise ValueError("nothing was decided: no entry of the scenario is optimal")
    across, up = ([*dict.fromkeys(text_of(row[key]) for row in rows)] for key in keys[:2])
    cells = np.full((len(up), len(across)), np.nan)
    for row in rows:
        place = up.index(text_of(row[keys[1]])), across.index(text_of(row[keys[0]]))
        cells[place] = found.index(row["decision"]) if row.get("decision") else np.nan
    ax = axes_for(ax, _HEIGHT)
    shades = colormaps["viridis"](np.linspace(_DARK, _LIGHT, len(found)))
    ax.imshow(
        np.ma.masked_invalid(cells),
        origin="lower",
        aspect="auto",
        cmap=ListedColormap(shades),
        vmin=-0.5,
        vmax=len(found) - 0.5,
    )
    marks = _marks(found)
    if max(cells.shape) <= _MOST_ACROSS:
        for (row_number, column), value in np.ndenumerate(cells):
            if not math.isnan(value):
                ink = ink_on(shades[int(value)])
                mark = marks[int(value)]
                ax.text(column, row_number, mark, ha="center", va="center", fontsize=8, color=ink)
    label_map(ax, keys, across, up, unit)
    _explain(ax, found, shades, Counter(cells[~np.isnan(cells)].astype(int).tolist()))
    return ax


def _marks(found: Sequence[str]) -> list[str]:
    """What stands in the cells: the number that is decided, or that of the decision."""
    if _are_numbers(found):
        return [_value_of(each) for each in found]
    return [str(place + 1) for place in range(len(found))]


def _value_of(decision: str) -> str:
    return decision.partition(" = ")[2]


def _are_numbers(found: Sequence[str]) -> bool:
    """Whether every decision is a single number."""
    return all(_value_of(each).isdecimal() for each in found)


def _explain(ax: Axes, found: Sequence[str], shades: Any, counts: Counter[int]) -> None:
    """What the marks mean: in a title, or a legend with the decisions of the most cells."""
    if _are_numbers(found):
        name = found[0].partition(" = ")[0]
        ax.set_title(f"best {name}", fontsize=9, loc="left", color="#333333")
        return
    named = sorted(place for place, _ in counts.most_common(_MOST_NAMED))
    words = {place: _shortened(found[place]) for place in named}
    if len(set(words.values())) < len(words):
        title = f"{len(found)} different decisions, numbered"
        ax.set_title(title, fontsize=9, loc="left", color="#333333")
        return
    handles = [
        Patch(color=shades[place], label=f"{place + 1}: {words[place]}".replace("$", r"\$"))
        for place in named
    ]
    if len(counts) > len(named):
        handles.append(Patch(color="none", label=f"and {len(counts) - len(named)} more"))
    ax.figure.legend(handles=handles, loc="outside lower left", frameon=False, fontsize=8)


def _shortened(text: str) -> str:
    """The beginning of a decision, as much as fits on a line."""
    return textwrap.shorten(text, _LETTERS, placeholder=" …")


def region_figure(
    rows: Sequence[Mapping[str, Any]], keys: Sequence[str], unit: str = "time unit"
) -> Figure | None:
    """The regions of a sweep; None for a single entry, and where nothing or one thing is decided.

    Of further entries the first value is shown, and the title says so.

    Parameters
    ----------
    rows : sequence of mapping
        Tidy rows of a sweep.
    keys : sequence of str
        The varied entries.
    unit : str
        Unit of time, for the labels.
    """
    if len(keys) < 2:
        return None
    mine = of_first_values(rows, keys)
    found = distinct_decisions(mine)
    if len(found) < 2:
        return None
    lines = 0 if _are_numbers(found) else min(len(found), _MOST_NAMED + 1)
    size = (_WIDTH, _HEIGHT + _LINE * lines)
    figure = Figure(figsize=size, layout="constrained", facecolor="white")
    plot_regions(mine, keys, figure.add_subplot(), unit)
    say_first_values(figure, rows, keys, unit)
    return figure
