"""The figure of an order of servers or pages: who is visited in which slot."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, MaxNLocator

from analytic.routing.search import WordSearch
from crawlsim.report.drawing import THEORY, axes_for, dress, legend_above

_COLOURS = ("#0072b2", "#c24a00", "#00805e", "#b07800", "#8a4a8f", "#5a6270")
_GREY = "#8a8f98"
_HEIGHT = 3.4
_MOST_SLOTS = 60
_MARK = 5.0
_ROOM = 150.0
"""Size of a mark, and of all rows together, in points."""


def plot_word(search: WordSearch, ax: Axes | None = None) -> Axes:
    """Two periods, or the first slots, of the best order: who is visited in which slot.

    Parameters
    ----------
    search : WordSearch
        Of `analytic.optimize(scenario, "routing").search` or `"template"`.
    ax : Axes, optional
        Where to draw; a new figure otherwise.

    Notes
    -----
    The line marks the end of the first period. At most 60 slots are drawn, and the title says so;
    what the order visits later only has a triangle at the right edge, what it never visits a cross
    at the left one.
    """
    ax = axes_for(ax, _HEIGHT)
    subject = search.costs.subject
    count = search.costs.count
    word = np.array(search.word)
    shown = np.tile(word, 2)[:_MOST_SLOTS]
    dress(ax, _slots_of(len(word), len(shown)), subject)
    size = min(_MARK, max(_ROOM / count, 1.0))
    for each in np.unique(shown).tolist():
        slots = np.flatnonzero(shown == each)
        colour = _COLOURS[each % len(_COLOURS)]
        ax.plot(slots, np.full(len(slots), each), "s", color=colour, ms=size)
    if len(word) < len(shown):
        ax.axvline(len(word) - 0.5, color=THEORY, lw=0.9, ls="--")
    later = np.setdiff1d(word, shown)
    never = np.setdiff1d(np.arange(count), word)
    _at_the_edge(ax, later, len(shown), ">", size, f"first visit after slot {len(shown) - 1}")
    _at_the_edge(ax, never, -1, "x", size, f"never {_VISITED[subject]}")
    above = None
    if later.size or never.size:
        legend_above(ax)
        above = 1.09
    ax.set_title(_title(search, len(shown)), fontsize=9, loc="left", color="#333333", y=above)
    ax.xaxis.set_major_locator(FixedLocator(_slot_ticks(len(shown))))
    ax.yaxis.set_major_locator(FixedLocator(_ticks(count)))
    ax.set_xlim(-1.8 if never.size else -0.9, len(shown) + 0.8)
    ax.set_ylim(count - 0.5, -0.5)
    return ax


_VISITED = {"server": "used", "page": "visited"}


def _slots_of(length: int, shown: int) -> str:
    return f"slot (first {shown} of {length} slots)" if shown < length else "slot"


def _title(search: WordSearch, shown: int) -> str:
    length = len(search.word)
    part = f", first {shown} slots drawn" if shown < length else ""
    proof = "no order costs less" if search.proved else f"at most {search.gap:.3g} % above the best"
    return f"period of {length}{part}\ncost {search.cost:.6g}: {proof}"


def _at_the_edge(
    ax: Axes, rows: np.ndarray, slot: int, marker: str, size: float, label: str
) -> None:
    """A grey mark for each row beside the drawn slots, and what it means in the legend."""
    if rows.size:
        ax.plot(np.full(len(rows), slot), rows, marker, color=_GREY, ms=size, label=label)


def _slot_ticks(shown: int) -> list[float]:
    """Whole numbers, none left of the first slot or right of the last one."""
    inner = list(MaxNLocator(9, integer=True).tick_values(0, max(shown - 1, 1)))
    return [each for each in inner if 0 <= each < shown]


def _ticks(count: int) -> list[float]:
    """Whole numbers from the first row to the last one, both with a tick."""
    last = count - 1
    inner = list(MaxNLocator(9, integer=True).tick_values(0, max(last, 1)))
    step = inner[1] - inner[0]
    return [*(each for each in inner if 0 <= each <= last - step / 2), last]
