"""The figure of a distribution: the exact one as a line, the simulated one as points."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from scipy.special import stdtrit

from analytic.law_check import LAW_TOLERANCE, LawComparison
from crawlsim.report.drawing import SIMULATED, THEORY, axes_for, dress, legend_above, plain
from crawlsim.report.rows import name_of
from scenarios.arrays import Array

_HEIGHT = 3.6


def plot_law(row: LawComparison, time_unit: str, ax: Axes | None = None) -> Axes:
    """A distribution function, and in a strip above it the difference in percentage points.

    Parameters
    ----------
    row : LawComparison
    time_unit : str
        Of the scenario, for the label of the axis.
    ax : Axes, optional
        Where to draw; a new figure otherwise.

    Raises
    ------
    ValueError
        If there is no exact distribution to draw.
    """
    if not row.points:
        raise ValueError(f"there is no distribution to draw: {row.reason}")
    ax = axes_for(ax, _HEIGHT)
    at = np.array([point.at for point in row.points])
    predicted = np.array([point.predicted for point in row.points])
    seen = np.array([point.estimated for point in row.points])
    quantile = float(stdtrit(row.replications - 1, 0.975))
    half = quantile * np.array([point.standard_error for point in row.points])
    is_level = row.law.measure == "level_at_arrival"
    style: Any = {"drawstyle": "steps-post"} if is_level else {}
    ax.plot(at, predicted, color=THEORY, lw=1.2, label="theory", **style)
    _draw_points(ax, at, seen, half)
    unit = "pages" if is_level else plain(time_unit)
    name = name_of(row.law.measure, row.law.subject)
    dress(ax, f"{name} ({unit})", f"share of the {row.law.counted}")
    ax.set_ylim(0, 1.65)
    ax.set_yticks([0, 0.25, 0.5, 0.75, 1])
    ax.yaxis.label.set_y(0.32)
    ax.spines["left"].set_bounds(0, 1)
    _draw_differences(
        ax.inset_axes((0.0, 0.68, 1.0, 0.32)), at, 100 * (seen - predicted), 100 * half
    )
    legend_above(ax)
    return ax


def _draw_points(ax: Axes, at: Array, values: Array, half: Array) -> None:
    how: Any = {"fmt": "o", "ms": 3.5, "lw": 1.0, "capsize": 2, "mew": 0, "color": SIMULATED}
    ax.errorbar(at, values, half, label="simulation, 95 % interval", **how)


def _draw_differences(strip: Axes, at: Array, difference: Array, half: Array) -> None:
    """In percentage points, with the band within which it counts as agreement."""
    dress(strip, "", "diff. (% points)")
    tolerance = 100 * LAW_TOLERANCE
    strip.axhspan(-tolerance, tolerance, color="#eef1f4", lw=0, zorder=0)
    strip.axhline(0, color=THEORY, lw=0.8)
    _draw_points(strip, at, difference, half)
    reach = max(1.3 * tolerance, 1.1 * float(np.nanmax(np.abs(difference) + half)))
    strip.set_ylim(-reach, reach)
    strip.tick_params(labelbottom=False)
