"""Lines of a CSV file, plain or gz, bz2, xz or zst, as columns: a few megabytes at a time.

Every line keeps its number, and one whose number of fields differs from the header is named, never
dropped silently: pandas, whose parser takes the lines apart that are well shaped, pads short lines
and does not say which ones it drops. Lines are told apart by bytes, so that ten million of them are
never ten million objects; only blocks with misplaced quotes are read line by line. The file is read
once from beginning to end, so that a pipe will do.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from scenarios.columns import other_separator
from scenarios.errors import MISSING, ScenarioError

MOST_SHOWN = 20
"""Broken rows that are put into words."""

_BLOCK = 1 << 23
_LONGEST_LINE = 1 << 26
_PIECE = 1 << 10  # of a zst file: at most 32 MB once unpacked
_NEWLINE = 10
_COMMA = 44
_QUOTE = 34
_BLANKS = (32, 9, 11, 12, 13)
_NUL, _MISQUOTED, _RETURN = 0, -1, -2  # instead of a number of fields
_JSON = (
    "is JSON; a trace is CSV with a header. Of JSON Lines with the keys url, timestamp and digest, "
    "say, (echo page,time,digest; jq -r '[.url, .timestamp, .digest] | @csv' FILE) makes one; of a "
    "JSON array, .[] | before the bracket"
)


@dataclass(frozen=True, slots=True)
class Block:
    """Some whole lines, each with its newline, and the number of the first one."""

    first: int
    text: bytes

    def without_first_line(self) -> Block:
        """The lines after the first one."""
        return Block(self.first + 1, self.text.partition(b"\n")[2])


@dataclass
class Broken:
    """Rows that cannot be read: how many, and the first of them with line numbers.

    Attributes
    ----------
    count : int
    lines : list of (int, str)
        Line in the file, from 1, and what is wrong there; at most 20.
    """

    count: int = 0
    lines: list[tuple[int, str]] = field(default_factory=list)

    def add(self, count: int, lines: Sequence[tuple[int, str]]) -> None:
        """More of them, and the first with their lines, in the order of the file."""
        self.count += count
        self.lines = sorted([*self.lines, *lines])[:MOST_SHOWN]


@dataclass(frozen=True, slots=True)
class Table:
    """Columns of the well-shaped lines of a block.

    Attributes
    ----------
    lines : ndarray of int, shape (rows,)
        Number of each line in the file, from 1.
    columns : sequence of pandas.Series
        Text, as asked for.
    broken : Broken
        Lines that are neither well-shaped nor blank.
    """

    lines: NDArray[np.int64]
    columns: Sequence[Any]
    broken: Broken


def blocks(path: Path, *, json: bool = False) -> Iterator[Block]:
    """The file in blocks of whole lines; blank ones included, a byte order mark taken off.

    Parameters
    ----------
    path : Path
    json : bool
        Whether it may be JSON, or anything else that is not CSV.

    Raises
    ------
    ScenarioError
        If it cannot be read, or is not a complete packed file.
    """
    form = ""
    try:
        with path.open("rb") as stream:
            # Its first bytes tell a packed file: a look at them takes nothing from a pipe.
            begin = stream.peek(_LONGEST_SIGN)
            form, unpack = next(
                (how for sign, how in _PACKED.items() if begin.startswith(sign)), ("", None)
            )
            yield from _whole_lines(unpack(stream) if unpack else stream, path, json)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ScenarioError("", MISSING, f"cannot be read: {reason}", str(path)) from None
    except ImportError:
        allowed = "is a zst file, which needs one more package: pip install 'crawlsim[zst]'"
        raise ScenarioError("", MISSING, allowed, str(path)) from None
    except (EOFError, zlib.error, lzma.LZMAError):
        raise ScenarioError("", MISSING, f"is not a complete {form} file", str(path)) from None


def from_first_line(parts: Iterator[Block]) -> Iterator[Block]:
    """The blocks from the first line on that is not blank."""
    for block in parts:
        while block.text and not block.text.partition(b"\n")[0].strip():
            block = block.without_first_line()
        if block.text:
            yield block
            yield from parts


class _Zst:
    """Frames of zst, unpacked; the package's own reader takes a file cut short for a whole one."""

    def __init__(self, packed: IO[bytes]) -> None:
        import zstandard

        self._error = zstandard.ZstdError
        self._new_frame = zstandard.ZstdDecompressor().decompressobj
        self._frame: Any = None
        self._packed = packed
        self._rest = b""

    def read(self, size: int) -> bytes:
        unpacked = bytearray()
        while len(unpacked) < size and (piece := self._rest or self._packed.read(_PIECE)):
            frame = self._frame or self._new_frame()
            try:
                unpacked += frame.decompress(piece)
            except self._error as error:
                raise EOFError from error
            self._rest = frame.unused_data
            self._frame = None if frame.eof else frame
        if not unpacked and self._frame:
            raise EOFError
        return bytes(unpacked)


