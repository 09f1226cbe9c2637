"""Tables as lines of text, for what is computed with inputs of ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Line = Mapping[str, Any]


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
