"""The report of a sweep: one page that needs nothing else."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from crawlsim.report.curves import text_of
from crawlsim.report.drawing import svg_text
from crawlsim.report.heat import heat_figure
from crawlsim.report.page import Picture, shortened
from crawlsim.report.rendering import rendered
from crawlsim.report.rows import name_of
from crawlsim.report.sweeps import sweep_figure
from crawlsim.report.words import number
from scenarios import Scenario, dumps
from scenarios.measures import Subject

_MOST_CELLS = 300

Row = Mapping[str, Any]
Key = tuple[str, Subject]


def sweep_html(
    scenario: Scenario,
    rows: Sequence[Row],
    shown: Sequence[Key],
    keys: Sequence[str],
    *,
    best: str | None,
    facts: Mapping[str, Any],
    folder: str,
) -> str:
    """The report as one HTML page; the same text for the same input.

    Parameters
    ----------
    scenario : Scenario
        Before anything was varied.
    rows : sequence of mapping
        Tidy rows of the sweep.
    shown : sequence of (measure, subject)
        What is drawn and tabulated, the most important first.
    keys : sequence of str
        The varied entries.
    best : str or None
        The best cell in words, where one was asked for.
    facts : mapping name -> value
        What else is needed to repeat it.
    folder : str
        Where the page will lie; paths in the scenario file count from it.
    """
    cells = _cells(rows, shown, keys)
    return rendered(
        "sweep.html",
        {"number": number},
        scenario=scenario,
        keys=keys,
        measures=[name_of(*key) for key in shown],
        cells=cells[:_MOST_CELLS],
        left_out=max(len(cells) - _MOST_CELLS, 0),
        count=len(cells),
        best=best,
        facts=facts,
        pictures=_pictures(rows, shown, keys, scenario.time_unit),
        file=shortened(dumps(scenario, folder)),
    )


def _pictures(
    rows: Sequence[Row], shown: Sequence[Key], keys: Sequence[str], unit: str
) -> list[Picture]:
    lines = sweep_figure(rows, shown, keys, unit)
    caption = (
        f"What is shown against {keys[0]}: formulas as lines, simulation as points with 95 % "
        "intervals."
    )
    pictures = [Picture(Markup(svg_text(lines.axes[0], "lines")), caption)]
    if (heat := heat_figure(rows, shown, keys, unit)) is not None:
        caption = f"The estimates over {keys[0]} and {keys[1]}; the least of each map is framed."
        pictures.append(Picture(Markup(svg_text(heat.axes[0], "heat")), caption))
    return pictures


def _cells(
    rows: Sequence[Row], shown: Sequence[Key], keys: Sequence[str]
) -> list[tuple[list[str], list[tuple[float, float, float | None]]]]:
    """Of each cell the varied values, and estimate, half-width and prediction of what is shown."""
    cells: dict[tuple[str, ...], dict[Key, tuple[float, float, float | None]]] = {}
    for row in rows:
        varied = tuple(text_of(row[key]) for key in keys)
        half = row["high"] - row["estimate"]
        found = (row["estimate"], half, row["predicted"])
        cells.setdefault(varied, {})[row["measure"], row["subject"]] = found
    nothing = (math.nan, math.nan, None)
    return [
        (list(varied), [found.get(key, nothing) for key in shown])
        for varied, found in cells.items()
    ]
