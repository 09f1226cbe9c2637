"""Lines of a CSV file, plain or gz, as columns of text: a few megabytes at a time.

Every line keeps its number, and one with another number of fields than the header is named, never
dropped unseen. Lines are told apart by bytes, so that ten million of them are no ten million
objects; only blocks with quotes, or with broken lines, are taken apart line by line.
"""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from scenarios.errors import MISSING, ScenarioError

__all__ = ["Block", "Table", "blocks", "fields_of", "table_of"]

_BLOCK = 1 << 23
_LONGEST_LINE = 1 << 26
_NEWLINE, _COMMA = 10, 44


@dataclass(frozen=True, slots=True)
class Block:
    """Some whole lines, each with its newline, and the number of the first one."""

    first: int
    text: bytes


@dataclass(frozen=True, slots=True)
class Table:
    """Columns of the well-shaped lines of a block.

    Attributes
    ----------
    lines : ndarray of int, shape (rows,)
        Number of each line in the file, from 1.
    columns : sequence of pandas.Series
        Text, as asked for.
    broken : sequence of (int, str)
        Number of each misshapen line, and what is wrong with it.
    """

    lines: NDArray[np.int64]
    columns: Sequence[Any]
    broken: Sequence[tuple[int, str]]


def blocks(path: Path) -> Iterator[Block]:
    """The file in blocks of whole lines; blank ones included, a byte order mark taken off.

    Raises
    ------
    ScenarioError
        If it cannot be read, is no complete gz file, or has no lines.
    """
    try:
        with _opened(path) as stream:
            yield from _whole_lines(stream, path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ScenarioError("", MISSING, f"cannot be read: {reason}", str(path)) from None
    except (EOFError, zlib.error):
        raise ScenarioError("", MISSING, "is not a complete gz file", str(path)) from None


def _opened(path: Path) -> IO[bytes]:
    with path.open("rb") as stream:
        packed = stream.read(2) == b"\x1f\x8b"
    return gzip.open(path, "rb") if packed else path.open("rb")  # type: ignore[return-value]


def _whole_lines(stream: IO[bytes], path: Path) -> Iterator[Block]:
    first, rest = 1, b""
    while part := stream.read(_BLOCK):
        if first == 1 and not rest:
            part = part.removeprefix(b"\xef\xbb\xbf")
        text, newline, rest_of_part = (rest + part).rpartition(b"\n")
        rest = rest_of_part
        if len(rest) > _LONGEST_LINE:
            raise ScenarioError("", MISSING, f"is no CSV file: line {first} has no end", str(path))
        if newline:
            block = (text + newline).replace(b"\r\n", b"\n")
            yield Block(first, block)
            first += block.count(b"\n")
    if rest:
        yield Block(first, rest.removesuffix(b"\r") + b"\n")


def fields_of(line: bytes) -> list[str]:
    """The fields of one line, without quotes and surrounding blanks."""
    text = line.decode("utf-8", errors="replace").rstrip("\r\n")
    try:
        return [field.strip() for field in next(csv.reader([text], strict=True), [])]
    except csv.Error:
        return [text]


def table_of(block: Block, width: int, wanted: Sequence[int]) -> Table:
    """Some columns of a block.

    Parameters
    ----------
    block : Block
    width : int
        Number of fields that each line must have.
    wanted : sequence of int
        The columns, from 0.
    """
    if b'"' in block.text:
        return _of_quoted(block, width, wanted)
    found, blank = _fields_per_line(block.text)
    good = found == width
    good &= ~blank
    text = block.text
    if not good.all():
        lines = text.split(b"\n")
        text = b"".join(lines[place] + b"\n" for place in np.flatnonzero(good))
    misshapen = np.flatnonzero(~good & ~blank)
    broken = [(block.first + int(place), _shape(int(found[place]), width)) for place in misshapen]
    columns = _parsed(text, width, wanted) if good.any() else []
    return Table(block.first + np.flatnonzero(good), columns, broken)


def _shape(found: int, width: int) -> str:
    return f"has {found} field{'s' * (found != 1)}, the first line has {width}"


def _fields_per_line(text: bytes) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Number of fields of each line, and whether it is blank."""
    letters = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero(letters == _NEWLINE)
    commas = np.searchsorted(np.flatnonzero(letters == _COMMA), ends)
    lengths = np.diff(ends, prepend=-1) - 1
    return np.diff(commas, prepend=0) + 1, lengths == 0


def _parsed(text: bytes, width: int, wanted: Sequence[int]) -> list[Any]:
    import pandas as pd

    table = pd.read_csv(
        io.BytesIO(text),
        header=None,
        names=list(range(width)),
        usecols=sorted(wanted),
        dtype="str",
        na_filter=False,
        quoting=csv.QUOTE_NONE,
        skipinitialspace=True,
        skip_blank_lines=False,
        lineterminator="\n",
        encoding_errors="replace",
        engine="c",
    )
    return [table[column] for column in wanted]


def _of_quoted(block: Block, width: int, wanted: Sequence[int]) -> Table:
    """The same for lines with quotes, which may hold commas."""
    import pandas as pd

    rows, lines, broken = [], [], []
    for number, line in enumerate(block.text.split(b"\n")[:-1], block.first):
        fields = fields_of(line)
        if len(fields) == width:
            rows.append([fields[column] for column in wanted])
            lines.append(number)
        elif line.strip():
            broken.append((number, _shape(len(fields), width)))
    columns = [pd.Series(list(values), dtype="str") for values in zip(*rows, strict=True)]
    return Table(np.array(lines, dtype=np.int64), columns, broken)