_PACKED: Mapping[bytes, tuple[str, Callable[[IO[bytes]], Any]]] = {
    b"\x1f": ("gz", lambda stream: gzip.GzipFile(fileobj=stream)),
    b"BZh": ("bz2", bz2.BZ2File),
    b"\xfd7zXZ\0": ("xz", lzma.LZMAFile),
    b"\x28\xb5\x2f\xfd": ("zst", _Zst),
}
"""First bytes of a packed file -> its format, and what unpacks it."""

_SEPARATORS = {"a semicolon": ";", "a tab": r"\t", "a vertical bar": "|"}

_LONGEST_SIGN = max(map(len, _PACKED))


def _whole_lines(stream: IO[bytes] | gzip.GzipFile, path: Path, json: bool) -> Iterator[Block]:
    first = 1
    rest = b""
    while part := stream.read(_BLOCK):
        if first == 1 and not rest:
            part = part.removeprefix(b"\xef\xbb\xbf")
            if not json and part.lstrip()[:1] in (b"{", b"["):
                raise ScenarioError("", MISSING, _JSON, str(path))
        text, newline, rest_of_part = (rest + part).rpartition(b"\n")
        rest = rest_of_part
        if len(rest) > _LONGEST_LINE:
            raise ScenarioError(
                "",
                MISSING,
                f"is no {'log' if json else 'CSV file'}: line {first} has no end",
                str(path),
            )
        if newline:
            block = (text + newline).replace(b"\r\n", b"\n")
            yield Block(first, block)
            first += block.count(b"\n")
    if rest:
        yield Block(first, rest.removesuffix(b"\r") + b"\n")


def fields_of(line: bytes) -> list[str]:
    r"""The fields of one line, without quotes and surrounding blanks.

    Bytes that are not UTF-8 stand as ``\xe9``, so that different names stay different.

    Raises
    ------
    ValueError
        If a quote is not closed, or out of place, or a field longer than 131,072 characters.
    """
    text = line.decode("utf-8", errors="backslashreplace").rstrip("\r\n")
    try:
        return [field.strip() for field in next(csv.reader([text], strict=True), [])]
    except csv.Error as error:
        if "field limit" in str(error):
            most = f"{csv.field_size_limit():,}"
            raise ValueError(f"has a field of more than {most} characters") from None
        raise ValueError("has a quote that is not closed, or out of place") from None


def header_of(block: Block, path: Path) -> list[str]:
    """The fields of the first line of a block.

    Raises
    ------
    ScenarioError
        If it is not a line of CSV.
    """
    line = block.text.partition(b"\n")[0]
    for byte, name in ((b"\0", "a NUL byte"), (b"\r", "a carriage return alone")):
        if byte in line:
            allowed = f"is not a CSV file in UTF-8: line {block.first} holds {name}"
            raise ScenarioError("", MISSING, allowed, str(path))
    try:
        return fields_of(line)
    except ValueError as error:
        allowed = f"is not a CSV file: line {block.first} {error}"
        raise ScenarioError("", MISSING, allowed, str(path)) from None


def separator_hint(header: Sequence[str]) -> str:
    """What parts the names of a header instead of commas, if it is known."""
    other = other_separator(",".join(header))
    if not other:
        return ""
    way_out = "python -c 'import csv, sys; csv.writer(sys.stdout).writerows(csv.reader(sys.stdin, "
    way_out += f'delimiter="{_SEPARATORS[other]}"))\' < FILE'
    return f"; its separator is {other}, and must be a comma: {way_out} makes it one"


