"""The figure of pages that come and go: how many are fresh, how many vanished."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from matplotlib.axes import Axes

from analytic.index.formula import Prediction
from crawlsim.report.drawing import THEORY, legend_above, panel
from scenarios import Results

_GOOD = "#00805e"
_FAIR = "#7fbfae"
_POOR = "#d9d3c5"
_BAD = "#c24a00"
_PLAIN = "#c9d8e6"
_HEIGHT = 0.6


class _Bar(NamedTuple):
    """A whole, the measures at which its parts end, and the parts from left to right."""

    whole: str
    ends: tuple[str, ...]
    parts: tuple[tuple[str, str], ...]


_BARS = (
    _Bar(
        "pages that exist",
        ("fresh_share", "indexed_share", "known_share"),
        (
            ("fresh copy", _GOOD),
            ("copy out of date", _FAIR),
            ("known, not yet fetched", _POOR),
            ("not yet known", "#ffffff"),
        ),
    ),
    _Bar("pages on the list", ("gone_share",), (("vanished", _BAD), ("existing", _PLAIN))),
    _Bar("accesses", ("wasted_share",), (("vanished", _BAD), ("existing", _PLAIN))),
)


def is_measured(results: Results) -> bool:
    """Whether every share has a value: pages existed, were known and were accessed."""
    return all(math.isfinite(_estimate(results, measure)) for bar in _BARS for measure in bar.ends)


def plot_page_set(
    results: Results, predictions: Iterable[Prediction] = (), ax: Axes | None = None
) -> Axes:
    """Shares of the existing pages, of the listed ones and of the accesses, as three bars.

    Parameters
    ----------
    results : Results
        Of a scenario with [page_set]; the bars are its estimates.
    predictions : iterable of Prediction
        The exact ones are drawn as lines.
    ax : Axes, optional
        Where to draw; a new figure otherwise.

    Raises
    ------
    ValueError
        If the results are of another kind of system.
    """
    if results.rows.find("fresh_share") is None:
        raise ValueError(f"{results.scenario} has no [page_set] to draw")
    exact = {each.measure: each.value for each in predictions if each.kind == "exact"}
    ax = panel(ax, "share", "", 2.4)
    labelled: set[str] = set()
    for row, bar in enumerate(reversed(_BARS)):
        begin = 0.0
        for measure, (name, colour) in zip((*bar.ends, None), bar.parts, strict=True):
            end = 1.0 if measure is None else _estimate(results, measure)
            label = None if name in labelled else name
            labelled.add(name)
            ax.barh(
                row, end - begin, _HEIGHT, begin, color=colour, label=label, ec="#8a8f98", lw=0.5
            )
            begin = end
            if measure in exact:
                half = _HEIGHT / 2 + 0.08
                ax.vlines(exact[measure], row - half, row + half, color=THEORY, lw=1.4)
    if exact.keys() & {measure for bar in _BARS for measure in bar.ends}:
        ax.plot([], [], "|", color=THEORY, ms=10, mew=1.4, label="theory")
    ax.set_yticks(range(len(_BARS)), [bar.whole for bar in reversed(_BARS)])
    ax.set_xlim(0.0, 1.0)
    legend_above(ax)
    return ax


def _estimate(results: Results, measure: str) -> float:
    return results.find(measure).estimate
