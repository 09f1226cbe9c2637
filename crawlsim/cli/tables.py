"""What commands print, whatever it is about: numbers, tables and JSON; nothing heavy is loaded."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import IO, Any, TextIO, cast

import click
import rich
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.segment import Segment
from rich.table import Column, Table
from rich.text import Text

from crawlsim.cli.streams import Checked, Shown, environment, writable
from scenarios.errors import LONGEST_LINE
from scenarios.text import shortened, visible

_PIPED_WIDTH = 200
PARTS = 10_000
"""Pieces of text that are written at a time."""
_LONGEST_WORD = 28
"""Letters up to which a word of a folded column stays whole; a longer one, an address, may fold."""


def print_json(document: Any) -> None:
    """One strict JSON document on stdout; undefined numbers are null."""
    encoder = json.JSONEncoder(indent=2, ensure_ascii=False, allow_nan=False)
    parts = encoder.iterencode(_defined(document))
    while text := "".join(islice(parts, PARTS)):
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


class ShownConsole(Console):
    """A console that shows what would act on a terminal; the commands of its own styles do act.

    A reader that has had enough is no reason for it to exit with 1.

    Parameters
    ----------
    stream : text stream
    **how
        As for `Console`.
    """

    def __init__(self, stream: TextIO, **how: Any) -> None:
        behind = stream.stream if isinstance(stream, Shown) else stream
        file = cast("IO[str]", Checked(behind))
        super().__init__(file=file, _environ=environment(), **how)

    def render_str(self, text: str, **how: Any) -> Text:
        """The text of a cell or a title: its width is that of what is shown."""
        return super().render_str(visible(text), **how)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """What is shown of anything, such as the bars of a progress."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(visible(segment.text), segment.style)

    def on_broken_pipe(self) -> None:
        """Leave it to `main`."""
        raise BrokenPipeError


def new_table(title: str | None, *columns: str | Column) -> Table:
    """A table without rows.

    Parameters
    ----------
    title : str or None
    *columns : str or Column
        Names: of words that fold on a narrow terminal, after ``|`` of words that do not, after
        ``>`` of numbers.
    """
    left: Any = {"title_justify": "left", "caption_justify": "left"}
    table = Table(title=title, box=rich.box.SIMPLE, **left)
    for column in columns:
        if isinstance(column, Column):
            table.columns.append(column)
        elif column[0] in "|>":
            justify: Any = "right" if column[0] == ">" else "left"
            table.add_column(column[1:], justify=justify, no_wrap=True)
        else:
            table.add_column(column, overflow="fold")
    return table


Optional = str | tuple[str, ...]
"""A column that may be left out; of several the first, or all others in place of it, or all."""


def show_table(
    table: Table, optional: Sequence[Optional] = (), opening: Iterable[str] = ()
) -> None:
    """A table on stdout, between its title and its notes, which may be wider than the table.

    Parameters
    ----------
    table : Table
    optional : sequence of Optional
        Columns that a terminal too narrow for all goes without, the least important first. What
        is left is never cut: words fold, and numbers rather leave the terminal.
    opening : iterable of str
        Lines of plain text between the title and the table.
    """
    _spell(table)
    asked = sys.stdout.isatty() or "COLUMNS" in environment()
    width = None if asked else _PIPED_WIDTH
    console = ShownConsole(sys.stdout, width=width, highlight=False, emoji=False)
    if table.title:
        console.print(table.title, soft_wrap=True)
        table.title = None
    for line in opening:
        console.print(f"  {escape(line)}", soft_wrap=True)
    _leave_out(table, optional, console.width)
    console.width = max(console.width, _fold(table, console.width))
    notes = table.caption
    table.caption = None
    console.print(table, crop=False)
    if notes:
        console.print(notes, soft_wrap=True)


def _spell(table: Table) -> None:
    """Write signs that stdout cannot have as it can, before anybody asks how wide they are."""
    for column in table.columns:
        column.header = writable(str(column.header))
        column._cells = [
            writable(cell) if isinstance(cell, str) else cell for cell in column._cells
        ]


def _leave_out(table: Table, optional: Sequence[Optional], width: int) -> None:
    """Leave out as many of the optional columns as the width demands, and say so in the notes."""
    dropped: list[str] = []
    for each in optional:
        names = [writable(name) for name in ((each,) if isinstance(each, str) else each)]
        columns = table.columns
        for gone in (names[:1], names[1:], names) if len(names) > 1 else (names,):
            if _across(table, _natural(table)) <= width:
                break
            table.columns = [column for column in columns if column.header not in gone]
        dropped += [str(each.header) for each in columns if each not in table.columns]
    for place, column in enumerate(table.columns):
        column._index = place
    if dropped:
        note = f"left out on a narrow terminal: {', '.join(dropped)}"
        table.caption = f"{table.caption}; {note}" if table.caption else note


def _fold(table: Table, width: int) -> int:
    """Fold the widest columns as far as the width demands, but no word; what the table takes."""
    natural, least = _natural(table), _least(table)
    if _across(table, natural) <= width:
        return width
    most = max(natural)
    while most > 0 and _across(table, _at_most(most, natural, least)) > width:
        most -= 1
    widths = _at_most(most, natural, least)
    for column, letters in zip(table.columns, widths, strict=True):
        column.width = letters
    return _across(table, widths)


def _at_most(most: int, natural: Sequence[int], least: Sequence[int]) -> list[int]:
    """Widths of columns up to a common one, none of them below its least."""
    return [max(low, min(high, most)) for low, high in zip(least, natural, strict=True)]


def _across(table: Table, widths: Sequence[int]) -> int:
    """Letters that a table takes across: its columns, their paddings, and the edges."""
    return 1 + sum(widths) + len(widths) * (table.padding[1] + table.padding[3] + 1)


def _natural(table: Table) -> list[int]:
    """Widths of the columns with every cell on one line."""
    return [max(cell.cell_len for cell in _cells_of(column)) for column in table.columns]


def _least(table: Table) -> list[int]:
    """Widths of the columns with every word of those that may be folded on a line of its own."""
    return [
        natural if column.no_wrap else column.min_width or min(_longest_word(column), _LONGEST_WORD)
        for column, natural in zip(table.columns, _natural(table), strict=True)
    ]


def _longest_word(column: Column) -> int:
    words = (word for cell in _cells_of(column) for word in cell.plain.split())
    return max(map(cell_len, words), default=0)


def _cells_of(column: Column) -> list[Text]:
    return [Text.from_markup(str(each)) for each in (column.header, *column.cells)]