def table_of(block: Block, width: int, wanted: Sequence[int]) -> Table:
    """Some columns of a block.

    Parameters
    ----------
    block : Block
    width : int
        Number of fields that each line must have.
    wanted : sequence of int
        The columns, from 0.

    Notes
    -----
    Lines of nothing but blanks are not rows.
    """
    text = block.text
    letters = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero(letters == _NEWLINE)
    quotes = np.flatnonzero(letters == _QUOTE) if b'"' in text else np.empty(0, np.int64)
    by_line = len(quotes) > 0 and not _are_around_fields(letters, ends, quotes)
    fields = _counted(text) if by_line else _fields_per_line(letters, ends, quotes)
    for letter, instead in ((13, _RETURN), (0, _NUL)):
        if letter in text:
            fields[np.searchsorted(ends, np.flatnonzero(letters == letter))] = instead
    blank = _are_blank(text, letters, ends)
    good = (fields == width) & ~blank
    if not good.all():
        lines = text.split(b"\n")
        text = b"".join(lines[place] + b"\n" for place in np.flatnonzero(good))
    misshapen = np.flatnonzero(~good & ~blank)
    broken = Broken()
    broken.add(
        len(misshapen),
        [(block.first + int(at), _shape(int(fields[at]), width)) for at in misshapen[:MOST_SHOWN]],
    )
    columns: list[Any] = []
    if good.any():
        columns = (_by_line if by_line else _parsed)(text, width, wanted)
    return Table(block.first + np.flatnonzero(good), columns, broken)


def _shape(fields: int, width: int) -> str:
    if fields == _NUL:
        return "holds a NUL byte"
    if fields == _RETURN:
        return "holds a carriage return alone"
    if fields == _MISQUOTED:
        return "has a quote that is not closed, or out of place"
    return f"has {fields} field{'s' * (fields != 1)}, the first line has {width}"


def _are_around_fields(
    letters: NDArray[np.uint8], ends: NDArray[np.int64], quotes: NDArray[np.int64]
) -> bool:
    """Whether quotes stand only around whole fields, each closed on its line, or doubled in one."""
    if len(quotes) % 2:
        return False
    doubled = np.flatnonzero(quotes[2::2] == quotes[1:-1:2] + 1)  # closed and at once open again
    quotes = np.delete(quotes, np.concatenate([2 * doubled + 1, 2 * doubled + 2]))
    opening = quotes[0::2]
    closing = quotes[1::2]
    before = np.where(opening > 0, letters[opening - 1], _NEWLINE)
    after = letters[closing + 1]  # every line has its newline
    borders = (_NEWLINE, _COMMA)
    same_line = np.searchsorted(ends, opening) == np.searchsorted(ends, closing)
    return bool((np.isin(before, borders) & np.isin(after, borders) & same_line).all())


def _fields_per_line(
    letters: NDArray[np.uint8], ends: NDArray[np.int64], quotes: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Number of fields of each line; commas within quotes do not part them."""
    commas = np.flatnonzero(letters == _COMMA)
    if len(quotes):
        commas = commas[np.searchsorted(quotes, commas) % 2 == 0]
    return np.diff(np.searchsorted(commas, ends), prepend=0) + 1


def _counted(text: bytes) -> NDArray[np.int64]:
    """The same, line by line."""

    def count(line: bytes) -> int:
        try:
            return max(len(fields_of(line)), 1)
        except ValueError:
            return _MISQUOTED

    return np.array([count(line) for line in text.split(b"\n")[:-1]], dtype=np.int64)


def _are_blank(
    text: bytes, letters: NDArray[np.uint8], ends: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Which lines hold nothing but blanks."""
    starts = np.concatenate([[0], ends[:-1] + 1])  # a block has a line
    blank: NDArray[np.bool_] = starts == ends
    for place in np.flatnonzero(np.isin(letters[starts], _BLANKS)):
        blank[place] = not text[starts[place] : ends[place]].strip()
    return blank


def _parsed(text: bytes, width: int, wanted: Sequence[int]) -> list[Any]:
    import pandas as pd

    table = pd.read_csv(
        io.BytesIO(text),
        header=None,
        names=list(range(width)),
        usecols=sorted(wanted),
        dtype="str",
        na_filter=False,
        quoting=csv.QUOTE_MINIMAL if b'"' in text else csv.QUOTE_NONE,
        skipinitialspace=True,
        skip_blank_lines=False,
        lineterminator="\n",
        encoding_errors="backslashreplace",
        engine="c",
    )
    return [table[column] for column in wanted]


def _by_line(text: bytes, width: int, wanted: Sequence[int]) -> list[Any]:
    """The same for lines with quotes that only a parser of single lines understands."""
    import pandas as pd

    del width  # all of these lines have it
    rows = [fields_of(line) for line in text.split(b"\n")[:-1]]
    return [pd.Series([row[column] for row in rows], dtype="str") for column in wanted]
