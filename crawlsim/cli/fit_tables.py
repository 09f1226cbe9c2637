"""The table of the command `fit`: the fitted numbers with their intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import rich
from rich.markup import escape
from rich.table import Table

from crawlsim.cli.output import add_columns, number
from scenarios.text import shortened

if TYPE_CHECKING:
    from crawlsim.fitting import Fit
    from crawlsim.fitting.intervals import Parameter


_MOST_ROWS = 20
_LONGEST_NAME = 200
_ENDS = ("± SE", "95 % low", "high")


def fit_table(trace: str, found: Fit) -> Table:
    """The parameters, of many pages those with the largest rates."""
    from crawlsim.fitting.result import counted, unit_of

    unit = found.trace.time_unit
    title = f"{escape(trace)}: {found.section} from {counted(found.trace.rows, 'row')} of \
{found.kind}"
    if found.kind != "sizes":
        title += f"; time in {escape(unit)}s"
    table = Table(title=title, box=rich.box.SIMPLE, title_justify="left", caption_justify="left")
    left_out = (_crawl_rows if found.kind == "crawls" else _rows)(table, found)
    notes = [
        f"{key.replace('_', ' ')} {_plain(value)} {unit_of(key, unit)}".rstrip()
        for key, value in found.summary.items()
        if _is_plain(value)
    ]
    table.caption = escape("; ".join([*left_out, *notes]))
    return table


def _rows(table: Table, found: Fit) -> list[str]:
    """The parameters with their intervals, and what is not shown."""
    from crawlsim.fitting.result import unit_of

    add_columns(table, ["parameter", "of"], ["estimate", *_ENDS])
    add_columns(table, ["unit"])
    parameters = list(found.parameters)
    shown = parameters if len(parameters) <= _MOST_ROWS else _first(parameters, found.section)
    for each in shown:
        values = (each.estimate, each.standard_error, each.low, each.high)
        unit = escape(unit_of(each.name, found.trace.time_unit))
        table.add_row(each.name.replace("_", " "), _subject(each), *map(number, values), unit)
    return _more(len(shown), len(parameters), "row")


def _crawl_rows(table: Table, found: Fit) -> list[str]:
    """The rate of each page by all estimators, and what is not shown."""
    from crawlsim.fitting.result import unit_of

    add_columns(table, ["page"], ["change rate", *_ENDS, "bias-reduced", "naive"])
    add_columns(table, ["unit"])
    by_name: dict[str, dict[Any, Parameter]] = {}
    for each in found.parameters:
        by_name.setdefault(each.name, {})[each.subject] = each
    likely = list(by_name["change_rate"].values())
    shown = _first(likely, found.section)
    unit = escape(unit_of("change_rate", found.trace.time_unit))
    for each in shown:
        others = (by_name[name][each.subject] for name in ("bias_reduced_rate", "naive_rate"))
        values = (each.estimate, each.standard_error, each.low, each.high)
        table.add_row(
            _subject(each), *map(number, (*values, *(other.estimate for other in others))), unit
        )
    return _more(len(shown), len(likely), "page")


def _first(parameters: list[Parameter], section: str) -> list[Parameter]:
    """Some parameters; where there is one per page, those of the largest estimates."""
    if section == "pages" and len(parameters) > _MOST_ROWS:
        parameters = sorted(parameters, key=lambda each: -each.estimate)
    return parameters[:_MOST_ROWS]


def _more(shown: int, of: int, thing: str) -> list[str]:
    return [f"{shown} of {of} {thing}s (--json has all)"] if shown < of else []


def _subject(parameter: Parameter) -> str:
    """What it is about; of a long name its beginning and its end."""
    if parameter.subject is None:
        return ""
    return escape(shortened(str(parameter.subject), _LONGEST_NAME))


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float) or value is None


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number(value) if isinstance(value, float) or value is None else str(value)
