"""The report of a fit: one page that needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from markupsafe import Markup

from crawlsim.fitting.intervals import Parameter
from crawlsim.fitting.result import Fit, counted, unit_of
from crawlsim.report.drawing import svg_text
from crawlsim.report.fit_figures import figures_of
from crawlsim.report.rendering import rendered
from crawlsim.report.words import number
from scenarios import Scenario, dumps

_MOST_ROWS = 300
_MOST_LINES = 300
_MOST_UNFOLDED = 50


def fit_page(found: Fit, scenario: Scenario, trace: str) -> str:
    """The report of a fit as one HTML page: no script, nothing fetched, the same text every time.

    Parameters
    ----------
    found : Fit
    scenario : Scenario
        With the fitted part in place.
    trace : str
        Name of the file.
    """
    unit = partial(unit_of, time_unit=found.trace.time_unit)
    return rendered(
        "fit.html",
        {"number": _number, "counted": counted, "unit": unit},
        fit=found,
        scenario=scenario,
        trace=trace,
        pictures=[
            (Markup(svg_text(plot(found, None), f"figure-{place}")), _caption(plot.__doc__))
            for place, plot in enumerate(figures_of(found))
        ],
        summary=_flat(found.summary, found.trace.time_unit),
        candidates=found.summary.get("candidates", ()),
        file=_shortened(dumps(scenario)),
        rows=_ordered(found),
        folded=len(found.parameters) > _MOST_UNFOLDED,
        most_rows=_MOST_ROWS,
    )


def _ordered(found: Fit) -> list[Parameter]:
    """The parameters; of pages those of each name with the largest estimates first."""
    if found.section != "pages":
        return list(found.parameters)
    names = list(dict.fromkeys(each.name for each in found.parameters))
    return sorted(found.parameters, key=lambda each: (names.index(each.name), -each.estimate))


def _caption(docstring: str | None) -> str:
    return (docstring or "").partition("\n")[0]


def _number(value: float | None) -> str:
    """A number for people; a dash where there is none, an infinite one as such."""
    if value is not None and value == float("inf"):
        return "∞"
    return number(value)


def _flat(summary: Mapping[str, Any], time_unit: str) -> list[tuple[str, str]]:
    """The plain entries of a summary in words, with their units."""
    return [
        (name.replace("_", " "), f"{_plain(value)} {unit_of(name, time_unit)}".rstrip())
        for name, value in summary.items()
        if isinstance(value, str | int | float)
    ]


def _plain(value: str | float) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number(value) if isinstance(value, float) else str(value)


def _shortened(text: str) -> str:
    lines = text.splitlines()
    more = len(lines) - _MOST_LINES
    return text if more <= 0 else "\n".join([*lines[:_MOST_LINES], f"… {more} more lines"])
