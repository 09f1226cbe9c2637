"""What was watched, to keep: a page that replays it without a server, and the estimates as CSV."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import resources
from typing import Any

from markupsafe import Markup, escape

from analytic.index.formula import Prediction
from analytic.index.names import shown
from crawlsim.cli.output import csv_chunks
from crawlsim.cli.tables import json_text
from crawlsim.report.pages import rendered
from crawlsim.report.words import name_of, number

_PAGE = resources.files("crawlsim.explore") / "page"

_MODULES = ("numbers.js", "svg.js", "course.js", "guess.js")
"""What the live page draws and asks with."""

_PLAYED = ("estimate", "low", "high", "always_low", "always_high", "verdict")

_COLUMNS = (
    *("measure", "subject", "estimate", "low", "high", "always_low", "always_high"),
    *("theory", "verdict"),
)


def replay(
    lesson: Mapping[str, Any],
    formula: Mapping[str, Any] | None,
    events: Sequence[Mapping[str, Any]],
    files: Mapping[str, str],
    holds: Prediction | None,
) -> str:
    """The page: no request, nothing fetched, the same text for the same input.

    Parameters
    ----------
    lesson : mapping
        What the live page says of the lesson.
    formula : mapping or None
        Its formula with numbers, as MathML.
    events : sequence of mapping
        What the live page got, from the second replication on.
    files : mapping
        Side -> the text of its scenario file.
    holds : Prediction or None
        Where an assumption is broken: what is exact for what is simulated, if anything is.
    """
    last = events[-1]
    played: dict[str, Any] = {
        name: [each["estimates"][0][name] for each in events] for name in _PLAYED
    }
    played |= {"n": [each["n"] for each in events], "theory": last["estimates"][0]["theory"]}
    # What a guess is compared with: the formula, or the last estimate where that is wrong.
    played |= {"guess": lesson["guess"], "broken": bool(last["broken"])}
    parts = ("mathml", "mathml_numbers")
    return rendered(
        "replay.html",
        {"number": number, "marked": marked},
        lesson=lesson,
        formula=[Markup(formula[name]) for name in parts if formula[name]] if formula else [],
        last=last,
        files=files,
        holds=holds and f"{number(holds.value)}, by {shown(holds.source)}",
        name_of=name_of,
        chart_style=Markup(_text("chart.css")),
        modules=Markup("\n".join(_within(_text(name)) for name in _MODULES)),
        # What stands in a script must not end it.
        played=Markup(json_text(played).replace("<", "\\u003c")),
    )


def marked(text: str) -> Markup:
    """The text of a lesson, with `code` and *emphasis*, as the live page shows it.

    Parameters
    ----------
    text : str
    """
    code = re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text.strip())))
    parts = re.split("(<code>.*?</code>)", code, flags=re.DOTALL)
    parts[::2] = [re.sub(r"\*([^*]+)\*", r"<em>\1</em>", each) for each in parts[::2]]
    return Markup("".join(parts))


def _text(name: str) -> str:
    return (_PAGE / name).read_text(encoding="utf-8")


def _within(module: str) -> str:
    """A module as a part of one script, which imports nothing."""
    lines = (line for line in module.splitlines() if not line.startswith("import "))
    return "\n".join(line.removeprefix("export ") for line in lines)


def csv_of(events: Sequence[dict[str, Any]]) -> Iterator[str]:
    """The lesson's own measure after each number of replications, then the others after the last.

    Parameters
    ----------
    events : sequence of dict
        As the page gets them.
    """
    return csv_chunks(("replications", *_COLUMNS), _rows(events))


def _rows(events: Sequence[dict[str, Any]]) -> Iterable[tuple[Any, ...]]:
    for event in events:
        own, *others = event["estimates"]
        yield event["n"], *(own[name] for name in _COLUMNS)
    for row in others if events else ():
        yield events[-1]["n"], *(row[name] for name in _COLUMNS)
