"""What the ledger's numbers are when they are computed anew: one module per paper."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

from papers.rows import Row, rows_of

Line = Mapping[str, Any]

Number = Callable[[], float]
Figure = Callable[[], Any]
Experiment = Callable[[], Iterator[str]]

_LOG = logging.getLogger("crawlsim.papers")
"""One of those whose lines the command line shows."""


class Computed(NamedTuple):
    """What a paper's module computes.

    Attributes
    ----------
    numbers : mapping
        Of each item with a number, what computes it; never from what is stored.
    experiments : mapping
        Of tables and figures whose inputs are lost: lines of the same table, of inputs of ours.
    figures : mapping
        Of tables and figures, what draws them with matplotlib.
    """

    numbers: Mapping[str, Number]
    experiments: Mapping[str, Experiment]
    figures: Mapping[str, Figure]


def computed(paper: str) -> Computed:
    """What is computed for a paper."""
    module = import_module(f"papers.{paper}")
    return Computed(module.NUMBERS, module.EXPERIMENTS, module.FIGURES)


def verified(paper: str) -> Iterator[tuple[Row, bool | None]]:
    """Each row, and whether its number comes out when it is computed; None where it has none."""
    numbers = computed(paper).numbers
    for item, row in rows_of(paper).items():
        yield row, None if row.ours is None else comes_out(row, numbers[item])


def comes_out(row: Row, number: Number) -> bool:
    """Whether a number is as stated; one that a formula no longer gives is not."""
    try:
        return row.agrees_with(number())
    except Exception as failure:  # however a formula fails
        _LOG.warning("%s cannot be computed: %r", row.item, failure)
        return False


def agreed(value: float, other: float) -> float:
    """A number that was found in two ways; NaN where they differ."""
    return value if math.isclose(value, other, rel_tol=1e-9, abs_tol=1e-12) else math.nan


def table_lines(rows: Sequence[Line], digits: int = 4) -> Iterator[str]:
    """A table, its columns to the right."""
    names = list(rows[0])
    cells = [names, *([_text(row[name], digits) for name in names] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        texts = (text.rjust(width) for text, width in zip(row, widths, strict=True))
        yield "  " + "  ".join(texts)


def _text(value: Any, digits: int) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "–"
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)
