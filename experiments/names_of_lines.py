"""Names at the ends of the lines of a figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

_POINTS = 72.0
_LINE_OF_NAMES = 10.0
"""Points of an inch, and of a line of names."""


def name_ends(ax: Axes, ends: Sequence[tuple[float, float, str]]) -> None:
    """Names to the right of the ends of lines, one below the other where these nearly meet.

    Parameters
    ----------
    ax : Axes
        With its limits and its size.
    ends : sequence of (x, y, name)
    """
    figure = ax.figure
    assert isinstance(figure, Figure)
    figure.draw_without_rendering()  # the layout says how high the axes are
    room = figure.dpi / _POINTS * _LINE_OF_NAMES
    heights = [float(ax.transData.transform((x, y))[1]) for x, y, _ in ends]
    order = sorted(range(len(ends)), key=heights.__getitem__)
    places = apart([heights[n] for n in order], room)
    for n, place in zip(order, places, strict=True):
        x, y, name = ends[n]
        shift = (place - heights[n]) * _POINTS / figure.dpi
        how: Any = {"textcoords": "offset points", "fontsize": 8, "va": "center"}
        ax.annotate(name, (x, y), (6, shift), **how)


def apart(heights: Sequence[float], least: float) -> list[float]:
    """The heights, from below, moved as little as it takes to be so far from one another."""
    blocks: list[list[float]] = []  # of heights less what stands below them
    for n, height in enumerate(heights):
        blocks.append([height - n * least])
        while len(blocks) > 1 and np.mean(blocks[-2]) > np.mean(blocks[-1]):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    means = [float(np.mean(block)) for block in blocks for _ in block]
    return [mean + n * least for n, mean in enumerate(means)]
