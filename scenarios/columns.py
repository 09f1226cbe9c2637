"""Numbers kept in a file beside the scenario: one column of a CSV file."""

from __future__ import annotations

import csv
import math
import os
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

from pydantic import PrivateAttr, ValidationInfo, model_validator

from scenarios.base import LARGEST, Section
from scenarios.errors import refused

__all__ = ["Column", "names_beside", "read_numbers", "resolve_path"]


def resolve_path(path: str, info: ValidationInfo) -> str:
    """The absolute path; a relative one counts from the folder of the scenario file."""
    base = (info.context or {}).get("base", ".")
    try:
        return os.path.realpath(Path(base) / path)
    except ValueError as error:
        raise refused(f"cannot be read: {error}", key="file", value=path) from None


def read_numbers(path: str, column: str | None) -> tuple[float, ...]:
    """The numbers of one column, each finite and >= 0.

    Parameters
    ----------
    path : str
        A CSV file.
    column : str or None
        Name of the column in the header; None takes the first column, header or not.
    """
    try:
        now = Path(path).stat()
    except OSError as error:
        raise refused(f"cannot be read: {error.strerror}", key="file", value=path) from None
    return _numbers_of(path, column, (now.st_ino, now.st_size, now.st_mtime_ns))


@lru_cache(maxsize=8)
def _numbers_of(path: str, column: str | None, state: tuple[int, ...]) -> tuple[float, ...]:  # noqa: ARG001  # a changed file is read again
    """The numbers of a file in a certain state: a scenario is checked again with every change."""
    rows = _rows(path)
    first, start = _place_of(column, rows, path)
    numbers = tuple(_number(row, first, line, path) for line, row in enumerate(rows[start:], start))
    if not numbers:
        raise refused("holds no numbers", key="file", value=path)
    return numbers


def _rows(path: str) -> list[list[str]]:
    """The rows of a CSV file that are not empty, the header among them."""
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as stream:
            return [row for row in csv.reader(stream) if row]
    except OSError as error:
        raise refused(f"cannot be read: {error.strerror}", key="file", value=path) from None
    except (UnicodeDecodeError, csv.Error):
        raise refused("must be a CSV file in UTF-8", key="file", value=path) from None


def _place_of(column: str | None, rows: list[list[str]], path: str) -> tuple[int, int]:
    """Index of the column, and of the first row of numbers."""
    if column is None:
        return 0, int(bool(rows) and not _is_number(rows[0][0]))
    header = [name.strip() for name in rows[0]] if rows else []
    if column not in header:
        allowed = f"must be a column of {Path(path).name}: {', '.join(header)}"
        raise refused(allowed, key="column", value=column)
    return header.index(column), 1


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _number(row: list[str], place: int, line: int, path: str) -> float:
    text = row[place] if place < len(row) else ""
    value = float(text) if _is_number(text) else math.nan
    if not 0 <= value <= LARGEST:
        allowed = f"row {line + 1}: {text!r} must be a finite number >= 0"
        raise refused(allowed, key="file", value=path)
    return value


def names_beside(column: Column) -> tuple[str, list[str]] | None:
    """What the rows of a column are called: header and texts of the first column of its file.

    None where that is the column itself.
    """
    header, *rows = _rows(column.file)
    name = header[0].strip()
    return None if name == column.column else (name, [row[0] for row in rows])


class Column(Section):
    """One column of a CSV file; the path counts from the scenario file."""

    key: ClassVar[str] = "file"
    whole: ClassVar[bool] = True
    file: str
    column: str
    _numbers: tuple[float, ...] = PrivateAttr(default=())

    @model_validator(mode="after")
    def _read(self, info: ValidationInfo) -> Column:
        object.__setattr__(self, "file", resolve_path(self.file, info))
        self._numbers = read_numbers(self.file, self.column)
        return self

    @property
    def numbers(self) -> tuple[float, ...]:
        """The column, as read when the scenario was checked."""
        return self._numbers
