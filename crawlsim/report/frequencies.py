"""The figure of the best frequencies: how often each page is visited, by how often it changes."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from analytic.page_refresh import FrequencySearch
from crawlsim.report.drawing import (
    MANY_POINTS,
    SIMULATED,
    THEORY,
    axes_for,
    dress,
    legend_above,
    plain,
)

_HEIGHT = 3.2
_ROOM = 1.25
_NONE = "#c24a00"


def plot_frequencies(search: FrequencySearch, ax: Axes | None = None) -> Axes:
    """Frequency against change rate, page by page; pages that get none are marked below.

    Parameters
    ----------
    search : FrequencySearch
        Of `analytic.optimize(scenario, "frequencies").search`.
    ax : Axes, optional
        Where to draw; a new figure otherwise.

    Notes
    -----
    The line is what visits in proportion to change rates would be; hollow squares are the
    frequencies that would be best without a buffer, where pages go through one. Both scales are
    logarithmic; pages that never change have no place on them, and the legend says how many there
    are.
    """
    ax = axes_for(ax, _HEIGHT)
    dress(ax, f"change rate (per {plain(search.time_unit)})", "share of the accesses")
    changes = search.change_rates > 0
    seen = search.shares > 0
    visited = changes & seen
    left_out = changes & ~seen
    ax.set_xscale("log")
    ax.set_yscale("log")
    style: dict[str, Any] = {"ls": "none", "rasterized": len(seen) > MANY_POINTS}
    label = _counted("page", int(visited.sum()))
    ax.plot(
        search.change_rates[visited],
        search.shares[visited],
        "o",
        color=SIMULATED,
        ms=3.5,
        label=label,
        **style,
    )
    if search.alone is not None:
        _without_buffer(ax, search.change_rates[changes], search.alone[changes])
    if left_out.any():
        label = f"{_counted('page', int(left_out.sum()))} without visits"
        where = np.full(int(left_out.sum()), 0.02)
        ax.plot(
            search.change_rates[left_out],
            where,
            "x",
            color=_NONE,
            ms=4.5,
            label=label,
            transform=ax.get_xaxis_transform(),
            **style,
        )
    _proportional(ax, search.change_rates[changes])
    if not changes.all():
        constant = _counted("page", int((~changes).sum()))
        ax.plot([], [], ls="none", label=f"{constant} without changes")
    legend_above(ax)
    return ax


def _without_buffer(ax: Axes, rates: NDArray[Any], shares: NDArray[Any]) -> None:
    """The frequencies that are best where there is no buffer."""
    some = shares > 0
    style: dict[str, Any] = {"ls": "none", "rasterized": len(some) > MANY_POINTS}
    label = "best without a buffer"
    ax.plot(rates[some], shares[some], "s", color=_NONE, mfc="none", ms=4.5, label=label, **style)


def _proportional(ax: Axes, rates: NDArray[Any]) -> None:
    """What shares in proportion to these change rates would be."""
    if not len(rates):
        return
    ends = np.array([rates.min() / _ROOM, rates.max() * _ROOM])
    ax.plot(ends, ends / rates.sum(), "--", color=THEORY, lw=0.9, label="as the change rates")


def _counted(what: str, number: int) -> str:
    return f"{number:,} {what}" + "s" * (number != 1)
