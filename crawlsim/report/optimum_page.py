"""The report of a search for the best decision: one page that needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from crawlsim.report.drawing import Drawing, svg_text
from crawlsim.report.pages import beginning, rendered
from scenarios import Scenario, dumps


def optimum_page(
    decided: Scenario,
    folder: Path,
    title: str,
    cost: str,
    columns: Sequence[str],
    rows: Sequence[tuple[Sequence[str], bool]],
    notes: Sequence[str],
    drawing: Drawing | None,
) -> str:
    """The decision with its cost, its figure, the alternatives, and the file that it makes.

    Parameters
    ----------
    decided : Scenario
        With the decision in place.
    folder : Path
        Where the page will lie; paths in the scenario file count from it.
    title, cost : str
        The decision, and what it costs, in words.
    columns : sequence of str
    rows : sequence of (cells, whether it is the decision)
        The alternatives.
    notes : sequence of str
    drawing : Drawing or None

    Returns
    -------
    str
        HTML: no script, nothing fetched, the same text every time.
    """
    return rendered(
        "optimum.html",
        {},
        scenario=decided,
        title=title,
        cost=cost,
        columns=columns,
        rows=rows,
        notes=notes,
        drawing=drawing and (Markup(svg_text(drawing.ax, "optimum")), drawing.caption),
        file=beginning(dumps(decided, folder)),
    )
