"""The cells of a paper's table, put back into the table, or told in one line where alike."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from papers.rows import Row

FEW = 3
"""Cells that are alike up to which each has its line."""

_SHORT = re.compile(r"\S+?(?: %)?(?=[\s,;]|$)")
"""The number of a text, and its unit."""

_CELL = re.compile(r"(?P<table>Table \d+), (?P<line>[(\[].*[)\]]), (?P<column>[^,]+)")


class Place(NamedTuple):
    """Where a cell stands: its table, its line, its column."""

    table: str
    line: str
    column: str


def place_of(row: Row) -> Place | None:
    """Where a row's cell stands; None for what is no cell of a line and a column."""
    found = _CELL.fullmatch(row.item)
    return Place(**found.groupdict()) if found else None


class Grid(NamedTuple):
    """A table of texts: its columns, its lines, notes on single cells, and rows beside it."""

    columns: list[str]
    lines: list[list[str]]
    notes: list[str]
    others: list[Row]


def grid_of(rows: Sequence[Row], text_of: Callable[[Row], str]) -> Grid:
    """The cells as the table that they are of; few of them, and what is no cell, stay beside it.

    Parameters
    ----------
    rows : sequence of Row
    text_of : callable
        What is computed of a cell; of its words the grid has the number only.

    Returns
    -------
    Grid
        In the order of the rows. What is printed is in brackets where it is something else, and
        has a note: the item, its status and why.
    """
    places = {row.item: place for row in rows if (place := place_of(row)) is not None}
    if len(places) <= FEW:
        return Grid([], [], [], list(rows))
    texts: dict[tuple[str, str], str] = {}
    notes: dict[str, list[str]] = {}
    for row in rows:
        if (place := places.get(row.item)) is None:
            continue
        differs = row.status in ("corrected", "refuted")
        printed = f" [{row.printed}]" if differs and row.printed is not None else ""
        texts[place.line, place.column] = _number_of(text_of(row)) + printed
        if row.note:
            noted = f"{place.line}, {place.column}"
            notes.setdefault(f"{row.status}: {row.note}", []).append(noted)
    lines = list(dict.fromkeys(line for line, _ in texts))
    columns = list(dict.fromkeys(column for _, column in texts))
    return Grid(
        columns,
        [[line, *(texts.get((line, column), "") for column in columns)] for line in lines],
        [f"{_cells(which)} {why}" for why, which in notes.items()],
        [row for row in rows if row.item not in places],
    )


def _number_of(text: str) -> str:
    found = _SHORT.match(text)
    return found[0] if found else text


def _cells(which: list[str]) -> str:
    return f"{which[0]}:" if len(which) == 1 else f"{len(which)} cells:"


def in_few_lines(rows: Sequence[Row]) -> list[Row]:
    """The rows, but cells of a table of which the same is said in one line together.

    Parameters
    ----------
    rows : sequence of Row
        Of one status.
    """

    def alike(row: Row) -> tuple[str, str | None]:
        place = place_of(row)
        told_alone = place is None or row.status in ("corrected", "refuted")
        return (row.item, None) if told_alone or place is None else (place.table, row.note)

    groups: dict[tuple[str, str | None], list[Row]] = {}
    for row in rows:
        groups.setdefault(alike(row), []).append(row)
    short: list[Row] = []
    for (name, note), cells in groups.items():
        if len(cells) <= FEW:
            short += cells
        else:
            named = f"{name}: {len(cells)} cells"
            short.append(cells[0]._replace(item=named, printed=None, ours=None, note=note))
    return short
