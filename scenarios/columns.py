"""Numbers kept in a file beside the scenario: one column of a CSV file."""

from __future__ import annotations

import csv
import math
import os
import stat
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import PrivateAttr, ValidationInfo, model_validator

from scenarios.base import LARGEST, Section
from scenarios.errors import refused
from scenarios.text import shortened

LARGEST_FILE = 200_000_000
"""Bytes of a data file; a million rows of 200 characters."""

MOST_NUMBERS = 10_000_000

_LONGEST_SHOWN = 60
"""Characters of an entry that is quoted."""

_OTHER_SEPARATORS = {";": "a semicolon", "\t": "a tab", "|": "a vertical bar"}


def resolve_path(path: str, info: ValidationInfo) -> str:
    """The absolute path; a relative one counts from the folder of the scenario file."""
    base = (info.context or {}).get("base", ".")
    try:
        return os.path.realpath(Path(base) / path)
    except ValueError as error:
        reason = str(error).removeprefix("lstat: ")  # as CPython 3.13 begins
        raise refused(f"cannot be read: {reason}", key="file", value=path) from None


def read_numbers(path: str, column: str | None) -> tuple[float, ...]:
    """The numbers of one column, each finite and >= 0.

    Parameters
    ----------
    path : str
        A CSV file.
    column : str or None
        Name of the column in the header; None takes the first column, header or not.

    Raises
    ------
    PydanticCustomError
        If it is not a plain file of at most `LARGEST_FILE` bytes, or has not such numbers, or more
        than `MOST_NUMBERS` of them.
    """
    return _numbers_of(path, column, _state_of(path))


@lru_cache(maxsize=8)
def _numbers_of(path: str, column: str | None, state: tuple[int, ...]) -> tuple[float, ...]:  # noqa: ARG001  # a changed file is read again
    """The numbers of a file in a certain state: a scenario is checked again with every change."""
    numbers = tuple(islice(_numbers_in(_rows(path), column, path), MOST_NUMBERS + 1))
    if not numbers:
        raise refused("holds no numbers", key="file", value=path)
    if len(numbers) > MOST_NUMBERS:
        raise refused(f"holds more than {MOST_NUMBERS} numbers", key="file", value=path)
    return numbers


def _state_of(path: str) -> tuple[int, ...]:
    """What changes when a file does; refuses anything that cannot be read as a plain file."""
    try:
        now = _plain(path)
    except OSError as error:
        raise refused(f"cannot be read: {error.strerror}", key="file", value=path) from None
    return now.st_ino, now.st_size, now.st_mtime_ns


def _plain(path: str) -> os.stat_result:
    """Refuse what would never end, or fill the memory: pipes, devices, huge files."""
    status = Path(path).stat()
    if not (
        stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)
    ):  # opening says the latter
        raise refused("must be a plain file", key="file", value=path)
    if status.st_size > LARGEST_FILE:
        size = status.st_size / 1e6
        most = LARGEST_FILE / 1e6
        raise refused(f"has {size:.0f} MB; at most {most:.0f} are read", key="file", value=path)
    return status


def _rows(path: str) -> Iterator[list[str]]:
    """The rows of a CSV file that are not empty, the header among them."""
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as stream:
            yield from filter(None, csv.reader(stream))
    except OSError as error:
        raise refused(f"cannot be read: {error.strerror}", key="file", value=path) from None
    except (UnicodeDecodeError, csv.Error):
        raise refused("must be a CSV file in UTF-8", key="file", value=path) from None


def _numbers_in(rows: Iterator[list[str]], column: str | None, path: str) -> Iterator[float]:
    first = next(rows, None)
    if column is None:
        place = 0
        is_header = first is None or not _is_number(first[0])
    else:
        place = _place_of(column, first or [], path)
        is_header = True
    left = rows if is_header else chain([first or []], rows)
    for number, row in enumerate(left, 1 + is_header):
        yield _number(row[place] if place < len(row) else "", number, path, column)


def _place_of(column: str, header: list[str], path: str) -> int:
    """Index of the column. What the file holds instead is not said: it may be no data at all."""
    names = [name.strip() for name in header]
    if column not in names:
        allowed = f"must be a column of {Path(path).name}"
        if other := other_separator(",".join(names), column):
            allowed += f", whose separator is {other}; it must be a comma"
        raise refused(allowed, key="column", value=column)
    return names.index(column)


def other_separator(line: str, column: str | None = None) -> str | None:
    """What parts the fields of a line in place of a comma, in words; None: nothing known does.

    Parameters
    ----------
    line : str
    column : str, optional
        A name that must be among the fields then.
    """
    for separator, words in _OTHER_SEPARATORS.items():
        fields = [field.strip() for field in line.split(separator)]
        if len(fields) > 1 and (column is None or column in fields):
            return words
    return None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _number(text: str, row: int, path: str, column: str | None) -> float:
    value = float(text) if _is_number(text) else math.nan
    if 0 <= value <= LARGEST:
        return value
    quoted = f"{shortened(text, _LONGEST_SHOWN)!r} "
    if column is None and not _is_number(text):
        quoted = ""  # nothing says that this is a file of numbers
    allowed = f"row {row}: {quoted}must be a finite number >= 0"
    if other := other_separator(text):
        allowed += f"; the separator must be a comma, not {other}"
    raise refused(allowed, key="file", value=path)


def names_beside(column: Column) -> tuple[str, list[str]] | None:
    """What the rows of a column are called: header and texts of the first column of text.

    None where its file has numbers only.
    """
    header, *rows = _rows(column.file)
    for place, (name, first) in enumerate(zip(header, rows[0], strict=False)):
        if name.strip() != column.column and not _is_number(first):
            return name.strip(), [row[place] if place < len(row) else "" for row in rows]
    return None


@lru_cache(maxsize=8)
def _texts_of(path: str, column: str, state: tuple[int, ...]) -> tuple[str, ...]:  # noqa: ARG001  # a changed file is read again
    """The texts of one column, in a certain state of the file."""
    rows = _rows(path)
    place = _place_of(column, next(rows, []), path)
    return tuple(row[place] if place < len(row) else "" for row in rows)


class Column(Section):
    """One column of numbers of a CSV file; the path counts from the scenario file."""

    key: ClassVar[str] = "file"
    whole: ClassVar[bool] = True
    file: str
    column: str
    _entries: tuple[Any, ...] = PrivateAttr(default=())

    @model_validator(mode="after")
    def _read(self, info: ValidationInfo) -> Self:
        object.__setattr__(self, "file", resolve_path(self.file, info))
        self._entries = self._entries_of(self.file, self.column)
        return self

    def _entries_of(self, path: str, column: str) -> tuple[Any, ...]:
        return read_numbers(path, column)

    @property
    def entries(self) -> tuple[Any, ...]:
        """The column, as read when the scenario was checked."""
        return self._entries


class TextColumn(Column):
    """One column of texts of a CSV file; the path counts from the scenario file."""

    def _entries_of(self, path: str, column: str) -> tuple[str, ...]:
        return _texts_of(path, column, _state_of(path))


def given_entries(given: Any) -> Any:
    """What a column holds; a list, or a word, as it is."""
    return given.entries if isinstance(given, Column) else given
