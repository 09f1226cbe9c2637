"""What the commands show and write: tables, one JSON document, CSV text."""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

import click
from rich.cells import cell_len
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column, Table
from rich.text import Text

from crawlsim.cli.streams import ShownConsole
from crawlsim.cli.waiting import stage
from scenarios.errors import LONGEST_LINE
from scenarios.text import shortened, visible

_PIPED_WIDTH = 200
_PARTS = 10_000
_GAP = 3  # between columns: padding on both sides, and the edge


def print_json(document: Any) -> None:
    """One strict JSON document on stdout; undefined numbers are null."""
    encoder = json.JSONEncoder(indent=2, ensure_ascii=False, allow_nan=False)
    parts = encoder.iterencode(_defined(document))
    while text := "".join(islice(parts, _PARTS)):
        click.echo(text, nl=False)
    click.echo()


def json_text(document: Any) -> str:
    """A document as strict JSON on one line; undefined numbers are null."""
    return json.dumps(_defined(document), ensure_ascii=False, allow_nan=False)


class Rows(list[Any]):
    """Records for JSON that are made while they are written: all at once might not fit.

    Parameters
    ----------
    make : callable
        Gives an iterator over the records, of which there is at least one.
    """

    def __init__(self, make: Callable[[], Iterator[Any]]) -> None:
        self._make = make

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Any]:
        return self._make()


def _defined(value: Any) -> Any:
    if isinstance(value, Rows):
        return Rows(lambda: map(_defined, value))
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: _defined(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_defined(inner) for inner in value]
    return value


def warn(message: str) -> None:
    """A warning on stderr."""
    click.echo(shortened(visible(f"warning: {message}"), LONGEST_LINE), err=True)


def number(value: float | None) -> str:
    """A number for people: six significant digits, a dash where it is undefined."""
    if value is None or math.isnan(value):
        return "–"
    return f"{value + 0.0:.6g}"  # 0, not -0


def half_width(estimate: float, half: float) -> str:
    """The half-width of an interval; what was never seen has an upper end only."""
    return "none seen" if estimate == 0 else number(half)


def add_columns(table: Table, left: Sequence[str], right: Sequence[str] = ()) -> None:
    """Columns of words, then columns of numbers."""
    for name in left:
        table.add_column(name, overflow="fold")
    for name in right:
        table.add_column(name, justify="right", no_wrap=True)


def show_table(table: Table, optional: Sequence[str] = ()) -> None:
    """A table on stdout, between its title and its notes, which may be wider than the table.

    Parameters
    ----------
    table : Table
    optional : sequence of str
        Columns that a terminal too narrow for all goes without, the least important first. What
        is left of such a table is never cut: words fold, and numbers rather leave the terminal.
    """
    width = None if sys.stdout.isatty() else _PIPED_WIDTH
    console = ShownConsole(sys.stdout, width=width, highlight=False, emoji=False)
    if table.title:
        console.print(table.title, soft_wrap=True)
        table.title = None
    if optional:
        table = _fitting(table, optional, console.width)
        console.width = max(console.width, _width(table, folded=True))
    notes = table.caption
    table.caption = None
    console.print(table, crop=False)
    if notes:
        console.print(notes, soft_wrap=True)


def _fitting(table: Table, optional: Sequence[str], width: int) -> Table:
    """The table without as many of its optional columns as the width demands."""
    dropped: list[str] = []
    for name in optional:
        is_there = any(column.header == name for column in table.columns)
        if is_there and _width(table, folded=False) > width:
            table = _without(table, name)
            dropped.append(name)
    if dropped:
        note = f"left out on a narrow terminal: {', '.join(dropped)}"
        table.caption = f"{table.caption}; {note}" if table.caption else note
    return table


def _without(table: Table, header: str) -> Table:
    """A copy without one column."""
    kept = [column for column in table.columns if column.header != header]
    copy = Table(
        box=table.box,
        caption=table.caption,
        caption_justify=table.caption_justify,
    )
    for column in kept:
        copy.add_column(
            column.header,
            justify=column.justify,
            no_wrap=column.no_wrap,
            overflow=column.overflow,
            min_width=column.min_width,
        )
    for cells in zip(*(column.cells for column in kept), strict=True):
        copy.add_row(*cells)
    return copy


def _width(table: Table, *, folded: bool) -> int:
    """Letters that a table needs across, with every cell on one line or with words folded."""
    return sum(_widest(column, folded) + _GAP for column in table.columns) + 1


def _widest(column: Column, folded: bool) -> int:
    cells = [Text.from_markup(str(each)) for each in (column.header, *column.cells)]
    if folded and not column.no_wrap:
        return column.min_width or max(
            cell_len(word) for cell in cells for word in cell.plain.split()
        )
    return max(cell.cell_len for cell in cells)


@contextmanager
def progress_bar(
    title: str, quiet: bool, things: str = "replications"
) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on the terminal; elsewhere what `lines_while_waiting` says now and then."""
    console = ShownConsole(sys.stderr)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    hidden = quiet or not console.is_terminal
    with (
        stage(title, things) as here,
        Progress(*columns, console=console, transient=True, disable=hidden) as bar,
    ):
        task = bar.add_task(escape(title), total=None)

        def update(done: int, in_all: int) -> None:
            here.done = done
            here.total = in_all
            bar.update(task, completed=done, total=in_all)

        yield update


def csv_chunks(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """The same as `csv_text`, a few thousand rows at a time."""
    yield csv_text(header, ())
    left = iter(rows)
    while some := list(islice(left, _PARTS)):
        yield csv_text(None, some)


def csv_text(header: Sequence[str] | None, rows: Iterable[Sequence[Any]]) -> str:
    """CSV text, with or without a header; numbers in full, undefined ones empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if header is not None:
        writer.writerow(header)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return text.getvalue()


def _cell(value: Any) -> Any:
    undefined = value is None or (isinstance(value, float) and not math.isfinite(value))
    return "" if undefined else value
