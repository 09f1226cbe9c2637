"""The figure of two designs: by how much B is above or below A, measure for measure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.axes import Axes

from crawlsim.report.drawing import COLOURS, axes_for

_ROW = 0.32
_AROUND = 1.0
"""Inches of a row, and of all around the rows."""

_NEITHER = "#8a8f98"
_OF = {"A": COLOURS[1], "B": COLOURS[0], "": _NEITHER}
_MARKERS = {"A": "s", "B": "o", "": "D"}
"""Of the design that is better; markers tell them apart without colours."""

_WORDS = {"B": "B is better", "A": "A is better", "": "not told apart"}


class Relative(NamedTuple):
    """A difference in percent.

    Attributes
    ----------
    name : str
        Of its measure.
    difference, half : float
        That of B from A, and half of its interval, in percent of A.
    better : str
        The design that is better by it: "A", "B" or "".
    """

    name: str
    difference: float
    half: float
    better: str


def plot_designs(
    rows: Sequence[Relative], a: str = "A", b: str = "B", ax: Axes | None = None
) -> Axes:
    """Differences of B from A with their 95 % intervals, relative to A.

    Parameters
    ----------
    rows : sequence of Relative
    a, b : str
        What the designs are called.
    ax : Axes, optional
        Where to draw; a new figure otherwise.
    """
    axes = axes_for(ax, _AROUND + _ROW * max(len(rows), 2))
    for place, row in enumerate(rows):
        first = row.better not in {each.better for each in rows[:place]}
        axes.errorbar(
            row.difference,
            place,
            xerr=row.half,
            fmt=_MARKERS[row.better],
            color=_OF[row.better],
            markersize=4.5,
            capsize=2.5,
            label=_WORDS[row.better] if first else None,
        )
    axes.axvline(0, color="#333333", linewidth=0.8)
    axes.set_yticks(range(len(rows)), [row.name for row in rows])
    axes.set_ylim(max(len(rows), 1) - 0.5, -0.5)
    axes.set_xlabel(f"{b} (B) against {a} (A), % of A")
    if rows:
        axes.legend(fontsize=8, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3)
    return axes
