"""Change rates and weights of very many pages, read block by block, and frequencies written.

Parquet, or what `numpy.save` writes: an array of shape (pages,), the change rates, or (pages, 2),
with the weights beside them; or CSV with a row for each class of pages that are alike.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from analytic.page_refresh.out_of_core import BLOCK, Block, Part
from crawlsim.own_files import writing
from scenarios import ScenarioError
from scenarios.arrays import Array
from scenarios.base import listed
from scenarios.errors import MISSING

ENDINGS = (".parquet", ".npy")
COLUMN = "frequency"

_IN_A_PART = 2**20
_MOST_PAGES = 1e11
_REFUSALS = (OSError, ValueError, RuntimeError, LookupError, TypeError, EOFError)
"""What pyarrow and numpy raise when they cannot read a file."""


@dataclass(frozen=True, slots=True)
class ArrayPart:
    """Some rows of an array on disk.

    Parameters
    ----------
    path : str
    first, count : int
        The number of its first row, and of its rows.
    """

    path: str
    first: int
    count: int

    def blocks(self) -> Iterator[Block]:
        """Change rates and weights."""
        with _reading(self.path):
            numbers = np.load(self.path, mmap_mode="r")[self.first : self.first + self.count]
        for start in range(0, self.count, BLOCK):
            block = np.asarray(numbers[start : start + BLOCK], dtype=float)
            if block.ndim == 1:
                yield block, np.ones(len(block))
            else:
                yield np.ascontiguousarray(block[:, 0]), np.ascontiguousarray(block[:, 1])


@dataclass(frozen=True, slots=True)
class ParquetPart:
    """A row group of a Parquet file.

    Parameters
    ----------
    path : str
    group : int
    first, count : int
        The number of its first page, and of its pages.
    rate : str
        The column of the change rates.
    weight : str, optional
        That of the weights; by default all are 1.
    """

    path: str
    group: int
    first: int
    count: int
    rate: str
    weight: str | None

    def blocks(self) -> Iterator[Block]:
        """Change rates and weights; what is missing is nan."""
        from pyarrow.parquet import ParquetFile

        columns = [self.rate] if self.weight is None else [self.rate, self.weight]
        with _reading(self.path), ParquetFile(self.path) as file:
            for batch in file.iter_batches(BLOCK, row_groups=[self.group], columns=columns):
                rates, *weights = (_numbers(batch.column(name)) for name in columns)
                yield rates, weights[0] if weights else np.ones(len(rates))


@dataclass(frozen=True, slots=True)
class ClassPart:
    """Some pages of a class, all of which are alike.

    Parameters
    ----------
    name : str
    rate, weight : float
    first, count : int
        The number of its first page, and of its pages.
    """

    name: str
    rate: float
    weight: float
    first: int
    count: int

    def blocks(self) -> Iterator[Block]:
        """Change rates and weights."""
        for start in range(0, self.count, BLOCK):
            number = min(BLOCK, self.count - start)
            yield np.full(number, self.rate), np.full(number, self.weight)


def _numbers(column: Any) -> Array:
    """A column of a batch as floating-point numbers."""
    return column.to_numpy(zero_copy_only=False).astype(float, copy=False)


@contextmanager
def _reading(path: str) -> Iterator[None]:
    """Refuse the file where it cannot be read, be it in the midst of it."""
    try:
        yield
    except ScenarioError:
        raise
    except _REFUSALS as error:
        reason = getattr(error, "strerror", None) or next(iter(str(error).splitlines()), "")
        raise ScenarioError("PAGES", path, f"cannot be read: {reason}") from None


def parts_of(path: str, rate: str, weight: str | None) -> list[Part]:
    """The pages of a file, in parts that are read one at a time.

    Parameters
    ----------
    path : str
        A .parquet or .npy file, or a .csv file of classes, each of whose parts is of one class.
    rate : str
        Parquet: the column of the change rates.
    weight : str, optional
        Parquet: the column of the weights; by default all are 1.

    Raises
    ------
    ScenarioError
        If it cannot be read, has no such columns, no numbers in them, or no pages.
    """
    endings = (*ENDINGS, ".csv")
    if Path(path).suffix not in endings:
        raise ScenarioError("PAGES", path, f"must end in {listed(endings)}")
    place = str(Path(path).absolute())  # workers may run in another folder
    try:
        with _reading(path):
            if path.endswith(".csv"):
                parts = _class_parts(place)
            elif path.endswith(".npy"):
                parts = _array_parts(place)
            else:
                parts = _parquet_parts(place, rate, weight)
    except ImportError:
        allowed = "is Parquet, which needs more packages: pip install 'crawlsim[parquet]'"
        raise ScenarioError("", MISSING, allowed, path) from None
    if not parts:
        raise ScenarioError("PAGES", path, "has no pages")
    return parts


def _class_parts(path: str) -> list[Part]:
    parts: list[Part] = []
    first = 0
    with Path(path).open(encoding="utf-8-sig", newline="") as file:
        rows = csv.DictReader(file, skipinitialspace=True)
        needed = ("class", "pages", "rate")
        if not set(needed) <= set(rows.fieldnames or ()):
            allowed = "needs a header with the columns class,pages,rate and perhaps weight"
            raise ScenarioError("PAGES", path, allowed)
        for row in rows:
            pages, rate, weight = (_entry(row, name) for name in ("pages", "rate", "weight"))
            if not (1 <= pages <= _MOST_PAGES and pages.is_integer()):
                allowed = f"of class {row['class']} must be a whole number, 1 to {_MOST_PAGES:g}"
                raise ScenarioError("pages", row["pages"], allowed)
            end = first + int(pages)
            for start in range(first, end, _IN_A_PART):
                count = min(_IN_A_PART, end - start)
                parts.append(ClassPart(row["class"], rate, weight, start, count))
            first = end
    return parts


def _entry(row: Mapping[str, str | None], name: str) -> float:
    """A number of a row; a weight may be missing, and is 1 then."""
    text = row.get(name)
    try:
        value = 1.0 if text is None and name == "weight" else float(text or "")
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        allowed = f"of class {row['class']} must be a number, 0 or more"
        raise ScenarioError(name, text or "", allowed)
    return value


def _array_parts(path: str) -> list[Part]:
    numbers = np.load(path, mmap_mode="r")
    fits = numbers.ndim == 1 or (numbers.ndim == 2 and numbers.shape[1] == 2)
    if not fits or numbers.dtype.kind not in "fiu":
        allowed = f"must hold numbers of shape (pages,) or (pages, 2), not {numbers.shape}"
        raise ScenarioError("PAGES", path, allowed)
    pages = len(numbers)
    return [
        ArrayPart(path, first, min(_IN_A_PART, pages - first))
        for first in range(0, pages, _IN_A_PART)
    ]


def _parquet_parts(path: str, rate: str, weight: str | None) -> list[Part]:
    from pyarrow import types
    from pyarrow.parquet import ParquetFile

    with ParquetFile(path) as file:
        names = list(file.schema_arrow.names)
        kinds = {field.name: field.type for field in file.schema_arrow}
        groups = [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)]
    for option, name in (("--rate", rate), ("--weight", weight)):
        if name is None:
            continue
        if name not in kinds:
            raise ScenarioError(option, name, f"must be a column: {listed(sorted(kinds))}")
        if names.count(name) > 1:
            raise ScenarioError(option, name, f"must be one column, not {names.count(name)}")
        if not (types.is_integer(kinds[name]) or types.is_floating(kinds[name])):
            raise ScenarioError(option, name, f"must be a column of numbers, not {kinds[name]}")
    firsts = np.cumsum([0, *groups]).tolist()
    return [
        ParquetPart(path, group, firsts[group], rows, rate, weight)
        for group, rows in enumerate(groups)
        if rows
    ]


@contextmanager
def written(path: Path, pages: int, *, force: bool) -> Iterator[Callable[[Array], None]]:
    """Take the frequencies of part after part; the file appears once all are there.

    Parameters
    ----------
    path : Path
        A .parquet file with the column `frequency`, or a .npy file of shape (pages,).
    pages : int
        In all.
    force : bool
        Whether a file of somebody else may be replaced.
    """
    make = _array_writer if path.suffix == ".npy" else _parquet_writer
    with writing("--out", path, force=force) as complete, make(complete, pages) as write:
        yield write


@contextmanager
def _array_writer(path: Path, pages: int) -> Iterator[Callable[[Array], None]]:
    with path.open("wb") as file:
        head = {"descr": "<f8", "fortran_order": False, "shape": (pages,)}
        np.lib.format.write_array_header_1_0(file, head)
        yield lambda shares: shares.astype("<f8", copy=False).tofile(file)


@contextmanager
def _parquet_writer(path: Path, pages: int) -> Iterator[Callable[[Array], None]]:  # noqa: ARG001  # same call as its sibling
    import pyarrow
    from pyarrow.parquet import ParquetWriter

    schema = pyarrow.schema([(COLUMN, pyarrow.float64())])
    with ParquetWriter(path, schema, compression="none", use_dictionary=False) as file:
        yield lambda shares: file.write_table(pyarrow.table([shares], schema=schema))
