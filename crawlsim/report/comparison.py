"""The figure of a cross-check: every difference on one scale, that of its tolerance."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from matplotlib.axes import Axes

from analytic.crosscheck import Comparison
from crawlsim.report.drawing import VERDICT_COLOURS, axes_for, dress, legend_above, plain
from crawlsim.report.rows import name_of, rows_of

_MARKERS = {"agrees": "o", "disagrees": "X", "inconclusive": "s", "not judged": "d"}
_BOUNDS = ("lower bound", "upper bound")
_LEAST = 1.6
_MOST = 6.0
_MOST_ROWS = 24
_ERRORS = 2.0


def plot_comparison(comparisons: Iterable[Comparison], ax: Axes | None = None) -> Axes:
    """Difference of estimate and prediction, in tolerances; agreement lies between -1 and 1.

    Judged rows, each number once, bounds only where violated; above 24 rows the largest
    differences. Bars are two standard errors to each side; an arrow stands for a difference
    beyond the axis.

    Parameters
    ----------
    comparisons : iterable of Comparison
    ax : Axes, optional
        Where to draw; a new figure of the height needed otherwise.

    Raises
    ------
    ValueError
        If no row is a difference that has a scale.
    """
    every = _judged([row.comparison for row in rows_of(comparisons)])
    if not every:
        raise ValueError("there is no difference to draw")
    rows = _largest(every)
    ax = axes_for(ax, 0.9 + 0.23 * max(len(rows), 2))
    limit = _limit(rows)
    ax.axvspan(-1, 1, color="#eef1f4", lw=0, zorder=0)
    ax.axvline(0, color="#999999", lw=0.8, zorder=1)
    for verdict in _MARKERS:
        _draw(ax, [(n, row) for n, row in enumerate(rows) if row.verdict == verdict], limit)
    label = "(simulation − prediction) / tolerance"
    dress(ax, label if rows == every else f"{label}\n{len(rows)} largest of {len(every)}", "")
    # flush right: it may be longer than the axes where the names of the rows are long
    ax.set_xlabel(ax.get_xlabel(), loc="right")
    ax.grid(visible=False)
    ax.set_yticks(range(len(rows)), [plain(name_of(row.measure, row.subject)) for row in rows])
    ax.set_xlim(-limit, limit)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    legend_above(ax, 3)
    return ax


def is_drawable(row: Comparison) -> bool:
    """Whether a difference has a scale and is one: not that of a bound that holds."""
    is_difference = row.kind not in _BOUNDS or row.verdict == "disagrees"
    return is_difference and row.tolerance > 0 and math.isfinite(row.estimated)


def _judged(rows: Sequence[Comparison]) -> list[Comparison]:
    """The judged rows that can be drawn; where none is judged, all."""
    drawable = [row for row in rows if is_drawable(row)]
    return [row for row in drawable if row.verdict != "not judged"] or drawable


def _largest(rows: list[Comparison]) -> list[Comparison]:
    """Of many rows those that differ most, in their order."""
    by_size = sorted(range(len(rows)), key=lambda n: -abs(_difference(rows[n])))
    return [rows[n] for n in sorted(by_size[:_MOST_ROWS])]


def _difference(row: Comparison) -> float:
    """Estimate minus prediction, in tolerances."""
    return (row.estimated - row.predicted) / row.tolerance


def _limit(rows: Sequence[Comparison]) -> float:
    reach = [abs(_difference(row)) + _half_width(row) for row in rows]
    return min(_MOST, max([_LEAST, *(1.1 * each for each in reach)]))


def _half_width(row: Comparison) -> float:
    error = row.standard_error
    return _ERRORS * error / row.tolerance if math.isfinite(error) else 0.0


def _draw(ax: Axes, rows: Sequence[tuple[int, Comparison]], limit: float) -> None:
    """The rows of one verdict."""
    if not rows:
        return
    verdict = rows[0][1].verdict
    places = np.array([_difference(row) for _, row in rows])
    heights = np.array([n for n, _ in rows])
    inside = np.abs(places) <= 0.97 * limit
    ax.errorbar(
        places[inside],
        heights[inside],
        xerr=np.array([_half_width(row) for _, row in rows])[inside],
        fmt=_MARKERS[verdict],
        ms=5,
        lw=1.3,
        mew=0,
        color=VERDICT_COLOURS[verdict],
        label=verdict,
    )
    for place, height in zip(places[~inside], heights[~inside], strict=True):
        side = math.copysign(1.0, place)
        colour = VERDICT_COLOURS[verdict]
        ax.plot([0.97 * side * limit], [height], marker=">" if side > 0 else "<", color=colour)
        ax.annotate(
            f"{place:+.2g}".replace("-", "−"),
            (0.92 * side * limit, height),
            ha="right" if side > 0 else "left",
            va="center",
            fontsize=8,
            color=colour,
        )
