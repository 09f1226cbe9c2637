"""The curves of a sweep: one for each combination of the entries that are not on the axis."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from crawlsim.report.drawing import plain
from scenarios.files import value_text

_COLOURS = ("#0072b2", "#c24a00", "#00805e", "#7a5195", "#b07800", "#555555", "#56b4e9", "#cc79a7")
_MARKERS = "os^DvPX*"
_LINES = ("-", "--", "-.", ":")

Row = Mapping[str, Any]
Values = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Curve:
    """Rows of all measures that belong to one curve, and how it looks in every panel."""

    name: str
    rows: Sequence[Row]
    colour: str
    marker: str
    line: str


def curves_of(rows: Sequence[Row], keys: Sequence[str]) -> list[Curve]:
    """The curves; colours tell the second entry, markers and lines the others.

    Parameters
    ----------
    rows : sequence of mapping
        Tidy rows of a sweep.
    keys : sequence of str
        The varied entries, the first on the horizontal axis.
    """
    groups: dict[Values, list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(text_of(row[key]) for key in keys[1:]), []).append(row)
    colours = list(dict.fromkeys(values[:1] for values in groups))
    marks = list(dict.fromkeys(values[1:] for values in groups))
    rounds = math.ceil(len(colours) / len(_COLOURS))
    curves = []
    for name, (values, mine) in zip(_names(list(groups)), groups.items(), strict=True):
        hue = colours.index(values[:1])
        mark = marks.index(values[1:])
        mark = mark * rounds + hue // len(_COLOURS)
        looks = (_COLOURS[hue % len(_COLOURS)], _MARKERS[mark % len(_MARKERS)])
        curves.append(Curve(name, mine, *looks, _LINES[mark % len(_LINES)]))
    return curves


def _names(groups: Sequence[Values]) -> list[str]:
    """The values of each curve, short enough for a legend; numbered where that makes them equal."""
    names = [plain(", ".join(values)) for values in groups]
    return [f"{name} ({n})" if names.count(name) > 1 else name for n, name in enumerate(names, 1)]


def text_of(value: Any) -> str:
    """A varied value in words; what came from a CSV file is text already."""
    return value if isinstance(value, str) else value_text(value)


def is_number(value: Any) -> bool:
    """Whether a value has a place of its own on an axis."""
    try:
        return not isinstance(value, bool) and math.isfinite(float(value))
    except (TypeError, ValueError):
        return False


def is_whole(value: str) -> bool:
    """Whether the text is that of a whole number."""
    return re.fullmatch(r"[+-]?\d+", value) is not None
